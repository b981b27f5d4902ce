"""What is being done for an answer, on one line of the terminal that goes again."""

from __future__ import annotations

import sys

import typer

from citewell.answer.events import StageStarted

WORDS = {"searching": "Searching", "reading": "Reading", "writing": "Writing", "checking": "Checking each sentence"}
CLEAN = "\r\x1b[K"


class StageDisplay:
    """The stage of now, beside the answer and never in it; nothing where nobody looks."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_shown = not is_quiet and sys.stderr.isatty()
        self._is_told = False

    def tell(self, event: StageStarted) -> None:
        """A stage has begun."""
        if not self._is_shown:
            return
        count = f" {event.count} passage{'' if event.count == 1 else 's'}" if event.stage == "reading" else ""
        typer.echo(f"{CLEAN}{WORDS[event.stage]}{count}…", err=True, nl=False)
        self._is_told = True

    def clear(self) -> None:
        """Make room for what is told."""
        if self._is_told:
            typer.echo(CLEAN, err=True, nl=False)
            self._is_told = False
