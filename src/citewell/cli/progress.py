"""How far a verb has come: one line on the terminal with the stage and the time left, under what is told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import typer

from citewell.cli.common import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from citewell.ingest.parse_cut_embed import Step


class PlainProgress:
    """Where nobody looks: lines are printed, steps are not shown."""

    def __call__(self, _what: str | Path, _step: Step) -> None:
        """A step of one of the files that are read."""

    def line(self, text: str, *, err: bool = False) -> None:
        """Print what may hold anything, without what a terminal would obey."""
        typer.echo(printable(text), err=err)

    def end(self, _what: str | Path) -> None:
        """Nothing more comes of this one."""

    def one_by_one(self) -> Callable[[str, Step], None]:
        """For what is done in turn: where the next begins, nothing more comes of the one before."""
        before = ""

        def watch(what: str, step: Step) -> None:
            nonlocal before
            if what != before:
                self.end(before)
                before = what
            self(what, step)

        return watch


class FrontTask(PlainProgress):
    """Of all that is done side by side, the first is shown: that is what is waited for."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str | Path, TaskID] = {}  # by the whole path: many folders hold a file of one name
        self._lock = Lock()

    def __call__(self, what: str | Path, step: Step) -> None:
        if step.done >= step.total and (step.total or step.stage == "storing"):  # the rest takes no time
            self.end(what)
            return
        name = printable(what.name if isinstance(what, Path) else what)
        with self._lock:
            if what not in self._tasks:
                self._tasks[what] = self._bar.add_task(name, total=None, visible=not self._tasks)
            described = f"{step.stage} {name}"
            self._bar.update(self._tasks[what], description=described, completed=step.done, total=step.total or None)

    def line(self, text: str, *, err: bool = False) -> None:
        if not err and not sys.stdout.isatty():
            typer.echo(printable(text))
            return
        from rich.text import Text

        self._bar.console.print(Text(printable(text)), soft_wrap=True)

    def end(self, what: str | Path) -> None:
        with self._lock:
            if (task := self._tasks.pop(what, None)) is None:
                return
            self._bar.remove_task(task)
            if self._tasks:
                self._bar.update(next(iter(self._tasks.values())), visible=True)


@contextmanager
def progress(*, quiet: bool) -> Iterator[PlainProgress]:
    """A bar on standard error; nothing where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield PlainProgress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        yield FrontTask(bar)
