"""Counts what a library does for a question: statements, rows that come back, and steps inside SQLite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, event


@dataclass
class Work:
    """What was done while it was watched."""

    statements: list[str] = field(default_factory=list)
    """Their words, without the values; in order."""
    rows: int = 0
    """Rows that SQLite gave back."""
    steps: int = 0
    """Instructions of SQLite's own machine: what it looks at without giving it back counts here."""

    def row(self, _cursor: Any, row: tuple[Any, ...]) -> tuple[Any, ...]:
        self.rows += 1
        return row

    def step(self) -> int:
        self.steps += 1
        return 0  # anything else would stop the statement

    def note(self, _connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        self.statements.append(re.sub(r"\b\d+\b", "?", statement))


@contextmanager
def watched(engine: Engine) -> Iterator[Work]:
    """The work of every connection of an engine on a SQLite file until the block ends."""
    work = Work()

    def begin(connection: Any, *_rest: Any) -> None:
        connection.row_factory = work.row
        connection.set_progress_handler(work.step, 1)

    def end(connection: Any, *_rest: Any) -> None:
        connection.row_factory = None
        connection.set_progress_handler(None, 1)

    hooks = (("checkout", begin), ("checkin", end), ("before_cursor_execute", work.note))
    for name, hook in hooks:
        event.listen(engine, name, hook)
    try:
        yield work
    finally:
        for name, hook in hooks:
            event.remove(engine, name, hook)
