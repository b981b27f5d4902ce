"""Who reads documents: the heartbeat of each worker, and how the queue stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, delete, func, insert, or_, select, update

from citewell.adapters.store.access import visible
from citewell.adapters.store.clock import clock
from citewell.adapters.store.document_versions import SqlVersions
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import documents, generations, workers
from citewell.types import LifecycleState, Scope
from citewell.types.lifecycle import Beat, QueueStatus

SILENT = timedelta(minutes=2)
"""How long without a heartbeat before a worker counts as stopped."""
FORGOTTEN = timedelta(days=1)
"""How long without a heartbeat before a worker is no longer listed."""


class SqlWorkers(SqlVersions):
    """Workers say that they are there; people see who works, and what waits."""

    def beat(self, worker: str, embedder: str, *, done: int = 0, failed: int = 0) -> None:
        with writing(self.engine, self.path) as connection:
            now = clock(connection)
            told = {"embedder": embedder, "beat_at": now, "done": done, "failed": failed}
            known = connection.execute(update(workers).where(workers.c.name == worker).values(**told)).rowcount
            if not known:
                connection.execute(insert(workers).values(name=worker, started_at=now, **told))
                connection.execute(delete(workers).where(workers.c.beat_at < now - FORGOTTEN))

    def leave(self, worker: str) -> None:
        with writing(self.engine, self.path) as connection:
            connection.execute(delete(workers).where(workers.c.name == worker))

    def status(self, scope: Scope) -> QueueStatus:
        """How the queue of a tenant stands, and who works on all of them."""
        mine = visible(scope)
        waiting = and_(mine, documents.c.state == LifecycleState.QUEUED.value)
        by_state = select(documents.c.state, func.count()).where(mine).group_by(documents.c.state)
        rereading = select(func.count()).select_from(documents).where(mine, documents.c.rework.is_not(None))
        with reading(self.engine, self.path) as connection:
            now = clock(connection)
            counted = {LifecycleState(state): int(count) for state, count in connection.execute(by_state)}
            oldest = connection.execute(select(func.min(documents.c.added_at)).where(waiting)).scalar()
            later = and_(mine, documents.c.next_attempt_at.is_not(None))
            soonest = connection.execute(select(func.min(documents.c.next_attempt_at)).where(later)).scalar()
            beats = connection.execute(_beats(mine)).all()
            return QueueStatus(
                states={state: counted.get(state, 0) for state in LifecycleState},
                rereading=connection.execute(rereading).scalar_one(),
                oldest_waiting_at=_aware(oldest),
                next_attempt_at=_aware(soonest),
                reembedding_to=self._fact(connection, "reindex_to"),
                workers=tuple(_beat(row, now) for row in beats),
            )

    def due(self) -> int:
        """How many documents wait for a worker now, of all tenants."""
        with reading(self.engine, self.path) as connection:
            waits = or_(documents.c.state == LifecycleState.QUEUED.value, documents.c.rework == "queued")
            is_due = or_(documents.c.next_attempt_at.is_(None), documents.c.next_attempt_at <= clock(connection))
            return connection.execute(select(func.count()).select_from(documents).where(waits, is_due)).scalar_one()

    def clean_up(self) -> int:
        """Remove what nothing uses: readings of a broken-off re-embedding, and our own files outside of no document."""
        gone = self._remove_outside(None)
        with writing(self.engine, self.path) as connection:
            if self._fact(connection, "reindex_after") is None:
                used = select(documents.c.generation).where(documents.c.generation.is_not(None))
                gone += connection.execute(delete(generations).where(generations.c.id.not_in(used))).rowcount
            silent = workers.c.beat_at < clock(connection) - SILENT
            return gone + connection.execute(delete(workers).where(silent)).rowcount


def _aware(moment: datetime | str | None) -> datetime | None:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return None if moment is None else moment.replace(tzinfo=UTC)


def _beats(mine: ColumnElement[bool]) -> Select[Any]:
    """Who works, each with the document that it holds, and whether that is one of mine."""
    in_work = or_(documents.c.state == LifecycleState.PROCESSING.value, documents.c.rework == "processing")
    held = documents.c.id.label("holds"), mine.label("is_seen")
    at = and_(documents.c.claimed_by == workers.c.name, in_work)
    return select(workers, *held).select_from(workers.outerjoin(documents, at)).order_by(workers.c.name)


def _beat(row: Row[Any], now: datetime) -> Beat:
    return Beat(
        name=row.name,
        embedder=row.embedder,
        started_at=row.started_at.replace(tzinfo=UTC),
        beat_at=row.beat_at.replace(tzinfo=UTC),
        is_reading=row.holds is not None,
        document_id=row.holds if row.is_seen else None,
        done=row.done,
        failed=row.failed,
        is_silent=row.beat_at < now - SILENT,
    )
