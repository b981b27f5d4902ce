"""Chooses the statements of the evidence that answer a question: few, whole, in an order that reads well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from citewell.answer.cues import NEGATIONS, REFERENCE_NUMBERS, TOLD
from citewell.answer.expand import Expansion
from citewell.answer.fitting import Asker, asker
from citewell.answer.odds import Scored, scored
from citewell.answer.of_medicines import asked_kinds, is_in_company_of_others, names_one_of, says_one
from citewell.answer.seen import Seen, seen
from citewell.answer.statements import Statement
from citewell.answer.verify_read import is_empty, is_light
from citewell.answer.wanted import ALIKE, Held, Wanted, beyond, wanted
from citewell.answer.weights import MEASURE, Measure
from citewell.types import Evidence
from citewell.words import terms


def extract(
    question: str,
    evidence: Sequence[Evidence],
    *,
    expansions: Iterable[Expansion] = (),
    measure: Measure = MEASURE,
) -> list[Statement]:
    """The statements that answer the question, in the order to be read; none where nothing does."""
    expansions = tuple(expansions)
    if not any(one.hit.relevance >= measure.min_relevance for one in evidence):
        return []
    asked, holds = wanted(question, expansions), asker(question)
    found = admitted([one for each in evidence for one in seen(each, asked)], asked, holds)
    about = [asked.titled(title) for title in {one.hit.document for one in evidence}]
    asked = asked.weighed([frozenset().union(*one.parts) for one in found], frozenset.intersection(*about))
    named = holds.named if asked.is_question else ()
    judged = [scored(one, asked, named) for one in _telling(found, asked, question)]
    documents = {one.number: one.hit.document_id for one in evidence}
    chosen = _chosen(sorted(judged, key=lambda one: -one.odds), asked, documents, measure)
    chosen = _with_section(chosen, judged, asked, measure)
    most = max((asked.part(one.held | one.above) for one in chosen), default=0.0)
    if most < measure.min_part or (_is_plain(asked, holds, expansions) and _is_beside(chosen, asked, measure)):
        return []
    return _in_reading_order(chosen)


def _is_plain(asked: Wanted, holds: Asker, expansions: Iterable[Expansion]) -> bool:
    """Whether a question names nothing clinical, so that no rule on subjects holds an answer to what it is about."""
    is_known = any(one.reason != "spelling" for one in expansions)
    return asked.is_question and not (is_known or holds.named or holds.illnesses or asked.amounts or asked.labels)


def _is_beside(chosen: Sequence[Scored], asked: Wanted, measure: Measure) -> bool:
    """Whether no statement says enough of the words of a question: visiting hours tell not when wards are cleaned."""
    words = [word for word in asked.words if not (is_light(word) or is_empty(word))]
    said = ({word.removeprefix(ALIKE) for word in one.held | one.above} for one in chosen)
    return all(sum(word in names for word in words) < measure.min_words * len(words) for names in said)


def admitted(found: Sequence[Seen], asked: Wanted, holds: Asker) -> list[Seen]:
    """What may answer; of a section on other medicines than the one in the question, nothing may."""
    sections: dict[tuple[str, tuple[str, ...]], list[Statement]] = {}
    for one in found:
        sections.setdefault((one.hit.document_id, one.statement.titles), []).append(one.statement)

    def is_of_others(one: Seen) -> bool:
        section = sections[one.hit.document_id, one.statement.titles]
        return is_in_company_of_others(one.statement, section, one.hit.document, holds.named) and not says_one(
            frozenset().union(*one.parts), holds.named
        )

    admitted = [one for one in found if holds.admits(one.statement, one.hit.document)]
    return [one.with_dose() for one in admitted if not (asked.is_question and is_of_others(one))]


def _telling(found: Sequence[Seen], asked: Wanted, question: str) -> Sequence[Seen]:
    """What tells the one thing that is asked for, where anything does: a target, or which of some medicines."""
    if kinds := asked_kinds(question):
        words = frozenset(word for kind in kinds for word in terms(question[kind.start : kind.end]))
        naming = [one for one in found if names_one_of(one.statement.text, kinds)]
        if any(beyond(part, words) for one in naming for part in one.parts):
            return [one.saying(words.intersection(asked.words)) for one in naming]
    for cue in asked.cues:
        telling = [one for one in found if cue.name in TOLD and cue.answers.search(one.statement.text)]
        if any(any(one.parts) or one.before for one in telling):
            return telling
    return found


# --------------------------------------------------------------------------------------------------------- choosing


def _chosen(ranked: Sequence[Scored], asked: Wanted, documents: Mapping[int, str], measure: Measure) -> list[Scored]:
    """The best, and what comes near to it and says something new; the nearer the less it adds to the question."""
    chosen: list[Scored] = []
    held: Held = frozenset()
    used = 0
    for one in ranked:
        if one.odds < measure.min_odds or len(chosen) == measure.max_statements:
            break
        # a row of a table tells one sign of many
        is_defined = asked.asks_what and ranked[0].defines and ranked[0].statement.kind != "row"
        margin = measure.margin_defined if is_defined else measure.margin
        margin += measure.margin_for_more * asked.part(beyond(one.held, held))
        length = len(one.statement.text)
        if chosen and (one.odds < ranked[0].odds - margin or used + length > measure.max_characters):
            continue
        if one.plain_odds < measure.min_odds:
            continue
        if not any(_repeats(one, other, documents, measure.overlap) for other in chosen):
            chosen.append(one)
            held |= one.held | one.heading if is_defined else one.held
            used += length
    return chosen


def _with_section(chosen: Sequence[Scored], scored: Sequence[Scored], asked: Wanted, measure: Measure) -> list[Scored]:
    """The statements with the rest of a short section that answers by its heading, such as “If you miss a dose”.

    Recommendations and rows are shown so only where the heading says more of the question than the best of them adds,
    and nothing is where the best says all that the heading does not: “3.4 Inform …” of who is informed “After a fall”.
    """
    if not chosen or asked.part(chosen[0].heading) < measure.headed_from:
        return list(chosen)
    best = chosen[0].statement
    section = [one for one in scored if (one.statement.number, one.statement.titles) == (best.number, best.titles)]
    if len(section) > measure.max_statements:  # of a longer one, what tells what was asked for: what to avoid
        told = [cue.answers for cue in asked.cues if cue.answers.search(best.text)]
        parts = [[one for one in section if answers.search(one.statement.text)] for answers in told]
        section = min(parts, key=len, default=section)
    length = sum(len(one.statement.text) for one in section)
    is_prose = all(one.statement.kind in ("sentence", "list") for one in section)
    adds = asked.part(beyond(chosen[0].held, chosen[0].heading))
    is_told = asked.part(chosen[0].held | chosen[0].above) >= measure.told_from and not any(
        asked.part(beyond(one.held, one.heading)) >= adds / 2 for one in section if one is not chosen[0]
    )
    if (
        is_told
        or not (is_prose or adds < asked.part(chosen[0].heading))
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
    return all(any(same_line(line, against, overlap) for against in theirs.lines) for line in mine.lines)


def same_line(line: str, other: str, overlap: float) -> bool:
    """Whether a line adds no word to another one.

    A number of its own or a negation on one side only makes another statement of it: 5 mg is not 50 mg.

    >>> shown = "1.2 Take one tablet of 5 mg each morning. [2024]"
    >>> texts = "Take one 5 mg tablet each morning", "Do not take one tablet of 5 mg"
    >>> [same_line(text, shown, 0.85) for text in texts]
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
    return with_previous([one.statement for one in ordered])


def with_previous(ordered: Sequence[Statement]) -> list[Statement]:
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
