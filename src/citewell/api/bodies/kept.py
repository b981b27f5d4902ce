"""Conversations, questions that were handed to a person, and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell.api.bodies.sent import SEEN, Sent


class Reply(Sent):
    """What a person answers to a question that was handed to them."""

    text: Annotated[str, Field(min_length=1, max_length=20_000, pattern=SEEN)]


class ConversationShape(BaseModel):
    """A conversation as it is listed."""

    id: str
    title: str
    made_at: datetime
    changed_at: datetime


class ConversationsShape(BaseModel):
    """Conversations, the last changed first."""

    conversations: list[ConversationShape]
    next: str | None = None
    """What to send as `after` for those that follow; null at the end."""


class TurnShape(BaseModel):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    answer_id: str | None
    reply: str | None
    """Of the person to whom the question was passed on."""
    made_at: datetime


class TurnsShape(BaseModel):
    """A conversation, oldest turn first."""

    id: str
    turns: list[TurnShape]


class RoutedShape(BaseModel):
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


class RoutedQuestionShape(RoutedShape):
    """Such a question as it is listed; null where its record cannot be opened."""

    question: str | None


class RoutedListShape(BaseModel):
    """Questions that were handed to a person."""

    questions: list[RoutedQuestionShape]
    next: str | None = None
    """What to send as `after` for those that follow; null at the end."""


class PassageShape(BaseModel):
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


class CaseShape(RoutedShape):
    """Such a question with its words, as far as the sender may see them."""

    question: str
    may_answer: bool
    evidence: list[PassageShape]
    hidden_evidence: int
    draft: list[dict[str, Any]]
    hidden_draft: int
    raw_text: str | None


class AuditEntryShape(BaseModel):
    """One record of the audit log, without its words."""

    number: int
    answer_id: str
    user_id: str
    made_at: datetime
    question_hash: str
    hash: str


class RecordsShape(BaseModel):
    """Records, newest first."""

    records: list[AuditEntryShape]


class RecordShape(AuditEntryShape):
    """One record with its words: the question, what was searched, the answer and its verdicts."""

    model_config = ConfigDict(extra="allow")

    question: str


class ProofShape(BaseModel):
    """Whether the log is whole; the head can be noted elsewhere and compared later."""

    ok: bool
    records: int
    head: str
    problems: list[str]


class ReplayShape(BaseModel):
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
