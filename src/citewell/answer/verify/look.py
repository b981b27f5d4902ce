"""Hold a claim against source sentences: the nearest ones, each with what it lacks or says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from citewell.answer.rows import Row, tabled
from citewell.answer.verify.amounts import amounts_missing
from citewell.answer.verify.context import in_context
from citewell.answer.verify.coverage import coverage, profile
from citewell.answer.verify.exact import held_against
from citewell.answer.verify.fill import filled
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.headings import is_heading, only_names_it
from citewell.answer.verify.names import Topic, known_of
from citewell.answer.verify.parts import may_tell_one, parts_of
from citewell.answer.verify.passage import passage_of
from citewell.answer.verify.populations import of_others
from citewell.answer.verify.read import Reading, read
from citewell.answer.verify.rows import apart, is_other_case, is_same_case, said, swapped
from citewell.answer.verify.weigh import Judged, Look, support
from citewell.clinical import Lexicon
from citewell.types import Span

NEAREST = 4
"""Source sentences that are read closely; the others are only weighed."""

PAIR_GAIN = 0.1
"""How much more of a claim two sentences must say than one, for both to be read together."""

CLEAR_FROM = 0.8
"""Support by words alone from which no similarity is asked for: on the train claims it never changed such a verdict."""

HEADED_FROM = 0.8
"""Share of a claim that a heading must say to carry it."""

LIKEST = 3
"""How many of the source sentences most like the claim count together."""

SAME_FROM = 0.85
"""Coverage, of the claim by a source sentence and of that by the claim, from which the two are one sentence."""


class Similarity(Protocol):
    """Cosines between a sentence and parts of documents, each a sentence with its exact place."""

    def __call__(self, sentence: str, parts: Sequence[Span]) -> Sequence[float]: ...


class Pair(Protocol):
    """Reads a sentence and its evidence together, as the pair reader does."""

    def __call__(self, sentence: str, evidence: str) -> Judged: ...


@runtime_checkable
class Rounded(Pair, Protocol):
    """A pair reader that is quick and a little off."""

    within: float
    """How far its log-odds may be off."""

    def exactly(self, sentence: str, evidence: str) -> Judged:
        """What it would say if it were not."""
        ...


def looks(
    sentence: str,
    spans: Sequence[Span],
    *,
    lexicon: Lexicon,
    similarity: Similarity | None,
) -> list[Look]:
    """The nearest source sentences, nearest first, each with its findings."""
    spans = tuple(spans)
    claim, parts, rough = _rough(sentence, spans, lexicon)
    if not rough:
        return []
    like: dict[str, Any] = {}
    if similarity is not None:
        cosines = similarity(sentence, parts)
        like = {"likeness": likeness(cosines), "likest": evidence([look.text for look in rough], cosines)}
        rough = tuple(replace(look, cosine=one) for look, one in zip(rough, cosines, strict=True))
    known = known_of(claim.text, lexicon)
    nearest = sorted(rough, key=lambda look: -look.nearness)[:NEAREST]

    def closely(look: Look) -> Look:
        passage = replace(passage_of(sentence, spans, look.part.source_id, lexicon), **like)
        return _for_others(claim, _close(claim, replace(look, passage=passage), lexicon), parts)

    first = closely(nearest[0])
    if similarity is None and _settles(first, claim, nearest):
        return [first]
    close = [first, *map(closely, nearest[1:])]
    close = _without_other_cases(claim, close)
    close += _together(claim, known, close, lexicon)
    read_closely = [filled(claim, look, close, parts) for look in close]
    return sorted(read_closely, key=lambda look: -look.nearness)


def heard(found: Sequence[Look], judged: Judged) -> list[Look]:
    """The same looks with the word of the pair reader."""
    return [replace(look, passage=replace(look.passage, judged=judged)) for look in found]


def likeness(cosines: Sequence[float]) -> float:
    """How like a claim its source is: the best sentence, and the best three together, each counting half.

    >>> likeness([0.2, 0.9, 0.6, 0.6])
    0.8
    """
    best = sorted(cosines)[-LIKEST:]
    return round(0.5 * best[-1] + 0.5 * sum(best) / len(best), 6)


def evidence(texts: Sequence[str], cosines: Sequence[float]) -> str:
    """The source sentences most like a claim, in the order in which they stand.

    >>> evidence(["Rest.", "Drink up.", "Sleep."], [0.2, 0.1, 0.9])
    'Rest. Drink up. Sleep.'
    """
    likest = sorted(range(len(texts)), key=lambda place: -cosines[place])[:NEAREST]
    return " ".join(texts[place] for place in sorted(likest))


@lru_cache(maxsize=64)
def _rough(
    sentence: str, spans: tuple[Span, ...], lexicon: Lexicon
) -> tuple[Reading, tuple[Span, ...], tuple[Look, ...]]:
    """The claim, the source sentences, and each of them weighed by its words; made once for both rounds of a check."""
    claim, parts = read(sentence), tuple(parts_of(spans))
    if not parts or not (claim.words or claim.quantities):
        return claim, parts, ()
    known = known_of(claim.text, lexicon)
    rows = tabled(spans).rows
    found = (
        _weighed(claim, known, part, rows[part]) if rows and part in rows else _read_there(claim, known, part)
        for part in parts
    )
    return claim, parts, tuple(found)


def _read_there(claim: Reading, known: Sequence[Topic], part: Span) -> Look:
    """A sentence as it reads under its titles, with the share of the claim that it says."""
    context = in_context(part, claim.text) if part.titles else part.text
    return Look(part, coverage(claim, known, profile(context)), None, context=context)


def _weighed(claim: Reading, known: Sequence[Topic], part: Span, row: Row) -> Look:
    """A row with the share of the claim that it says; rows differ in their numbers, so these count too."""
    told = said(row, claim.text)
    lost = len({finding.start for finding in amounts_missing(claim, read(told.text), is_row=True)})
    share = coverage(claim, known, profile(told.text), amounts_missing=lost)
    return Look(part, share, None, row=row, said=told)


def _close(claim: Reading, look: Look, lexicon: Lexicon) -> Look:
    """The same look with its findings, and coverage that counts amounts and brands."""
    # Where no other row shows what is a header, a row is read as prose.
    row = look.said if look.row is not None and len(look.row.table.rows) > 1 else None
    close = replace(look, **held_against(claim.text, look.text, lexicon, row))
    if look.row is None:
        return _unheaded(close) if is_heading(look.part.text) else close
    known = known_of(claim.text, lexicon)
    findings = (*close.findings, *swapped(claim, look.row, known), *apart(claim, look.row))
    rows = (replace(look.row, cells=cells) for cells in look.row.table.rows)
    if not any(is_same_case(claim, row) for row in rows):  # no number of a case speaks against a claim that names none
        findings = tuple(replace(one, grade=Grade.MISSING) if one.kind == "amount" else one for one in findings)
    if is_other_case(known, look.row):
        findings = tuple(replace(one, grade=Grade.MISSING) if one.grade == Grade.AGAINST else one for one in findings)
    return replace(close, findings=findings, is_same_case=is_same_case(claim, look.row))


def _without_other_cases(claim: Reading, close: Sequence[Look]) -> list[Look]:
    """Without what says otherwise of other cases, where one row carries the claim: the other rows of its table.

    A row that has two numbers of a claim, that of the case and that of the matter, is not outvoted by other numbers in
    prose either; what prose denies or says otherwise stands.
    """
    carrying = [look for look in close if look.row is not None and not look.findings]
    if not carrying:
        return list(close)
    tables = [look.row.table for look in carrying if look.row is not None]
    is_sure = len(claim.quantities) > 1
    return [
        look
        for look in close
        if not (
            look.is_against
            and ((is_sure and _is_of_another_case(look)) or (look.row is not None and look.row.table in tables))
        )
    ]


def _is_of_another_case(look: Look) -> bool:
    """Whether a row, or in prose nothing but numbers, speaks against a claim."""
    against = [one for one in look.findings if one.grade == Grade.AGAINST]
    return look.row is not None or all(one.kind == "amount" for one in against)


def _unheaded(look: Look) -> Look:
    """The same look at a heading, which can neither deny a claim nor, unless it says nearly all of it, carry it."""
    findings = [replace(one, grade=Grade.MISSING) for one in look.findings if one.kind != "denial"]
    if only_names_it(look.part.text) or min(look.coverage, look.mirrored) < HEADED_FROM:
        findings.append(Finding(Grade.MISSING, "heading", "the source only names it, in a heading", 0, 0))
    return replace(look, findings=tuple(findings))


def _for_others(claim: Reading, look: Look, parts: Sequence[Span]) -> Look:
    """The same look, told where it stands under a heading of other people."""
    found = tuple(of_others(claim.text, look.part, parts))
    return replace(look, findings=(*look.findings, *found)) if found else look


def _settles(first: Look, claim: Reading, rough: Sequence[Look]) -> bool:
    """Whether the nearest sentence carries the claim so clearly that no other one, read closely, could change that."""
    alone, others = rough[0].coverage, rough[1:]
    if not first.findings and min(first.coverage, first.mirrored) >= SAME_FROM:
        return True
    if first.findings or support(first) < CLEAR_FROM or alone + PAIR_GAIN <= 1.0:
        return False
    drugs = [(drug.start, drug.end) for drug in claim.medicines]
    branded = sum(word.weight for word in claim.words if any(start <= word.start < end for start, end in drugs))
    more, total = branded + len(claim.quantities), claim.weight + len(claim.quantities)
    return all((other.coverage * claim.weight + more) / total <= first.coverage for other in others)


def _together(claim: Reading, known: Sequence[Topic], close: Sequence[Look], lexicon: Lexicon) -> list[Look]:
    """The nearest sentence read with another one, where both say clearly more: an opening line and its list item."""
    first = close[0]
    if first.is_against:
        return []
    alone = coverage(claim, known, profile(first.text))
    found = []
    for other in close[1:]:
        text = f"{first.text}\n{other.text}"
        if first.row is not None and other.row is not None:
            continue
        if not may_tell_one(first.part, other.part):
            continue
        if other.is_opposed or coverage(claim, known, profile(text)) < alone + PAIR_GAIN:
            continue
        cosine = first.cosine if other.cosine is None else max(first.cosine or 0.0, other.cosine)
        both = replace(first, part=first.part, context=text, cosine=cosine, row=None, said=None)
        pair = _close(claim, both, lexicon)
        if not pair.findings:
            found.append(replace(pair, part=first.part, row=first.row, said=first.said))
    return found
