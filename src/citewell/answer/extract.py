"""Chooses the statements of the evidence that answer a question: few, whole, in an order that reads well."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from citewell.answer.cues import (
    ASKING,
    ASKS_WHAT,
    CUES,
    DEFINES,
    EMPTY,
    FINDS,
    NEGATIONS,
    PURPOSE,
    REFERENCE_NUMBERS,
    Cue,
    admits,
    numbers,
)
from citewell.answer.expand import Expansion
from citewell.answer.statements import Kind, Piece, Statement, statements
from citewell.types import Evidence
from citewell.words import terms

Place = tuple[int, int, int]
"""Evidence number, start and end of a sentence in its document."""


class Nearness(Protocol):
    """Says how near sentences of the evidence are to a question."""

    def __call__(self, question: str, evidence: Sequence[Evidence]) -> Mapping[Place, float]:
        """The cosine of each sentence with the question."""
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """What each view of a statement adds to the log-odds that it is what a person would point at.

    Fitted on SciFact train claims (docs/extractive-notes.md), but for `heading` and those after it, which
    claims about abstracts cannot teach.
    """

    bias: float = -6.4
    nearness: float = 3.2
    coverage: float = 3.6
    titles: float = 2.0
    """For what the titles above it cover and it does not."""
    relevance: float = 1.8
    finding: float = 0.75
    purpose: float = -1.0
    heading: float = 1.0
    """For a heading above it that is nearer to the question than itself."""
    cue: float = 0.6
    number: float = 1.0
    """For a range or limit in a row or a recommendation that admits a number of the question."""
    definition: float = 1.5
    no_definition: float = -0.7
    """For anything else where a definition is asked for."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How much is shown; a table to be reviewed."""

    max_statements: int = 5
    max_characters: int = 1_800
    """All together; the first one is shown whatever its length."""
    min_relevance: float = 0.08
    """Nothing is quoted where no passage is as relevant as this."""
    min_odds: float = -3.0
    """Nothing is quoted that is less likely than this to answer."""
    margin: float = 0.8
    """How far behind the best one, in log-odds, a further statement may be."""
    overlap: float = 0.7
    """A line that shares this part of its words with one that is shown says nothing new."""


WEIGHTS = Weights()
MEASURE = Measure()
LOOKED_UP: frozenset[Kind] = frozenset({"row", "list", "recommendation"})
"""Kinds that a person goes to with a number, such as an age or a laboratory result."""
MAX_OTHER_WORDS = 2
"""Words of a defined subject that the question does not have."""
MAX_OTHER_NAMES = 5
"""The same where several names are given: “is called the international normalised ratio, or INR”."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as statements are compared with it."""

    weights: Mapping[str, float]
    """What each of its terms counts: the rarer among the statements at hand, the more."""
    synonyms: Mapping[str, tuple[frozenset[str], ...]]
    """By term, the phrases that say the same."""
    numbers: tuple[float, ...]
    cues: tuple[Cue, ...]
    asks_what: bool

    def covered(self, held: frozenset[str]) -> float:
        """The weighted part of the question's terms that are held, themselves or by a synonym."""
        total = sum(self.weights.values())
        if not total:
            return 0.0
        return sum(weight for term, weight in self.weights.items() if self._has(term, held)) / total

    def _has(self, term: str, held: frozenset[str]) -> bool:
        return term in held or any(phrase <= held for phrase in self.synonyms.get(term, ()))


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement, the log-odds that it answers, and whether it defines what is asked for."""

    statement: Statement
    odds: float
    defines: bool


def extract(
    question: str,
    evidence: Sequence[Evidence],
    *,
    near: Mapping[Place, float],
    expansions: Iterable[Expansion] = (),
    measure: Measure = MEASURE,
) -> list[Statement]:
    """The statements that answer the question, in the order to be read; none where nothing does."""
    if not any(one.hit.relevance >= measure.min_relevance for one in evidence):
        return []
    found = [(statement, one) for one in evidence for statement in statements(one)]
    asked = _asked(question, expansions, [frozenset(terms(statement.text)) for statement, _ in found])
    nearness = _by_number(near)
    scored = [_scored(statement, one, asked, nearness.get(one.number, [])) for statement, one in found]
    documents = {one.number: one.hit.document_id for one in evidence}
    chosen = _chosen(sorted(scored, key=lambda one: -one.odds), documents, measure)
    return _in_reading_order(chosen)


# ---------------------------------------------------------------------------------------------------------- scoring


def _asked(question: str, expansions: Iterable[Expansion], held: Sequence[frozenset[str]]) -> Asked:
    """The question's terms, rarer ones counting more, and what else says the same."""
    wanted = [term for term in terms(ASKING.sub(" ", question)) if term not in EMPTY] or terms(question)
    counts = Counter(term for one in held for term in one)
    weights = {term: math.log(1 + len(held) / (1 + counts[term])) for term in wanted}
    synonyms: dict[str, tuple[frozenset[str], ...]] = {}
    for added in expansions:
        phrase = frozenset(terms(added.phrase))
        for term in terms(question[slice(*added.from_words)]):
            synonyms[term] = (*synonyms.get(term, ()), phrase)
    cues = tuple(cue for cue in CUES if cue.asks.search(question))
    return Asked(weights, synonyms, numbers(question), cues, ASKS_WHAT.search(question) is not None)


def _by_number(near: Mapping[Place, float]) -> dict[int, list[tuple[int, int, float]]]:
    found: dict[int, list[tuple[int, int, float]]] = {}
    for (number, start, end), cosine in near.items():
        found.setdefault(number, []).append((start, end, cosine))
    return found


def _scored(statement: Statement, evidence: Evidence, asked: Asked, near: Sequence[tuple[int, int, float]]) -> Scored:
    """A statement with the log-odds that it answers."""
    held = frozenset(terms(statement.text))
    covered = max(asked.covered(frozenset(terms(part))) for part in _parts(statement))
    with_titles = asked.covered(held | frozenset(terms("\n".join(statement.titles))))
    defines = asked.asks_what and _defines(statement, asked)
    nearness = _nearness(statement.pieces, near, evidence.hit.raw_cosine)
    heading = _nearness([statement.heading] if statement.heading else [], near, 0.0)
    odds = (
        WEIGHTS.bias
        + WEIGHTS.nearness * nearness
        + WEIGHTS.heading * max(0.0, heading - nearness)
        + WEIGHTS.coverage * covered
        + WEIGHTS.titles * (with_titles - covered)
        + WEIGHTS.relevance * evidence.hit.relevance
        + WEIGHTS.finding * bool(FINDS.search(statement.text))
        + WEIGHTS.purpose * bool(PURPOSE.search(statement.text))
        + WEIGHTS.cue * any(cue.answers.search(statement.text) for cue in asked.cues)
        + WEIGHTS.number * (statement.kind in LOOKED_UP and admits(statement.text, asked.numbers))
        + (WEIGHTS.definition if defines else WEIGHTS.no_definition) * asked.asks_what
    )
    return Scored(statement, odds, defines)


def _parts(statement: Statement) -> list[str]:
    """A list is as good as its best item with the lead-in: words scattered over many items answer nothing."""
    if len(statement.lines) == 1:
        return [statement.text]
    return [f"{statement.lines[0]}\n{item}" for item in statement.lines[1:]]


def _nearness(pieces: Sequence[Piece], near: Sequence[tuple[int, int, float]], otherwise: float) -> float:
    """The cosine of the nearest sentence that lies in the pieces for the most part."""
    inside = (
        cosine
        for start, end, cosine in near
        if any(2 * (min(end, last) - max(start, first)) >= end - start for first, last in pieces)
    )
    return max(inside, default=otherwise)


def _defines(statement: Statement, asked: Asked) -> bool:
    """Whether the statement opens with the thing that is asked for, and says what it is."""
    found = DEFINES.match(statement.lines[0])
    if found is None or statement.kind == "row":
        return False
    subject = frozenset(terms(found["subject"] or found["name"] or found["head"]))
    others = MAX_OTHER_NAMES if found["name"] else MAX_OTHER_WORDS
    return bool(subject) and asked.covered(subject) >= 0.5 and len(subject - asked.weights.keys()) <= others


# --------------------------------------------------------------------------------------------------------- choosing


def _chosen(ranked: Sequence[Scored], documents: Mapping[int, str], measure: Measure) -> list[Scored]:
    """The best, and what comes near to it and says something new."""
    chosen: list[Scored] = []
    used = 0
    for one in ranked:
        if one.odds < max(measure.min_odds, ranked[0].odds - measure.margin) or len(chosen) == measure.max_statements:
            break
        length = len(one.statement.text)
        is_new = not any(_repeats(one, other, documents, measure.overlap) for other in chosen)
        if is_new and (not chosen or used + length <= measure.max_characters):
            chosen.append(one)
            used += length
    return chosen


def _repeats(one: Scored, other: Scored, documents: Mapping[int, str], overlap: float) -> bool:
    """Whether a statement says what another one says: the same words of a document, or nearly the same words."""
    mine, theirs = one.statement, other.statement
    if documents[mine.number] == documents[theirs.number] and mine.pieces[-1] == theirs.pieces[-1]:
        return True
    return all(any(_same(line, against, overlap) for against in theirs.lines) for line in mine.lines)


def _same(line: str, other: str, overlap: float) -> bool:
    """Whether a line adds no word to another one of about its length.

    A number or a negation on one side only makes another statement of it: 5 mg is not 50 mg.

    >>> leaflet = "1.2 Take one tablet of 5 mg each morning. [2024]"
    >>> [_same(leaflet, text, 0.7) for text in ("Take one 5 mg tablet each morning", "Do not take one tablet of 5 mg")]
    [True, False]
    """
    mine, theirs = (frozenset(terms(REFERENCE_NUMBERS.sub(" ", text))) for text in (line, other))
    fewer, more = sorted((len(mine), len(theirs)))
    if any(term in NEGATIONS or term[0].isdigit() for term in mine ^ theirs):
        return False
    return fewer >= 0.5 * more and len(mine & theirs) >= overlap * max(1, fewer)


def _in_reading_order(chosen: Sequence[Scored]) -> list[Statement]:
    """Definitions first, then passage by passage, best first; inside a passage as it is written."""
    best: dict[int, float] = {}
    for one in chosen:
        best[one.statement.number] = max(best.get(one.statement.number, -math.inf), one.odds)
    ordered = sorted(
        chosen,
        key=lambda one: (not one.defines, -best[one.statement.number], one.statement.number, one.statement.order),
    )
    return _with_previous([one.statement for one in ordered])


def _with_previous(ordered: Sequence[Statement]) -> list[Statement]:
    """Sentences that lean on the one before them get it; parts of one list share their lead-in."""
    shown: list[Statement] = []
    for statement in ordered:
        before, last = statement.previous, shown[-1] if shown else None
        if (
            last
            and len(statement.pieces) > 1
            and (last.number, last.pieces[0]) == (statement.number, statement.pieces[0])
        ):
            pieces, lines = last.pieces + statement.pieces[1:], last.lines + statement.lines[1:]
            shown[-1] = replace(last, pieces=pieces, lines=lines)
            continue
        if before is not None and before not in shown and before not in ordered:
            shown.append(before)
        shown.append(statement)
    return shown
