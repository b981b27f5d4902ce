"""Units and comparators: what may stand after a number and round it, and how one unit becomes another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, cast

from citewell.clinical.tables import rows

Sign = Literal["=", "<", "<=", ">", ">="]

LOOK_BACK = 80
"""Characters before a number in which a text says what it is."""

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
    for name, dimension, size, names in rows("units.tsv"):
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


FLAT = str.maketrans(
    {
        "·": ".",
        "−": "-",
        "μ": "µ",
        "\xa0": " ",
        "\u202f": " ",
        "\u2009": " ",
        **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)),
    }
)
"""One character for one, so that offsets hold."""
_CARRIER = re.compile(r"(?:(?<!\s)\s+)?\b(?:of\s+)?(?:ha?emoglobin|hb|fa?eces|stool|blood)\b", re.IGNORECASE)
"""What a laboratory names beside its unit: “ug Hb/g faeces” is “µg/g”."""
_PER = re.compile(r"(?:(?<!\s)\s+)?/\s*|(?<!\s)\s+per\s+", re.IGNORECASE)


def days_in(unit: str) -> float:
    """The days of a unit of time; a month has 30 and a year 365, everywhere in Citewell.

    >>> days_in("weeks"), days_in("month"), days_in("yrs")
    (7.0, 30.0, 365.0)
    """
    found = unit_named(unit)
    assert found is not None, unit
    return found.size


def _folded_unit(written: str) -> str:
    """A unit as it is looked up: lower case, one sign for micro, no spaces round a cross."""
    plain = re.sub(r"[{}\[\]]", "", written.translate(FLAT).casefold().replace("_", " "))  # as UCUM writes units
    flat = re.sub(r"\bu(?=[lgm]|iu\b|mol)", "µ", " ".join(plain.split()))
    return re.sub(r" ?× ?|\bx ", "x", flat.replace("μ", "µ"))


@cache
def _own_units() -> dict[str, Unit]:
    """The units that stand in results alone."""
    known: dict[str, Unit] = {}
    for name, dimension, size, names in rows("lab_units.tsv"):
        written = [_folded_unit(other) for other in (name, *names.split("|"))]
        known |= dict.fromkeys(written, Unit(name, dimension, float(size)))
    return known


@cache
def _lab_units() -> dict[str, Unit]:
    return {_folded_unit(name): unit for name, unit in units().items()} | _own_units()


@lru_cache(maxsize=2_000)
def unit_of_result(written: str) -> Unit | None:
    """The unit of a result as a laboratory writes it, in any letter case, with what it was measured in left out.

    >>> unit_of_result("ug Hb/g faeces") == unit_of_result("micrograms of haemoglobin per gram of faeces")
    True
    >>> unit_of_result("ng/mL").size == unit_of_result("µg/L").size, unit_of_result("K/uL").name
    (True, '10⁹/L')
    >>> unit_of_result("breaths/min") == unit_of_result("breaths per minute") == unit_of_result("/min")
    True
    """
    if (exact := unit_named(written)) is not None:
        return _own_units().get(_folded_unit(written), exact)
    flat = _folded_unit(_CARRIER.sub("", written)).strip(" .:")
    known = _lab_units()
    for name in (flat, flat.replace(" ", ""), flat.removesuffix("s")):
        if name in known:
            return known[name]
    upper, *lower = _PER.split(flat)
    if not lower or not all((upper, *lower)) or len(lower) > 2:
        return None
    unit = unit_of_result(upper)
    for part in lower:
        below = unit_of_result(part)
        unit = unit.over(below) if unit and below else None
    return unit


@dataclass(frozen=True, slots=True)
class Comparator:
    """A limit, and whether it is loose enough to stand for the plain number."""

    sign: Sign
    loose: bool


PLAIN = Comparator("=", loose=False)


@cache
def _comparators(side: str) -> tuple[re.Pattern[str], dict[str, Comparator]]:
    meanings: dict[str, Comparator] = {}
    for sign, where, firmness, words in rows("comparators.tsv"):
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
    match = pattern.search(text[low:start])
    if match is None:
        return PLAIN, start
    return meanings[_folded(match.group(1))], low + match.start()


def comparator_after(text: str, end: int) -> tuple[Comparator, int]:
    """The limit said just after an amount, and where it ends.

    >>> comparator_after("aged 40 years or older", 13)
    (Comparator(sign='>=', loose=False), 22)
    """
    pattern, meanings = _comparators("after")
    match = pattern.match(text, end)
    if match is None:
        return PLAIN, end
    return meanings[_folded(match.group(1))], match.end()


def _folded(words: str) -> str:
    return " ".join(words.casefold().split())
