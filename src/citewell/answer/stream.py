"""What happens while a question is answered, as typed events; the command line, the API and the page all read these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from citewell.types import Answer, Citation, Claim, Scope
from citewell.words import sentences


@dataclass(frozen=True, slots=True)
class Started:
    """The question is kept in this conversation, whatever becomes of it."""

    conversation_id: str


MAX_HEAD_WORDS = 2


@dataclass(frozen=True, slots=True)
class Working:
    """A stage has begun; `count` is how many passages it looks at, where that is known.

    Searching the library, reading what was found as far as it fits, writing a draft, and checking its first sentence;
    a model goes on writing while what it has written is checked.
    """

    stage: Literal["searching", "reading", "writing", "checking"]
    count: int | None = None
    """None while searching: how many the scope holds is not counted for a question."""


@dataclass(frozen=True, slots=True)
class Told:
    """Words of the assistant's own that stand before its sentences, such as the notice in an emergency."""

    text: str
    is_emergency: bool = False
    """It is the way to help, which comes before everything else."""


@dataclass(frozen=True, slots=True)
class Sentence:
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
class Looked:
    """Where an answer was looked for."""

    scope: Scope
    documents: int
    """Current documents that the scope could see."""


@dataclass(frozen=True, slots=True)
class Done:
    """The whole answer; it is on record where a conversation is named, and in the inbox where an id there is."""

    answer: Answer
    conversation_id: str | None = None
    routed_id: str | None = None
    looked: Looked | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """It cannot go on; the message says what to do, and nothing is lost."""

    kind: str
    message: str


Event = Started | Working | Told | Sentence | Replace | Done | Failed


def whole_sentences(pieces: Iterable[str]) -> Iterator[str]:
    """Sentences of a text that comes in pieces, each as soon as it can have no more marks.

    A word or two before them that cite nothing, such as “Yes.” or the head of a paragraph, belong to the next one.

    >>> list(whole_sentences(["Take it. [S", "1] Then", " rest.", " [S2]"]))
    ['Take it. [S1]', 'Then rest. [S2]']
    >>> list(whole_sentences(["Haemoptysis. Coughing up", " blood. [S1]"]))
    ['Haemoptysis. Coughing up blood. [S1]']
    """
    head = ""
    for sentence in _cut(pieces):
        if len(sentence.split()) <= MAX_HEAD_WORDS and "[" not in sentence:
            head += f"{sentence} "
        else:
            yield head + sentence
            head = ""
    if head:
        yield head.strip()


def _cut(pieces: Iterable[str]) -> Iterator[str]:
    """Sentences as they come to their end."""
    waiting = ""
    for piece in pieces:
        waiting += piece
        spans = sentences(waiting)
        if len(spans) > 1 and waiting[spans[-1][0]] == "[":
            spans.pop()  # a mark that belongs to the sentence before it may still be coming
        for start, end in spans[:-1]:
            yield waiting[start:end]
        if len(spans) > 1:
            waiting = waiting[spans[-1][0] :]
    yield from (waiting[start:end] for start, end in sentences(waiting))
