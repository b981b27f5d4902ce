"""The inbox of questions that were passed on to a person."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, and_, delete, func, insert, or_, select, update

from citewell.adapters.store import paging
from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import routed, tags
from citewell.adapters.store.sealed_answers import close_reason, open_reason
from citewell.answer.route_to_owner import UNROUTED, told_to_others
from citewell.errors import DoesNotFit, InputError, LibraryError, NotFound
from citewell.history import PAGE_LENGTH, HistoryPage, KeptOutcome, RoutedQuestion
from citewell.types import Route, User
from citewell.types.hashed_ids import logged

MAX_REPLY_CHARACTERS = 20_000
ALTERED = "This question was altered outside Citewell and cannot be shown. Run `citewell audit verify`."
NO_SUCH_QUESTION = "Question not found in the inbox. `citewell inbox` shows the IDs."


log = logging.getLogger(__name__)


def _owned_by(asker: User) -> ColumnElement[bool]:
    """Questions of others, of tags that this person owns now: who owned one earlier sees its questions no more.

    Of a tag of which nobody was ever said to be the owner, those that were passed to this person. What they sent to
    themselves, by reporting an answer from their own documents, is theirs too.
    """
    known = select(tags.c.name).where(tags.c.tenant == asker.tenant)
    own = routed.c.tag.in_(known.where(tags.c.owner_id == asker.user_id))
    passed = and_(routed.c.owner_id == asker.user_id, routed.c.tag.not_in(known))
    to_themselves = routed.c.owner_id == asker.user_id
    return and_(or_(routed.c.asked_by != asker.user_id, to_themselves), or_(own, passed))


def _is_owned(connection: Connection, routed_id: str, asker: User) -> bool:
    mine = select(routed.c.id).where(routed.c.id == routed_id, routed.c.tenant == asker.tenant, _owned_by(asker))
    return connection.execute(mine).first() is not None


class SqlInbox:
    """Who asked sees their own; who owns sees what is theirs; an administrator sees all of the tenant."""

    def __init__(self, engine: Engine, path: Path, seal: TextCipher) -> None:
        self._engine, self._path, self._seal = engine, path, seal

    def put(self, connection: Connection, route: Route, ending: KeptOutcome) -> str:
        """Pass a question on inside a transaction; its id in the inbox."""
        return self._put(connection, route, ending.answer_id, ending.asker)

    def erase(self, connection: Connection, tenant: str, answer_ids: Sequence[str]) -> None:
        """Remove the items of these answers, with their replies, inside a transaction."""
        theirs = and_(routed.c.tenant == tenant, routed.c.answer_id.in_(answer_ids))
        connection.execute(delete(routed).where(theirs))

    def file(self, answer_id: str, route: Route, asker: User) -> str:
        mine = select(routed.c.id).where(self._asked_by(asker), routed.c.answer_id == answer_id)
        with writing(self._engine, self._path) as connection:
            known = connection.execute(mine).scalar()
            return str(known) if known is not None else self._put(connection, route, answer_id, asker)

    def _put(self, connection: Connection, route: Route, answer_id: str, asker: User) -> str:
        routed_id = str(uuid.uuid4())
        row = {
            "id": routed_id,
            "tenant": asker.tenant,
            "answer_id": answer_id,
            "asked_by": asker.user_id,
            "tag": route.tag,
            "owner_id": route.owner_id,
            "is_fallback": route.fallback,
            "state": "open",
            "made_at": now(),
        }
        connection.execute(insert(routed).values(**row, reason=close_reason(self._seal, route.reason, row)))
        return routed_id

    def waiting(
        self, asker: User, *, limit: int = PAGE_LENGTH, after: str | None = None, starting: str = ""
    ) -> HistoryPage[RoutedQuestion]:
        query = select(routed).where(routed.c.tenant == asker.tenant)
        if not asker.is_admin:
            query = query.where(_owned_by(asker))
        is_done = routed.c.state != "open"
        if after is not None:
            query = query.where(paging.after(after, is_done, routed.c.made_at, routed.c.id))
        if starting:
            query = query.where(routed.c.id.startswith(starting.lower(), autoescape=True))
        query = query.order_by(is_done, routed.c.made_at.desc(), routed.c.id)
        return self._page(
            query, asker, limit, lambda row: paging.cursor_of(row, moment="made_at", is_low=row.state != "open")
        )

    def open_count(self, asker: User) -> int:
        """How many open questions wait for this person; an administrator's are those of the tenant."""
        query = select(func.count()).where(routed.c.tenant == asker.tenant, routed.c.state == "open")
        if not asker.is_admin:
            query = query.where(_owned_by(asker))
        with reading(self._engine, self._path) as connection:
            return int(connection.execute(query).scalar_one())

    def asked(self, asker: User, *, limit: int = PAGE_LENGTH, after: str | None = None) -> HistoryPage[RoutedQuestion]:
        query = select(routed).where(self._asked_by(asker))
        if after is not None:
            query = query.where(paging.after(after, None, routed.c.made_at, routed.c.id))
        query = query.order_by(routed.c.made_at.desc(), routed.c.id)
        return self._page(query, asker, limit, lambda row: paging.cursor_of(row, moment="made_at"))

    def filed(self, answer_ids: Iterable[str], asker: User) -> frozenset[str]:
        query = select(routed.c.answer_id).where(self._asked_by(asker), routed.c.answer_id.in_(list(answer_ids)))
        with reading(self._engine, self._path) as connection:
            return frozenset(connection.execute(query).scalars())

    def replies(self, answer_ids: Iterable[str], asker: User) -> dict[str, str]:
        query = select(routed).where(
            self._asked_by(asker), routed.c.answer_id.in_(list(answer_ids)), routed.c.reply.is_not(None)
        )
        with reading(self._engine, self._path) as connection:
            routed_questions = [self._shown(row, asker) for row in connection.execute(query)]
        return {question.answer_id: question.reply for question in routed_questions if question.reply}

    def answered(self, asker: User, *, limit: int = PAGE_LENGTH) -> list[RoutedQuestion]:
        """The newest with a reply: this person's own, those of topics that they hold, and those of no topic."""
        query = select(routed).where(routed.c.tenant == asker.tenant, routed.c.reply.is_not(None))
        if not asker.is_admin:
            query = query.where(or_(self._asked_by(asker), routed.c.tag.in_(asker.scope.tags | UNROUTED)))
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(query.order_by(routed.c.replied_at.desc(), routed.c.id).limit(limit)).all()
        return [self._shown(row, asker) for row in rows]

    def one(self, routed_id: str, asker: User) -> RoutedQuestion:
        with reading(self._engine, self._path) as connection:
            return self._one(connection, routed_id, asker)

    def may_answer(self, routed: RoutedQuestion, asker: User) -> bool:
        if asker.is_admin:
            return True
        with reading(self._engine, self._path) as connection:
            return _is_owned(connection, routed.id, asker)

    def reply(self, routed_id: str, text: str, asker: User) -> RoutedQuestion:
        text = text.strip()
        if not text or len(text) > MAX_REPLY_CHARACTERS:
            raise InputError(f"Enter a reply of 1 to {MAX_REPLY_CHARACTERS:,} characters.")
        sealed = self._seal.close(text, about=f"reply:{routed_id}")
        values = {"state": "answered", "reply": sealed, "replied_by": asker.user_id, "replied_at": now()}
        with writing(self._engine, self._path) as connection:
            if self._answerable(connection, routed_id, asker).state == "closed":
                raise DoesNotFit("This question has been closed. Ask it again to open a new one.")
            self._change(connection, routed_id, **values)
            return self._one(connection, routed_id, asker)

    def close(self, routed_id: str, asker: User) -> RoutedQuestion:
        with writing(self._engine, self._path) as connection:
            self._answerable(connection, routed_id, asker)
            self._change(connection, routed_id, state="closed")
            return self._one(connection, routed_id, asker)

    # -------------------------------------------------------------------------------------------------------- inside

    def _answerable(self, connection: Connection, routed_id: str, asker: User) -> RoutedQuestion:
        question = self._one(connection, routed_id, asker)
        if not asker.is_admin and not _is_owned(connection, routed_id, asker):
            raise NotFound(NO_SUCH_QUESTION)
        return question

    def _change(self, connection: Connection, routed_id: str, **values: Any) -> None:
        """Change an item, and seal it as it is then."""
        mine = routed.c.id == routed_id
        row = connection.execute(select(routed).where(mine)).one()
        reason = close_reason(self._seal, open_reason(self._seal, row), {**row._asdict(), **values})
        connection.execute(update(routed).where(mine).values(**values, reason=reason))

    def _one(self, connection: Connection, routed_id: str, asker: User) -> RoutedQuestion:
        query = select(routed).where(routed.c.id == routed_id, routed.c.tenant == asker.tenant)
        if not asker.is_admin:
            query = query.where(or_(_owned_by(asker), routed.c.asked_by == asker.user_id))
        row = connection.execute(query).first()
        if row is None:
            raise NotFound(NO_SUCH_QUESTION)
        return self._made(row, asker)

    def _asked_by(self, asker: User) -> ColumnElement[bool]:
        return and_(routed.c.tenant == asker.tenant, routed.c.asked_by == asker.user_id)

    def _page(
        self, query: Select[Any], asker: User, limit: int, cursor: Callable[[Row[Any]], str]
    ) -> HistoryPage[RoutedQuestion]:
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(query.limit(limit + 1)).all()
        return paging.page_of(rows, limit=limit, made=lambda row: self._shown(row, asker), cursor=cursor)

    def _shown(self, row: Row[Any], reader: User) -> RoutedQuestion:
        """An item in a list; one that was altered hides no other, and says so in the place of its words."""
        try:
            return self._made(row, reader)
        except (LibraryError, ValueError) as error:
            log.warning("inbox item %s cannot be opened: %s", logged(row.id), type(error).__name__)
            return self._with(row, reason=ALTERED, reply=None)

    def _made(self, row: Row[Any], reader: User) -> RoutedQuestion:
        """An item as one person reads it: only who asked is spoken to as “you”."""
        reason = open_reason(self._seal, row)
        reply = self._seal.open(row.reply, about=f"reply:{row.id}") if row.reply else None
        return self._with(row, reason=reason if row.asked_by == reader.user_id else told_to_others(reason), reply=reply)

    @staticmethod
    def _with(row: Row[Any], *, reason: str, reply: str | None) -> RoutedQuestion:
        return RoutedQuestion(
            id=row.id,
            answer_id=row.answer_id,
            asked_by=row.asked_by,
            tag=row.tag,
            owner_id=row.owner_id,
            reason=reason,
            fallback=row.is_fallback,
            state=row.state,
            reply=reply,
            replied_by=row.replied_by,
            made_at=row.made_at.replace(tzinfo=UTC),
            replied_at=row.replied_at.replace(tzinfo=UTC) if row.replied_at else None,
        )
