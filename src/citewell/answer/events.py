"""What happens while a question is answered, as typed events that the command line, the API and the page read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citewell.types import Answer, Citation, Claim, Scope


@dataclass(frozen=True, slots=True)
class AnswerStarted:
    """The question is saved in this conversation, whatever the outcome."""

    conversation_id: str


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage begins: `searching` the library; `reading` the passages that were found, as far as they fit; `writing`
    from those; `checking`, once the first sentence is there. `count` is how many passages the stage looks at, null
    while searching."""

    stage: Literal["searching", "reading", "writing", "checking"]
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """The assistant's own words, shown before its sentences, such as the notice in an emergency."""

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
    """It cannot go on; ask again with the same conversation id. The last event."""

    kind: str
    message: str


Event = AnswerStarted | StageStarted | Notice | SentenceChecked | Replace | AnswerDone | AnswerFailed
