"""The inbox of questions that were handed to a person."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Engine, Row, Select, insert, or_, select, update

from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.rows import now
from citewell.adapters.store.schema import routed
from citewell.adapters.store.seal import Seal
from citewell.errors import InputError, NotFound
from citewell.types import Route

MAX_REPLY_CHARACTERS = 20_000

RoutedState = Literal["open", "answered", "closed"]


@dataclass(frozen=True, slots=True)
class Routed:
    """A question that waits for a person, or the reply it got."""

    id: str
    answer_id: str
    asked_by: str
    tag: str
    owner_id: str | None
    reason: str
    is_fallback: bool
    state: RoutedState
    reply: str | None
    replied_by: str | None
    made_at: datetime
    replied_at: datetime | None


class SqlRouting:
    """Who asked sees their own; who owns sees what is theirs; an administrator sees all of the tenant."""

    def __init__(self, engine: Engine, path: Path, seal: Seal) -> None:
        self._engine, self._path, self._seal = engine, path, seal

    def put(self, route: Route, *, answer_id: str, tenant: str, asked_by: str) -> str:
        """Hand a question over; its id in the inbox."""
        routed_id = str(uuid.uuid4())
        with writing(self._engine, self._path) as connection:
            connection.execute(
                insert(routed).values(
                    id=routed_id,
                    tenant=tenant,
                    answer_id=answer_id,
                    asked_by=asked_by,
                    tag=route.tag,
                    owner_id=route.owner_id,
                    reason=route.reason,
                    is_fallback=route.is_fallback,
                    state="open",
                    made_at=now(),
                )
            )
        return routed_id

    def inbox(self, *, tenant: str, user_id: str, is_admin: bool) -> list[Routed]:
        """What this person may answer, open ones first, then the newest."""
        query = select(routed).where(routed.c.tenant == tenant)
        if not is_admin:
            query = query.where(routed.c.owner_id == user_id)
        return self._all(query.order_by(routed.c.state.desc(), routed.c.made_at.desc()))

    def asked(self, *, tenant: str, user_id: str) -> list[Routed]:
        """What this person asked and was handed on."""
        query = select(routed).where(routed.c.tenant == tenant, routed.c.asked_by == user_id)
        return self._all(query.order_by(routed.c.made_at.desc()))

    def one(self, routed_id: str, *, tenant: str, user_id: str, is_admin: bool) -> Routed:
        """One of them, for who asked, who owns or an administrator."""
        query = select(routed).where(routed.c.id == routed_id, routed.c.tenant == tenant)
        if not is_admin:
            query = query.where(or_(routed.c.owner_id == user_id, routed.c.asked_by == user_id))
        found = self._all(query)
        if not found:
            raise NotFound("There is no such question in the inbox.")
        return found[0]

    def reply(self, routed_id: str, text: str, *, tenant: str, user_id: str, is_admin: bool) -> Routed:
        """Answer a question; the person who asked sees the reply."""
        text = text.strip()
        if not text or len(text) > MAX_REPLY_CHARACTERS:
            raise InputError(f"A reply has between 1 and {MAX_REPLY_CHARACTERS:,} characters.")
        before = self._owned(routed_id, tenant=tenant, user_id=user_id, is_admin=is_admin)
        if before.state == "closed":
            raise InputError("This question is closed: open a new one.")
        values = {
            "state": "answered",
            "reply": self._seal.close(text, about=f"reply:{routed_id}"),
            "replied_by": user_id,
            "replied_at": now(),
        }
        with writing(self._engine, self._path) as connection:
            connection.execute(update(routed).where(routed.c.id == routed_id).values(**values))
        return self.one(routed_id, tenant=tenant, user_id=user_id, is_admin=is_admin)

    def close(self, routed_id: str, *, tenant: str, user_id: str, is_admin: bool) -> Routed:
        """Put a question away, answered or not."""
        self._owned(routed_id, tenant=tenant, user_id=user_id, is_admin=is_admin)
        with writing(self._engine, self._path) as connection:
            connection.execute(update(routed).where(routed.c.id == routed_id).values(state="closed"))
        return self.one(routed_id, tenant=tenant, user_id=user_id, is_admin=is_admin)

    def _owned(self, routed_id: str, *, tenant: str, user_id: str, is_admin: bool) -> Routed:
        found = self.one(routed_id, tenant=tenant, user_id=user_id, is_admin=is_admin)
        if not is_admin and found.owner_id != user_id:
            raise NotFound("There is no such question in the inbox.")
        return found

    def _all(self, query: Select[Any]) -> list[Routed]:
        with reading(self._engine, self._path) as connection:
            return [self._made(row) for row in connection.execute(query)]

    def _made(self, row: Row[Any]) -> Routed:
        reply = self._seal.open(row.reply, about=f"reply:{row.id}") if row.reply else None
        return Routed(
            id=row.id,
            answer_id=row.answer_id,
            asked_by=row.asked_by,
            tag=row.tag,
            owner_id=row.owner_id,
            reason=row.reason,
            is_fallback=row.is_fallback,
            state=row.state,
            reply=reply,
            replied_by=row.replied_by,
            made_at=row.made_at.replace(tzinfo=UTC),
            replied_at=row.replied_at.replace(tzinfo=UTC) if row.replied_at else None,
        )
