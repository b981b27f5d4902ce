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
def _parts() -> tuple[tuple[str, int], ...]:
    """Each finding and how many parts it has."""
    return tuple((name, len(parts)) for name, *parts in rows("compositions.tsv"))


@cache
def _openings() -> Mapping[str, tuple[tuple[int, int, tuple[str, ...]], ...]]:
    """For each word that may open what stands for a part: which finding's, which part, and all its folded words."""
    found: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}
    for finding, (_, *parts) in enumerate(rows("compositions.tsv")):
        for part, others in enumerate(parts):
            for one in others.split("|"):
                words = tuple(map(fold, one.split()))
                found.setdefault(words[0], []).append((finding, part, words))
    return {word: tuple(ways) for word, ways in found.items()}


def composed(words: Sequence[tuple[str, Place]]) -> Iterator[tuple[str, tuple[Place, ...]]]:
    """The findings whose parts stand near each other, with the places of the parts.

    >>> text = "lump on the side of my neck"
    >>> words = [(word, (text.index(word), text.index(word) + len(word))) for word in text.split()]
    >>> list(composed(words))
    [('neck lump', ((0, 4), (23, 27)))]
    """
    folded = [fold(word) for word, _ in words]
    places: dict[int, dict[int, set[int]]] = {}
    for at, word in enumerate(folded):
        for finding, part, wanted in _openings().get(word, ()):
            if len(wanted) == 1 or tuple(folded[at : at + len(wanted)]) == wanted:
                places.setdefault(finding, {}).setdefault(part, set()).add(at)
    for finding in sorted(places):
        name, count = _parts()[finding]
        found = [sorted(places[finding].get(part, ())) for part in range(count)]
        if all(found) and (best := _nearest(found)) is not None:
            yield name, tuple(words[at][1] for at in best)


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
