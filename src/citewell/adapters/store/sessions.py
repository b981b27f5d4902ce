"""Signed-in sessions: how long one lasts, who holds it, and how it ends; only the hash of its token is kept.

The owner of the installation has no row among the users: their sessions are in a table of their own, by tenant.
"""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, delete, insert, select

from citewell.adapters.store.row_mapping import hashed, now
from citewell.adapters.store.schema import owner_sessions, sessions

SESSION_HOURS = 12


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it is listed."""

    id: str
    made_at: datetime
    ends_at: datetime
    way: str
    """How it was opened: password, provider or link."""
    is_this: bool = False
    """Whether the request that lists it came in it."""


def open_session(connection: Connection, holder: str, *, way: str, table: Table = sessions) -> str:
    """A new session's token; sessions that are over are removed."""
    token = secrets.token_urlsafe(32)
    made = {"token_hash": hashed(token), "id": str(uuid.uuid4()), "way": way, _holder(table).name: holder}
    connection.execute(delete(table).where(table.c.ends_at < now()))
    connection.execute(insert(table).values(**made, made_at=now(), ends_at=now() + timedelta(hours=SESSION_HOURS)))
    return token


def held(token: str, *, table: Table = sessions) -> Select[Any]:
    """The session with this token, while it lasts."""
    return select(table).where(table.c.token_hash == hashed(token), table.c.ends_at > now())


def listed(connection: Connection, holder: str, *, token: str | None, table: Table = sessions) -> list[Session]:
    """The open sessions of somebody, newest first."""
    query = select(table).where(_holder(table) == holder, table.c.ends_at > now())
    this = None if token is None else hashed(token)
    return [
        Session(
            session_id(row.id, row.token_hash),
            row.made_at.replace(tzinfo=UTC),
            row.ends_at.replace(tzinfo=UTC),
            row.way or "password",
            row.token_hash == this,
        )
        for row in connection.execute(query.order_by(table.c.made_at.desc(), table.c.token_hash))
    ]


def session_id(known: str | None, token_hash: str) -> str:
    """The id of a session; those from before sessions had one go by the beginning of their hash."""
    return known or token_hash[:36]


def end_session(connection: Connection, token: str, *, table: Table = sessions) -> None:
    """Sign out of one session."""
    connection.execute(delete(table).where(table.c.token_hash == hashed(token)))


def end_sessions_of(
    connection: Connection, holder: str, *, only: str | None = None, but: str | None = None, table: Table = sessions
) -> int:
    """Sign somebody out everywhere, of the session with one id, or of all but the one with this token; how many."""
    mine: ColumnElement[bool] = _holder(table) == holder
    if only is not None:
        mine &= (table.c.id == only) | (table.c.id.is_(None) & table.c.token_hash.startswith(only, autoescape=True))
    if but is not None:
        mine &= table.c.token_hash != hashed(but)
    return connection.execute(delete(table).where(mine)).rowcount


def _holder(table: Table) -> Any:
    return table.c.tenant if table is owner_sessions else table.c.user_id
