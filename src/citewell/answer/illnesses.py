"""Illnesses that a text names, and whether a statement stands in a section on another one than is asked about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell import vocabulary
from citewell.answer.verify_read import form

_WORD = re.compile(r"[^\W_]+")

Forms = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Illness:
    """Where a text names an illness, and the usual name of that."""

    start: int
    end: int
    name: str


@cache
def _table() -> tuple[dict[Forms, str], dict[str, int]]:
    """The words of each name -> the usual name; the most words after a first one. Short capitals stay as they are."""
    names: dict[Forms, str] = {}
    longest: dict[str, int] = {}
    for (cell,) in vocabulary.rows("illnesses.tsv"):
        usual, *others = cell.split("|")
        for written in (usual, *others):
            words = tuple(_read(word) for word in _WORD.findall(written))
            names[words] = usual
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
    return names, longest


def _read(word: str) -> str:
    """The form of a word; an abbreviation stays as it is written, for “AIDS” are no aids."""
    return word if word.isupper() and len(word) > 1 else form(word)


@lru_cache(maxsize=4096)
def illnesses(text: str) -> tuple[Illness, ...]:
    """The illnesses that a text names, the longest name first where two begin alike.

    >>> [one.name for one in illnesses("Yellow fever, sickle cell anemia (SCD) and AF; hearing aids in dementia")]
    ['yellow fever', 'sickle-cell disease', 'sickle-cell disease', 'atrial fibrillation', 'dementia']
    """
    names, longest = _table()
    words = [(match.start(), match.end(), _read(match.group())) for match in _WORD.finditer(text)]
    found: list[Illness] = []
    at = 0
    while at < len(words):
        size = min(longest.get(words[at][2], 0), len(words) - at)
        while size and tuple(word for _, _, word in words[at : at + size]) not in names:
            size -= 1
        if size:
            name = names[tuple(word for _, _, word in words[at : at + size])]
            found.append(Illness(words[at][0], words[at + size - 1][1], name))
        at += max(size, 1)
    return tuple(found)


def named_illnesses(text: str) -> frozenset[str]:
    """The usual names of the illnesses in a text."""
    return frozenset(one.name for one in illnesses(text))


def is_of_another_illness(asked: frozenset[str], text: str, titles: Iterable[str]) -> bool:
    """Whether a text names none of the illnesses asked about, and stands under titles that name others alone.

    >>> dengue = named_illnesses("Pain relief in dengue?")
    >>> [is_of_another_illness(dengue, "Offer paracetamol.", [title]) for title in ("Dengue", "Malaria", "Pain")]
    [False, True, False]
    """
    if not asked or named_illnesses(text) & asked:
        return False
    above = frozenset[str]().union(*map(named_illnesses, titles))
    return bool(above) and not above & asked
