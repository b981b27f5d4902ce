"""Every change of a document goes through here: a legal step, written down with who and when."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, insert, select, update

from citewell.adapters.store.clock import clock
from citewell.adapters.store.schema import document_history, documents
from citewell.errors import ChangedMeanwhile, InputError
from citewell.types import LifecycleState, Scope
from citewell.types.lifecycle import LifecycleEvent, is_step

NO_SUCH_STEP = "A document that is {before} cannot become {after}. Nothing was changed."
CHANGED_MEANWHILE = (
    "Someone else has changed this document since you opened it (it is now at revision {now}; you had {yours}). "
    "Nothing was changed. Reload it and make your change again."
)
ERASED = "erased"


CHANGE_ONE = update(documents).where(documents.c.id == bindparam("which"))


def note(
    connection: Connection,
    row: Row[Any],
    change: str,
    *,
    by: str,
    state: LifecycleState | None,
    detail: str | None = None,
) -> None:
    """Write down what became of a document version."""
    change_made = {
        "tenant": row.tenant,
        "document_id": row.id,
        "lineage": row.lineage,
        "version": row.version,
        "at": clock(connection),
        "by": by,
        "change": change,
        "state": None if state is None else state.value,
        "detail": detail,
    }
    connection.execute(insert(document_history), change_made)


def move(
    connection: Connection, row: Row[Any], after: LifecycleState, *, by: str, detail: str | None = None, **values: Any
) -> None:
    """Take a document from its state to the next, where the table of steps allows that."""
    before = LifecycleState(row.state)
    if not is_step(before, after):
        raise InputError(NO_SUCH_STEP.format(before=before.value, after=after.value))
    connection.execute(CHANGE_ONE, {"which": row.id, "state": after.value, **values})
    note(connection, row, after.value, by=by, state=after, detail=detail)


def refuse_stale(row: Row[Any], revision: int | None) -> None:
    """Refuse an edit of a document that somebody else has edited meanwhile."""
    if revision is not None and row.revision != revision:
        raise ChangedMeanwhile(CHANGED_MEANWHILE.format(now=row.revision, yours=revision))


def was_erased(connection: Connection, document_id: str, scope: Scope, *, by: str) -> bool:
    """Whether a document of this tenant was erased; told to the tenant's owner and to who erased it alone."""
    here = and_(document_history.c.tenant == scope.tenant, document_history.c.document_id == document_id)
    if scope != Scope.owner(scope.tenant):  # what others erased they may never have seen
        here = and_(here, document_history.c.by == by)
    erased = select(document_history.c.number).where(here, document_history.c.change == ERASED)
    is_there = select(documents.c.id).where(documents.c.id == document_id)
    return connection.execute(erased.where(~is_there.exists())).first() is not None


def change_of(row: Row[Any]) -> LifecycleEvent:
    """A row of the history."""
    return LifecycleEvent(
        document_id=row.document_id,
        version=row.version,
        at=row.at.replace(tzinfo=UTC),
        by=row.by,
        change=row.change,
        state=None if row.state is None else LifecycleState(row.state),
        detail=row.detail,
    )
