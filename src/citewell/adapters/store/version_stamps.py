"""The question that every search asks first, whether anything of a tenant changed: one round trip and nothing else."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event, select

from citewell.adapters.store.engine import plain_errors
from citewell.adapters.store.schema import stamps

KEPT = 4
"""Connections kept for this question; who finds none left asks over the others."""
QUESTION = "SELECT stamp FROM stamps WHERE tenant = %s"


class VersionStamps:
    """Asks over connections of its own, which nobody tests before and nobody tidies up afterwards; threads share it."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path
        self._left = deque(range(KEPT)) if engine.dialect.name == "postgresql" else deque[int]()
        self._idle: deque[Any] = deque()
        if self._left:
            event.listen(engine, "engine_disposed", self._let_go)

    def of(self, tenant: str) -> int:
        """The stamp of the last change that concerned a tenant."""
        connection = self._taken()
        if connection is not None:
            try:
                row = connection.driver_connection.execute(QUESTION, (tenant,)).fetchone()
            except Exception:  # the server went away, or more: the other way finds out and says so
                self._give_up(connection)
            else:
                self._idle.append(connection)
                return 0 if row is None else int(row[0])
        with plain_errors(self._path), self._engine.connect() as other:
            return stamp_of(other.execution_options(isolation_level="AUTOCOMMIT"), tenant)

    def _taken(self) -> Any:
        """An idle connection, or a new one while there may be more, or None."""
        with suppress(IndexError):
            return self._idle.pop()
        try:
            self._left.pop()
        except IndexError:
            return None
        with plain_errors(self._path):
            try:
                connection: Any = self._engine.raw_connection()
            except Exception:
                self._left.append(0)
                raise
        connection.driver_connection.autocommit = True
        return connection

    def _let_go(self, _engine: Engine) -> None:
        while self._idle:
            with suppress(IndexError):
                self._give_up(self._idle.pop())

    def _give_up(self, connection: Any) -> None:
        """Close it for good: the others must never find it."""
        connection.invalidate()
        connection.close()
        self._left.append(0)


def stamp_of(connection: Connection, tenant: str) -> int:
    """The same in a transaction."""
    return int(connection.execute(select(stamps.c.stamp).where(stamps.c.tenant == tenant)).scalar() or 0)
