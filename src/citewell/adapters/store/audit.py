"""The audit log: every answer, sealed, each record chained to the one before it of the same tenant."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, delete, insert, select, update

from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.engine import reading
from citewell.adapters.store.row_mapping import hashed, now
from citewell.adapters.store.schema import answers, audit_heads, conversations, messages, routed
from citewell.adapters.store.sealed_answers import unbound
from citewell.answer.audit import quoted_words, without_words
from citewell.errors import LibraryError, NotFound
from citewell.history import AuditEntry, AuditHead, AuditRecord, KeptOutcome, Proof
from citewell.types import User
from citewell.types.hashed_ids import logged

HEAD_FILE = "audit.head"
ABOUT = "audit:heads"


class NoHeads:
    """Of a vault nothing lies beside its file: the sealed end in its own tables is all there is."""

    is_missing = False

    def of(self, _tenant: str) -> AuditHead | None:
        """Nothing was noted."""
        return None

    def note(self, tenant: str, head: AuditHead) -> None:
        """Nothing is noted."""


class AuditHeads:
    """Written after the commit, so it may be a record behind the log, never ahead of it.

    The file is made together with the key, empty at first, so that a missing one was always taken away.
    """

    def __init__(self, home: Path, seal: TextCipher) -> None:
        self._path, self._seal = home / HEAD_FILE, seal
        self._writing = threading.Lock()
        if seal.is_new:
            with suppress(OSError):
                self._write({})

    @property
    def is_missing(self) -> bool:
        """Whether the file was taken away; the next note makes a new one."""
        return not self._path.exists()

    def of(self, tenant: str) -> AuditHead | None:
        """The last head that was noted, or None where none was."""
        told = self._read().get(tenant)
        return None if told is None else AuditHead.read(told)

    def note(self, tenant: str, head: AuditHead) -> None:
        """Write the head down; a folder that cannot be written now is no reason to lose the answer."""
        with self._writing, suppress(OSError):
            told = self._known()
            before = told.get(tenant)
            if before is not None and AuditHead.read(before).count >= head.count:
                return
            told[tenant] = str(head)
            self._write(told)

    def _known(self) -> dict[str, str]:
        try:
            return self._read()
        except (LibraryError, ValueError):
            return {}  # damaged: `prove` has said so, and a new one begins

    def _read(self) -> dict[str, str]:
        if not self._path.exists():
            return {}
        found: dict[str, str] = json.loads(self._seal.open(self._path.read_bytes(), about=ABOUT))
        return found

    def _write(self, told: Mapping[str, str]) -> None:
        sealed = self._seal.close(json.dumps(told), about=ABOUT)
        draft = self._path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(sealed)
            os.fsync(file.fileno())
        draft.replace(self._path)


log = logging.getLogger(__name__)

ASKED_AT_ONCE = 500
"""Ids in one query."""

EMPTY = AuditHead(0, "0" * 64)
"""The end of a log without records."""


class SqlAudit:
    """Records in one table, their sealed end in another and, a moment later, in a file beside the library."""

    def __init__(self, engine: Engine, path: Path, seal: TextCipher, *, is_vault: bool = False) -> None:
        self._engine, self._path, self._seal = engine, path, seal
        self._heads = NoHeads() if is_vault else AuditHeads(path.parent, seal)

    def append(self, connection: Connection, ending: KeptOutcome) -> AuditHead:
        """Add a record inside a transaction; where the log ends now."""
        asker = ending.asker
        last = self._last(connection, asker.tenant)
        row = {
            "number": last.count + 1,
            "id": ending.answer_id,
            "tenant": asker.tenant,
            "user_id": asker.user_id,
            "made_at": now(),
            "question_hash": self._seal.fingerprint(ending.question),
            "record": self._seal.close(json.dumps(ending.words), about=f"answer:{ending.answer_id}"),
            "previous_hash": last.hash,
        }
        head = AuditHead(last.count + 1, _hash(row))
        connection.execute(insert(answers).values(**row, hash=head.hash))
        connection.execute(delete(audit_heads).where(audit_heads.c.tenant == asker.tenant))
        sealed = self._seal.close(str(head), about=_about(asker.tenant))
        connection.execute(insert(audit_heads).values(tenant=asker.tenant, head=sealed))
        return head

    def note(self, tenant: str, head: AuditHead) -> None:
        """Say beside the library how far a log has come that is committed."""
        self._heads.note(tenant, head)

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
        """One record with its words."""
        query = select(answers).where(_readable(asker), answers.c.id == answer_id)
        with reading(self._engine, self._path) as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound("Answer not found in the audit log. `citewell audit list` shows the IDs.")
        return self._opened(row)

    def records(self, answer_ids: Iterable[str], asker: User) -> dict[str, AuditRecord]:
        """Many records with their words, by answer id; those that are not there or cannot be opened are left out."""
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

    def verify_chain(self, tenant: str, *, known: AuditHead | None = None) -> Proof:
        """Walk a tenant's log from the first record to the last, then hold its end against what was said of it."""
        told: list[str] = []
        hashes = {0: EMPTY.hash}
        last = EMPTY
        query = select(answers).where(answers.c.tenant == tenant).order_by(answers.c.number)
        with reading(self._engine, self._path) as connection:
            for row in connection.execute(query).yield_per(200):
                told += self._wrong(row, last)
                last = AuditHead(row.number, row.hash)
                hashes[row.number] = row.hash
            told += self._wrong_end(connection, tenant, last)
            told += _orphans(connection, tenant)
            told += unbound(connection, tenant, self._seal)
        told += self._wrong_notes(tenant, hashes, known)
        return Proof(len(hashes) - 1, last, tuple(told))

    def _wrong(self, row: Row[Any], last: AuditHead) -> list[str]:
        """What is wrong with one record."""
        told = []
        if row.number != last.count + 1:
            told.append(f"before record {row.number}: {row.number - last.count - 1} missing")
        if row.previous_hash != last.hash:
            told.append(f"record {row.number}: it does not follow the record before it")
        if row.hash != _hash(row._asdict()):
            told.append(f"record {row.number}: it was altered")
        try:
            words = self._opened(row).words
        except LibraryError:
            return [*told, f"record {row.number}: its seal is broken"]
        if row.record_hash is not None and not words.get("erased"):
            told.append(f"record {row.number}: it was altered, and no erased document explains it")
        return told

    def _wrong_end(self, connection: Connection, tenant: str, last: AuditHead) -> list[str]:
        """Whether the log ends where its sealed head says."""
        try:
            head = self._head(connection, tenant) or EMPTY
        except (LibraryError, ValueError):
            return ["the sealed end of the log was altered"]
        if head == last:
            return []
        missing = head.count - last.count
        return [
            f"after record {last.count}: {missing} missing"
            if missing > 0
            else ("the log does not end where it was sealed")
        ]

    def _wrong_notes(self, tenant: str, hashes: Mapping[int, str], known: AuditHead | None) -> list[str]:
        """Whether the log still holds what was said of its end elsewhere."""
        try:
            noted = self._heads.of(tenant)
        except (LibraryError, ValueError):
            return [f"{HEAD_FILE} beside the library was altered"]
        told = [f"{HEAD_FILE} beside the library is missing"] if self._heads.is_missing else []
        for place, head in ((f"{HEAD_FILE} beside the library", noted), ("the head you gave", known)):
            if head is not None and hashes.get(head.count) != head.hash:
                told.append(
                    f"{place} says record {head.count} ended the log, but that record is no longer there as it was"
                )
        return told

    def _last(self, connection: Connection, tenant: str) -> AuditHead:
        """Where the next record goes: after the last row that is there, so that a damaged end stays visible."""
        query = select(answers.c.number, answers.c.hash).where(answers.c.tenant == tenant)
        row = connection.execute(query.order_by(answers.c.number.desc()).limit(1)).first()
        sealed = self._head(connection, tenant)
        if sealed is not None and (row is None or row.number < sealed.count):
            return sealed  # the end was cut off: going on from the sealed head keeps the gap in sight
        return EMPTY if row is None else AuditHead(row.number, row.hash)

    def _head(self, connection: Connection, tenant: str) -> AuditHead | None:
        sealed = connection.execute(select(audit_heads.c.head).where(audit_heads.c.tenant == tenant)).scalar()
        return None if sealed is None else AuditHead.read(self._seal.open(sealed, about=_about(tenant)))


def _about(tenant: str) -> str:
    return f"audit:{tenant}"


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
