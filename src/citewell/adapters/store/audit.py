"""The audit log: every answer, sealed, each record chained to the one before it of the same tenant."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, and_, select, update

from citewell.adapters.store.chain import EMPTY, Anchor, HashChain
from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.engine import reading
from citewell.adapters.store.row_mapping import hashed, now
from citewell.adapters.store.schema import answers, audit_heads, conversations, messages, routed
from citewell.adapters.store.sealed_answers import unbound
from citewell.answer.audit import is_about, quoted_words, without_person, without_words
from citewell.errors import LibraryError, NotFound
from citewell.history import AuditEntry, AuditHead, AuditRecord, KeptOutcome, Proof
from citewell.types import User
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)

ASKED_AT_ONCE = 500
"""Ids in one query."""


class SqlAudit:
    """Records in one table, their sealed end in another and, a moment later, in a file beside the library."""

    def __init__(
        self, engine: Engine, path: Path, seal: TextCipher, *, is_vault: bool = False, anchor: Anchor | None = None
    ) -> None:
        self._engine, self._path, self._seal = engine, path, seal
        self.chain = HashChain(
            engine,
            path,
            seal,
            records=answers,
            heads=audit_heads,
            name="answers",
            hash_of=_hash,
            is_vault=is_vault,
            anchor=anchor,
        )

    def append(self, connection: Connection, ending: KeptOutcome) -> AuditHead:
        """Add a record inside a transaction; where the log ends now."""
        asker = ending.asker
        row = {
            "id": ending.answer_id,
            "tenant": asker.tenant,
            "user_id": asker.user_id,
            "made_at": now(),
            "question_hash": self._seal.fingerprint(ending.question),
            "record": self._seal.close(json.dumps(ending.words), about=f"answer:{ending.answer_id}"),
        }
        return self.chain.append(connection, [row])[0]

    def note(self, tenant: str, head: AuditHead) -> None:
        """Say beside the library how far a log has come that is committed."""
        self.chain.note(tenant, head)

    def entries(
        self, asker: User, *, limit: int = 100, starting: str = "", before: int | None = None
    ) -> list[AuditEntry]:
        """The newest, or those before a number: all of the tenant for an administrator, else the asker's own."""
        query = select(answers).where(_readable(asker))
        if starting:
            query = query.where(answers.c.id.startswith(starting.lower(), autoescape=True))
        if before is not None:
            query = query.where(answers.c.number < before)
        with reading(self._engine, self._path) as connection:
            return [_entry(row) for row in connection.execute(query.order_by(answers.c.number.desc()).limit(limit))]

    def read(self, answer_id: str, asker: User) -> AuditRecord:
        query = select(answers).where(_readable(asker), answers.c.id == answer_id)
        with reading(self._engine, self._path) as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound("Answer not found in the audit log. `citewell audit list` shows the IDs.")
        return self._opened(row)

    def records(self, answer_ids: Iterable[str], asker: User) -> dict[str, AuditRecord]:
        found, wanted = {}, list(dict.fromkeys(answer_ids))
        with reading(self._engine, self._path) as connection:
            for first in range(0, len(wanted), ASKED_AT_ONCE):
                some = answers.c.id.in_(wanted[first : first + ASKED_AT_ONCE])
                for row in connection.execute(select(answers).where(_readable(asker), some)):
                    try:
                        found[row.id] = self._opened(row)
                    except LibraryError as error:
                        log.warning("answer %s cannot be opened: %s", logged(row.id), type(error).__name__)
        return found

    def _opened(self, row: Row[Any]) -> AuditRecord:
        return AuditRecord(_entry(row), json.loads(self._seal.open(row.record, about=f"answer:{row.id}")))

    def erase(self, connection: Connection, tenant: str, document_ids: Collection[str]) -> dict[str, str]:
        """Take the words of erased documents out of a tenant's records inside a transaction; the words that are gone.

        The chain stays whole: a record that was changed keeps the hash that it was written under.
        """
        gone: dict[str, str] = {}
        changed: list[dict[str, Any]] = []
        query = select(answers).where(answers.c.tenant == tenant).order_by(answers.c.number)
        for row in connection.execute(query).yield_per(200):
            try:
                words = self._opened(row).words
            except LibraryError:
                continue  # `prove` tells of it; nothing can be read out of it either
            gone |= quoted_words(words, document_ids)
            longest_first = {text: gone[text] for text in sorted(gone, key=len, reverse=True)}
            cleaned = without_words(words, longest_first, fingerprint=self._seal.fingerprint, document_ids=document_ids)
            if cleaned is not None:
                record = self._seal.close(json.dumps(cleaned), about=f"answer:{row.id}")
                before = row.record_hash or hashed(row.record)
                changed.append({"number": row.number, "record": record, "record_hash": before})
        for entry in changed:
            mine = and_(answers.c.tenant == tenant, answers.c.number == entry.pop("number"))
            connection.execute(update(answers).where(mine).values(**entry))
        return {text: gone[text] for text in sorted(gone, key=len, reverse=True)}

    def about(self, person: str, *, tenant: str) -> list[AuditRecord]:
        """The questions asked about a person and the assessments of this patient, oldest first."""
        query = select(answers).where(answers.c.tenant == tenant).order_by(answers.c.number)
        with reading(self._engine, self._path) as connection:
            return [record for _, record in self._about(connection, query, person)]

    def erase_person(self, connection: Connection, tenant: str, person: str) -> list[str]:
        """Take all words out of the records about a person inside a transaction; the ids of these answers."""
        query = select(answers).where(answers.c.tenant == tenant).order_by(answers.c.number)
        found = list(self._about(connection, query, person))
        for row, record in found:
            emptied = without_person(record.words, fingerprint=self._seal.fingerprint)
            sealed = self._seal.close(json.dumps(emptied), about=f"answer:{row.id}")
            mine = and_(answers.c.tenant == tenant, answers.c.number == row.number)
            kept = {"record": sealed, "record_hash": row.record_hash or hashed(row.record)}
            connection.execute(update(answers).where(mine).values(**kept))
        return [row.id for row, _ in found]

    def _about(self, connection: Connection, query: Select[Any], person: str) -> Iterator[tuple[Row[Any], AuditRecord]]:
        for row in connection.execute(query).all():
            try:
                record = self._opened(row)
            except LibraryError:
                continue  # `verify_chain` tells of it
            if is_about(record.words, person):
                yield row, record

    def verify_chain(self, tenant: str, *, known: Iterable[AuditHead] = ()) -> Proof:
        """Walk a tenant's log from the first record to the last, then hold its end against what was said of it."""
        told: list[str] = []
        hashes, last = {0: EMPTY.hash}, EMPTY
        query = select(answers).where(answers.c.tenant == tenant).order_by(answers.c.number)
        with reading(self._engine, self._path) as connection:
            for row, wrong in self.chain.links(connection.execute(query).yield_per(200)):
                told += [*wrong, *self._wrong_words(row)]
                last = AuditHead(row.number, row.hash)
                hashes[row.number] = row.hash
            told += self.chain.wrong_end(connection, tenant, last)
            told += _orphans(connection, tenant)
            told += unbound(connection, tenant, self._seal)
        told += self.chain.wrong_notes(tenant, hashes, known)
        return Proof(len(hashes) - 1, last, tuple(told))

    def _wrong_words(self, row: Row[Any]) -> list[str]:
        """What is wrong with the words of one record."""
        try:
            words = self._opened(row).words
        except LibraryError:
            return [f"record {row.number}: its seal is broken"]
        if row.record_hash is not None and not words.get("erased"):
            return [f"record {row.number}: it was altered, and no erased document explains it"]
        return []


def _orphans(connection: Connection, tenant: str) -> list[str]:
    """Inbox items and turns that speak of answers which the log does not have."""
    known = select(answers.c.id).where(answers.c.tenant == tenant)
    items = select(routed.c.answer_id).where(routed.c.tenant == tenant, routed.c.answer_id.not_in(known))
    told = [f"the inbox has answer {lost}, which is not in the log" for lost in connection.execute(items).scalars()]
    turns = (
        select(messages.c.answer_id)
        .join(conversations)
        .where(conversations.c.tenant == tenant, messages.c.answer_id.is_not(None), messages.c.answer_id.not_in(known))
    )
    if connection.execute(turns.limit(1)).first() is not None:
        told.append("a conversation has an answer that is not in the log")
    return told


def _readable(asker: User) -> ColumnElement[bool]:
    """All of the tenant for an administrator, else what the asker asked."""
    mine = answers.c.tenant == asker.tenant
    return mine if asker.is_admin else and_(mine, answers.c.user_id == asker.user_id)


def _entry(row: Row[Any]) -> AuditEntry:
    made_at = row.made_at.replace(tzinfo=UTC)
    return AuditEntry(row.number, row.id, row.user_id, made_at, row.question_hash, row.hash)


def _hash(row: Mapping[str, Any]) -> str:
    """The hash of a record and of all that came before it."""
    fields = ("previous_hash", "number", "id", "tenant", "user_id", "question_hash")
    record_hash = row.get("record_hash") or hashed(row["record"])
    told = [*(row[field] for field in fields), row["made_at"].isoformat(), record_hash]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
