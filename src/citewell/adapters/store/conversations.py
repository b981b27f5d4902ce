"""Conversations, each owned by one user of one tenant; their words are sealed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, Select, delete, func, insert, select, update

from citewell.adapters.store import paging
from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.holds import is_everything_held
from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import answers, conversations, messages
from citewell.adapters.store.sealed_answers import CHANGED, close_message, is_answer_to, open_message
from citewell.answer.audit import cleaned_text
from citewell.errors import LibraryError, NotFound
from citewell.history import PAGE_LENGTH, Conversation, ConversationMessage, ConversationPlace, HistoryPage, KeptOutcome
from citewell.types import EVERY, Message, User

ALTERED = "(title altered outside Citewell)"
TITLE_CHARACTERS = 80
NO_SUCH_CONVERSATION = "Conversation not found. `citewell conversations` shows the IDs."


class SqlConversations:
    """The conversations with one assistant; reads and writes only what the asker owns."""

    def __init__(
        self, engine: Engine, path: Path, seal: TextCipher, *, assistant: str, keep_days: int | None = None
    ) -> None:
        self._engine, self._path, self._seal, self._assistant = engine, path, seal, assistant
        self._keep_days = keep_days
        """Days without a word after which a conversation is deleted; None keeps it."""

    def begin(self, question: str, asker: User, *, conversation_id: str | None) -> ConversationPlace:
        self._drop_expired()
        with writing(self._engine, self._path) as connection:
            if conversation_id is None:
                conversation_id = self._start(connection, question, asker)
            elif not self._is_mine(connection, conversation_id, asker):
                raise NotFound(NO_SUCH_CONVERSATION)
            elif (last := self._last(connection, conversation_id, asker)) and _waits(last, question):
                return ConversationPlace(conversation_id, last.position)
            return ConversationPlace(
                conversation_id, self._append(connection, conversation_id, Message("user", question))
            )

    def end(self, connection: Connection, ending: KeptOutcome) -> None:
        """Add the answer's turn inside a transaction; a conversation that was erased meanwhile stays erased."""
        place, answer_id = ending.place, ending.answer_id
        if place is None or ending.text is None or not self._is_mine(connection, place.conversation_id, ending.asker):
            return
        waiting = (
            (messages.c.conversation_id == place.conversation_id)
            & (messages.c.position == place.position)
            & messages.c.answer_id.is_(None)
        )
        asks = connection.execute(select(messages).where(waiting)).first()
        if asks is not None:
            sealed = self._sealed(open_message(self._seal, asks), asks, answer_id)
            connection.execute(update(messages).where(waiting).values(answer_id=answer_id, text=sealed))
        else:
            asked = Message("user", ending.question)  # the same question, asked twice at once
            self._append(connection, place.conversation_id, asked, answer_id=answer_id)
        message = Message("assistant", ending.text)
        self._append(connection, place.conversation_id, message, answer_id=answer_id)

    def turns(self, conversation_id: str, asker: User, *, newest: int | None = None) -> list[ConversationMessage]:
        self._drop_expired()
        query = _with_answers(conversation_id)
        with reading(self._engine, self._path) as connection:
            if not self._is_mine(connection, conversation_id, asker):
                raise NotFound(NO_SUCH_CONVERSATION)
            rows = connection.execute(query.order_by(messages.c.position.desc()).limit(newest)).all()
        return [self._turn(row, asker) for row in reversed(rows)]

    def all(self, asker: User) -> list[Conversation]:
        self._drop_expired()
        with reading(self._engine, self._path) as connection:
            return [self._listed(row) for row in connection.execute(self._newest(asker))]

    def page(
        self, asker: User, *, limit: int = PAGE_LENGTH, after: str | None = None, starting: str = ""
    ) -> HistoryPage[Conversation]:
        self._drop_expired()
        query = self._newest(asker)
        if after is not None:
            query = query.where(paging.after(after, None, conversations.c.changed_at, conversations.c.id))
        if starting:
            query = query.where(conversations.c.id.startswith(starting.lower(), autoescape=True))
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(query.limit(limit + 1)).all()
        cursor = partial(paging.cursor_of, moment="changed_at")
        return paging.page_of(rows, limit=limit, made=self._listed, cursor=cursor)

    def erase(self, conversation_id: str, asker: User) -> None:
        self._drop_expired()
        mine = self._mine(asker) & (conversations.c.id == conversation_id)
        with writing(self._engine, self._path) as connection:
            if connection.execute(delete(conversations).where(mine)).rowcount == 0:
                raise NotFound(NO_SUCH_CONVERSATION)

    def erase_words(self, connection: Connection, tenant: str, gone: Mapping[str, str]) -> None:
        """Take words of erased documents out of what was answered, inside a transaction; of every assistant."""
        query = select(messages).join(conversations).where(conversations.c.tenant == tenant)
        changed = []
        for row in connection.execute(query.where(messages.c.role == "assistant")).yield_per(200):
            taken: dict[str, str] = {}
            try:
                text = cleaned_text(open_message(self._seal, row), gone, taken)
            except LibraryError:
                continue  # the proof tells of it; nothing can be read out of it either
            if taken:
                changed.append((row.conversation_id, row.position, self._sealed(text, row, row.answer_id)))
        for conversation_id, position, sealed in changed:
            place = (messages.c.conversation_id == conversation_id) & (messages.c.position == position)
            connection.execute(update(messages).where(place).values(text=sealed))

    def erase_with(self, connection: Connection, tenant: str, answer_ids: Sequence[str]) -> int:
        """Remove the conversations that hold one of these answers, of every assistant; how many there were."""
        holding = select(messages.c.conversation_id).where(messages.c.answer_id.in_(answer_ids))
        theirs = (conversations.c.tenant == tenant) & conversations.c.id.in_(holding)
        return connection.execute(delete(conversations).where(theirs)).rowcount

    # -------------------------------------------------------------------------------------------------------- inside

    def _newest(self, asker: User) -> Select[Any]:
        query = select(conversations).where(self._mine(asker))
        return query.order_by(conversations.c.changed_at.desc(), conversations.c.id)

    def _listed(self, row: Row[Any]) -> Conversation:
        return Conversation(
            id=row.id,
            title=self._title(row),
            made_at=row.made_at.replace(tzinfo=UTC),
            changed_at=row.changed_at.replace(tzinfo=UTC),
            journey=row.journey,
        )

    def _title(self, row: Row[Any]) -> str:
        """What a conversation is called; one that was altered hides no other."""
        try:
            return self._seal.open(row.title, about=f"title:{row.id}")
        except LibraryError:
            return ALTERED

    def _drop_expired(self) -> None:
        """Delete what nobody has spoken in for too long; from then on its id is as good as none."""
        if self._keep_days is None:
            return
        old = (conversations.c.assistant == self._assistant) & (
            conversations.c.changed_at < now() - timedelta(days=self._keep_days)
        )
        with reading(self._engine, self._path) as connection:
            tenants = connection.execute(select(conversations.c.tenant).where(old).distinct()).scalars().all()
            free = [tenant for tenant in tenants if not is_everything_held(connection, tenant)]
        if free:
            with writing(self._engine, self._path) as connection:
                connection.execute(delete(conversations).where(old, conversations.c.tenant.in_(free)))

    def _start(self, connection: Connection, question: str, asker: User) -> str:
        conversation_id = str(uuid.uuid4())
        short = question if len(question) <= TITLE_CHARACTERS else question[: TITLE_CHARACTERS - 1].rstrip() + "…"
        row = {
            "id": conversation_id,
            "tenant": asker.tenant,
            "user_id": asker.user_id,
            "assistant": self._assistant,
            "title": self._seal.close(short, about=f"title:{conversation_id}"),
            "made_at": now(),
            "changed_at": now(),
            "journey": None if asker.scope.journey == EVERY else asker.scope.journey,
        }
        connection.execute(insert(conversations).values(**row))
        return conversation_id

    def _append(
        self, connection: Connection, conversation_id: str, message: Message, *, answer_id: str | None = None
    ) -> int:
        """Add a turn at the end; its position."""
        last = select(func.max(messages.c.position)).where(messages.c.conversation_id == conversation_id)
        position = int(connection.execute(last).scalar() or 0) + 1
        row = {
            "conversation_id": conversation_id,
            "position": position,
            "role": message.role,
            "text": close_message(
                self._seal, message.text, conversation_id=conversation_id, position=position, answer_id=answer_id
            ),
            "answer_id": answer_id,
            "made_at": now(),
        }
        connection.execute(insert(messages).values(**row))
        connection.execute(
            update(conversations).where(conversations.c.id == conversation_id).values(changed_at=row["made_at"])
        )
        return position

    def _last(self, connection: Connection, conversation_id: str, asker: User) -> ConversationMessage | None:
        query = _with_answers(conversation_id)
        row = connection.execute(query.order_by(messages.c.position.desc()).limit(1)).first()
        return None if row is None else self._turn(row, asker)

    def _sealed(self, text: str, row: Row[Any], answer_id: str | None) -> bytes:
        """New words, or a new answer, for a message that is there."""
        place = {"conversation_id": row.conversation_id, "position": row.position}
        return close_message(self._seal, text, answer_id=answer_id, **place)

    def _turn(self, row: Row[Any], asker: User) -> ConversationMessage:
        text = open_message(self._seal, row)
        if not is_answer_to(self._seal, row, text, user_id=asker.user_id):
            raise LibraryError(CHANGED)
        return ConversationMessage(
            row.position, Message(row.role, text), row.answer_id, row.made_at.replace(tzinfo=UTC)
        )

    def _mine(self, asker: User) -> Any:
        return (
            (conversations.c.tenant == asker.tenant)
            & (conversations.c.user_id == asker.user_id)
            & (conversations.c.assistant == self._assistant)
        )

    def _is_mine(self, connection: Connection, conversation_id: str, asker: User) -> bool:
        query = select(conversations.c.id).where(self._mine(asker), conversations.c.id == conversation_id)
        return connection.execute(query).first() is not None


def _with_answers(conversation_id: str) -> Select[Any]:
    """The messages of a conversation, each with which question of whom its answer was given to."""
    return (
        select(messages, answers.c.question_hash, answers.c.user_id.label("answered_for"))
        .outerjoin(answers, answers.c.id == messages.c.answer_id)
        .where(messages.c.conversation_id == conversation_id)
    )


def _waits(turn: ConversationMessage, question: str) -> bool:
    """Whether this turn is the same question, still without an answer."""
    return turn.message == Message("user", question) and turn.answer_id is None
