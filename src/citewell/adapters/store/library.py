"""The library in SQL: every change is one transaction, and every read is scoped."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from citewell.adapters.store import rows
from citewell.adapters.store.access import PUBLIC, visible
from citewell.adapters.store.engine import open_engine, reading, writing
from citewell.adapters.store.schema import chunks, documents, generations, originals
from citewell.adapters.store.schema import library as facts
from citewell.adapters.store.shelf import SqlShelf
from citewell.adapters.store.verify import verify
from citewell.errors import EmbedderMismatch, NotFound, ScopeRefused
from citewell.ports import Claim, Reading, Verification
from citewell.types import EVERY, Chunk, Chunking, Document, Entry, Filing, Scope, Source, State

LEASE = timedelta(minutes=5)
"""How long a worker may be silent before its document is taken from it."""
MAX_ATTEMPTS = 3
GIVEN_UP = "Reading it stopped the program several times. Convert it to another format, or split it, and add that."
PUBLIC_ONLY = frozenset({PUBLIC})
NEVER_READ = (State.PENDING, State.QUEUED, State.PROCESSING, State.FAILED)
NO_SUCH_DOCUMENT = "There is no such document here. `citewell list` shows the ids."


class SqlLibrary(SqlShelf):
    """Documents, versions and generations in one SQLite file."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_engine(path), path)

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    # ----------------------------------------------------------------------------------------------------- adding

    def same(self, source: Source, *, subject: str | None, scope: Scope) -> Entry | None:
        """The current document with the same bytes, if there is one."""
        with reading(self.engine, self.path) as connection:
            return self._same(connection, source, subject, scope)

    @staticmethod
    def _same(connection: Connection, source: Source, subject: str | None, scope: Scope) -> Entry | None:
        query = rows.ENTRY.where(
            visible(scope),
            documents.c.content_hash == rows.hashed(source.data),
            documents.c.subject.is_(None) if subject is None else documents.c.subject == subject,
            documents.c.is_current,
            documents.c.state == State.COMPLETED.value,
        )
        found = rows.entries_of(connection, connection.execute(query).all())
        return found[0] if found else None

    def add(self, source: Source, reading: Reading, *, filing: Filing, scope: Scope) -> Entry:
        """Store a document and make it current, superseding what it replaces, in one transaction."""
        with writing(self.engine, self.path) as connection:
            same = None if filing.replaces else self._same(connection, source, filing.subject, scope)
            if same is not None:  # another process was quicker
                return same
            title = filing.title or reading.document.title
            document_id = self._insert(connection, source, filing, scope, title)
            self._make_current(connection, document_id, reading, filing.title)
            return self._entry(connection, document_id)

    def enqueue(self, source: Source, *, filing: Filing, scope: Scope) -> Entry:
        """Keep the bytes of a document that a worker will read."""
        with writing(self.engine, self.path) as connection:
            document_id = self._insert(connection, source, filing, scope, filing.title)
            return self._entry(connection, document_id)

    def _insert(self, connection: Connection, source: Source, filing: Filing, scope: Scope, title: str | None) -> str:
        """A queued row that is not current yet, with its bytes and filing."""
        _refuse_illegal(filing)
        document_id = str(uuid.uuid4())
        content_hash = rows.hashed(source.data)
        before = self._replaced(connection, source, filing, scope, title)
        connection.execute(
            insert(documents).values(
                id=document_id,
                tenant=scope.tenant,
                lineage=before.lineage if before else document_id,
                version=self._next_version(connection, before.lineage) if before else 1,
                is_current=False,
                state=State.QUEUED.value,
                name=source.name,
                title=title or source.name,
                media_type="",
                content_hash=content_hash,
                size_bytes=len(source.data),
                subject=filing.subject if before is None or filing.subject is not None else before.subject,
                page_count=0,
                identifiers=[],
                notes=[],
                added_at=rows.now(),
                added_by=filing.added_by,
                **rows.chunking_columns(filing.chunking),
            )
        )
        kept = and_(originals.c.tenant == scope.tenant, originals.c.content_hash == content_hash)
        if connection.execute(select(originals.c.tenant).where(kept)).first() is None:
            row = {"tenant": scope.tenant, "content_hash": content_hash, "data": source.data}
            connection.execute(insert(originals).values(row))
        rows.replace_filing(connection, document_id, self._inherited(connection, filing, before))
        return document_id

    @staticmethod
    def _inherited(connection: Connection, filing: Filing, before: Any) -> Filing:
        """The filing, what was not said taken from the version before: nothing restricted becomes public."""
        if before is None:
            return replace(filing, tags=filing.tags or PUBLIC_ONLY, journeys=filing.journeys or frozenset())
        (entry,) = rows.entries_of(connection, connection.execute(rows.ENTRY.where(documents.c.id == before.id)).all())
        return replace(
            filing,
            tags=frozenset(entry.tags) if filing.tags is None else filing.tags,
            journeys=frozenset(entry.journeys) if filing.journeys is None else filing.journeys,
        )

    def _replaced(self, connection: Connection, source: Source, filing: Filing, scope: Scope, title: str | None) -> Any:
        """The current row that this document is the next version of.

        Said by the caller, or the same name and title: never guessed for a person's own papers, where two letters
        may well be called alike.
        """
        if filing.replaces is not None:
            query = select(documents).where(documents.c.id == filing.replaces, visible(scope))
            if (row := connection.execute(query).first()) is None:
                raise NotFound(NO_SUCH_DOCUMENT)
            return row
        if filing.subject is not None or title is None:
            return None
        return self._alike(connection, scope.tenant, source.name, title)

    @staticmethod
    def _alike(connection: Connection, tenant: str, name: str, title: str) -> Any:
        """The current document of this name and title that is about no person."""
        alike = and_(
            documents.c.tenant == tenant,
            documents.c.subject.is_(None),
            documents.c.is_current,
            documents.c.name == name,
            documents.c.title == title,
        )
        return connection.execute(select(documents).where(alike)).first()

    def _late_lineage(self, connection: Connection, row: Any, title: str) -> dict[str, Any]:
        """The lineage of a queued document whose title is known only now that it is read."""
        if row.subject is not None or row.version > 1:
            return {}
        before = self._alike(connection, row.tenant, row.name, title)
        if before is None:
            return {}
        return {"lineage": before.lineage, "version": self._next_version(connection, before.lineage)}

    @staticmethod
    def _next_version(connection: Connection, lineage: str) -> int:
        query = select(func.max(documents.c.version)).where(documents.c.lineage == lineage)
        return int(connection.execute(query).scalar_one()) + 1

    def _make_current(self, connection: Connection, document_id: str, reading: Reading, title: str | None) -> None:
        """Write the generation, then flip: this version answers from now on, the last one no more."""
        self._check_embedder(connection, reading.embedder)
        generation = rows.insert_generation(connection, document_id, reading)
        row = connection.execute(select(documents).where(documents.c.id == document_id)).one()
        older = and_(documents.c.lineage == row.lineage, documents.c.id != document_id, documents.c.is_current)
        stamp = self._touch(connection)
        retired = {"is_current": False, "state": State.SUPERSEDED.value, "current_until": stamp}
        connection.execute(update(documents).where(older).values(**retired))
        columns = rows.read_columns(reading, title)
        columns |= {"generation": generation, "is_current": True, "current_from": stamp}
        connection.execute(update(documents).where(documents.c.id == document_id).values(**columns))

    def _check_embedder(self, connection: Connection, fingerprint: str) -> None:
        known = self._fact(connection, "embedder")
        if known is None:
            connection.execute(insert(facts).values(key="embedder", value=fingerprint))
        elif known != fingerprint:
            raise EmbedderMismatch(
                f"This library's vectors were made by {known}, not by {fingerprint}. "
                "Run `citewell reindex` to embed all of it again, or set the embedder back."
            )

    # ---------------------------------------------------------------------------------------------------- a worker

    def claim(self, worker: str) -> Claim | None:
        """Take the oldest queued document, of any tenant, for processing."""
        with writing(self.engine, self.path) as connection:
            oldest = (
                select(documents, originals.c.data)
                .join(
                    originals,
                    and_(
                        originals.c.tenant == documents.c.tenant,
                        originals.c.content_hash == documents.c.content_hash,
                    ),
                )
                .where(documents.c.state == State.QUEUED.value)
                .order_by(documents.c.added_at, documents.c.id)
                .limit(1)
            )
            row = connection.execute(oldest).first()
            if row is None:
                return None
            values = {"state": State.PROCESSING.value, "claimed_by": worker, "claimed_until": rows.now() + LEASE}
            values["attempts"] = row.attempts + 1
            connection.execute(update(documents).where(documents.c.id == row.id).values(**values))
            return Claim(row.id, row.tenant, Source(row.data, row.name), rows.chunking_of(row))

    def renew(self, document_id: str, worker: str) -> bool:
        """Say that the work goes on; whether it is still this worker's."""
        with writing(self.engine, self.path) as connection:
            values = {"claimed_until": rows.now() + LEASE}
            return (
                connection.execute(update(documents).where(_held(document_id, worker)).values(**values)).rowcount == 1
            )

    def complete(self, document_id: str, reading: Reading, worker: str) -> Entry | None:
        """Make a claimed document current; None when it was deleted or taken over meanwhile."""
        with writing(self.engine, self.path) as connection:
            row = connection.execute(select(documents).where(_held(document_id, worker))).first()
            if row is None:
                return None
            title = None if row.title == row.name else row.title
            lineage = self._late_lineage(connection, row, title or reading.document.title)
            connection.execute(
                update(documents).where(documents.c.id == document_id).values(claimed_by=None, **lineage)
            )
            self._make_current(connection, document_id, reading, title)
            return self._entry(connection, document_id)

    def fail(self, document_id: str, error: str, worker: str) -> None:
        """Record why a claimed document could not be read."""
        with writing(self.engine, self.path) as connection:
            columns = {"state": State.FAILED.value, "error": error, "processed_at": rows.now(), "claimed_by": None}
            connection.execute(update(documents).where(_held(document_id, worker)).values(**columns))

    def put_back(self, document_id: str, worker: str) -> None:
        """Return a document to the queue as if it had not been taken: the worker was told to stop."""
        values = {"state": State.QUEUED.value, "claimed_by": None, "claimed_until": None}
        with writing(self.engine, self.path) as connection:
            mine = update(documents).where(_held(document_id, worker))
            connection.execute(mine.values(attempts=documents.c.attempts - 1, **values))

    def release(self, workers: Sequence[str]) -> int:
        """Queue again what these workers held, and what any worker held for too long; says how many."""
        held = or_(documents.c.claimed_by.in_(workers), documents.c.claimed_until < rows.now())
        stuck = and_(documents.c.state == State.PROCESSING.value, or_(held, documents.c.claimed_by.is_(None)))
        free = {"claimed_by": None, "claimed_until": None}
        spent = and_(stuck, documents.c.attempts >= MAX_ATTEMPTS)
        with writing(self.engine, self.path) as connection:
            given_up = update(documents).where(spent).values(state=State.FAILED.value, error=GIVEN_UP, **free)
            connection.execute(given_up)
            return connection.execute(update(documents).where(stuck).values(state=State.QUEUED.value, **free)).rowcount

    def claimants(self) -> list[str]:
        """The workers that hold documents now."""
        query = select(documents.c.claimed_by).where(documents.c.claimed_by.is_not(None)).distinct()
        with reading(self.engine, self.path) as connection:
            return [str(name) for name in connection.execute(query).scalars()]

    # ---------------------------------------------------------------------------------------------------- reading

    def entries(self, scope: Scope) -> list[Entry]:
        """Every document version in scope, newest first."""
        query = rows.ENTRY.where(visible(scope)).order_by(documents.c.added_at.desc(), documents.c.id)
        with reading(self.engine, self.path) as connection:
            return rows.entries_of(connection, connection.execute(query).all())

    def entry(self, document_id: str, scope: Scope) -> Entry:
        """One document version."""
        with reading(self.engine, self.path) as connection:
            return self._entry(connection, document_id, scope)

    def opened(self, document_id: str, scope: Scope) -> tuple[Entry, Document, tuple[Chunk, ...]]:
        """A document version with its text, structure and passages."""
        with reading(self.engine, self.path) as connection:
            entry = self._entry(connection, document_id, scope)
            query = select(documents, generations).join(generations, generations.c.id == documents.c.generation)
            row = connection.execute(query.where(documents.c.id == document_id)).first()
            if row is None:
                raise NotFound(f"This document has no text: it is {entry.state}. {entry.error or ''}".strip())
            mine = select(chunks).where(chunks.c.generation == row.generation).order_by(chunks.c.chunk_index)
            return entry, rows.document_of(row), rows.chunks_of(connection.execute(mine))

    def original(self, document_id: str, scope: Scope) -> Source:
        """The bytes as they came."""
        query = (
            select(documents.c.name, originals.c.data)
            .join(originals, originals.c.content_hash == documents.c.content_hash)
            .where(originals.c.tenant == documents.c.tenant, documents.c.id == document_id, visible(scope))
        )
        with reading(self.engine, self.path) as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound(NO_SUCH_DOCUMENT)
        return Source(row.data, row.name)

    def _entry(self, connection: Connection, document_id: str, scope: Scope | None = None) -> Entry:
        query = rows.ENTRY.where(documents.c.id == document_id)
        found = connection.execute(query.where(visible(scope)) if scope else query).all()
        if not found:
            raise NotFound(NO_SUCH_DOCUMENT)
        return rows.entries_of(connection, found)[0]

    # --------------------------------------------------------------------------------------------------- changing

    def refile(self, document_id: str, *, filing: Filing, scope: Scope) -> Entry:
        """Change tags and journeys; no vector is touched."""
        _refuse_illegal(filing)
        with writing(self.engine, self.path) as connection:
            self._entry(connection, document_id, scope)
            rows.replace_filing(connection, document_id, filing)
            self._touch(connection)
            return self._entry(connection, document_id)

    def erase(self, document_id: str, scope: Scope) -> list[Entry]:
        """Remove all versions of a document for good; says which they were."""
        with writing(self.engine, self.path) as connection:
            entry = self._entry(connection, document_id, scope)
            family = and_(documents.c.lineage == entry.lineage, documents.c.tenant == scope.tenant)
            if entry.state in NEVER_READ:  # an attempt that came to nothing goes alone
                family = and_(family, documents.c.id == document_id)
            gone = rows.entries_of(connection, connection.execute(rows.ENTRY.where(family)).all())
            connection.execute(delete(documents).where(family))
            used = select(documents.c.content_hash).where(documents.c.tenant == scope.tenant)
            hashes = [entry.content_hash for entry in gone]
            unused = and_(originals.c.content_hash.in_(hashes), originals.c.content_hash.not_in(used))
            connection.execute(delete(originals).where(originals.c.tenant == scope.tenant, unused))
            self._touch(connection)
        self._checkpoint()
        return gone

    def _checkpoint(self) -> None:
        """Move erased pages out of the write-ahead log too."""
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    # ------------------------------------------------------------------------------------------- another embedder

    def readings(self, embedder: str) -> Iterator[tuple[str, Document, Chunking | None]]:
        """Documents not embedded anew yet since a reindex began: id, content and how to cut it.

        The beginning is kept until the switch, so that a reindex that was stopped goes on where it was.
        """
        query = select(documents, generations).join(generations, generations.c.id == documents.c.generation)
        with writing(self.engine, self.path) as connection:
            begun = self._begun(connection)
            ids = connection.execute(select(documents.c.id).where(_stale(embedder, begun))).scalars().all()
        for document_id in ids:
            with reading(self.engine, self.path) as connection:
                row = connection.execute(query.where(documents.c.id == document_id)).first()
            if row is not None:
                yield document_id, rows.document_of(row), rows.chunking_of(row)

    def regenerate(self, document_id: str, reading: Reading) -> None:
        """Store another generation beside the one in use."""
        with writing(self.engine, self.path) as connection:
            rows.insert_generation(connection, document_id, reading)

    def _begun(self, connection: Connection) -> int:
        """The last generation before the reindex that is under way, or that begins now."""
        known = self._fact(connection, "reindex_after")
        if known is None:
            newest = connection.execute(select(func.max(generations.c.id))).scalar() or 0
            connection.execute(insert(facts).values(key="reindex_after", value=str(newest)))
            return int(newest)
        return int(known)

    def switch(self, embedder: str) -> int | None:
        """Put the generations of this embedder in use, all at once, and drop the others; says how many.

        None when a document came meanwhile that has none yet: nothing is switched.
        """
        newest = (
            select(func.max(generations.c.id))
            .where(generations.c.document_id == documents.c.id, generations.c.embedder == embedder)
            .scalar_subquery()
        )
        with writing(self.engine, self.path) as connection:
            if connection.execute(select(documents.c.id).where(_stale(embedder, self._begun(connection)))).first():
                return None
            flip = update(documents).where(documents.c.generation.is_not(None)).values(generation=newest)
            count = connection.execute(flip).rowcount
            used = select(documents.c.generation).where(documents.c.generation.is_not(None))
            connection.execute(delete(generations).where(generations.c.id.not_in(used)))
            connection.execute(delete(facts).where(facts.c.key.in_(["embedder", "reindex_after"])))
            connection.execute(insert(facts).values(key="embedder", value=embedder))
            self._touch(connection)
            return count

    def verify(self) -> Verification:
        """Prove that text, chunks, sentences, postings and vectors agree."""
        with reading(self.engine, self.path) as connection:
            return verify(connection, self._fact(connection, "embedder"))


def _held(document_id: str, worker: str) -> ColumnElement[bool]:
    """The document, while this worker holds it."""
    return and_(
        documents.c.id == document_id,
        documents.c.state == State.PROCESSING.value,
        documents.c.claimed_by == worker,
    )


def _stale(embedder: str, begun: int) -> ColumnElement[bool]:
    """The documents in use without a generation of this embedder made since the reindex began."""
    done = select(generations.c.document_id).where(generations.c.embedder == embedder, generations.c.id > begun)
    return and_(documents.c.generation.is_not(None), documents.c.id.not_in(done))


def _refuse_illegal(filing: Filing) -> None:
    """No tag, journey or subject may be the sign for “all”, and none may be empty."""
    names = [*(filing.tags or ()), *(filing.journeys or ()), filing.subject or "-"]
    if EVERY in names or not all(name.strip() for name in names):
        raise ScopeRefused(f"“{EVERY}” is not a tag, journey or subject that a document can carry.")
