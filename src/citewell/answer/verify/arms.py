"""Whether a number of a claim is that of another arm, use or threshold of the same source sentence.

“13% of those on the drug and 7% of those on placebo” gives each number its own words; a claim that has the number of
one and the words of the other is not carried.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.answer.verify.agreement import Agreement, agreement
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, Word
from citewell.clinical.quantities import BARE, CHANCE, Quantity

_END = re.compile(r"[;(\[]|\.\s")
"""Where the words of a number end."""


def other_arm(claim: Reading, source: Reading) -> list[Finding]:
    """Each number of the claim that the source sentence gives to something else that the claim names."""
    found = []
    for ours in claim.quantities:
        theirs = [one for one in source.quantities if one.dimension == ours.dimension]
        same = [one for one in theirs if agreement(ours, one) == Agreement.SAME]
        if len(theirs) < 2 or len(same) != 1 or not _is_told(ours, claim):
            continue
        bound = _after(source, theirs) or _before(source, theirs)
        if bound and _is_crossed(claim.words, bound[theirs.index(same[0])], bound, theirs.index(same[0])):
            reason = f"“{ours.text}” is said of something else in the source"
            found.append(Finding(Grade.AGAINST, "amount", reason, ours.start, ours.end))
    return found


def _is_told(ours: Quantity, claim: Reading) -> bool:
    """Whether a number has a unit, and is the only one with it."""
    is_alone = sum(one.dimension == ours.dimension for one in claim.quantities) == 1
    return is_alone and ours.dimension not in (BARE, CHANCE, "date") and not ours.dimension.startswith("label")


def _is_crossed(claimed: Sequence[Word], own: list[Word], bound: list[list[Word]], place: int) -> bool:
    """Whether the claim has words of another number and none of its own."""
    others = [word for number, words in enumerate(bound) if number != place for word in words]
    alone = [word for word in own if not _has(others, word)]
    foreign = [word for word in others if not _has(own, word)]
    return any(_has(claimed, word) for word in foreign) and not any(_has(claimed, word) for word in alone)


def _has(words: Sequence[Word], wanted: Word) -> bool:
    return any(word.form == wanted.form or word.meanings & wanted.meanings for word in words)


def _after(source: Reading, numbers: Sequence[Quantity]) -> list[list[Word]] | None:
    """The words that follow each number, if each has some of its own."""
    ends = [*(one.start for one in numbers[1:]), len(source.text)]
    parts = [(one.end, end) for one, end in zip(numbers, ends, strict=True)]
    return _own(source, [(start, _cut(source.text, start, end)) for start, end in parts])


def _before(source: Reading, numbers: Sequence[Quantity]) -> list[list[Word]] | None:
    """The words that lead to each number, if each has some of its own."""
    edges = [0, *(one.end for one in numbers)]
    parts = [(edge, one.start) for edge, one in zip(edges, numbers, strict=False)]
    near = [(_begin(source.text, start, end), end) for start, end in parts]
    return _own(source, near) or _own(source, parts)


def _cut(text: str, start: int, end: int) -> int:
    stop = _END.search(text, start, end)
    return stop.start() if stop else end


def _begin(text: str, start: int, end: int) -> int:
    return max((stop.end() for stop in _END.finditer(text, start, end)), default=start)


def _own(source: Reading, parts: Sequence[tuple[int, int]]) -> list[list[Word]] | None:
    found = [[word for word in source.words if start <= word.start < end] for start, end in parts]
    return found if all(_is_own(place, found) for place in range(len(found))) else None


def _is_own(place: int, found: Sequence[list[Word]]) -> bool:
    """Whether a number has a word that no other has."""
    others = [word for number, words in enumerate(found) if number != place for word in words]
    return any(not _has(others, word) for word in found[place])
