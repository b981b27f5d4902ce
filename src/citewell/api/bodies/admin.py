"""Documents as those who keep them see them, actions on a selection, and searches of the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from citewell.adapters.store.document_lists import MAX_TITLE_CHARACTERS
from citewell.api.bodies.documents import DocumentResponse
from citewell.api.bodies.journeys import Slug
from citewell.api.bodies.lifecycle import ChangeResponse
from citewell.api.bodies.people import Tag
from citewell.api.bodies.sent import SEEN, Id, RequestBody, Revision
from citewell.types import MAX_CHUNK


class Cut(RequestBody):
    """How a document is cut when it is read the next time."""

    strategy: Literal["sections", "headings", "characters"]
    size: Annotated[int, Field(ge=50, le=MAX_CHUNK)]
    overlap: Annotated[int, Field(ge=0, le=MAX_CHUNK // 2)] = 0


class DocumentEdit(RequestBody):
    """What is to change; what is left out stays. With a revision, only if nobody changed it since."""

    title: Annotated[str | None, Field(min_length=1, max_length=MAX_TITLE_CHARACTERS, pattern=SEEN)] = None
    tags: Annotated[list[Tag] | None, Field(min_length=1, max_length=64)] = None
    journeys: Annotated[list[Slug] | None, Field(max_length=64)] = None
    """None of them: for everyone."""
    chunking: Cut | None = None
    revision: Revision | None = None


class Selection(RequestBody):
    """An action on documents: read (again), take out of search, put back, or erase for good."""

    action: Literal["ingest", "withdraw", "restore", "erase"]
    documents: Annotated[list[Id], Field(min_length=1, max_length=1_000)]


class OutcomeResponse(BaseModel):
    """What became of one document of a selection."""

    document_id: str
    title: str
    is_done: bool
    detail: str


class OutcomesResponse(BaseModel):
    """What became of every document of a selection."""

    outcomes: list[OutcomeResponse]


class KeptDocumentResponse(DocumentResponse):
    """A document version with the number that an edit must know."""

    revision: int


class DocumentListResponse(BaseModel):
    """A part of the documents, and how many there are."""

    documents: list[KeptDocumentResponse]
    total: int


class WholeDocumentResponse(KeptDocumentResponse):
    """A document version, those before and after it, and all that became of them."""

    versions: list[KeptDocumentResponse]
    history: list[ChangeResponse]


class ChunkResponse(BaseModel):
    """A passage with its place."""

    index: int
    page: int | None
    section: list[str]
    tokens: int
    start: int
    end: int
    text: str


class ChunksResponse(BaseModel):
    """Some passages of a document, and how many it has."""

    chunks: list[ChunkResponse]
    total: int


class FoundRecordResponse(BaseModel):
    """An answer on record that a search found."""

    number: int
    answer_id: str
    user_id: str
    made_at: datetime
    assistant: str
    journey: str | None
    question: str
    action: str | None


class FoundRecordsResponse(BaseModel):
    """What a search of the audit log found, how many records it opened, and where it goes on."""

    records: list[FoundRecordResponse]
    opened: int
    next: int | None
    """What to send as `before` for those that follow; null at the end."""
