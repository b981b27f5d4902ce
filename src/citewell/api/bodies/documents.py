"""Documents, their life, actions on a selection of them, and what a search finds in them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictBool

from citewell.adapters.store.document_lists import MAX_TITLE_CHARACTERS
from citewell.answer.expand import Expansion
from citewell.api.bodies.base import SEEN, Id, RequestBody, ResponseBody, Revision, SectionPath, Tags, rounded
from citewell.api.bodies.journeys import Slug
from citewell.api.bodies.people import Tag
from citewell.api.progress import Progress
from citewell.types import MAX_CHUNK, Box, LibraryEntry, LifecycleState
from citewell.types.lifecycle import LifecycleEvent, Rework

AnyCaseTag = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]([A-Za-z0-9]|-[A-Za-z0-9])*$")]
"""A tag as it may be sent; it is stored in lower case."""


class RefileRequest(RequestBody):
    """Where a document belongs now; what is left out stays as it is."""

    tags: Annotated[list[AnyCaseTag] | None, Field(min_length=1, max_length=64)] = None
    journeys: Tags = None
    revision: Revision | None = None
    """The document's revision when it was opened; where it has another by now, nothing is changed."""


class WhyResponse(ResponseBody):
    """Why a passage was found."""

    dense_rank: int | None
    lexical_rank: int | None
    matched_terms: list[str]
    best_sentence: tuple[int, int] | None


class HitResponse(ResponseBody):
    """A passage that was found."""

    source_id: str
    chunk_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: SectionPath
    start: int
    end: int
    score: Annotated[float, rounded(6), Field(validation_alias="rank_score")]
    relevance: Annotated[float, rounded(4)]
    is_calibrated: bool
    """If not, the relevance tells of shared words alone: its embedder has no calibration."""
    cosine: Annotated[float, rounded(4), Field(validation_alias="raw_cosine")]
    text: str
    why: WhyResponse


class ResultsResponse(ResponseBody):
    """What a search found."""

    hits: list[HitResponse]
    expansions: list[Expansion]
    took_ms: Annotated[float, rounded(1)]


class DocumentResponse(ResponseBody):
    """One document version."""

    model_config = ConfigDict(extra="allow")

    document_id: str
    tenant: str
    lineage: str
    version: int
    name: str
    title: str
    media_type: str
    state: LifecycleState
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
    progress: Progress | None


def entry_json(entry: LibraryEntry, progress: Progress | None) -> dict[str, Any]:
    """One document version, and how far it has come while it is being read: all that `DocumentResponse` names."""
    fields = asdict(entry)
    return {"document_id": fields.pop("id"), **fields, "progress": progress}


class DocumentsResponse(ResponseBody):
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
    guideline: str | None
    """The guideline that it looks like; POST /api/v1/guidelines/{document_id}/refresh applies it to patients."""


class UploadedDocumentResponse(IndexedResponse):
    """A document that was taken in."""

    was_there: bool


class RefusedFileResponse(ResponseBody):
    """A file that was not taken in, and why."""

    name: str
    kind: str
    detail: str


class UploadResponse(ResponseBody):
    """What became of the files of an upload."""

    documents: list[UploadedDocumentResponse]
    refused: list[RefusedFileResponse]


class DeletedResponse(ResponseBody):
    """The ids of what was erased."""

    deleted: list[str]


class TextPartResponse(ResponseBody):
    """A part of a document's text."""

    start: int
    end: int
    length: int
    text: str


class BoxesResponse(ResponseBody):
    """Where words stand."""

    boxes: list[Box]


class SeenRevision(RequestBody):
    """What the sender saw last; left out, nothing is checked."""

    revision: Revision | None = Field(default=None, description="The document's revision when it was opened.")


class ReingestRequest(RequestBody):
    """A wish to read everything a second time."""

    dry_run: StrictBool = Field(default=False, description="Only list what would be re-processed.")


class StatusResponse(ResponseBody):
    """Where a document is in its life."""

    document_id: str
    state: LifecycleState
    is_current: bool
    rework: Rework | None
    attempts: int
    next_attempt_at: datetime | None
    error: str | None
    revision: int
    progress: Progress | None


class HistoryResponse(ResponseBody):
    """All that became of a document, oldest first."""

    history: list[LifecycleEvent]


class RereadResponse(ResponseBody):
    """What is, or would be, read a second time."""

    documents: list[str]
    embedder: str
    is_new_embedder: bool
    is_queued: bool


class ChunkingRequest(RequestBody):
    """How a document is cut when it is read the next time."""

    strategy: Literal["sections", "headings", "characters"]
    size: Annotated[int, Field(ge=50, le=MAX_CHUNK)]
    overlap: Annotated[int, Field(ge=0, le=MAX_CHUNK // 2)] = 0


class DocumentEditRequest(RequestBody):
    """What is to change; what is left out stays. With a revision, only if nobody changed it since."""

    title: Annotated[str | None, Field(min_length=1, max_length=MAX_TITLE_CHARACTERS, pattern=SEEN)] = None
    tags: Annotated[list[Tag] | None, Field(min_length=1, max_length=64)] = None
    journeys: Annotated[list[Slug] | None, Field(max_length=64)] = None
    """None of them: for everyone."""
    chunking: ChunkingRequest | None = None
    revision: Revision | None = None


Action = Literal["ingest", "withdraw", "restore", "erase"]
MAX_CHOSEN = 1_000


class SelectionRequest(RequestBody):
    """An action on documents: read (again), take out of search, put back, or erase for good."""

    action: Action
    documents: Annotated[list[Id], Field(min_length=1, max_length=MAX_CHOSEN)]


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """What became of one document of a selection."""

    document_id: str
    title: str
    is_done: bool
    detail: str


class OutcomesResponse(ResponseBody):
    """What became of every document of a selection."""

    outcomes: list[DocumentOutcome]


class KeptDocumentResponse(DocumentResponse):
    """A document version with the number that an edit must know."""

    revision: int


class DocumentListResponse(ResponseBody):
    """A part of the documents, and how many there are."""

    documents: list[KeptDocumentResponse]
    total: int


class WholeDocumentResponse(KeptDocumentResponse):
    """A document version, those before and after it, and all that became of them."""

    versions: list[KeptDocumentResponse]
    history: list[LifecycleEvent]


class ChunkResponse(ResponseBody):
    """A passage with its place."""

    index: int
    page: int | None
    section: list[str]
    tokens: int
    start: int
    end: int
    text: str


class ChunksResponse(ResponseBody):
    """Some passages of a document, and how many it has."""

    chunks: list[ChunkResponse]
    total: int
