"""What `doctor` says of the queue, its workers and broker, and of the store of original files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from citewell.types import LifecycleState

if TYPE_CHECKING:
    from citewell.app import App

Found = tuple[Literal["ok", "warning", "failed"], str]


def look_at_queue(app: App) -> Found:
    """How many documents wait or failed, who works, and whether the broker answers."""
    status = app.library.status(app.scope_of_owner())
    waiting = status.states[LifecycleState.QUEUED] + status.states[LifecycleState.PROCESSING] + status.rereading
    failed = status.states[LifecycleState.FAILED]
    alive = sum(not worker.is_silent for worker in status.workers)
    detail = f"{waiting} queued, {failed} failed, {alive} {'worker' if alive == 1 else 'workers'} running"
    broker = app.settings.broker_url
    if broker is not None:
        from citewell.adapters.queue.celery import CeleryQueue

        length = CeleryQueue(broker.get_secret_value()).length()
        if length is None:
            return "failed", f"{detail}; Redis is not responding: start it, or correct CITEWELL_BROKER_URL"
        if not alive:
            return "warning", f"{detail}: start one with `citewell worker`"
    return ("warning", f"{detail}: see `citewell evidence list`") if failed else ("ok", detail)


def look_at_originals(app: App) -> Found:
    """Whether original files can be kept, read back and removed."""
    from citewell.adapters.blobs import try_blobs

    store = app.library.blobs
    if store is None:
        return "ok", "kept in the library"
    try_blobs(store)
    return "ok", f"kept in {store.name} (tested)"
