"""The statements that may answer a question, and what is seen of each beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Protocol

from citewell.answer.amounts import Amount, amounts, states
from citewell.answer.doses import with_doses
from citewell.answer.expand import Expansion
from citewell.answer.fitting import Asker, asker
from citewell.answer.of_medicines import is_in_company_of_others
from citewell.answer.statements import Piece, Statement, statements, titled
from citewell.clinical.bands import as_bands, is_within
from citewell.types import Evidence, Hit, Near, Span
from citewell.words import terms


class Reader(Protocol):
    """Gives the log-odds that a statement answers a question."""

    @property
    def name(self) -> str: ...

    def __call__(self, question: str, statement: str) -> float: ...


EXPLAINED = frozenset({"lay word", "abbreviation", "misspelling"})
"""Words of a question that the reader is given with their clinical names."""
MOST_ODDS, LEAST_SHARE = 12.0, -8.0
MOST_READ = 16
"""Statements that the reader reads for one answer: the best by words and cosine."""
ASKING = frozenset(
    terms(
        """what which who whom whose when where why how much many long often is are was were be do does did done can
        could should would may might must shall will has have had i me my we our you your he she they it its the a an of
        in on for to with at by from and or if there any some this that these those please tell about need get give
        mean means way best"""
    )
)
"""Words that make a question of what it is about."""


@dataclass(frozen=True, slots=True)
class Features:
    """What is seen of a statement beside a question; every number grows with how well it fits."""

    reader: float
    """Log-odds of the reader, within ±12; 0 without one."""
    share: float
    """Log of its share among all that the reader has read, at least -8; 0 without a reader."""
    coverage: float
    """Share of the question's words that the statement holds, or says by another name."""
    nearness: float
    """Cosine of question and nearest sentence of the statement."""
    relevance: float
    """Chance that its passage is about the question."""
    rank: float
    """Rank score of its passage beside the best at hand, which has 1."""
    amount: float
    """1 where it states an amount of the question, such as the weight of a child, or a band with a result of it."""

    def values(self) -> tuple[float, ...]:
        return astuple(self)


NAMES = tuple(one.name for one in fields(Features))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement, where it was found, what is seen of it, and the chance that it answers."""

    statement: Statement
    hit: Hit
    features: Features
    chance: float = 0.0

    def is_cited(self, cited: Sequence[Span]) -> bool:
        """Whether a citation lies in its words."""
        return any(
            span.source_id == self.hit.source_id and span.start < end and start < span.end
            for span in cited
            for start, end in self.statement.pieces
        )


def candidates(
    question: str,
    evidence: Sequence[Evidence],
    *,
    reader: Reader | None,
    expansions: Sequence[Expansion],
    cited: Sequence[Span] = (),
) -> list[Candidate]:
    """The statements that may answer, with what is seen of them; what speaks of another patient or medicine may not.

    The best by words and cosine are read, and those that are cited.
    """
    found = sorted(_seen(question, evidence, expansions), key=lambda one: -_prior(one.features))
    chosen = found[:MOST_READ] + [one for one in found[MOST_READ:] if one.is_cited(cited)]
    return chosen if reader is None else _read(reader, question, explanations(question, expansions), chosen)


Edit = tuple[int, int, str]
"""Words of a question to be said otherwise: where they begin and end, and what to say."""


def explanations(question: str, expansions: Sequence[Expansion]) -> list[Edit]:
    """The clinical names of lay words and abbreviations, to stand behind them, and misspelt words mended.

    >>> words = "Does he need a drip?"
    >>> worded(words, explanations(words, [Expansion("intravenous fluid", "lay word", (15, 19))]))
    'Does he need a drip (intravenous fluid)?'
    """
    edits: dict[tuple[int, int], str] = {}
    for one in expansions:
        if one.reason in EXPLAINED:
            is_mended = one.reason == "misspelling"
            edits.setdefault(
                one.from_words, one.phrase if is_mended else f"{question[slice(*one.from_words)]} ({one.phrase})"
            )
    return [(*place, words) for place, words in edits.items()]


def worded(question: str, edits: Sequence[Edit]) -> str:
    """A question with some of its words said otherwise; where two edits meet, the first of them counts."""
    taken: list[Edit] = []
    for edit in edits:
        if all(edit[1] <= start or end <= edit[0] for start, end, _ in taken):
            taken.append(edit)
    for start, end, words in sorted(taken, reverse=True):
        question = f"{question[:start]}{words}{question[end:]}"
    return question


def _prior(seen: Features) -> float:
    """By what statements are chosen to be read."""
    return 2 * seen.coverage + 3 * seen.nearness + seen.amount


def _read(reader: Reader, question: str, edits: Sequence[Edit], found: Sequence[Candidate]) -> list[Candidate]:
    """The statements with what the reader says of them; it reads a value as the band of the statement that holds it."""
    texts = (f"{titled(one.hit.document, one.statement)} : {one.statement.text}" for one in found)
    pairs = ((worded(question, [*as_bands(question, text), *edits]), text) for text in texts)
    scores = [max(-MOST_ODDS, min(MOST_ODDS, reader(asked, text))) for asked, text in pairs]
    whole = math.log(sum(map(math.exp, scores))) if scores else 0.0
    return [
        replace(one, features=replace(one.features, reader=score, share=max(LEAST_SHARE, score - whole)))
        for one, score in zip(found, scores, strict=True)
    ]


def _seen(question: str, evidence: Sequence[Evidence], expansions: Sequence[Expansion]) -> Iterator[Candidate]:
    """The statements that may answer, before the reader has read them."""
    words, holds = QuestionWords.of(question, expansions), asker(question)
    best = max((one.hit.rank_score for one in evidence), default=0.0)
    for hit, statement in _admitted(evidence, holds, words):
        text = statement.text
        stated = any(states(text, amount) for amount in words.amounts) or is_within(text, holds.results) is True
        features = Features(
            reader=0.0,
            share=0.0,
            coverage=words.covered(text),
            nearness=_nearness(statement.pieces, hit.why.near, hit.raw_cosine),
            relevance=hit.relevance,
            rank=hit.rank_score / best if best > 0 else 0.0,
            amount=float(stated),
        )
        yield Candidate(statement, hit, features)


def _admitted(evidence: Sequence[Evidence], holds: Asker, words: QuestionWords) -> Iterator[tuple[Hit, Statement]]:
    """What may answer; of a section on other medicines than the one in the question, nothing may."""
    found = [(each.hit, one) for each in evidence for one in with_doses(statements(each))]
    sections: dict[tuple[str, tuple[str, ...]], list[Statement]] = {}
    for hit, one in found:
        sections.setdefault((hit.document_id, one.titles), []).append(one)
    known: set[tuple[str, tuple[Piece, ...]]] = set()
    for hit, one in sorted(found, key=lambda pair: -pair[0].rank_score):
        if (hit.document_id, one.pieces) in known:  # passages overlap
            continue
        known.add((hit.document_id, one.pieces))
        section = sections[hit.document_id, one.titles]
        is_of_others = is_in_company_of_others(one, section, hit.document, holds.named)
        is_meant = is_of_others and any(words.held(one.text) >= frozenset(terms(named.name)) for named in holds.named)
        if holds.admits(one, hit.document) and (is_meant or not is_of_others):
            yield hit, one


def _nearness(pieces: Sequence[Piece], near: Sequence[Near], otherwise: float) -> float:
    """The cosine of the nearest sentence that lies in the pieces for the most part."""
    inside = (
        cosine
        for start, end, cosine in near
        if any(2 * (min(end, last) - max(start, first)) >= end - start for first, last in pieces)
    )
    return max(inside, default=otherwise)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words of a question, and other names for them."""

    words: frozenset[str]
    names: tuple[tuple[frozenset[str], frozenset[str]], ...]
    """Words of the question, and words that say the same."""
    amounts: tuple[Amount, ...]

    @classmethod
    def of(cls, question: str, expansions: Sequence[Expansion]) -> QuestionWords:
        """What a question is about."""
        words = frozenset(terms(question)) - ASKING or frozenset(terms(question))
        names = tuple(
            (frozenset(terms(question[slice(*one.from_words)])) & words, frozenset(terms(one.phrase)))
            for one in expansions
        )
        return cls(words, names, tuple(amounts(question)))

    def held(self, text: str) -> frozenset[str]:
        """The words that a text holds, or says by another name."""
        said = frozenset(terms(text))
        return (self.words & said).union(*(words for words, phrase in self.names if phrase and phrase <= said))

    def covered(self, text: str) -> float:
        """The share of the words that a text holds, or says by another name."""
        return len(self.held(text)) / len(self.words) if self.words else 0.0
