"""Signed-in sessions: how long one lasts, who holds it, and how it ends; only the hash of its token is kept."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select

from citewell.adapters.store.row_mapping import hashed, now
from citewell.adapters.store.schema import sessions

SESSION_HOURS = 12


def open_session(connection: Connection, user_id: str) -> str:
    """A new session's token; sessions that are over are removed."""
    token = secrets.token_urlsafe(32)
    ends_at = now() + timedelta(hours=SESSION_HOURS)
    made = {"token_hash": hashed(token), "user_id": user_id, "made_at": now(), "ends_at": ends_at}
    connection.execute(delete(sessions).where(sessions.c.ends_at < now()))
    connection.execute(insert(sessions).values(**made))
    return token


def holder_of(token: str) -> Select[Any]:
    """The id of the user whose session this is, while it lasts."""
    return select(sessions.c.user_id).where(sessions.c.token_hash == hashed(token), sessions.c.ends_at > now())


def end_session(connection: Connection, token: str) -> None:
    """Sign out of one session."""
    connection.execute(delete(sessions).where(sessions.c.token_hash == hashed(token)))


def end_sessions_of(connection: Connection, user_id: str) -> None:
    """Sign a user out everywhere."""
    connection.execute(delete(sessions).where(sessions.c.user_id == user_id))
