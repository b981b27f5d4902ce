"""Whether a claim puts together what two clauses of one source sentence say of different things.

“Rash was more frequent with it (9%), and dizziness led 11 to stop” does not carry “Rash led 11 to stop”.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from citewell.answer.verify.agreement import Agreement, agreement
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, Word, is_light, read
from citewell.clinical.quantities import Quantity

_SPLIT = re.compile(r";\s+|,?\s+(?:whereas|while|but)\s+|,\s+and\s+|,?\s+and\s+(?=\d)", re.IGNORECASE)
_JOINS = re.compile(r";|\b(?:and|or|but|while|whereas|than|both)\b", re.IGNORECASE)
"""In a claim: it may tell of both clauses itself."""

SAYS = re.compile(
    r"\b(?:is|are|was|were|be|can|could|may|might|must|should|will|would|has|have|had|do|does|did|led|leads?|causes?|caused"
    r"|occurred|improved|needs?|made)\b",
    re.IGNORECASE,
)

_Places = frozenset[int]


def of_other_clause(claim: Reading, source: Reading) -> list[Finding]:
    """Where the claim has the thing or the number of one clause with what another clause says."""
    clauses = _clauses(source.text)
    if len(clauses) < 2 or _JOINS.search(claim.text):
        return []
    words = [word for word in claim.words if not is_light(word.form)]
    places = {word: _places(word, source, clauses) for word in words}
    amounts = {amount: _amount_places(amount, source, clauses) for amount in claim.quantities}
    votes = [next(iter(its)) for its in (*places.values(), *amounts.values()) if len(its) == 1]
    if len(set(votes)) < 2:
        return []
    found = (
        *_amounts(source, clauses, amounts),
        *_medicines(claim, source, clauses, places),
        *_subjects(claim, source, clauses, places),
    )
    return list(found[:1])


@lru_cache(maxsize=4096)
def _clauses(text: str) -> tuple[tuple[int, int], ...]:
    plain = read(text).text
    edges = [0, *(edge for match in _SPLIT.finditer(plain) for edge in match.span()), len(plain)]
    return tuple((start, end) for start, end in list(pairwise(edges))[::2])


def _places(word: Word, source: Reading, clauses: Sequence[tuple[int, int]]) -> _Places:
    """The clauses that have a word, in its form or another of its meaning."""
    same = [one for one in source.words if one.form == word.form or one.meanings & word.meanings]
    return frozenset(
        place for place, (start, end) in enumerate(clauses) if any(start <= one.start < end for one in same)
    )


def _amount_places(amount: Quantity, source: Reading, clauses: Sequence[tuple[int, int]]) -> _Places:
    """The clauses that have an amount; all of them where it comes last and may be said of each: “… for three days”."""
    same = [one for one in source.quantities if agreement(amount, one) == Agreement.SAME]
    last = [one for one in source.quantities if one.start >= clauses[-1][0]]
    if any(one in last[1:] for one in same):
        return frozenset(range(len(clauses)))
    return frozenset(
        place for place, (start, end) in enumerate(clauses) if any(start <= one.start < end for one in same)
    )


def _amounts(
    source: Reading, clauses: Sequence[tuple[int, int]], amounts: dict[Quantity, _Places]
) -> Iterator[Finding]:
    """A number of one clause beside a number of another clause that has its own of that kind."""
    for one, its in amounts.items():
        for other, others in amounts.items():
            if len(its) != 1 or len(others) != 1 or its == others:
                continue
            start, end = clauses[next(iter(others))]
            own = [held for held in source.quantities if start <= held.start < end]
            if any(held.dimension == one.dimension != other.dimension for held in own):
                reason = f"“{one.text}” is said of something else in the source"
                yield Finding(Grade.AGAINST, "amount", reason, one.start, one.end)


def _medicines(
    claim: Reading, source: Reading, clauses: Sequence[tuple[int, int]], places: dict[Word, _Places]
) -> Iterator[Finding]:
    """A medicine of one clause with what another clause says of another medicine."""
    ours = {drug.name for drug in claim.medicines}
    drugs = {word for word in places for drug in claim.medicines if drug.start <= word.start < drug.end}
    rest = [its for word, its in places.items() if word not in drugs and len(its) == 1]
    for word in drugs:
        if len(places[word]) != 1 or not rest or any(its == places[word] for its in rest) or len(set(rest)) != 1:
            continue
        start, end = clauses[next(iter(rest[0]))]
        rivals = [one for one in source.medicines if start <= one.start < end and one.name not in ours]
        if rivals:
            reason = f"the source says this of {rivals[0].name}"
            yield Finding(Grade.AGAINST, "medicine", reason, word.start, word.end)


def _subjects(
    claim: Reading, source: Reading, clauses: Sequence[tuple[int, int]], places: dict[Word, _Places]
) -> Iterator[Finding]:
    """The subject of one clause with what another clause says of its own."""
    verb = SAYS.search(claim.text)
    if verb is None:
        return
    subject = [its for word, its in places.items() if word.start < verb.start()]
    said = [its for word, its in places.items() if word.start > verb.start() and len(its) == 1]
    if not subject or not said or len(set(subject)) != 1 or len(subject[0]) != 1 or len(set(said)) != 1:
        return
    if said[0] == subject[0]:
        return
    start, end = clauses[next(iter(said[0]))]
    head = next((word for word in source.words if start <= word.start < end and not is_light(word.form)), None)
    if head is not None and all(word.form != head.form and not word.meanings & head.meanings for word in claim.words):
        reason = f"the source says this of “{source.text[head.start : head.end]}”"
        yield Finding(Grade.AGAINST, "opposite", reason, 0, verb.start())
