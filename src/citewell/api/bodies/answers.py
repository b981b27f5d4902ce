"""Questions, answers and checks."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from pydantic import ConfigDict, Field

from citewell.answer.answer_json import ActionName
from citewell.answer.cite import Marks
from citewell.answer.gate import MAX_CHECKED_CHARACTERS
from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS
from citewell.answer.service import WORDY
from citewell.api.bodies.base import SEEN, Id, Name, RequestBody, ResponseBody, Tags
from citewell.types import MAX_CHUNKS, Confidence, Emergency, Route, Verdict
from citewell.types.literature import NoticeKind

Words = Annotated[str, Field(min_length=1, pattern=WORDY, json_schema_extra={"maxLength": MAX_QUESTION_CHARACTERS})]
"""A question; the service itself refuses one that is too long, since an emergency in it must be told even then."""
ModelName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\w./:@-]+$")]
Text = Annotated[str, Field(min_length=1, max_length=MAX_CHECKED_CHARACTERS, pattern=SEEN)]


class AskRequest(RequestBody):
    """A question, and how far to look; what is left out is as wide as the sender may see."""

    question: Words
    conversation_id: Id | None = None
    marks: Marks = Marks.NUMBER
    """How `text` cites."""
    tags: Tags = None
    journey: Name | None = None
    subject: Name | None = None
    document: Id | None = None
    """One document to ask, in its current version; tags, journey and subject then count for nothing."""
    hand_on: bool = True
    """Whether a question that the documents do not answer goes to the inbox by itself. The pages send false and ask
    the person first; programs written before there was a choice rely on `inbox_id`."""
    model: ModelName | None = None
    """Another model of the configured server, which must be on the list of allowed ones."""
    max_context_chunks: Annotated[int | None, Field(ge=1, le=MAX_CHUNKS)] = None
    """Passages that the answer may rest on."""


class CheckRequest(RequestBody):
    """A text to check: against the library, one document, or words sent with it, not both of these."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {
                "required": ["against", "evidence"],
                "properties": {"against": {"type": "string"}, "evidence": {"type": "string"}},
            }
        }
    )

    text: Text
    against: Id | None = None
    evidence: Annotated[str | None, Field(max_length=MAX_CHECKED_CHARACTERS)] = None
    tags: Tags = None


class SentenceResponse(ResponseBody):
    """A checked sentence."""

    text: str
    verdict: Verdict
    reasons: list[str]
    citations: list[int]


class WindowResponse(ResponseBody):
    """The words of a passage round those that are cited."""

    before: str
    after: str


class CitationResponse(ResponseBody):
    """The exact words that a sentence rests on."""

    n: int
    source_id: str
    chunk_id: str
    document_id: str
    document: str
    version: int
    date: dt.date | None
    page: int | None
    section: str | None
    start: int
    end: int
    quote: str
    relevance: float
    window: WindowResponse


class EvidenceResponse(ResponseBody):
    """A passage that the writer was shown."""

    source_id: str
    chunk_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: str | None
    start: int
    end: int
    relevance: float
    is_calibrated: bool
    """If not, the relevance tells of shared words alone: its embedder has no calibration."""
    is_suspicious: bool


class ScopeResponse(ResponseBody):
    """Where an answer was looked for; `*` among the tags or as journey is all of them."""

    tags: list[str]
    journey: str | None
    subject: str | None
    document: str | None = None
    """The one document that was searched, in all its versions, where the question was narrowed to it."""
    documents: int
    """Current documents that the scope could see."""


class UnusedInQuestionResponse(ResponseBody):
    """Words of a question that nothing could use, and why."""

    words: str
    why: str


class NoticeResponse(ResponseBody):
    """What was published since about a document that an answer cites."""

    document_id: str
    document: str
    kind: NoticeKind
    where: str
    """Where that stands."""
    pmid: str | None
    text: str


class AnswerResponse(ResponseBody):
    """What a question got; the `done` event of the stream carries the same."""

    model_config = ConfigDict(extra="allow")

    id: str
    query: str | None
    """What was searched for: the question as it stands on its own; null where nothing was."""
    action: ActionName
    reason: str | None
    text: str
    grounded: bool
    sentences: list[SentenceResponse]
    citations: list[CitationResponse]
    evidence: list[EvidenceResponse]
    confidence: Confidence
    route: Route | None
    model: str
    left_out: int
    shortened: int
    dropped_citations: int
    context_tokens: int
    withheld_count: int
    withheld: list[SentenceResponse]
    raw_text: str | None
    took_ms: float
    corrected: dict[str, str]
    """Misspelt words of the question, each with the word that it was read as."""
    emergency: Emergency | None
    """Where the question tells of one; `text` begins with the way to help."""
    notices: list[NoticeResponse]
    """Retractions, expressions of concern and corrections; `reason` tells them too."""
    conversation_id: str | None
    inbox_id: str | None
    scope: ScopeResponse | None


class SpanResponse(ResponseBody):
    """Words that decided."""

    source_id: str
    start: int
    end: int
    quote: str


class CheckedResponse(ResponseBody):
    """A sentence of any text, checked."""

    text: str
    verdict: Verdict
    reasons: list[str]
    evidence: list[SpanResponse]


class ChecksResponse(ResponseBody):
    """Every sentence of a text."""

    sentences: list[CheckedResponse]
