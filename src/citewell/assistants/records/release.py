"""Releases a model's reply sentence by sentence: what it says of itself is held back, what may not be said ends it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from citewell.answer.cite import MARK
from citewell.answer.gate import whole_sentences
from citewell.assistants.records.boundary_check import (
    REGENERATIONS,
    Boundary,
    DeclaredReply,
    decide,
    parse_boundary,
    without_lines,
)
from citewell.assistants.records.safety_filter import BlockedText, RephrasedText, check_sentence, template
from citewell.assistants.records.source_sentences import Sources
from citewell.assistants.records.unsafe_phrases import UnsafePhrase
from citewell.clinical.languages import Language
from citewell.errors import LLMTimeoutError

HEAD = 200
"""How many characters of a reply are waited for until it says what it does."""

Write = Callable[[], Iterator[str]]
"""Begins another reply."""


@dataclass(slots=True)
class ReleaseCounts:
    """What became of the replies to one question; complete when the last of them is read."""

    replies: int = 0
    released: int = 0
    rephrased: int = 0
    calm: str = ""
    """The words that take the place of what may not be shown."""
    findings: list[UnsafePhrase] = field(default_factory=list)

    @property
    def outcome(self) -> Literal["passed", "rephrased", "blocked"]:
        """What the filter did."""
        if self.calm:
            return "blocked"
        return "rephrased" if self.rephrased else "passed"


def release(write: Write, sources: Sources, tally: ReleaseCounts, *, language: Language) -> Iterator[str]:
    """The sentences of a reply that a patient may see, each as soon as it is whole.

    A reply that leaves its bounds before anything of it was shown is written again, silently; calm words take its
    place in the end, or when no time is left. Once something was shown, what may not be said ends the reply.
    """
    calm: str | None = None
    for _ in range(REGENERATIONS + 1):
        tally.replies += 1
        try:
            with closing(_begun(write)) as pieces:
                calm = yield from _released(pieces, sources, tally, language)
        except LLMTimeoutError:
            if calm is None or tally.released:
                raise
            break
        if calm is None or tally.released:
            break
    tally.calm = calm or ""


def _begun(write: Write) -> Generator[str, None, None]:
    """A reply that can be broken off."""
    yield from write()


def _released(
    pieces: Iterator[str], sources: Sources, tally: ReleaseCounts, language: Language
) -> Generator[str, None, str | None]:
    """What may be shown of one reply; returns the calm words for what may not, None where all of it was read."""
    declared = _declared(pieces)
    if not declared.text or decide(declared) is Boundary.OUT_OF_BOUNDS:
        return template("boundary", language)
    for raw in whole_sentences(chain([declared.text], pieces)):
        sentence = without_lines(raw)
        if not sentence:
            continue
        outcome = check_sentence(sentence, sources)
        if isinstance(outcome, BlockedText):
            tally.findings += outcome.findings
            return outcome.text
        if isinstance(outcome, RephrasedText):
            tally.findings += outcome.findings
            tally.rephrased += 1
            sentence = _marked(outcome.text, sentence)
        tally.released += 1
        yield sentence
    return None


def _declared(pieces: Iterable[str]) -> DeclaredReply:
    """What a reply says of itself, and its words so far."""
    head = ""
    for piece in pieces:
        head += piece
        first, newline, rest = head.lstrip().partition("\n")
        if len(head) >= HEAD or (first and newline and rest.strip(" \t\n`")):
            break
    declared = parse_boundary(head)
    spaced = head[len(head.rstrip()) :]  # the next piece may go on in the middle of a line
    return DeclaredReply(declared.boundary, declared.text and declared.text + spaced, declared.is_stated)


def _marked(said: str, sentence: str) -> str:
    """Other words with the marks that the sentence had."""
    marks = "".join(match.group() for match in MARK.finditer(sentence))
    return MARK.sub("", said) + marks
