"""Chooses the statements of the evidence that answer a question: few, whole, in an order that reads well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.answer.cues import (
    DEFINES,
    DELIBERATES,
    ENLARGES,
    EXPLAINS,
    FINDS,
    NEGATIONS,
    OTHER_MEDICINE,
    PURPOSE,
    RECOMMENDED_IN,
    RECOMMENDS,
    REFERENCE_NUMBERS,
    TO_THE_READER,
    weighings,
)
from citewell.answer.expand import Expansion
from citewell.answer.of_medicines import is_of_another, names_any, names_one, says_one
from citewell.answer.opposed import is_opposed
from citewell.answer.statements import Kind, Piece, Statement, statements
from citewell.answer.verify_names import Medicine, medicines
from citewell.answer.wanted import Held, Wanted, beyond, wanted
from citewell.answer.weights import MEASURE, WEIGHTS, Measure
from citewell.types import Evidence, Hit, Near
from citewell.words import terms

LOOKED_UP: frozenset[Kind] = frozenset({"row", "list", "recommendation"})
"""Kinds that a person goes to with a number, such as an age or a laboratory result."""
NUMBERED = frozenset({"dose", "number"})
"""Kinds of questions that ask for a number."""
MAX_OTHER_WORDS = 2
"""Words of a defined subject that the question does not have."""
MAX_OTHER_NAMES = 5
"""The same where several names are given: “is called the international normalised ratio, or INR”."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement, the log-odds that it answers, what it holds of the question, and whether it defines its subject."""

    statement: Statement
    odds: float
    plain_odds: float
    """The same without what it gains as a recommendation: what does not answer is not shown because it recommends."""
    held: Held
    above: Held
    """What the titles above it hold."""
    heading: Held
    """What the heading next above it holds."""
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
    named = () if OTHER_MEDICINE.search(question) else medicines(question)
    seen = [
        one
        for each in evidence
        for one in _seen(each, asked)
        if not is_of_another(one.statement, each.hit.document, named)
        and not (asked.is_question and is_opposed(question, one.statement.text))
    ]
    about = [asked.titled(title) for title in {one.hit.document for one in evidence}]
    asked = asked.weighed([frozenset().union(*one.parts) for one in seen], frozenset.intersection(*about))
    scored = [_scored(one, asked, named if asked.is_question else ()) for one in seen]
    documents = {one.number: one.hit.document_id for one in evidence}
    chosen = _chosen(sorted(scored, key=lambda one: -one.odds), asked, documents, measure)
    chosen = _with_section(chosen, scored, asked, measure)
    most = max((asked.part(one.held | one.above) for one in chosen), default=0.0)
    return _in_reading_order(chosen) if most >= measure.min_part else []


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
    before: Held
    """What the sentences before it in its paragraph hold."""
    nearness: float
    heading_nearness: float


def _seen(evidence: Evidence, asked: Wanted) -> Iterator[Seen]:
    """The statements of a passage as the question sees them."""
    near = evidence.hit.why.near
    asked = asked.also(evidence.hit.why.same)
    about = asked.titled(evidence.hit.document)
    titles: dict[tuple[str, ...], tuple[Held, Held]] = {}
    before, end = frozenset[str](), -1
    for one in statements(evidence):
        if one.titles and asked.is_of_another(one.titles[-1]):
            continue
        texts = part_texts(one)
        if one.titles not in titles:
            inner = one.titles[-1] if one.titles and one.titles[-1] != evidence.hit.document else ""
            titles[one.titles] = asked.held(inner), about | asked.held("\n".join(one.titles))
        parts = tuple(asked.held(text, is_looked_up=one.kind in LOOKED_UP) for text in texts)
        before = before if one.kind == "sentence" and one.pieces[0][0] - end <= 1 else frozenset()
        end = one.pieces[-1][1]
        yield Seen(
            one,
            evidence.hit,
            parts,
            *titles[one.titles],
            before,
            _nearness(one.pieces, near, evidence.hit.raw_cosine),
            _nearness([one.heading] if one.heading else [], near, 0.0),
        )
        before |= frozenset().union(*parts)


def part_texts(statement: Statement) -> list[str]:
    """Each item of a list with its lead-in; else the statement alone."""
    lead, *items = statement.lines
    return [f"{lead}\n{item}" for item in items] or [lead]


def _scored(one: Seen, asked: Wanted, named: Sequence[Medicine]) -> Scored:
    """A statement with the log-odds that it answers."""
    text = one.statement.text
    number = max(range(len(one.parts)), key=lambda at: asked.part(one.parts[at]))
    held, best = one.parts[number], part_texts(one.statement)[number]
    defines = (asked.asks_what or asked.asks_which) and _defines(one.statement, asked)
    odds = (
        WEIGHTS.bias
        + WEIGHTS.nearness * one.nearness
        + WEIGHTS.near_heading * max(0.0, one.heading_nearness - one.nearness)
        + WEIGHTS.coverage * asked.part(held)
        + WEIGHTS.heading * asked.part(beyond(one.heading, held))
        + WEIGHTS.titles * asked.part(beyond(one.titles, held, one.heading))
        + WEIGHTS.before * asked.part(beyond(one.before, held, one.heading, one.titles))
        + WEIGHTS.relevance * one.hit.relevance
        + WEIGHTS.finding * (not asked.asks_advice and bool(FINDS.search(text)))
        + WEIGHTS.purpose * bool(PURPOSE.search(text))
        + WEIGHTS.cue * any(cue.answers.search(best) for cue in asked.cues)
        + WEIGHTS.no_number * any(cue.name in NUMBERED and not cue.answers.search(best) for cue in asked.cues)
        + WEIGHTS.deliberates * (asked.asks_to_do and _deliberates(text, asked))
        + WEIGHTS.explains * (asked.asks_advice and _explains(one.statement))
        + WEIGHTS.unnamed * (not names_one(one.statement, one.hit.document, named) and not says_one(held, named))
        + WEIGHTS.cue * (asked.asks_medicine and names_any(best))
        + WEIGHTS.no_number * (asked.asks_medicine and not names_any(best))
        + WEIGHTS.to_reader * (asked.is_of_oneself and bool(TO_THE_READER.search(text)))
        + WEIGHTS.glossary * (one.statement.kind == "term" and not asked.asks_what)
        + (WEIGHTS.definition if defines else WEIGHTS.no_definition * asked.asks_what)
    )
    gain = WEIGHTS.recommends * (asked.asks_to_do and _recommends(one.statement))
    return Scored(one.statement, odds + gain, odds, held, one.heading | one.titles, one.heading, defines)


def _recommends(statement: Statement) -> bool:
    """Whether it tells what to do, or stands under a heading that says so."""
    return bool(
        RECOMMENDS.search(statement.text) or RECOMMENDED_IN.match(statement.titles[-1] if statement.titles else "")
    )


def _explains(statement: Statement) -> bool:
    """Whether it stands in a section that gives reasons or says more of a matter."""
    return any(EXPLAINS.match(title) or ENLARGES.match(title) for title in statement.titles)


def _deliberates(text: str, asked: Wanted) -> bool:
    """Whether it tells how a recommendation came about, or what studies found where advice is asked for."""
    return bool(DELIBERATES.search(text)) or (asked.asks_advice and weighings(text) > 0)


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
    if found is None or statement.kind == "row" or (found["lists"] and asked.asks_what):
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
        margin = measure.margin + measure.margin_for_more * asked.part(beyond(one.held, held))
        length = len(one.statement.text)
        if chosen and (one.odds < ranked[0].odds - margin or used + length > measure.max_characters):
            continue
        if one.plain_odds < measure.min_odds:
            continue
        if not any(_repeats(one, other, documents, measure.overlap) for other in chosen):
            chosen.append(one)
            held |= one.held
            used += length
    return chosen


def _with_section(chosen: Sequence[Scored], scored: Sequence[Scored], asked: Wanted, measure: Measure) -> list[Scored]:
    """The statements with the rest of a short section that answers by its heading, such as “If you miss a dose”.

    Recommendations and rows are shown so only where the heading says more of the question than the best of them adds.
    """
    if not chosen or asked.part(chosen[0].heading) < measure.headed_from:
        return list(chosen)
    best = chosen[0].statement
    section = [one for one in scored if (one.statement.number, one.statement.titles) == (best.number, best.titles)]
    length = sum(len(one.statement.text) for one in section)
    is_prose = all(one.statement.kind in ("sentence", "list") for one in section)
    adds = asked.part(beyond(chosen[0].held, chosen[0].heading))
    if (
        not (is_prose or adds < asked.part(chosen[0].heading))
        or len(section) > measure.max_statements
        or length > measure.max_characters
    ):
        return list(chosen)
    others = [one for one in chosen if one not in section]
    return [*section, *others][: max(len(section), measure.max_statements)]


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
