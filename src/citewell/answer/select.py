"""Chooses the statements that answer a question: a trained reader and a few plain features, weighed by one table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Protocol

from citewell.answer.amounts import Amount, amounts, states
from citewell.answer.expand import Expansion
from citewell.answer.extract import admitted, same_line, with_previous
from citewell.answer.fitting import asker
from citewell.answer.seen import seen
from citewell.answer.statements import Statement, titled
from citewell.answer.verify_score import calibrated, log_odds, sigmoid
from citewell.answer.wanted import wanted
from citewell.types import Claim, Context, Evidence, Hit, Span
from citewell.words import terms


class Reader(Protocol):
    """Gives the log-odds that a statement answers a question."""

    @property
    def name(self) -> str: ...

    def __call__(self, question: str, statement: str) -> float: ...


EXPLAINED = frozenset({"lay word", "abbreviation", "misspelling"})
"""Words of a question that the reader is given with their clinical names."""
MOST_ODDS = 12.0
MOST_READ = 16
"""Statements that the reader reads for one answer: the best by words and cosine."""
WEIGHTS = Path(__file__).with_name("select.json")
"""What each feature counts; `bench/reader/fit_select.py` fits it."""

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
    """Log-odds of the reader, within ±12."""
    best: float
    """1 where the reader scores nothing higher."""
    coverage: float
    """Share of the question's words that the statement holds, or says by another name."""
    nearness: float
    """Cosine of question and nearest sentence of the statement."""
    relevance: float
    """Chance that its passage is about the question."""
    rank: float
    """1 for the passage at hand that the search ranked first, 1/2 for the second, and so on."""
    amount: float
    """1 where it states an amount of the question, such as the weight of a child."""

    def values(self) -> tuple[float, ...]:
        return astuple(self)


NAMES = tuple(one.name for one in fields(Features))


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature counts, and how sure a statement must be."""

    bias: float
    features: tuple[float, ...]
    least: float
    """Chance below which nothing is shown first."""
    further: float
    """Share of the first one's chance below which nothing is shown beside it."""
    slope: float
    shift: float
    """From the log-odds of the best statement to those of an answer that is right."""

    def answered(self, chance: float) -> float:
        """The chance that an answer is right whose best statement has some chance."""
        return sigmoid(self.slope * log_odds(chance) + self.shift)

    def chance(self, seen: Features) -> float:
        """The chance that a statement answers."""
        odds = self.bias + sum(weight * value for weight, value in zip(self.features, seen.values(), strict=True))
        return sigmoid(max(-30.0, min(30.0, odds)))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement, where it was found, what is seen of it, and the chance that it answers."""

    statement: Statement
    hit: Hit
    features: Features
    chance: float = 0.0


@dataclass(frozen=True, slots=True)
class Room:
    """How much is shown."""

    statements: int = 3
    characters: int = 1_800
    overlap: float = 0.85
    """A line that has this part of its words in common with one that is shown says nothing new."""


ROOM = Room()


def select(
    question: str,
    evidence: Sequence[Evidence],
    *,
    reader: Reader,
    expansions: Iterable[Expansion] = (),
    room: Room = ROOM,
) -> list[Statement]:
    """The statements that answer a question, best first; none where nothing does."""
    weights = loaded()
    judged = [
        replace(one, chance=weights.chance(one.features))
        for one in candidates(question, evidence, reader=reader, expansions=tuple(expansions))
    ]
    judged.sort(key=lambda one: -one.chance)
    chosen: list[Candidate] = []
    for one in judged:
        least = max(weights.least, weights.further * chosen[0].chance) if chosen else weights.least
        if one.chance < least or len(chosen) == room.statements:
            break
        used = sum(len(other.statement.text) for other in chosen)
        if chosen and used + len(one.statement.text) > room.characters:
            continue
        if not any(_repeats(one, other, room.overlap) for other in chosen):
            chosen.append(one)
    return with_previous([one.statement for one in _in_reading_order(chosen)])


def rerank(
    question: str, hits: Sequence[Hit], *, reader: Reader, expansions: Sequence[Expansion], limit: int
) -> tuple[Hit, ...]:
    """The passages whose statements answer best, first."""
    weights = loaded()
    evidence = [Evidence(number, hit, hit.start, hit.end) for number, hit in enumerate(hits, 1)]
    best: dict[str, float] = {}
    for one in candidates(question, evidence, reader=reader, expansions=expansions):
        best[one.hit.source_id] = max(best.get(one.hit.source_id, 0.0), weights.chance(one.features))
    return tuple(sorted(hits, key=lambda hit: -best.get(hit.source_id, 0.0))[:limit])


def answer_chance(
    question: str,
    claims: Sequence[Claim],
    context: Context,
    *,
    reader: Reader,
    expansions: Sequence[Expansion],
) -> float:
    """The chance that claims answer a question and hold: of the best statement that they cite, times their support."""
    if not claims:
        return 0.0
    weights = loaded()
    cited = [span for claim in claims for span in claim.check.spans]
    read = candidates(question, context.evidence, reader=reader, expansions=expansions, cited=cited)
    best = max((weights.chance(one.features) for one in read if _is_cited(one, cited)), default=0.0)
    return weights.answered(best) * calibrated([claim.check for claim in claims])


def candidates(
    question: str,
    evidence: Sequence[Evidence],
    *,
    reader: Reader,
    expansions: Sequence[Expansion],
    cited: Sequence[Span] = (),
) -> list[Candidate]:
    """The statements that may answer, with what is seen of them; what speaks of another patient or medicine may not.

    The best by words and cosine are read, and those that are cited.
    """
    found = sorted(_seen(question, evidence, expansions), key=lambda one: -_prior(one.features))
    chosen = found[:MOST_READ] + [one for one in found[MOST_READ:] if _is_cited(one, cited)]
    return _read(reader, explained(question, expansions), chosen)


def _is_cited(one: Candidate, cited: Sequence[Span]) -> bool:
    return any(
        span.source_id == one.hit.source_id and span.start < end and start < span.end
        for span in cited
        for start, end in one.statement.pieces
    )


def explained(question: str, expansions: Sequence[Expansion]) -> str:
    """A question with the clinical names of its lay words and abbreviations behind them, and misspelt words mended.

    >>> explained("Does he need a drip?", [Expansion("intravenous fluid", "lay word", (15, 19))])
    'Does he need a drip (intravenous fluid)?'
    """
    names: dict[tuple[int, int], str] = {}
    for one in expansions:
        if one.reason in EXPLAINED:
            names.setdefault(one.from_words, one.phrase if one.reason == "misspelling" else f"({one.phrase})")
    behind = len(question)
    for (start, end), name in sorted(names.items(), reverse=True):
        if end <= behind:
            kept = start if not name.startswith("(") else end
            question, behind = f"{question[:kept]}{' ' if kept == end else ''}{name}{question[end:]}", start
    return question


def _prior(seen: Features) -> float:
    """By what statements are chosen to be read."""
    return 2 * seen.coverage + 3 * seen.nearness + seen.amount


def _read(reader: Reader, question: str, found: Sequence[Candidate]) -> list[Candidate]:
    """The statements with what the reader says of them."""
    texts = (f"{titled(one.hit.document, one.statement)} : {one.statement.text}" for one in found)
    scores = [max(-MOST_ODDS, min(MOST_ODDS, reader(question, text))) for text in texts]
    best = max(scores, default=0.0)
    return [
        replace(one, features=replace(one.features, reader=score, best=float(score == best)))
        for one, score in zip(found, scores, strict=True)
    ]


def _seen(question: str, evidence: Sequence[Evidence], expansions: Sequence[Expansion]) -> Iterator[Candidate]:
    """The statements that may answer, before the reader has read them."""
    asked, words = wanted(question, expansions), QuestionWords.of(question, expansions)
    ordered = sorted(evidence, key=lambda each: -each.hit.rank_score)
    rank = {each.number: place for place, each in enumerate(ordered, 1)}
    for one in admitted([one for each in evidence for one in seen(each, asked)], asked, asker(question)):
        text = one.statement.text
        stated = any(states(text, amount) for amount in words.amounts)
        place = rank[one.statement.number]
        features = Features(0.0, 0.0, words.covered(text), one.nearness, one.hit.relevance, 1 / place, float(stated))
        yield Candidate(one.statement, one.hit, features)


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

    def covered(self, text: str) -> float:
        """The share of the words that a text holds, or says by another name."""
        said = frozenset(terms(text))
        named = (words for words, phrase in self.names if phrase and phrase <= said)
        return len((self.words & said).union(*named)) / len(self.words) if self.words else 0.0


@cache
def loaded() -> Weights:
    """The weights that were fitted."""
    read = json.loads(WEIGHTS.read_text("utf-8"))
    features = tuple(read["features"][name] for name in NAMES)
    return Weights(read["bias"], features, read["least"], read["further"], read["slope"], read["shift"])


def weights_sha256() -> str:
    """Which weights choose, as every record tells."""
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()


def _in_reading_order(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Passage by passage, the one with the best statement first; inside a passage as it is written."""
    best: dict[int, float] = {}
    for one in chosen:
        best[one.statement.number] = max(best.get(one.statement.number, 0.0), one.chance)
    return sorted(chosen, key=lambda one: (-best[one.statement.number], one.statement.number, one.statement.order))


def _repeats(one: Candidate, other: Candidate, overlap: float) -> bool:
    """Whether a statement says what another one says: the same words of a document, or nearly the same words."""
    mine, theirs = one.statement, other.statement
    if one.hit.document_id == other.hit.document_id and mine.pieces[-1] == theirs.pieces[-1]:
        return True
    return all(any(same_line(line, against, overlap) for against in theirs.lines) for line in mine.lines)
