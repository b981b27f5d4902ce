"""A log of which nothing can be taken or changed unseen: each record covers the one before it, and its end is sealed.

The log of answers and the trail of access are two such chains. Where each ends stands in a table, and a moment later in
`audit.head` beside the library, which also keeps every end that was seen once and holds no more.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, Table, delete, insert, select

from citewell.adapters.store.encryption import KEY_FILE, TextCipher
from citewell.adapters.store.engine import reading
from citewell.errors import LibraryError
from citewell.history import AuditHead

HEAD_FILE = "audit.head"
ABOUT = "audit:heads"
EMPTY = AuditHead(0, "0" * 64)
"""The end of a log without records."""
MAX_BROKEN = 1_000
"""So many ends that hold no more are kept; one is enough to tell."""

Anchor = Callable[[str, str, AuditHead], None]
"""Tells the end of a log outside: the log's name, the tenant, how many records and the hash of the last."""


@dataclass(frozen=True, slots=True)
class NotedHeads:
    """What is noted of a log beside the library: its end, and what was seen once and was not there any more."""

    head: AuditHead | None = None
    broken: tuple[AuditHead, ...] = ()
    lost: tuple[int, ...] = ()
    """With which records the note was begun anew, since it was missing or damaged."""


class NoHeads:
    """Of a vault nothing lies beside its file: the sealed end in its own tables is all there is."""

    is_missing = False

    def of(self, _log: str) -> NotedHeads:
        """Nothing was noted."""
        return NotedHeads()

    def note(self, log: str, head: AuditHead, holds: Callable[[AuditHead], bool]) -> None:
        """Nothing is noted."""

    def accept(self, log: str, head: AuditHead) -> None:
        """Nothing was noted that could be accepted."""


class AuditHeads:
    """Written after the commit, so it may be a record behind the log, never ahead of it.

    The file is made together with the key, empty at first, so that a missing one was always taken away.
    """

    def __init__(self, home: Path, seal: TextCipher) -> None:
        self._home, self._path, self._seal = home, home / HEAD_FILE, seal
        self._writing = threading.Lock()
        if seal.is_new and not self._path.exists():
            with suppress(OSError):
                self._write({})

    @property
    def is_missing(self) -> bool:
        """Whether the file was taken away; the next note makes a new one and says so in it."""
        return not self._path.exists()

    def of(self, log: str) -> NotedHeads:
        """What is noted of a log; LibraryError or ValueError where the file was damaged."""
        return _noted(self._read(), log)

    def note(self, log: str, head: AuditHead, holds: Callable[[AuditHead], bool]) -> None:
        """Write the head down; a folder that cannot be written now is no reason to lose the record.

        What was noted before has to hold still: where it does not, the log was set back, and that is kept for good.
        """
        with suppress(OSError), self._alone():
            told, is_new = self._known()
            before = _noted(told, log)
            broken = before.head is not None and not holds(before.head)
            if not broken and not is_new and before.head is not None and before.head.count >= head.count:
                return
            told[log] = str(head)
            if broken and len(before.broken) < MAX_BROKEN:
                told[f"{log}\nbroken"] = " ".join(map(str, (*before.broken, before.head)))
            if is_new:
                told[f"{log}\nlost"] = " ".join(map(str, (*before.lost, head.count)))
            self._write(told)

    def accept(self, log: str, head: AuditHead) -> None:
        """Begin anew with this end: somebody has looked at what was told, and says that it is right."""
        with self._alone():
            told, _ = self._known()
            for name in (f"{log}\nbroken", f"{log}\nlost"):
                told.pop(name, None)
            told[log] = str(head)
            self._write(told)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread or process reads the file and writes it in between."""
        with self._writing, (self._home / KEY_FILE).open("rb") as key:
            fcntl.flock(key, fcntl.LOCK_EX)
            yield

    def _known(self) -> tuple[dict[str, str], bool]:
        """What the file holds, and whether a new one has to begin."""
        try:
            return self._read(), self.is_missing
        except (LibraryError, ValueError):
            return {}, True  # damaged: this is kept in the new one

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


def _noted(told: Mapping[str, str], log: str) -> NotedHeads:
    head = told.get(log)
    broken, lost = (told.get(f"{log}\n{name}", "").split() for name in ("broken", "lost"))
    return NotedHeads(
        None if head is None else AuditHead.read(head),
        tuple(map(AuditHead.read, broken)),
        tuple(map(int, lost)),
    )


class HashChain:
    """Numbers, links and proves the records of one table, each tenant's for itself."""

    def __init__(
        self,
        engine: Engine,
        path: Path,
        seal: TextCipher,
        *,
        records: Table,
        heads: Table,
        name: str,
        hash_of: Callable[[Mapping[str, Any]], str],
        is_vault: bool = False,
        anchor: Anchor | None = None,
    ) -> None:
        self._engine, self._path, self._seal = engine, path, seal
        self._records, self._ends, self._name, self._hash_of = records, heads, name, hash_of
        self._notes = NoHeads() if is_vault else AuditHeads(path.parent, seal)
        self._anchor = anchor

    def append(
        self, connection: Connection, rows: Sequence[Mapping[str, Any]]
    ) -> tuple[AuditHead, list[dict[str, Any]]]:
        """Add rows of one tenant inside a transaction; where its log ends now, and the rows as they are linked."""
        tenant = rows[0]["tenant"]
        head = self._last(connection, tenant)
        linked = []
        for row in rows:
            values = {**row, "number": head.count + 1, "previous_hash": head.hash}
            head = AuditHead(head.count + 1, self._hash_of(values))
            linked.append({**values, "hash": head.hash})
        connection.execute(insert(self._records), linked)
        connection.execute(delete(self._ends).where(self._ends.c.tenant == tenant))
        sealed = self._seal.close(str(head), about=self._about(tenant))
        connection.execute(insert(self._ends).values(tenant=tenant, head=sealed))
        return head, linked

    def note(self, tenant: str, head: AuditHead) -> None:
        """Say beside the library, and outside where somebody listens, how far a log has come that is committed."""
        self._notes.note(self._log(tenant), head, lambda before: self._holds(tenant, before))
        if self._anchor is not None:
            self._anchor(self._name, tenant, head)

    def accept(self, tenant: str) -> AuditHead:
        """Take the log as it stands for what it has to be from now on."""
        with reading(self._engine, self._path) as connection:
            head = self._last(connection, tenant)
        self._notes.accept(self._log(tenant), head)
        return head

    def links(self, rows: Iterable[Row[Any]]) -> Iterator[tuple[Row[Any], list[str]]]:
        """Each record of one tenant from the first to the last, with what is wrong with its place in the chain."""
        last = EMPTY
        for row in rows:
            told = []
            if row.number != last.count + 1:
                told.append(f"before record {row.number}: {row.number - last.count - 1} missing")
            if row.previous_hash != last.hash:
                told.append(f"record {row.number}: it does not follow the record before it")
            if row.hash != self._hash_of(row._asdict()):
                told.append(f"record {row.number}: it was altered")
            last = AuditHead(row.number, row.hash)
            yield row, told

    def wrong_end(self, connection: Connection, tenant: str, last: AuditHead) -> list[str]:
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
            else "the log does not end where it was sealed"
        ]

    def wrong_notes(self, tenant: str, hashes: Mapping[int, str], known: Iterable[AuditHead]) -> list[str]:
        """Whether the log still holds what was said of its end elsewhere, now or at any time before."""
        beside = f"{HEAD_FILE} beside the library"
        try:
            noted = self._notes.of(self._log(tenant))
        except (LibraryError, ValueError):
            return [f"{beside} was altered"]
        told = [f"{beside} is missing"] if self._notes.is_missing else []
        told += [f"{beside} was missing or damaged when record {count} was added" for count in noted.lost]
        told += [
            f"record {head.count} was replaced after it had been noted in {beside}: the log was set back and grew again"
            for head in noted.broken
        ]
        heads = [(beside, noted.head), *(("the head you gave", head) for head in known)]
        told += [
            f"{place} says record {head.count} ended the log, but that record is no longer there as it was"
            for place, head in heads
            if head is not None and hashes.get(head.count) != head.hash
        ]
        return told

    def _holds(self, tenant: str, head: AuditHead) -> bool:
        """Whether the log has this record still as it was."""
        if head.count == 0:
            return True
        columns = self._records.c
        query = select(columns.hash).where(columns.tenant == tenant, columns.number == head.count)
        with reading(self._engine, self._path) as connection:
            return connection.execute(query).scalar() == head.hash

    def _last(self, connection: Connection, tenant: str) -> AuditHead:
        """Where the next record goes: after the last row that is there, so that a damaged end stays visible."""
        columns = self._records.c
        query = select(columns.number, columns.hash).where(columns.tenant == tenant)
        row = connection.execute(query.order_by(columns.number.desc()).limit(1)).first()
        sealed = self._head(connection, tenant)
        if sealed is not None and (row is None or row.number < sealed.count):
            return sealed  # the end was cut off: going on from the sealed head keeps the gap in sight
        return EMPTY if row is None else AuditHead(row.number, row.hash)

    def _head(self, connection: Connection, tenant: str) -> AuditHead | None:
        sealed = connection.execute(select(self._ends.c.head).where(self._ends.c.tenant == tenant)).scalar()
        return None if sealed is None else AuditHead.read(self._seal.open(sealed, about=self._about(tenant)))

    def _log(self, tenant: str) -> str:
        """The name of a tenant's log in the file beside the library; that of the answers is as it always was."""
        return tenant if self._name == "answers" else f"{tenant}\n{self._name}"

    def _about(self, tenant: str) -> str:
        return f"audit:{tenant}" if self._name == "answers" else f"{self._name}:{tenant}"
