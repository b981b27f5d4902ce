"""The life of documents: status, history, the queue and who works on it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field, StrictBool

from citewell.api.bodies.documents import ProgressResponse
from citewell.api.bodies.sent import RequestBody, Revision

StateName = Literal["pending", "queued", "processing", "completed", "failed", "superseded", "withdrawn"]


class Seen(RequestBody):
    """What the sender saw last; left out, nothing is checked."""

    revision: Revision | None = Field(default=None, description="The document's revision when it was opened.")


class Rereading(RequestBody):
    """A wish to read everything a second time."""

    dry_run: StrictBool = Field(default=False, description="Only say what would be read again.")


class StatusResponse(BaseModel):
    """Where a document is in its life."""

    document_id: str
    state: StateName
    is_current: bool
    rework: Literal["queued", "processing"] | None
    attempts: int
    next_attempt_at: datetime | None
    error: str | None
    revision: int
    progress: ProgressResponse | None


class ChangeResponse(BaseModel):
    """One thing that became of a document version."""

    document_id: str
    version: int
    at: datetime
    by: str
    change: str
    state: StateName | None
    detail: str | None


class HistoryResponse(BaseModel):
    """All that became of a document, oldest first."""

    history: list[ChangeResponse]


class BeatResponse(BaseModel):
    """A worker, and when it was last heard of."""

    name: str
    embedder: str
    started_at: datetime
    beat_at: datetime
    is_reading: bool
    document_id: str | None = Field(description="What it reads, where you may see that.")
    done: int
    failed: int
    is_silent: bool


class QueueResponse(BaseModel):
    """How the queue stands."""

    states: dict[StateName, int]
    rereading: int
    oldest_waiting_at: datetime | None
    next_attempt_at: datetime | None
    reembedding_to: str | None
    workers: list[BeatResponse]


class RereadResponse(BaseModel):
    """What is, or would be, read a second time."""

    documents: list[str]
    embedder: str
    is_new_embedder: bool
    is_queued: bool
