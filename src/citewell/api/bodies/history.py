"""Conversations, questions that were handed to a person, and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from citewell.api.bodies.base import SEEN, Id, RequestBody, ResponseBody
from citewell.app import MAX_PROBLEM_CHARACTERS
from citewell.history import AuditEntry, ListedQuestion


class HandOnRequest(RequestBody):
    """A question to send to a person, by the id of its answer: one that was not answered, or one answered wrongly."""

    answer_id: Id
    problem: Annotated[str | None, Field(min_length=1, max_length=MAX_PROBLEM_CHARACTERS, pattern=SEEN)] = None
    """What is wrong with the answer; needed where there is one."""


class ReplyRequest(RequestBody):
    """What a person answers to a question that was handed to them."""

    text: Annotated[str, Field(min_length=1, max_length=20_000, pattern=SEEN)]


class ConversationResponse(ResponseBody):
    """A conversation as it is listed."""

    id: str
    title: str
    made_at: datetime
    changed_at: datetime


class ConversationsResponse(ResponseBody):
    """Conversations, the last changed first."""

    conversations: list[ConversationResponse] = Field(validation_alias="items")
    next: str | None
    """What to send as `after` for those that follow; null at the end."""


class TurnResponse(ResponseBody):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    answer_id: str | None
    reply: str | None
    """Of the person to whom the question was passed on."""
    made_at: datetime


class TurnsResponse(ResponseBody):
    """A conversation, oldest turn first."""

    id: str
    turns: list[TurnResponse]


class RoutedListResponse(ResponseBody):
    """Questions that were handed to a person."""

    questions: list[ListedQuestion] = Field(validation_alias="items")
    next: str | None
    """What to send as `after` for those that follow; null at the end."""


class RecordsResponse(ResponseBody):
    """Records, newest first."""

    records: list[AuditEntry]


class RecordResponse(ResponseBody):
    """One record with its words: the question, what was searched, the answer and its verdicts."""

    model_config = ConfigDict(extra="allow")

    number: int
    answer_id: str
    user_id: str
    made_at: datetime
    question_hash: str
    hash: str
    question: str


class TrailRecordResponse(ResponseBody):
    """One record of the trail of access: IDs only."""

    log: str
    number: int
    at: str
    tenant: str
    user_id: str
    """Empty where nobody was signed in."""
    way: str
    """session, key, link or cli."""
    action: str
    object_id: str
    """The IDs in the address; a hash in place of what is no ID."""
    outcome: str
    """done or refused."""
    hash: str


class TrailResponse(ResponseBody):
    """Records of the trail, newest first."""

    records: list[TrailRecordResponse]


class ProofResponse(ResponseBody):
    """Whether the log is whole; the head can be noted elsewhere and compared later."""

    ok: bool
    records: int
    head: Annotated[str, BeforeValidator(str)]
    problems: list[str]


class ReplayResponse(ResponseBody):
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


class ShareResponse(ResponseBody):
    """A link to an answer: /shared/ and its ID."""

    id: str
    answer_id: str
    made_by: str
    made_at: datetime


class SharedResponse(ShareResponse):
    """What a link leads to."""

    question: str
    answer: dict[str, Any]
