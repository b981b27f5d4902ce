"""The queue: documents that wait for a worker, and the leases of those that are being read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, exists, func, or_, select, update

from citewell.adapters.store import original_files as originals
from citewell.adapters.store import row_mapping as rows
from citewell.adapters.store.clock import clock
from citewell.adapters.store.document_history import move, note
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import document_history, document_tags, documents, generations
from citewell.adapters.store.withdraw_restore_reread import TRIED_AGAIN, SqlLifecycle
from citewell.errors import BlobsUnavailable, EmbedderMismatch, NotFound, ScopeRefused
from citewell.ingest.retries import RETRIES, STOPPED_PROGRAM
from citewell.ports import JobLease, ParsedFile
from citewell.types import OWNER_ID, Document, Filing, LibraryEntry, LifecycleState, Scope, Source
from citewell.types.lifecycle import SYSTEM

LEASE = timedelta(minutes=2)
"""How long a worker may be silent before its document is taken from it."""
OVERTAKEN = (
    "The version this one replaces has since been given other tags, so it was not replaced. Try again, or ask an "
    "administrator."
)
FREE: dict[str, Any] = {"claimed_by": None, "claimed_until": None}


class SqlQueue(SqlLifecycle):
    """A worker takes the oldest document, holds it while it reads, and makes it current."""

    def enqueue(self, source: Source, *, filing: Filing, scope: Scope) -> LibraryEntry:
        with self._outside(source) as key, writing(self.engine, self.path) as connection:
            made = self._insert(connection, source, filing, scope, filing.title, key=key, state=LifecycleState.PENDING)
            move(connection, made, LifecycleState.QUEUED, by=filing.added_by or OWNER_ID)
            return self._entry(connection, made.id)

    def claim(self, worker: str, *, embedder: str | None = None, document_id: str | None = None) -> JobLease | None:
        """Take the oldest document that waits, of any tenant, or the one named; new ones before second readings.

        A worker whose embedder fits neither is refused.
        """
        with reading(self.engine, self.path) as connection:  # most looks find nothing, and need no lock
            kinds = self._kinds(connection, embedder)
            if not any(connection.execute(query).first() for query in self._waiting(connection, kinds, document_id)):
                return None
        with writing(self.engine, self.path) as connection:
            for query in self._waiting(connection, self._kinds(connection, embedder), document_id):
                row = connection.execute(query.with_for_update(skip_locked=True)).first()
                if row is not None:
                    return self._claimed(connection, row, worker)
        return None

    def fits(self, embedder: str) -> None:
        """Refuse an embedder that could read nothing here."""
        with reading(self.engine, self.path) as connection:
            self._kinds(connection, embedder)

    def _claimed(self, connection: Connection, row: Row[Any], worker: str) -> JobLease:
        until = clock(connection) + LEASE
        held = {"claimed_by": worker, "claimed_until": until, "attempts": row.attempts + 1, "next_attempt_at": None}
        is_rework = row.rework is not None
        if is_rework:
            self._rework(connection, row, "processing", by=worker, **held)
        else:
            move(connection, row, LifecycleState.PROCESSING, by=worker, **held)
        is_reembedding = is_rework and self._fact(connection, "reindex_to") is not None
        return JobLease(
            document_id=row.id,
            tenant=row.tenant,
            name=row.name,
            fetch=partial(self._source, row.tenant, row.content_hash, row.name),
            parsed=partial(self._parsed, row.id) if is_reembedding else None,
            chunking=rows.chunking_of(row),
            size_bytes=row.size_bytes,
            attempts=row.attempts + 1,
            is_rework=is_rework,
        )

    def _kinds(self, connection: Connection, embedder: str | None) -> tuple[ColumnElement[bool], ...]:
        """Which documents a worker with this embedder may read."""
        new, again = documents.c.state == LifecycleState.QUEUED.value, documents.c.rework == "queued"
        known, target = self._fact(connection, "embedder"), self._fact(connection, "reindex_to")
        if embedder is None or known is None or (known == embedder and target in (None, embedder)):
            return (new, again)
        if target == embedder:
            return (again,)
        if known == embedder:
            return (new,)
        raise EmbedderMismatch(
            f"This worker uses the embedding model {embedder}, but the library was indexed with {known}, so it "
            "processes nothing. Use the library's model, or run `citewell evidence reingest` to index everything "
            "with the new one."
        )

    @staticmethod
    def _waiting(
        connection: Connection, kinds: Sequence[ColumnElement[bool]], document_id: str | None
    ) -> list[Select[Any]]:
        """The oldest document of each kind that is due, or the one named."""
        due = or_(documents.c.next_attempt_at.is_(None), documents.c.next_attempt_at <= clock(connection))
        if document_id is not None:
            due = and_(due, documents.c.id == document_id)
        oldest = select(documents).order_by(documents.c.added_at, documents.c.id).limit(1)
        return [oldest.where(kind, due) for kind in kinds]

    def _source(self, tenant: str, content_hash: str, name: str) -> Source:
        """The bytes of a document in work."""
        try:
            with reading(self.engine, self.path) as connection:
                data = originals.fetch(connection, tenant, content_hash, self.blobs)
        except NotFound as error:  # where a shared folder is not mounted every file is missing: others may have it
            raise BlobsUnavailable(str(error)) from error
        if data is None:
            raise NotFound("The original file is no longer available. Add the document again.")
        return Source(data, name)

    def _parsed(self, document_id: str) -> Document:
        """The text of a document as it is in use."""
        query = select(documents, generations).join(generations, generations.c.id == documents.c.generation)
        with reading(self.engine, self.path) as connection:
            row = connection.execute(query.where(documents.c.id == document_id)).first()
        if row is None:
            raise NotFound("The document has since been erased.")
        return rows.document_of(row)

    def renew(self, document_id: str, worker: str) -> bool:
        with writing(self.engine, self.path) as connection:
            until = {"claimed_until": clock(connection) + LEASE}
            return connection.execute(update(documents).where(_held(document_id, worker)).values(**until)).rowcount == 1

    def complete(self, document_id: str, reading: ParsedFile, worker: str) -> LibraryEntry | None:
        with writing(self.engine, self.path) as connection:
            row = self._mine(connection, document_id, worker)
            if row is None:
                return None
            if row.rework is not None:
                self._reread(connection, row, reading, worker)
                return self._entry(connection, document_id)
            title = None if row.title == row.name else row.title
            _refuse_overtaken(connection, row)
            lineage = self._late_lineage(connection, row, title or reading.document.title)
            free = update(documents).where(documents.c.id == document_id).values(**FREE, attempts=0, **lineage)
            connection.execute(free)
            self._make_current(connection, self._row(connection, document_id), reading, title, by=worker)
            return self._entry(connection, document_id)

    def _reread(self, connection: Connection, row: Row[Any], reading: ParsedFile, worker: str) -> None:
        """Put a second reading in the place of the first; of another embedder's, beside it until all are there."""
        generation = rows.insert_generation(connection, row.id, reading)
        columns = rows.read_columns(reading, row.title, at=clock(connection))
        del columns["state"]
        columns |= FREE | {"rework": None, "attempts": 0, "error": None, "next_attempt_at": None}
        is_same = reading.embedder == self._fact(connection, "embedder")
        if is_same:
            columns["generation"] = generation
        connection.execute(update(documents).where(documents.c.id == row.id).values(**columns))
        if is_same:
            mine = and_(generations.c.document_id == row.id, generations.c.embedder == reading.embedder)
            connection.execute(delete(generations).where(mine, generations.c.id != generation))
            self._touch(connection, row.tenant)
        note(
            connection,
            row,
            "reread",
            by=worker,
            state=LifecycleState(row.state),
            detail=f"{len(reading.chunks)} passages",
        )

    def fail(self, document_id: str, error: str, worker: str) -> None:
        """Record why a claimed document could not be read; one that was read before goes on answering."""
        with writing(self.engine, self.path) as connection:
            if (row := self._mine(connection, document_id, worker)) is not None:
                self._failed(connection, row, error, by=worker)

    def _failed(self, connection: Connection, row: Row[Any], error: str, *, by: str) -> None:
        columns = FREE | {"error": error, "next_attempt_at": None}
        if row.rework is not None:
            self._rework(connection, row, None, by=by, detail=error, **columns)
        else:
            move(connection, row, LifecycleState.FAILED, by=by, detail=error, processed_at=clock(connection), **columns)

    def retry_later(self, document_id: str, error: str, worker: str, *, pause_s: float) -> None:
        with writing(self.engine, self.path) as connection:
            if (row := self._mine(connection, document_id, worker)) is None:
                return
            at = clock(connection) + timedelta(seconds=pause_s)
            self._queued_again(connection, row, by=worker, detail=error, error=error, next_attempt_at=at)

    def put_back(self, document_id: str, worker: str) -> None:
        with writing(self.engine, self.path) as connection:
            if (row := self._mine(connection, document_id, worker)) is not None:
                why = "the worker was stopped"
                self._queued_again(connection, row, by=worker, detail=why, attempts=row.attempts - 1)

    def release(self, workers: Sequence[str]) -> int:
        with reading(self.engine, self.path) as connection:  # most looks find nothing, and need no lock
            if connection.execute(select(documents.c.id).where(_stuck(workers, clock(connection)))).first() is None:
                return 0
        queued = 0
        with writing(self.engine, self.path) as connection:
            stuck = select(documents).where(_stuck(workers, clock(connection)))
            for row in connection.execute(stuck.with_for_update(skip_locked=True)).all():
                if row.attempts > RETRIES:
                    self._failed(connection, row, STOPPED_PROGRAM, by=SYSTEM)
                else:
                    self._queued_again(connection, row, by=SYSTEM, detail="its worker stopped responding")
                    queued += 1
        return queued

    def claimants(self) -> list[str]:
        query = select(documents.c.claimed_by).where(documents.c.claimed_by.is_not(None)).distinct()
        with reading(self.engine, self.path) as connection:
            return [str(name) for name in connection.execute(query).scalars()]

    # ---------------------------------------------------------------------------------------------------------- inside

    def _queued_again(self, connection: Connection, row: Row[Any], *, by: str, detail: str, **values: Any) -> None:
        if row.rework is not None:
            self._rework(connection, row, "queued", by=by, detail=detail, **FREE, **values)
        else:
            move(connection, row, LifecycleState.QUEUED, by=by, detail=detail, **FREE, **values)

    @staticmethod
    def _mine(connection: Connection, document_id: str, worker: str) -> Row[Any] | None:
        return connection.execute(select(documents).where(_held(document_id, worker))).first()


def _refuse_overtaken(connection: Connection, row: Row[Any]) -> None:
    """Refuse to replace a version that got tags which this one has not, after somebody asked for this one.

    Whether they might was looked at then. Who tries it again is looked at again.
    """
    person = or_(document_history.c.change.in_(["added", "retried"]), document_history.c.detail == TRIED_AGAIN)
    here = document_history.c.tenant == row.tenant
    asked = select(func.max(document_history.c.number)).where(here, document_history.c.document_id == row.id, person)
    later = document_history.c.number > asked.scalar_subquery()
    theirs = and_(here, document_history.c.document_id == documents.c.id, document_history.c.change == "refiled")
    refiled = exists(select(1).where(theirs, later))
    carried = select(document_tags.c.tag).where(document_tags.c.document_id == row.id)
    foreign = and_(document_tags.c.document_id == documents.c.id, document_tags.c.tag.not_in(carried))
    before = and_(documents.c.lineage == row.lineage, documents.c.id != row.id, documents.c.is_current)
    if connection.execute(select(1).where(before, refiled, exists(select(1).where(foreign)))).first() is not None:
        raise ScopeRefused(OVERTAKEN)


def _in_work() -> ColumnElement[bool]:
    return or_(documents.c.state == LifecycleState.PROCESSING.value, documents.c.rework == "processing")


def _held(document_id: str, worker: str) -> ColumnElement[bool]:
    """The document, while this worker holds it."""
    return and_(documents.c.id == document_id, _in_work(), documents.c.claimed_by == worker)


def _stuck(workers: Sequence[str], now: datetime) -> ColumnElement[bool]:
    """What nobody works on any more, though it is said to be in work."""
    lost = or_(documents.c.claimed_by.in_(workers), documents.c.claimed_until < now, documents.c.claimed_by.is_(None))
    return and_(_in_work(), lost)
