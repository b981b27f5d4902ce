"""Findings put together from words that stand near each other: “lump on the side of my neck”."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from citewell.assistants.guidelines.tables import rows
from citewell.clinical import fold

NEAR_WORDS = 6
"""The parts of a finding stand at most so many words from each other."""

Place = tuple[int, int]
"""Where a word stands in the text."""


@cache
def _parts() -> tuple[tuple[str, tuple[tuple[tuple[str, ...], ...], ...]], ...]:
    """Each finding with, for each part, the folded words that stand for it."""
    return tuple(
        (name, tuple(tuple(tuple(map(fold, words.split())) for words in part.split("|")) for part in parts))
        for name, *parts in rows("compositions.tsv")
    )


@cache
def _openings() -> frozenset[str]:
    """The first words of everything that stands for a part: a text without any puts nothing together."""
    return frozenset(words[0] for _, parts in _parts() for part in parts for words in part)


def composed(words: Sequence[tuple[str, Place]]) -> Iterator[tuple[str, tuple[Place, ...]]]:
    """The findings whose parts stand near each other, with the places of the parts.

    >>> text = "lump on the side of my neck"
    >>> words = [(word, (text.index(word), text.index(word) + len(word))) for word in text.split()]
    >>> list(composed(words))
    [('neck lump', ((0, 4), (23, 27)))]
    """
    folded = [fold(word) for word, _ in words]
    places: dict[str, list[int]] = {}
    for at, word in enumerate(folded):
        if word in _openings():
            places.setdefault(word, []).append(at)
    for name, parts in _parts() if places else ():
        found = [sorted({at for one in part for at in _found(one, folded, places)}) for part in parts]
        if all(found) and (best := _nearest(found)) is not None:
            yield name, tuple(words[at][1] for at in best)


def _found(wanted: tuple[str, ...], folded: list[str], places: Mapping[str, list[int]]) -> Iterator[int]:
    for at in places.get(wanted[0], ()):
        if len(wanted) == 1 or tuple(folded[at : at + len(wanted)]) == wanted:
            yield at


def _nearest(found: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """One place of each part, no two the same and all as near each other as any; None where none are near.

    Only places within reach of one of the first part are tried: many places cost no more than their number.
    """
    near = []
    for at in found[0]:
        others = [part[bisect_left(part, at - NEAR_WORDS) : bisect_right(part, at + NEAR_WORDS)] for part in found[1:]]
        near += [(at, *one) for one in product(*others)]
    apart = [one for one in near if len(set(one)) == len(one) and max(one) - min(one) <= NEAR_WORDS]
    return min(apart, key=lambda one: max(one) - min(one), default=None)
