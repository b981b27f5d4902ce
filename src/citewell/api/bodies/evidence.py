"""Questions to the literature of a care journey, and conversations with what each turn cites."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from citewell.answer.cite import Marks
from citewell.api.bodies.answers import AnswerResponse, Words
from citewell.api.bodies.base import Id, RequestBody, ResponseBody
from citewell.api.bodies.journeys import Slug
from citewell.keeping import Conversation


class EvidenceQuestion(RequestBody):
    """A question; without a journey, of what is for everyone only."""

    question: Words
    journey: Slug | None = None
    conversation_id: Id | None = None
    """A conversation goes on in the journey that it began in."""
    marks: Marks = Marks.NUMBER


class EvidenceTalksResponse(ResponseBody):
    """Conversations, the last changed first."""

    conversations: list[Conversation] = Field(validation_alias="items")
    next: str | None
    """What to send as `after` for those that follow; null at the end."""


class TurnCitationResponse(ResponseBody):
    """What a turn cites: the words, the way to them, and whether it still leads there."""

    index: int
    document_id: str
    title: str
    version: int
    page: int | None
    section: str | None
    excerpt: str
    start: int
    end: int
    standing: Literal["open", "replaced", "withdrawn", "elsewhere", "erased"]
    note: str
    url: str | None
    """Opens the marked words within the journey; null where they are no longer shown."""


class EvidenceTurnResponse(ResponseBody):
    """A question and what it got; answer null while it waits for one."""

    question: str
    answer_id: str | None
    action: Literal["CITE", "QUALIFY", "ROUTE", "REFUSE"] | None
    text: str | None
    reply: str | None
    citations: list[TurnCitationResponse]


class EvidenceHistoryResponse(ResponseBody):
    """A conversation, oldest turn first."""

    id: str
    journey: str | None
    turns: list[EvidenceTurnResponse]


class EvidenceAnswerResponse(AnswerResponse):
    """What a question got; `notes.journey` says where it was asked."""
