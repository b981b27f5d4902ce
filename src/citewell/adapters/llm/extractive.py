"""The writer without a model: verbatim statements of the evidence, each sentence with its mark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from citewell.answer.expand import expand
from citewell.answer.extract import MEASURE, Measure, Nearness, Place, extract
from citewell.answer.statements import Statement
from citewell.clinical import Lexicon
from citewell.ports import Embedder
from citewell.types import Context, Evidence
from citewell.words import sentences

WINDOW_TOKENS = 1_000_000
"""Nothing is sent anywhere, so all evidence fits."""
CHARACTERS_PER_TOKEN = 4
_LIST_NUMBER = re.compile(r"\(?\w{1,3}[.)]")
"""The number of a list item, which would be checked as a sentence if it were shown."""


class Extractive:
    """Quotes the evidence; says nothing where nothing answers."""

    def __init__(self, near: Nearness, lexicon: Lexicon, *, measure: Measure = MEASURE) -> None:
        self._near = near
        self._lexicon = lexicon
        self._measure = measure

    @property
    def name(self) -> str:
        return "extractive"

    @property
    def window(self) -> int:
        return WINDOW_TOKENS

    @property
    def reply(self) -> int:
        return 0

    def count(self, text: str) -> int:
        """About as many tokens as a model would count."""
        return -(-len(text) // CHARACTERS_PER_TOKEN)

    def write(self, question: str, context: Context, *, rules: str) -> Iterator[str]:  # noqa: ARG002
        """Statement by statement, a blank line between two; every sentence ends in its mark."""
        found = extract(
            question,
            context.evidence,
            near=self._near(question, context.evidence),
            expansions=expand(question, lexicon=self._lexicon),
            measure=self._measure,
        )
        for position, statement in enumerate(found):
            yield ("\n\n" if position else "") + marked(statement)

    def rate(self, question: str, context: Context, answer: str) -> float | None:  # noqa: ARG002
        """None: it has no opinion of its own words."""
        return None


def marked(statement: Statement) -> str:
    """The words of a statement, line by line, with a mark after every sentence.

    A mark for each sentence and not for each line, because every sentence is checked by itself.
    """
    lines = [[line[start:end] for start, end in sentences(line)] for line in statement.lines]
    mark = f" [S{statement.number}]"
    return "\n".join(" ".join(one + mark for one in line if not _LIST_NUMBER.fullmatch(one)) for line in lines)


class Embedded:
    """Measures nearness by embedding the sentences anew; slow beside stored vectors, and needs no library."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, question: str, evidence: Sequence[Evidence]) -> Mapping[Place, float]:
        """The cosine of each sentence with the question."""
        places = [
            (one.number, one.start + start, one.start + end) for one in evidence for start, end in sentences(one.text)
        ]
        texts = [
            one.text[start - one.start : end - one.start]
            for one in evidence
            for number, start, end in places
            if number == one.number
        ]
        vectors = self._embedder.embed([question, *texts])
        return dict(zip(places, (vectors[1:] @ vectors[0]).tolist(), strict=True))
