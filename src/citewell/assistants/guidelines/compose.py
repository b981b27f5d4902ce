"""Findings put together from words that stand near each other: “lump on the side of my neck”."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def composed(words: Sequence[tuple[str, Place]]) -> Iterator[tuple[str, tuple[Place, ...]]]:
    """The findings whose parts stand near each other, with the places of the parts.

    >>> text = "lump on the side of my neck"
    >>> words = [(word, (text.index(word), text.index(word) + len(word))) for word in text.split()]
    >>> list(composed(words))
    [('neck lump', ((0, 4), (23, 27)))]
    """
    folded = [fold(word) for word, _ in words]
    for name, parts in _parts():
        found = [[at for one in part for at in _found(one, folded)] for part in parts]
        near = [one for one in product(*found) if len(set(one)) == len(one) and max(one) - min(one) <= NEAR_WORDS]
        if near:
            best = min(near, key=lambda one: max(one) - min(one))
            yield name, tuple(words[at][1] for at in best)


def _found(wanted: tuple[str, ...], folded: list[str]) -> Iterator[int]:
    for at in range(len(folded) - len(wanted) + 1):
        if tuple(folded[at : at + len(wanted)]) == wanted:
            yield at
