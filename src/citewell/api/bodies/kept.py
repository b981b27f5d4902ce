"""Conversations, questions that were handed to a person, and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell.api.bodies.sent import SEEN, RequestBody


class Reply(RequestBody):
    """What a person answers to a question that was handed to them."""

    text: Annotated[str, Field(min_length=1, max_length=20_000, pattern=SEEN)]


class ConversationResponse(BaseModel):
    """A conversation as it is listed."""

    id: str
    title: str
    made_at: datetime
    changed_at: datetime


class ConversationsResponse(BaseModel):
    """Conversations, the last changed first."""

    conversations: list[ConversationResponse]
    next: str | None = None
    """What to send as `after` for those that follow; null at the end."""


class TurnResponse(BaseModel):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    answer_id: str | None
    reply: str | None
    """Of the person to whom the question was passed on."""
    made_at: datetime


class TurnsResponse(BaseModel):
    """A conversation, oldest turn first."""

    id: str
    turns: list[TurnResponse]


class RoutedResponse(BaseModel):
    """A question that was handed to a person."""

    id: str
    answer_id: str
    asked_by: str
    tag: str
    owner_id: str | None
    reason: str
    fallback: bool
    state: Literal["open", "answered", "closed"]
    reply: str | None
    replied_by: str | None
    made_at: datetime
    replied_at: datetime | None


class RoutedQuestionResponse(RoutedResponse):
    """Such a question as it is listed; null where its record cannot be opened."""

    question: str | None


class RoutedListResponse(BaseModel):
    """Questions that were handed to a person."""

    questions: list[RoutedQuestionResponse]
    next: str | None = None
    """What to send as `after` for those that follow; null at the end."""


class PassageResponse(BaseModel):
    """A passage beside such a question; without words once its document is gone."""

    source_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: str | None
    start: int
    end: int
    text: str | None


class CaseResponse(RoutedResponse):
    """Such a question with its words, as far as the sender may see them."""

    question: str
    may_answer: bool
    evidence: list[PassageResponse]
    hidden_evidence: int
    draft: list[dict[str, Any]]
    hidden_draft: int
    raw_text: str | None


class AuditEntryResponse(BaseModel):
    """One record of the audit log, without its words."""

    number: int
    answer_id: str
    user_id: str
    made_at: datetime
    question_hash: str
    hash: str


class RecordsResponse(BaseModel):
    """Records, newest first."""

    records: list[AuditEntryResponse]


class RecordResponse(AuditEntryResponse):
    """One record with its words: the question, what was searched, the answer and its verdicts."""

    model_config = ConfigDict(extra="allow")

    question: str


class ProofResponse(BaseModel):
    """Whether the log is whole; the head can be noted elsewhere and compared later."""

    ok: bool
    records: int
    head: str
    problems: list[str]


class ReplayResponse(BaseModel):
    """A question asked again, beside what it got then."""

    answer_id: str
    question: str
    is_same: bool
    action: dict[str, str | None]
    text: dict[str, str | None]
    sentences: list[dict[str, Any]]
    erased: list[dict[str, Any]]
    notes: list[str]
    now: dict[str, Any]
