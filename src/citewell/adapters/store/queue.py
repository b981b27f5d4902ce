"""The queue: documents that wait for a worker, and the leases of those that are being read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, or_, select, update

from citewell.adapters.store import rows
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import documents, originals
from citewell.adapters.store.versions import SqlVersions
from citewell.ports import Claim, Reading
from citewell.types import Entry, Filing, Scope, Source, State

LEASE = timedelta(minutes=5)
"""How long a worker may be silent before its document is taken from it."""
MAX_ATTEMPTS = 3
GIVEN_UP = "Reading it stopped the program several times. Convert it to another format, or split it, and add that."


class SqlQueue(SqlVersions):
    """A worker takes the oldest document, holds it while it reads, and makes it current."""

    def enqueue(self, source: Source, *, filing: Filing, scope: Scope) -> Entry:
        """Keep the bytes of a document that a worker will read."""
        with writing(self.engine, self.path) as connection:
            document_id = self._insert(connection, source, filing, scope, filing.title)
            return self._entry(connection, document_id)

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


def _held(document_id: str, worker: str) -> ColumnElement[bool]:
    """The document, while this worker holds it."""
    return and_(
        documents.c.id == document_id,
        documents.c.state == State.PROCESSING.value,
        documents.c.claimed_by == worker,
    )
