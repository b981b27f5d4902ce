"""The source sentences that a claim is held against, read under the titles and headings where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from citewell.answer.table_rows import QuotedTables, tabled
from citewell.answer.verify.claim_words import form, is_empty
from citewell.answer.verify.mismatches import Mismatch, MismatchGrade
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import age_groups, ages_in
from citewell.clinical.quantities import Quantity, quantities
from citewell.sentences import sentences
from citewell.types import EvidenceSpan
from citewell.work import spend

_OPENING = re.compile(r"\W*(?:\d[\d.)]*\s+)?([^\W\d_]+)")

MAX_PART = 1_500
"""A source sentence of more characters is read in pieces."""


@lru_cache(maxsize=1024)
def _cut(span: EvidenceSpan, low: int = 0, high: int | None = None) -> tuple[EvidenceSpan, ...]:
    return tuple(
        EvidenceSpan(
            span.source_id,
            span.start + first,
            span.start + min(first + MAX_PART, end),
            span.text[first:end][:MAX_PART],
            span.titles,
        )
        for start, end in sentences(span.text, low, high)
        for first in range(start, end, MAX_PART)
    )


def parts_of(spans: Iterable[EvidenceSpan]) -> list[EvidenceSpan]:
    """The sentences of spans, each with its exact place; a row of a table is one, and what was cited twice comes once.

    >>> [(part.start, part.text) for part in parts_of([EvidenceSpan("a:0", 100, 115, "Rest. Drink up.")])]
    [(100, 'Rest.'), (106, 'Drink up.')]
    """
    spend()
    spans = tuple(spans)
    tables = tabled(spans)
    lines: dict[str, list[EvidenceSpan]] = {}
    for line in sorted((*tables.rows, *tables.others), key=lambda line: line.start):
        lines.setdefault(line.source_id, []).append(line)
    cut = (part for span in spans for part in (_beside(span, lines.get(span.source_id, ()), tables)))
    return list({(part.source_id, part.start, part.end): part for part in cut}.values())


def _beside(span: EvidenceSpan, lines: Iterable[EvidenceSpan], tables: QuotedTables) -> Iterator[EvidenceSpan]:
    """The rows in a span, and the sentences between tables; a caption is read with the rows below it."""
    low = 0
    for line in lines:
        if span.start <= line.start and line.end <= span.end:
            yield from _cut(span, low, line.start - span.start)
            low = line.end - span.start
            if line in tables.rows:
                yield line
    yield from _cut(span, low)


def may_tell_one(part: EvidenceSpan, other: EvidenceSpan) -> bool:
    """Whether two sentences may say one thing together: both of one passage, and not each a rule of its own.

    >>> rules = ("Restart warfarin in the evening.", "Restart apixaban after 48 hours.", "The dose is 5 mg.")
    >>> one, two, three = (EvidenceSpan("a:0", 0, len(text), text) for text in rules)
    >>> may_tell_one(one, two), may_tell_one(one, three)
    (False, True)
    """
    if part.source_id != other.source_id:
        return False
    first, second = (_OPENING.match(text) for text in (part.text, other.text))
    if first is None or second is None:
        return True
    return is_empty(first.group(1)) or form(first.group(1)) != form(second.group(1))


_LABELLED = frozenset(
    f"label {what}"
    for what in "type stage grade phase class step group category tier arm cohort plan protocol regimen option".split()
)
"""Labelled things of which a section may speak as a whole; a table or a day is none."""

_IT = re.compile(
    r"\W*(?:\d+[.)]\s*)?(?:(?:always|never|do\s+not|you\s+(?:should|must|can|may))\s+)?"
    r"(?:take|use|give|swallow|inject|store|keep|stop|start|restart|continue|avoid)\s+(?P<it>it|them)\b",
    re.IGNORECASE,
)
"""A sentence that opens with what to do with “it”: nothing else in it can be meant."""


@lru_cache(maxsize=4096)
def in_context(part: EvidenceSpan, claim: str) -> str:
    """The words of a sentence, with what its titles add of the plan, stage or medicine that a claim speaks of.

    >>> span = EvidenceSpan("d:0", 0, 19, "Take it once a day.", ("Taking warfarin safely",))
    >>> in_context(span, "Warfarin is taken daily.")
    'Take warfarin once a day.'
    """
    if not part.titles:
        return part.text
    text = _named(part, claim)
    if not _amounts(claim) & _amounts(text):  # only an amount of the claim's own is one of its plan
        return text
    here = {label.dimension for label in _labels(text)}
    wanted = {label.dimension for label in _labels(claim)} - here
    told = (
        [label.text for title in part.titles for label in _labels(title) if label.dimension in wanted] if wanted else []
    )
    return f"{text} ({told[-1]})" if told else text


def _labels(text: str) -> tuple[Quantity, ...]:
    return tuple(quantity for quantity in quantities(text) if quantity.dimension in _LABELLED)


def _amounts(text: str) -> frozenset[tuple[str, tuple[float, ...]]]:
    found = quantities(text)
    return frozenset(
        (quantity.dimension, quantity.values) for quantity in found if not quantity.dimension.startswith("label")
    )


def _named(part: EvidenceSpan, claim: str) -> str:
    """With the one medicine of the titles for “it”, where the claim names it and the sentence names none."""
    match = _IT.match(part.text)
    if match is None or medicines(part.text):
        return part.text
    names = {drug.name for title in part.titles for drug in medicines(title)}
    if len(names) != 1 or names.isdisjoint(drug.name for drug in medicines(claim)):
        return part.text
    return part.text[: match.start("it")] + names.pop() + part.text[match.end("it") :]


MOST_WORDS = 12
"""A longer line is no heading."""

FEW_WORDS = 3
"""So few words state nothing, be there a full stop behind them or not: “Paracetamol.”"""

_WORD = re.compile(r"[^\W_]+")
_ENDS = re.compile(r"[.!;:,][\"'”’)\]]*\s*\Z")
_HOLDS = re.compile(r"\d|[^\s:]: |≥|≤|%")
"""Numbers and cells of a table: a row states something without a verb."""

_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|do|does|did|don[’']t|can|cannot|could|may|might|should|must|will|would|has|have|had"
    r"|not|no|never|without|give|take|stop|use|call|avoid|tell|ask|refer|offer|consider|measure|check|start|continue"
    r"|phone|drink|eat|rest|weigh|see|keep|seek|repeat|monitor|assess|admit|arrange|ensure|treat|add|switch|store"
    r"|wash|apply|swallow|reduce|increase|contraindicated|recommended|causes?|caused|shows?|showed|predicts?|affects?"
    r"|requires?|needs?|regulates?|mediates?|controls?|leads?|led|makes?|made|helps?|occurs?|remains?|works?|lowers?|raises?|improves?|prevents?|falls?|rises?)\b",
    re.IGNORECASE,
)
_OPENS_WITH_ING = re.compile(r"\W*(?:how\s+to\b|when\s+to\b|what\b|why\b|[A-Z][a-z]{2,}ing\b)")
_ASKS = re.compile(r"\?[\"'”’)\]]*\s*\Z")


@lru_cache(maxsize=20_000)
def is_heading(text: str) -> bool:
    """Whether a part names a subject and says nothing of it.

    >>> is_heading("Taking ibuprofen with warfarin"), is_heading("Paracetamol."), is_heading("Can I drink alcohol?")
    (True, True, True)
    >>> is_heading("Do not take ibuprofen"), is_heading("Adults: 10 mg"), is_heading("Statins lower mortality")
    (False, False, False)
    """
    if _ASKS.search(text):
        return True
    count = len(_WORD.findall(text))
    if count > MOST_WORDS or _HOLDS.search(text) or _VERB.search(text):
        return False
    return count <= FEW_WORDS or not _ENDS.search(text)


def only_names_it(text: str) -> bool:
    """Whether a heading names an act or asks for it, so that it cannot carry even what repeats its words."""
    return bool(_ASKS.search(text) or _OPENS_WITH_ING.match(text))


def of_others(claim: str, part: EvidenceSpan, parts: Sequence[EvidenceSpan]) -> Iterator[Mismatch]:
    """An adult's dose for a child: the sentence names no people, and the nearest heading that does names others."""
    ours = age_groups(claim)
    if not ours or age_groups(part.text):
        return
    heading = _above(part, tuple(parts))
    is_same_age = any(band.meets(other) for band in ages_in(claim) for other in ages_in(heading))
    if heading and ours.isdisjoint(age_groups(heading)) and not is_same_age:
        yield Mismatch(MismatchGrade.AGAINST, "opposite", f"the source says this under “{heading}”", 0, len(claim))


@lru_cache(maxsize=1024)
def _above(part: EvidenceSpan, parts: tuple[EvidenceSpan, ...]) -> str:
    """The nearest heading above a part that names people, in its passage or among its titles; nothing without one."""
    before = [span for span in parts if span.source_id == part.source_id and span.start < part.start]
    headings = [
        span.text for span in sorted(before, key=lambda evidence_span: -evidence_span.start) if _is_heading(span.text)
    ]
    return next((one for one in (*headings, *reversed(part.titles)) if age_groups(one)), "")


def _is_heading(text: str) -> bool:
    """Whether a part only names what follows; ages are a part of such a name: “Children under 12 years”."""
    if text.endswith(":") or is_heading(text):
        return True
    named = quantities(text)
    return bool(named) and len(ages_in(text)) == len(named) and is_heading(_without(text))


def _without(text: str) -> str:
    for amount in reversed(quantities(text)):
        text = f"{text[: amount.start]}{text[amount.end :]}"
    return text
