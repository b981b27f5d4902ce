"""What is sent to the API and what comes back, as the schema describes it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell.answer.check import MAX_CHARACTERS
from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS

Verdict = Literal["supported", "partly", "contradicted", "not_found"]
Words = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS, pattern=r"\S")]
Text = Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS, pattern=r"\S")]
Name = Annotated[str, Field(min_length=1, max_length=64)]


class Sent(BaseModel):
    """A body that someone sends; fields that we do not know are refused, not dropped."""

    model_config = ConfigDict(extra="forbid")


class Question(Sent):
    """A question, and how far to look; what is left out is as wide as the sender may see."""

    question: Words
    conversation_id: Annotated[str | None, Field(max_length=64)] = None
    tags: Annotated[list[Name] | None, Field(max_length=64)] = None
    journey: Name | None = None
    subject: Name | None = None


class ToCheck(Sent):
    """A text to check: against the library, one document, or words sent with it."""

    text: Text
    against: Annotated[str | None, Field(max_length=64)] = None
    evidence: Annotated[str | None, Field(max_length=MAX_CHARACTERS)] = None
    tags: Annotated[list[Name] | None, Field(max_length=64)] = None


class Refiling(Sent):
    """Where a document belongs now; what is left out stays as it is."""

    tags: Annotated[list[Name] | None, Field(max_length=64)] = None
    journeys: Annotated[list[Name] | None, Field(max_length=64)] = None


# ---------------------------------------------------------------------------------------------------------- answers


class SentenceShape(BaseModel):
    """A checked sentence."""

    text: str
    verdict: Verdict
    reasons: list[str]
    citations: list[int]


class CitationShape(BaseModel):
    """The exact words that a sentence rests on."""

    n: int
    source_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: str | None
    start: int
    end: int
    quote: str


class EvidenceShape(BaseModel):
    """A passage that the writer was shown."""

    source_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: str | None
    start: int
    end: int
    relevance: float
    is_suspicious: bool


class ConfidenceShape(BaseModel):
    """How far an answer can be trusted."""

    overall: float
    retrieval: float
    coverage: float
    llm: float | None
    calibrated: float


class RouteShape(BaseModel):
    """Whom a question was handed to."""

    tag: str
    owner_id: str | None
    owner_email: str | None
    reason: str
    fallback: bool


class AnswerShape(BaseModel):
    """What a question got; the `done` event of the stream carries the same."""

    model_config = ConfigDict(extra="allow")

    id: str
    action: Literal["CITE", "QUALIFY", "ROUTE", "REFUSE"]
    reason: str | None
    text: str
    sentences: list[SentenceShape]
    citations: list[CitationShape]
    evidence: list[EvidenceShape]
    confidence: ConfidenceShape
    route: RouteShape | None
    model: str
    left_out: int
    dropped_citations: int
    withheld_count: int
    withheld: list[SentenceShape]
    took_ms: float
    conversation_id: str | None
    inbox_id: str | None


class SpanShape(BaseModel):
    """Words that decided."""

    source_id: str
    start: int
    end: int
    quote: str


class CheckedShape(BaseModel):
    """A sentence of any text, checked."""

    text: str
    verdict: Verdict
    reasons: list[str]
    evidence: list[SpanShape]


class ChecksShape(BaseModel):
    """Every sentence of a text."""

    sentences: list[CheckedShape]


# -------------------------------------------------------------------------------------------------- search, documents


class WhyShape(BaseModel):
    """Why a passage was found."""

    dense_rank: int | None
    lexical_rank: int | None
    matched_terms: list[str]
    best_sentence: tuple[int, int] | None


class HitShape(BaseModel):
    """A passage that was found."""

    source_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: str | None
    start: int
    end: int
    score: float
    relevance: float
    cosine: float
    text: str
    why: WhyShape


class ExpansionShape(BaseModel):
    """A phrase that was added to the question."""

    model_config = ConfigDict(extra="allow")

    phrase: str
    reason: str


class ResultsShape(BaseModel):
    """What a search found."""

    hits: list[HitShape]
    expansions: list[ExpansionShape]
    took_ms: float


class ProgressShape(BaseModel):
    """How far reading has come."""

    stage: str
    done: int
    total: int
    time_left_s: float | None
    words: str


class DocumentShape(BaseModel):
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
    progress: ProgressShape | None


class DocumentsShape(BaseModel):
    """Documents, newest first."""

    documents: list[DocumentShape]


class TakenShape(DocumentShape):
    """A document that was taken in."""

    was_there: bool


class TurnedShape(BaseModel):
    """A file that was not taken in, and why."""

    name: str
    kind: str
    detail: str


class UploadShape(BaseModel):
    """What became of the files of an upload."""

    documents: list[TakenShape]
    refused: list[TurnedShape]


class DeletedShape(BaseModel):
    """The ids of what was erased."""

    deleted: list[str]


class PartShape(BaseModel):
    """A part of a document's text."""

    start: int
    end: int
    length: int
    text: str


class BoxShape(BaseModel):
    """A rectangle in points from the top left corner of its page."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


class BoxesShape(BaseModel):
    """Where words stand."""

    boxes: list[BoxShape]


# ------------------------------------------------------------------------------------------------------------ status


class PartState(BaseModel):
    """How one part is: it answers, it is slow, or it fails."""

    state: Literal["ok", "slow", "failed"]
    took_ms: float
    detail: str | None


class HealthShape(BaseModel):
    """Whether the server lives, and whether it can do its work."""

    status: Literal["ok", "degraded"]
    live: bool
    ready: bool
    parts: dict[Literal["store", "embedder", "model"], PartState]


class ModelShape(BaseModel):
    """A model that is allowed, or there, or both."""

    name: str
    is_allowed: bool
    is_present: bool
    is_chosen: bool
    context_window: int | None
    max_reply_tokens: int | None
    digest: str | None
    size_bytes: int | None


class ModelsShape(BaseModel):
    """Who writes answers, and which models could."""

    writer: str
    server: str
    problem: str | None
    models: list[ModelShape]
