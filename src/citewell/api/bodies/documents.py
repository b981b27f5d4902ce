"""Documents and what a search finds in them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell.api.bodies.sent import RequestBody, Revision, Tags

AnyCaseTag = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]([A-Za-z0-9]|-[A-Za-z0-9])*$")]
"""A tag as it may be sent; it is stored in lower case."""


class Refiling(RequestBody):
    """Where a document belongs now; what is left out stays as it is."""

    tags: Annotated[list[AnyCaseTag] | None, Field(min_length=1, max_length=64)] = None
    journeys: Tags = None
    revision: Revision | None = None
    """The document's revision when it was opened; where it has another by now, nothing is changed."""


class WhyResponse(BaseModel):
    """Why a passage was found."""

    dense_rank: int | None
    lexical_rank: int | None
    matched_terms: list[str]
    best_sentence: tuple[int, int] | None


class HitResponse(BaseModel):
    """A passage that was found."""

    source_id: str
    chunk_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: str | None
    start: int
    end: int
    score: float
    relevance: float
    is_calibrated: bool
    """If not, the relevance tells of shared words alone: its embedder has no calibration."""
    cosine: float
    text: str
    why: WhyResponse


class ExpansionResponse(BaseModel):
    """A phrase that was added to the question."""

    model_config = ConfigDict(extra="allow")

    phrase: str
    reason: str


class ResultsResponse(BaseModel):
    """What a search found."""

    hits: list[HitResponse]
    expansions: list[ExpansionResponse]
    took_ms: float


class ProgressResponse(BaseModel):
    """How far reading has come."""

    stage: str
    done: int
    total: int
    time_left_s: float | None
    words: str


class DocumentResponse(BaseModel):
    """One document version."""

    model_config = ConfigDict(extra="allow")

    document_id: str
    tenant: str
    lineage: str
    version: int
    name: str
    title: str
    media_type: str
    state: Literal["pending", "queued", "processing", "completed", "failed", "superseded", "withdrawn"]
    is_current: bool
    size_bytes: int
    tags: list[str]
    journeys: list[str]
    subject: str | None
    page_count: int
    chunk_count: int
    sentence_count: int
    error: str | None
    added_at: datetime
    added_by: str | None
    progress: ProgressResponse | None


class DocumentsResponse(BaseModel):
    """Documents, newest first."""

    documents: list[DocumentResponse]


class IndexedResponse(DocumentResponse):
    """A document, and what it took to make it answer."""

    chunks_indexed: int | None
    """Passages of it that a search finds; null while it is being read."""
    replaced_existing: bool
    embedding_ms: float | None
    """Null unless the server that is asked has read it, since it was started."""
    indexing_ms: float | None


class TakenResponse(IndexedResponse):
    """A document that was taken in."""

    was_there: bool


class TurnedResponse(BaseModel):
    """A file that was not taken in, and why."""

    name: str
    kind: str
    detail: str


class UploadResponse(BaseModel):
    """What became of the files of an upload."""

    documents: list[TakenResponse]
    refused: list[TurnedResponse]


class DeletedResponse(BaseModel):
    """The ids of what was erased."""

    deleted: list[str]


class PartResponse(BaseModel):
    """A part of a document's text."""

    start: int
    end: int
    length: int
    text: str


class BoxResponse(BaseModel):
    """A rectangle in points from the top left corner of its page."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


class BoxesResponse(BaseModel):
    """Where words stand."""

    boxes: list[BoxResponse]
