"""The life of a document: the legal steps between states, what became of it, and who works on the queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from citewell.types.library import LifecycleState

STEPS: Mapping[LifecycleState, frozenset[LifecycleState]] = MappingProxyType(
    {
        LifecycleState.PENDING: frozenset({LifecycleState.QUEUED, LifecycleState.PROCESSING}),
        LifecycleState.QUEUED: frozenset({LifecycleState.PROCESSING}),
        LifecycleState.PROCESSING: frozenset({LifecycleState.QUEUED, LifecycleState.COMPLETED, LifecycleState.FAILED}),
        LifecycleState.COMPLETED: frozenset({LifecycleState.SUPERSEDED, LifecycleState.WITHDRAWN}),
        LifecycleState.FAILED: frozenset({LifecycleState.QUEUED}),
        LifecycleState.SUPERSEDED: frozenset(),
        LifecycleState.WITHDRAWN: frozenset({LifecycleState.COMPLETED}),
    }
)
"""Where a document may go from each state; erasing is possible from all of them."""

Rework = Literal["queued", "processing"]
"""How far a second reading of a document has come that goes on answering meanwhile."""

SYSTEM = "citewell"
"""Who did what nobody asked for: a document queued again because its worker died."""


def is_step(before: LifecycleState, after: LifecycleState) -> bool:
    """Whether a document may go from one state to the other.

    >>> is_step(LifecycleState.QUEUED, LifecycleState.PROCESSING)
    True
    >>> is_step(LifecycleState.SUPERSEDED, LifecycleState.COMPLETED)
    False
    """
    return after in STEPS[before]


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """One thing that became of a document version: what, when and by whom."""

    document_id: str
    version: int
    at: datetime
    by: str
    change: str
    """What was done: the state it went to, or `added`, `refiled`, `reread`, `retried`, `erased`."""
    state: LifecycleState | None
    """Where that left it; None when it is gone."""
    detail: str | None


@dataclass(frozen=True, slots=True)
class Beat:
    """A worker, and when it was last heard of."""

    name: str
    embedder: str
    started_at: datetime
    beat_at: datetime
    is_reading: bool
    """Whether it holds a document now, of whichever tenant."""
    document_id: str | None
    """That document, where whoever asks may see it."""
    done: int
    failed: int
    is_silent: bool
    """Whether it was not heard of for longer than a lease: it is dead, or cut off."""


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """How the queue stands: documents by state, the oldest that waits, and who works."""

    states: Mapping[LifecycleState, int]
    rereading: int
    """Documents that are read a second time while they go on answering."""
    oldest_waiting_at: datetime | None
    next_attempt_at: datetime | None
    """When the next one is tried again, where one waits for that."""
    reembedding_to: str | None
    """The embedder that everything is being embedded with anew."""
    workers: tuple[Beat, ...]
