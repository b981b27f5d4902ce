"""Chooses the statements of the evidence that answer a question: few, whole, in an order that reads well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.answer.cues import DEFINES, FINDS, NEGATIONS, OTHER_MEDICINE, PURPOSE, REFERENCE_NUMBERS
from citewell.answer.expand import Expansion
from citewell.answer.statements import Kind, Piece, Statement, is_dose, statements
from citewell.answer.verify_names import medicines
from citewell.answer.wanted import Held, Wanted, wanted
from citewell.types import Evidence, Hit, Near
from citewell.words import terms


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
    """For what the titles above it hold of the question and it does not."""
    relevance: float = 1.8
    finding: float = 0.75
    purpose: float = -1.0
    heading: float = 3.2
    """For what the heading next above it holds and it does not: it says more than the title of a document."""
    near_heading: float = 2.0
    """For a heading that is nearer to the question than itself."""
    cue: float = 0.6
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
    min_part: float = 0.33
    """Nothing is quoted where no statement holds this part of the question, its titles included."""
    margin: float = 0.8
    """How far behind the best one, in log-odds, a further statement may be."""
    margin_for_more: float = 0.7
    """How much farther, if it holds all of the question that those shown do not."""
    overlap: float = 0.85
    """A line that has this part of its words in common with one that is shown says nothing new."""


WEIGHTS = Weights()
MEASURE = Measure()
LOOKED_UP: frozenset[Kind] = frozenset({"row", "list", "recommendation"})
"""Kinds that a person goes to with a number, such as an age or a laboratory result."""
MAX_OTHER_WORDS = 2
"""Words of a defined subject that the question does not have."""
MAX_OTHER_NAMES = 5
"""The same where several names are given: “is called the international normalised ratio, or INR”."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement, the log-odds that it answers, what it holds of the question, and whether it defines its subject."""

    statement: Statement
    odds: float
    held: Held
    above: Held
    """What the titles above it hold."""
    defines: bool


def extract(
    question: str,
    evidence: Sequence[Evidence],
    *,
    expansions: Iterable[Expansion] = (),
    measure: Measure = MEASURE,
) -> list[Statement]:
    """The statements that answer the question, in the order to be read; none where nothing does."""
    if not any(one.hit.relevance >= measure.min_relevance for one in evidence):
        return []
    asked = wanted(question, expansions)
    named = frozenset() if OTHER_MEDICINE.search(question) else frozenset(one.name for one in medicines(question))
    seen = [one for each in evidence for one in _seen(each, asked) if not _is_of_another(one.statement, named)]
    asked = asked.weighed([frozenset().union(*one.parts) for one in seen])
    scored = [_scored(one, asked) for one in seen]
    documents = {one.number: one.hit.document_id for one in evidence}
    chosen = _chosen(sorted(scored, key=lambda one: -one.odds), asked, documents, measure)
    most = max((asked.part(one.held | one.above) for one in chosen), default=0.0)
    return _in_reading_order(chosen) if most >= measure.min_part else []


def _is_of_another(statement: Statement, named: frozenset[str]) -> bool:
    """Whether a statement gives doses of medicines of which the question names none; what it leans on counts too."""
    if not named or not is_dose(statement.text):
        return False
    found: set[str] = set()
    leant: Statement | None = statement
    while not found and leant is not None:
        found = {one.name for one in medicines(leant.text)}
        leant = leant.previous
    return bool(found) and not found & named


# ---------------------------------------------------------------------------------------------------------- scoring


@dataclass(frozen=True, slots=True)
class Seen:
    """A statement with what it and the titles above it hold of the question, and how near it is."""

    statement: Statement
    hit: Hit
    parts: tuple[Held, ...]
    """A list is as good as its best item with the lead-in: words scattered over many items answer nothing."""
    heading: Held
    titles: Held
    nearness: float
    heading_nearness: float


def _seen(evidence: Evidence, asked: Wanted) -> Iterator[Seen]:
    """The statements of a passage as the question sees them."""
    near = evidence.hit.why.near
    titles: dict[tuple[str, ...], tuple[Held, Held]] = {}
    for one in statements(evidence):
        lead, *items = one.lines
        texts = [f"{lead}\n{item}" for item in items] or [lead]
        if one.titles not in titles:
            inner = one.titles[-1] if one.titles and one.titles[-1] != evidence.hit.document else ""
            titles[one.titles] = asked.held(inner), asked.held("\n".join(one.titles))
        yield Seen(
            one,
            evidence.hit,
            tuple(asked.held(text, is_looked_up=one.kind in LOOKED_UP) for text in texts),
            *titles[one.titles],
            _nearness(one.pieces, near, evidence.hit.raw_cosine),
            _nearness([one.heading] if one.heading else [], near, 0.0),
        )


def _scored(one: Seen, asked: Wanted) -> Scored:
    """A statement with the log-odds that it answers."""
    text = one.statement.text
    held = max(one.parts, key=asked.part)
    headed = held | one.heading
    defines = asked.asks_what and _defines(one.statement, asked)
    odds = (
        WEIGHTS.bias
        + WEIGHTS.nearness * one.nearness
        + WEIGHTS.near_heading * max(0.0, one.heading_nearness - one.nearness)
        + WEIGHTS.coverage * asked.part(held)
        + WEIGHTS.heading * asked.part(headed - held)
        + WEIGHTS.titles * asked.part(one.titles - headed)
        + WEIGHTS.relevance * one.hit.relevance
        + WEIGHTS.finding * bool(FINDS.search(text))
        + WEIGHTS.purpose * bool(PURPOSE.search(text))
        + WEIGHTS.cue * any(cue.answers.search(text) for cue in asked.cues)
        + (WEIGHTS.definition if defines else WEIGHTS.no_definition) * asked.asks_what
    )
    return Scored(one.statement, odds, held, one.heading | one.titles, defines)


def _nearness(pieces: Sequence[Piece], near: Sequence[Near], otherwise: float) -> float:
    """The cosine of the nearest sentence that lies in the pieces for the most part."""
    inside = (
        cosine
        for start, end, cosine in near
        if any(2 * (min(end, last) - max(start, first)) >= end - start for first, last in pieces)
    )
    return max(inside, default=otherwise)


def _defines(statement: Statement, asked: Wanted) -> bool:
    """Whether the statement opens with the thing that is asked for, and says what it is."""
    found = DEFINES.match(statement.lines[0])
    if found is None or statement.kind == "row":
        return False
    subject = found["subject"] or found["name"] or found["head"]
    others = frozenset(terms(subject)) - frozenset(asked.words)
    most = MAX_OTHER_NAMES if found["name"] else MAX_OTHER_WORDS
    return asked.part(asked.held(subject)) >= 0.5 and len(others) <= most


# --------------------------------------------------------------------------------------------------------- choosing


def _chosen(ranked: Sequence[Scored], asked: Wanted, documents: Mapping[int, str], measure: Measure) -> list[Scored]:
    """The best, and what comes near to it and says something new; the nearer the less it adds to the question."""
    chosen: list[Scored] = []
    held: Held = frozenset()
    used = 0
    for one in ranked:
        if one.odds < measure.min_odds or len(chosen) == measure.max_statements:
            break
        margin = measure.margin + measure.margin_for_more * asked.part(one.held - held)
        length = len(one.statement.text)
        if chosen and (one.odds < ranked[0].odds - margin or used + length > measure.max_characters):
            continue
        if not any(_repeats(one, other, documents, measure.overlap) for other in chosen):
            chosen.append(one)
            held |= one.held
            used += length
    return chosen


def _repeats(one: Scored, other: Scored, documents: Mapping[int, str], overlap: float) -> bool:
    """Whether a statement says what another one says: the same words of a document, or nearly the same words."""
    mine, theirs = one.statement, other.statement
    if documents[mine.number] == documents[theirs.number] and mine.pieces[-1] == theirs.pieces[-1]:
        return True
    return all(any(_same(line, against, overlap) for against in theirs.lines) for line in mine.lines)


def _same(line: str, other: str, overlap: float) -> bool:
    """Whether a line adds no word to another one.

    A number of its own or a negation on one side only makes another statement of it: 5 mg is not 50 mg.

    >>> shown = "1.2 Take one tablet of 5 mg each morning. [2024]"
    >>> [_same(text, shown, 0.85) for text in ("Take one 5 mg tablet each morning", "Do not take one tablet of 5 mg")]
    [True, False]
    """
    mine, theirs = (frozenset(terms(REFERENCE_NUMBERS.sub(" ", text))) for text in (line, other))
    if (mine ^ theirs) & NEGATIONS or any(term[0].isdigit() for term in mine - theirs):
        return False
    return len(mine & theirs) >= overlap * len(mine)


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
        leading: list[Statement] = []
        while before is not None and before not in shown and before not in ordered:
            leading.insert(0, before)
            before = before.previous
        shown += [*leading, statement]
    return shown
