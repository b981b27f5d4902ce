"""What happens while a question is answered, as typed events that the command line, the API and the page read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citewell.types import Answer, Citation, Claim, Scope


@dataclass(frozen=True, slots=True)
class AnswerStarted:
    """The question is kept in this conversation, whatever becomes of it."""

    conversation_id: str


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage has begun; `count` is how many passages it looks at, where that is known.

    Searching the library, reading what was found as far as it fits, writing a draft, and checking its first sentence;
    a model goes on writing while what it has written is checked.
    """

    stage: Literal["searching", "reading", "writing", "checking"]
    count: int | None = None
    """None while searching: how many the scope holds is not counted for a question."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Words of the assistant before its sentences, such as the notice in an emergency."""

    text: str
    is_emergency: bool = False
    """It is the way to help, which comes before everything else."""


@dataclass(frozen=True, slots=True)
class SentenceChecked:
    """A sentence was checked: shown with its citations, or withheld."""

    index: int
    claim: Claim
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Replace:
    """A sentence that was shown must be taken back or shown otherwise: a later check overturned it."""

    index: int
    claim: Claim
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchedScope:
    """The scope in which an answer was searched for."""

    scope: Scope
    documents: int
    """Current documents that the scope could see."""


@dataclass(frozen=True, slots=True)
class AnswerDone:
    """The whole answer; it is on record where a conversation is named, and in the inbox where an id there is."""

    answer: Answer
    conversation_id: str | None = None
    routed_id: str | None = None
    looked: SearchedScope | None = None


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """It cannot go on; the message says what to do, and nothing is lost."""

    kind: str
    message: str


Event = AnswerStarted | StageStarted | Notice | SentenceChecked | Replace | AnswerDone | AnswerFailed
