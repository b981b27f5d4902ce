"""Holds the words of a guideline against the words of a record: by concept, never by substring."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from citewell.assistants.guidelines.tables import rows
from citewell.clinical import fold, mentions
from citewell.sentences import word_spans

Unit = frozenset[str]
"""One thing that a phrase speaks of: the ids of its concepts, or the word itself."""


@cache
def _stop() -> frozenset[str]:
    return frozenset(fold(word) for (line,) in rows("stop.tsv") for word in line.split())


Place = tuple[int, int]
"""Where a word stands in a text."""


@lru_cache(maxsize=5_000)
def placed(text: str) -> tuple[tuple[tuple[Place, ...], Unit], ...]:
    """The units of a text, and where the words of each stand."""
    named = [mention for mention in mentions(text) if mention.ids]
    found: list[tuple[tuple[Place, ...], Unit]] = [(mention.places, mention.ids) for mention in named]
    taken = {at for mention in named for place in mention.places for at in range(*place)}
    for start, end in word_spans(text):
        if not taken.isdisjoint(range(start, end)):
            continue
        word = fold(text[start:end])
        if word not in _stop() and not word.isdigit():
            found.append((((start, end),), frozenset({word})))
    return tuple(sorted(found, key=lambda one: one[0]))


@lru_cache(maxsize=20_000)
def units(text: str) -> frozenset[Unit]:
    """What a phrase speaks of.

    >>> units("a lump in the breast") == units("breast lumps")
    True
    """
    return frozenset(unit for _, unit in placed(text))


def is_clinical(unit: Unit) -> bool:
    """Whether a unit is a concept and not a mere word."""
    return any(":" in one for one in unit)


def is_known(text: str) -> bool:
    """Whether a phrase names at least one concept.

    >>> is_known("vulval bleeding"), is_known("other changes of concern")
    (True, False)
    """
    return any(map(is_clinical, units(text)))


def holds(wanted: Iterable[Unit], given: frozenset[str]) -> bool:
    """Whether everything wanted is among the names that are given, which may say more.

    >>> holds(units("cough"), names(units("fever and a cough")))
    True
    """
    wanted = tuple(wanted)
    return bool(wanted) and not any(unit.isdisjoint(given) for unit in wanted)


def names(units: Iterable[Unit]) -> frozenset[str]:
    return frozenset(name for unit in units for name in unit)
