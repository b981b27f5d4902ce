"""Messages to the guidelines chat, and what they get."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from citewell.api.bodies.answers import UnusedInQuestionResponse, Words
from citewell.api.bodies.base import SEEN, Id, RequestBody, ResponseBody
from citewell.types import Emergency


class ChatMessage(RequestBody):
    """A message; in a new session unless one is named, and to all guidelines unless one is."""

    message: Words
    session_id: Id | None = None
    guideline: Annotated[str | None, Field(min_length=1, max_length=200, pattern=SEEN)] = None
    """A guideline by its name, such as NG12, or by the id of its document."""


class ChatCitationResponse(ResponseBody):
    """A rule, a row of the index or a definition, in the guideline's own words."""

    label: str
    guideline: str
    rule: str | None
    page: int | None
    excerpt: str
    document: str
    document_id: str
    source_id: str
    start: int
    end: int


class ChatChunkResponse(ResponseBody):
    """A piece that was found: the score that gates saw, and the boost that only the order did."""

    guideline: str
    kind: Literal["rule", "search", "symptom", "definition"]
    id: str
    label: str
    page: int
    score: float
    boost: float


class ChatDebugResponse(ResponseBody):
    """How an answer came about; null where nothing was looked up."""

    input_class: Literal[
        "smalltalk",
        "meta",
        "chitchat_redirect",
        "safety_urgent",
        "medical_out_of_scope",
        "needs_clarification",
        "proceed",
    ]
    query_strategy: Literal["direct", "topic_enriched", "llm_rewrite", "rewrite"] | None
    search_query: str | None
    guardrail_result: Literal["sufficient", "weak", "none", "out_of_scope"] | None
    top_score: float | None
    chunks: list[ChatChunkResponse]


class ChatAnswerResponse(ResponseBody):
    """What a message got."""

    session_id: str
    answer_id: str
    answer: str
    citations: list[ChatCitationResponse]
    emergency: Emergency | None
    """Where the message tells of one; `answer` begins with the way to help."""
    unused: list[UnusedInQuestionResponse]
    debug: ChatDebugResponse


class ChatTurnResponse(ResponseBody):
    """One message of a session; one without an answer id still waits for its answer."""

    role: Literal["user", "assistant"]
    content: str
    answer_id: str | None
    made_at: datetime


class ChatHistoryResponse(ResponseBody):
    """A session, oldest message first."""

    session_id: str
    messages: list[ChatTurnResponse]


class RelatedRuleResponse(ResponseBody):
    """A rule near a patient, in its own words."""

    label: str
    guideline: str
    rule: str
    page: int | None
    text: str
    document_id: str
    start: int
    end: int
    score: float
    boost: float


class RelatedResponse(ResponseBody):
    """The rules nearest to a patient, met or not, the nearest first."""

    rules: list[RelatedRuleResponse]
