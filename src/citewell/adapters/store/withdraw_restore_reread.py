"""What people do to documents beside adding them: withdraw, restore, try again, read a second time; and the history."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, select, update

from citewell.adapters.store.access import visible
from citewell.adapters.store.document_history import change_of, move, note, refuse_stale
from citewell.adapters.store.document_versions import NO_SUCH_DOCUMENT
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.reindex import stale_for
from citewell.adapters.store.schema import document_history, documents, generations
from citewell.adapters.store.schema import library as facts
from citewell.adapters.store.worker_beats import SqlWorkers
from citewell.errors import EmbedderMismatch, InputError, NotFound
from citewell.types import LibraryEntry, LifecycleState, Scope
from citewell.types.lifecycle import SYSTEM, LifecycleEvent, Rework

TRIED_AGAIN = "tried again"
FRESH: dict[str, Any] = {"attempts": 0, "next_attempt_at": None, "error": None}


class SqlLifecycle(SqlWorkers):
    """Changes that a person asks for; each is one transaction, checked against what others did, and written down."""

    def withdraw(self, document_id: str, scope: Scope, *, by: str, revision: int | None = None) -> LibraryEntry:
        """Take the current version out of search; it is kept, and can be restored."""
        with writing(self.engine, self.path) as connection:
            row = self._editable(connection, document_id, scope, revision)
            if not row.is_current:
                raise InputError(f"Only a document in use can be withdrawn; this one is {row.state}.")
            stamp = self._touch(connection, row.tenant)
            columns = {"is_current": False, "current_until": stamp, "rework": None, "revision": row.revision + 1}
            move(connection, row, LifecycleState.WITHDRAWN, by=by, claimed_by=None, claimed_until=None, **columns)
            return self._entry(connection, document_id)

    def restore(self, document_id: str, scope: Scope, *, by: str, revision: int | None = None) -> LibraryEntry:
        """Let a withdrawn document answer again."""
        with writing(self.engine, self.path) as connection:
            row = self._editable(connection, document_id, scope, revision)
            if row.state != LifecycleState.WITHDRAWN.value:
                raise InputError(f"Only a withdrawn document can be restored; this one is {row.state}.")
            family = and_(documents.c.lineage == row.lineage, documents.c.is_current)
            if (current := connection.execute(select(documents.c.version).where(family)).scalar()) is not None:
                raise InputError(f"Version {current} of this document is in use. Withdraw that one first.")
            self._touch(connection, row.tenant)
            columns = {"is_current": True, "current_until": None, "revision": row.revision + 1}
            move(connection, row, LifecycleState.COMPLETED, by=by, detail="restored", **columns)
            return self._entry(connection, document_id)

    def requeue(self, document_id: str, scope: Scope, *, by: str, revision: int | None = None) -> LibraryEntry:
        """Queue a document again that could not be read."""
        with writing(self.engine, self.path) as connection:
            row = self._editable(connection, document_id, scope, revision)
            if row.state not in (
                LifecycleState.FAILED.value,
                LifecycleState.PENDING.value,
                LifecycleState.QUEUED.value,
            ):
                raise InputError("Only a document that could not be read can be tried again.")
            columns = FRESH | {"revision": row.revision + 1}
            if row.state == LifecycleState.QUEUED.value:  # it waits for its next attempt: now is as good
                connection.execute(update(documents).where(documents.c.id == row.id).values(**columns))
                note(connection, row, "retried", by=by, state=LifecycleState.QUEUED)
            else:
                move(connection, row, LifecycleState.QUEUED, by=by, detail=TRIED_AGAIN, **columns)
            return self._entry(connection, document_id)

    def reread(
        self, scope: Scope, *, by: str, embedder: str, document_id: str | None = None, revision: int | None = None
    ) -> list[str]:
        """Queue documents to be read a second time while they go on answering; the ids.

        All of the library with another embedder: its vectors answer once every document has them.
        """
        with writing(self.engine, self.path) as connection:
            known = self._fact(connection, "embedder")
            is_new = known is not None and known != embedder
            if document_id is not None:
                if is_new:
                    raise EmbedderMismatch(
                        f"This library was indexed with {known}, not {embedder}, and one document cannot use a "
                        "different model. Run `citewell evidence reingest` for the whole library, or restore the "
                        "previous embedding model if you changed it."
                    )
                rows = [self._editable(connection, document_id, scope, revision)]
                if rows[0].generation is None:
                    raise InputError(
                        f"This document has never been processed; it is {rows[0].state}. Try it again instead."
                    )
            else:
                rows = self._rereadable(connection, scope, embedder)
            if is_new:
                self._aim(connection, embedder)
            for row in rows:
                waits = row.rework == "queued" and row.next_attempt_at is not None  # now is as good as its next attempt
                if row.rework is None or waits:
                    bumped = {"revision": row.revision + 1}
                    theirs = by if row.tenant == scope.tenant else SYSTEM
                    self._rework(connection, row, "queued", by=theirs, **FRESH, **bumped)
            return [row.id for row in rows]

    def to_reread(self, scope: Scope, *, embedder: str) -> list[str]:
        """The documents that would be read a second time."""
        with reading(self.engine, self.path) as connection:
            return [row.id for row in self._rereadable(connection, scope, embedder)]

    def _rereadable(self, connection: Connection, scope: Scope, embedder: str) -> list[Row[Any]]:
        """What is to be read a second time: what is left of the last time, or else all that answers.

        For another embedder every version of all tenants that has no vectors of it yet.
        """
        if self._fact(connection, "embedder") not in (None, embedder):
            begun = self._fact(connection, "reindex_after")
            is_same = self._fact(connection, "reindex_to") in (None, embedder)
            done = stale_for(embedder, int(begun)) if begun and is_same else documents.c.generation.is_not(None)
            return list(connection.execute(select(documents).where(done)).all())
        mine = select(documents).where(visible(scope), _stands())
        left = connection.execute(mine.where(documents.c.rework == "queued")).all()
        return list(left or connection.execute(mine).all())

    def _aim(self, connection: Connection, embedder: str) -> None:
        """Remember which embedder everything is embedded anew with, and where that began."""
        connection.execute(delete(facts).where(facts.c.key == "reindex_to"))
        connection.execute(insert(facts).values(key="reindex_to", value=embedder))
        if self._fact(connection, "reindex_after") is None:
            newest = connection.execute(select(func.max(generations.c.id))).scalar() or 0
            connection.execute(insert(facts).values(key="reindex_after", value=str(newest)))

    # ------------------------------------------------------------------------------------------------------- history

    def history(self, document_id: str, scope: Scope) -> list[LifecycleEvent]:
        """All that became of the versions of a document, oldest first; of one that is erased, for its owner alone."""
        here = and_(document_history.c.tenant == scope.tenant, document_history.c.document_id == document_id)
        with reading(self.engine, self.path) as connection:
            lineage = connection.execute(
                select(documents.c.lineage).where(documents.c.id == document_id, visible(scope))
            ).scalar()
            if lineage is None and scope == Scope.owner(scope.tenant):
                is_there = connection.execute(select(documents.c.id).where(documents.c.id == document_id)).first()
                if is_there is None:
                    lineage = connection.execute(select(document_history.c.lineage).where(here)).scalar()
            if lineage is None:
                raise NotFound(NO_SUCH_DOCUMENT)
            versions = select(documents.c.id).where(documents.c.lineage == lineage, visible(scope))
            ids = {document_id, *connection.execute(versions).scalars()}
            mine = and_(document_history.c.tenant == scope.tenant, document_history.c.document_id.in_(ids))
            found = connection.execute(select(document_history).where(mine).order_by(document_history.c.number))
            return [change_of(row) for row in found]

    # ---------------------------------------------------------------------------------------------------------- inside

    @staticmethod
    def _editable(connection: Connection, document_id: str, scope: Scope, revision: int | None) -> Row[Any]:
        """A document that the scope may see, as the person who edits it has seen it last."""
        row = connection.execute(select(documents).where(documents.c.id == document_id, visible(scope))).first()
        if row is None:
            raise NotFound(NO_SUCH_DOCUMENT)
        refuse_stale(row, revision)
        return row

    @staticmethod
    def _rework(
        connection: Connection,
        row: Row[Any],
        now: Rework | None,
        *,
        by: str,
        detail: str | None = None,
        **values: Any,
    ) -> None:
        """Write down how far a second reading has come; the state stays as it is."""
        connection.execute(update(documents).where(documents.c.id == row.id).values(rework=now, **values))
        change = {"queued": "reread queued", "processing": "rereading", None: "reread failed"}[now]
        note(connection, row, change, by=by, state=LifecycleState(row.state), detail=detail)


def _stands() -> ColumnElement[bool]:
    """Versions that answer; older ones are read again only where their vectors must change."""
    return and_(documents.c.is_current, documents.c.state == LifecycleState.COMPLETED.value)
