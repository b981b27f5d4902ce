"""Conversations, each owned by one user of one tenant; their words are sealed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, func, insert, select, update

from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.rows import now
from citewell.adapters.store.schema import conversations, messages
from citewell.adapters.store.seal import Seal
from citewell.errors import NotFound
from citewell.types import Message

TITLE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose conversations these are."""

    tenant: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as it is listed."""

    id: str
    title: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, with the answer it came from."""

    message: Message
    answer_id: str | None


class SqlConversations:
    """Reads and writes only what its owner owns; another's id is as good as none."""

    def __init__(self, engine: Engine, path: Path, seal: Seal) -> None:
        self._engine, self._path, self._seal = engine, path, seal

    def start(self, owner: Owner, *, assistant: str, title: str) -> str:
        """A new conversation, named after its first question."""
        conversation_id = str(uuid.uuid4())
        short = title if len(title) <= TITLE_CHARACTERS else title[: TITLE_CHARACTERS - 1].rstrip() + "…"
        row = {
            "id": conversation_id,
            "tenant": owner.tenant,
            "user_id": owner.user_id,
            "assistant": assistant,
            "title": self._seal.close(short, about=f"title:{conversation_id}"),
            "made_at": now(),
            "changed_at": now(),
        }
        with writing(self._engine, self._path) as connection:
            connection.execute(insert(conversations).values(**row))
        return conversation_id

    def append(self, owner: Owner, conversation_id: str, message: Message, *, answer_id: str | None = None) -> None:
        """Add a turn at the end."""
        with writing(self._engine, self._path) as connection:
            self._mine(connection, owner, conversation_id)
            last = select(func.max(messages.c.position)).where(messages.c.conversation_id == conversation_id)
            position = (connection.execute(last).scalar() or 0) + 1
            connection.execute(
                insert(messages).values(
                    conversation_id=conversation_id,
                    position=position,
                    role=message.role,
                    text=self._seal.close(message.text, about=f"message:{conversation_id}:{position}"),
                    answer_id=answer_id,
                    made_at=now(),
                )
            )
            mine = conversations.c.id == conversation_id
            connection.execute(update(conversations).where(mine).values(changed_at=now()))

    def turns(self, owner: Owner, conversation_id: str) -> list[Turn]:
        """All turns, oldest first."""
        query = select(messages).where(messages.c.conversation_id == conversation_id).order_by(messages.c.position)
        with reading(self._engine, self._path) as connection:
            self._mine(connection, owner, conversation_id)
            rows = connection.execute(query).all()
        return [self._turn(row) for row in rows]

    def _turn(self, row: Row[Any]) -> Turn:
        text = self._seal.open(row.text, about=f"message:{row.conversation_id}:{row.position}")
        return Turn(Message(row.role, text), row.answer_id)

    def all(self, owner: Owner, *, assistant: str) -> list[Conversation]:
        """The owner's conversations with an assistant, newest first."""
        query = (
            select(conversations)
            .where(
                conversations.c.tenant == owner.tenant,
                conversations.c.user_id == owner.user_id,
                conversations.c.assistant == assistant,
            )
            .order_by(conversations.c.changed_at.desc(), conversations.c.id)
        )
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(query).all()
        return [
            Conversation(
                row.id, self._seal.open(row.title, about=f"title:{row.id}"), row.changed_at.replace(tzinfo=UTC)
            )
            for row in rows
        ]

    def erase(self, owner: Owner, conversation_id: str) -> None:
        """Remove a conversation; the audit log keeps its answers."""
        with writing(self._engine, self._path) as connection:
            self._mine(connection, owner, conversation_id)
            connection.execute(delete(conversations).where(conversations.c.id == conversation_id))

    @staticmethod
    def _mine(connection: Connection, owner: Owner, conversation_id: str) -> None:
        query = select(conversations.c.id).where(
            conversations.c.id == conversation_id,
            conversations.c.tenant == owner.tenant,
            conversations.c.user_id == owner.user_id,
        )
        if connection.execute(query).first() is None:
            raise NotFound("There is no such conversation.")
