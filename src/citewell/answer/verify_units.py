"""The tables of units and comparators as patterns: what may stand after a number, and round it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from citewell import vocabulary

Sign = Literal["=", "<", "<=", ">", ">="]

PER_BODY = "body weight"
"""The dimension of kg after a stroke: 5 mg/kg is not a share of one mass in another."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number counts, and how large one is in the base unit of its dimension."""

    name: str
    dimension: str
    size: float

    def over(self, other: Unit) -> Unit:
        """The unit of a rate.

        >>> Unit("mg", "mass", 1e-3).over(Unit("l", "volume", 1.0))
        Unit(name='mg/l', dimension='mass/volume', size=0.001)
        """
        whole = Unit("kg", PER_BODY, 1.0) if other.name == "kg" else other
        return Unit(f"{self.name}/{other.name}", f"{self.dimension}/{whole.dimension}", self.size / whole.size)


@cache
def units() -> dict[str, Unit]:
    """Every name of every unit; longer names are folded."""
    found: dict[str, Unit] = {}
    for name, dimension, size, names in vocabulary.rows("units.tsv"):
        for written in names.split("|"):
            found[written if len(written) <= 3 else written.casefold()] = Unit(name, dimension, float(size))
    return found


def unit_named(written: str) -> Unit | None:
    """The unit of a name as a text writes it.

    >>> unit_named("micrograms"), unit_named("Mg")
    (Unit(name='µg', dimension='mass', size=1e-06), None)
    """
    known = units()
    written = " ".join(written.split())
    for name in (written, written.casefold(), written.casefold().removesuffix("s")):
        unit = known.get(name)
        if unit is not None and (name == written or len(name) > 3):
            return unit
    return None


@cache
def unit_pattern() -> str:
    """A pattern for any unit, longest first; what follows must not be a letter or digit."""
    short: list[str] = []
    long: list[str] = []
    for name in sorted(units(), key=len, reverse=True):
        pattern = re.escape(name).replace(r"\ ", r"\s*" if any(sign in name for sign in "/°H") else r"\s+")
        (short if len(name) <= 3 else long).append(pattern)
    return rf"(?:(?:(?i:{'|'.join(long)})s?|{'|'.join(short)})(?![^\W_]))"


@dataclass(frozen=True, slots=True)
class Comparator:
    """A limit, and whether it is loose enough to stand for the plain number."""

    sign: Sign
    loose: bool


PLAIN = Comparator("=", loose=False)


@cache
def _comparators(side: str) -> tuple[re.Pattern[str], dict[str, Comparator]]:
    meanings: dict[str, Comparator] = {}
    for sign, where, firmness, words in vocabulary.rows("comparators.tsv"):
        if where == side:
            meanings |= {word: Comparator(cast(Sign, sign), firmness == "loose") for word in words.split("|")}
    ordered = sorted(meanings, key=len, reverse=True)
    words_only = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in ordered if word[0].isalpha())
    signs = "|".join(re.escape(word) for word in ordered if not word[0].isalpha())
    known = rf"(?:\b(?:{words_only})\b|{signs})"
    if side == "before":
        return re.compile(rf"({known})\s*(?:(?:an?|the|aged?|age\s+of)\s+)?$", re.IGNORECASE), meanings
    return re.compile(rf"(?:\s*(?:years?|months?)?\s*(?:of\s+age|old)?,?\s+|\s*(?=\+))({known})", re.I), meanings


_LOOK_BACK = 45
"""Characters before a number in which its comparator may stand."""


def comparator_before(text: str, start: int) -> tuple[Comparator, int]:
    """The limit said just before a number, and where it begins.

    >>> comparator_before("given at no more than 5 mg", 22)
    (Comparator(sign='<=', loose=False), 9)
    """
    pattern, meanings = _comparators("before")
    low = max(0, start - _LOOK_BACK)
    found = pattern.search(text[low:start])
    if found is None:
        return PLAIN, start
    return meanings[_folded(found.group(1))], low + found.start()


def comparator_after(text: str, end: int) -> tuple[Comparator, int]:
    """The limit said just after an amount, and where it ends.

    >>> comparator_after("aged 40 years or older", 13)
    (Comparator(sign='>=', loose=False), 22)
    """
    pattern, meanings = _comparators("after")
    found = pattern.match(text, end)
    if found is None:
        return PLAIN, end
    return meanings[_folded(found.group(1))], found.end()


def _folded(words: str) -> str:
    return " ".join(words.casefold().split())
