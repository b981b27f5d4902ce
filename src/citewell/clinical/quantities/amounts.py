"""Quantities in a text: value or range, limit, unit, how often, dates and numbered things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from citewell.clinical.quantities.period_marks import (
    NUMBER,
    NUMBER_WORD,
    PeriodMark,
    clocks,
    dates,
    has_label,
    labels,
    number,
    periods,
)
from citewell.clinical.quantities.person_words import Told, is_bare_age, told_of
from citewell.clinical.quantities.units import (
    FLAT,
    LOOK_BACK,
    PLAIN,
    Comparator,
    Sign,
    Unit,
    comparator_after,
    comparator_before,
    unit_named,
    unit_pattern,
)
from citewell.work import spend

Shape = Literal["single", "range", "pair"]
BARE = "number"
"""The dimension of a number without a unit."""


CHANCE = "probability"
"""The dimension of a p value."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as a text means it: `values` in base units, `written` as they stand."""

    start: int
    end: int
    text: str
    values: tuple[float, ...]
    written: tuple[float, ...]
    dimension: str
    unit: str = ""
    shape: Shape = "single"
    sign: Sign = "="
    loose: bool = False
    is_word: bool = False
    """A number word without a unit, such as “two groups”."""
    told: Told = ""
    """Of a time: whether it is somebody's age or how long something takes, where the text says so."""


_BLANK = "\x00"
"""Stands where a part of the text has been read already."""

_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
_NUMERIC = re.compile(
    rf"[\d½¼¾⅓⅔]|\b(?:{NUMBER_WORD}|once|twice|thrice|daily|\w+ly|annual|an?|per|each|every|alternate|half|[TQB]DS?|[OQ]D|[BTQ]ID"
    r"|bid|tid|tds|qds|qid|stage|grade|type|class|phase)\b|fold\b|/d\b|/day\b|\w\.[dis]\.",
    re.IGNORECASE,
)
"""Without any of these a sentence has no quantity."""

_SHARE = re.compile(
    r"\b(?:(?P<third>(?:one|a)[\s-]third)|(?P<thirds>two[\s-]thirds)|(?P<quarter>(?:one|a)[\s-]quarter(?!\s+of\s+an?\s+hour))"
    r"|(?P<quarters>three[\s-]quarters)|(?P<half>(?<!\d\s)half)(?=\s+(?:of|the)\b)|(?P<fifth>(?:one|a)[\s-]fifth)|(?P<tenth>(?:one|a)[\s-]tenth))\b",
    re.IGNORECASE,
)
_SHARES = {
    "third": 100 / 3, "thirds": 200 / 3, "quarter": 25.0, "quarters": 75.0, "half": 50.0, "fifth": 20.0, "tenth": 10.0
}  # fmt: skip
_ONE_IN = re.compile(rf"\bone\s+(?:in|out\s+of)\s+(?:every\s+)?(?P<number>{NUMBER})(?![\w.,]*\d|\s*%)", re.IGNORECASE)
_ATOM = re.compile(
    rf"(?<![^\W\d_])(?<![^\W\d_]-)(?<![\d.,])(?<![^\W\d_]/)(?<![^\W\d_]\d/)(?P<number>{NUMBER}|[½¼¾⅓⅔])(?P<part>[½¼¾⅓⅔])?"
    rf"(?P<scale>\s*+(?:million|billion|thousand)\b|\s*+[×x]\s*+10\s*+(?:\^\s*+)?-?\d+)?"
    rf"(?:(?P<gap>\s*+(?:-\s*+)?)(?P<unit>{unit_pattern()})(?P<per>(?:\s*/\s*|\s+per\s+|\s+an?\s+){unit_pattern()})?"
    rf"(?P<per2>(?:\s*/\s*|\s+per\s+){unit_pattern()})?)?(?P<ordinal>st|nd|rd|th)?",
    re.IGNORECASE,
)
_EXPONENT = re.compile(r"-?\d\d?")
"""A longer power of ten is none: “5 x 10400” is a slip of the pen, and no number can hold it."""
LARGEST = 1e200
"""A number of hundreds of digits is this one: an infinite one would be as near to any other."""
_GLUED = re.compile(r"[^\W\d_]")
"""A letter straight after a number without a unit: part of a name, as in 3T3."""

_A_TIME = re.compile(r"(?<=\s)(?:an?|one)\s+(?P<unit>second|minute|hour|day|week|fortnight|month|year|decade)\b", re.I)
_RANGE = re.compile(r"\s*(?:-|–|—|to|up\s+to|-\s*to|–\s*to)\s*(?:a\s+maximum\s+of\s+)?", re.IGNORECASE)
_LISTED = re.compile(r"(?:,?\s+and|,?\s+or|\s*±|\s*\+/-|\s*/)\s*")
_AND = re.compile(r"\s+and\s+(?:at\s+most\s+)?", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s+(?:the\s+ages\s+of\s+)?$", re.IGNORECASE)
_OF = re.compile(r"\s+(?:of|out\s+of|in)\s+(?:the\s+|every\s+)?", re.IGNORECASE)
_CHANCE = re.compile(r"\b[pP](?:[-\s]?values?)?(?:\s+(?:of|for|was|is)\b)?\s*$")
_AGED = re.compile(
    r"\b(?:aged?|ages|ages\s+of|age\s+of|older\s+than|younger\s+than)\s+(?:between\s+|from\s+)?(?:(?:over|under|at\s+least|above|below|[<>≥≤]=?)\s*)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Atom:
    start: int
    end: int
    value: float
    unit: Unit | None
    is_word: bool


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every quantity of a sentence, in order.

    >>> [(found.text, found.sign, found.values) for found in quantities("0.5–1 g twice daily if aged 40 or over")]
    [('0.5–1 g', '=', (0.5, 1.0)), ('twice daily', '=', (0.5,)), ('40 or over', '>=', (14600.0,))]
    """
    spend()
    flat = text.translate(FLAT)
    if _NUMERIC.search(flat) is None and not has_label(flat):
        return ()
    found: list[Quantity] = []
    rest = flat
    for read in (dates, clocks, labels, periods):
        for mark in read(rest):
            if _BLANK not in rest[mark.start : mark.end]:
                found.append(_marked(mark, text))
                rest = rest[: mark.start] + _BLANK * (mark.end - mark.start) + rest[mark.end :]
    shares = list(_shares(rest, text))
    for share in shares:
        rest = rest[: share.start] + _BLANK * (share.end - share.start) + rest[share.end :]
    found += shares
    found += _amounts(rest, text)
    return tuple(sorted(found, key=lambda quantity: quantity.start))


def _marked(mark: PeriodMark, text: str) -> Quantity:
    shape: Shape = "range" if mark.dimension == "period" and len(mark.values) > 1 else "single"
    return Quantity(
        mark.start, mark.end, text[mark.start : mark.end], mark.values, mark.written, mark.dimension, "", shape
    )


def _shares(flat: str, text: str) -> Iterator[Quantity]:
    for match in _SHARE.finditer(flat):
        value = _SHARES[str(match.lastgroup)]
        limit, start = comparator_before(flat, match.start())
        span = (start, match.end())
        made = Quantity(*span, text[span[0] : span[1]], (value,), (value,), "percent", "share")
        yield replace(made, sign=limit.sign, loose=limit.loose)
    for match in _ONE_IN.finditer(flat):
        values = (1.0, number(match["number"]))
        limit, start = comparator_before(flat, match.start())
        made = Quantity(start, match.end(), text[start : match.end()], values, values, BARE, "", "pair")
        yield replace(made, sign=limit.sign, loose=limit.loose, is_word=True)


def _atoms(flat: str) -> Iterator[_Atom]:
    for match in _A_TIME.finditer(flat):
        yield _Atom(*match.span(), 1.0, unit_named(match["unit"]), is_word=False)
    for match in _ATOM.finditer(flat):
        written = match["number"]
        unit = _unit(match)
        if unit is None and (match["ordinal"] or (not match["scale"] and _GLUED.match(flat, match.end("number")))):
            continue
        end = match.end() if unit else match.end("scale") if match["scale"] else match.end("number")
        is_word = written[0].isalpha() and unit is None
        if is_word and written.casefold() in ("one", "zero"):
            continue
        value = (
            _FRACTIONS[written] if written in _FRACTIONS else number(written) + _FRACTIONS.get(match["part"] or "", 0)
        )
        yield _Atom(match.start(), end, min(value * _scale(match["scale"]), LARGEST), unit, is_word)


def _unit(match: re.Match[str]) -> Unit | None:
    """The unit of a match, rates included; a short unit needs its letter case."""
    unit = unit_named(match["unit"]) if match["unit"] else None
    for name in ("per", "per2"):
        if unit and match[name]:
            below = unit_named(re.sub(r"^\s*(?:/|per\s|an?\s)\s*", "", match[name], flags=re.IGNORECASE))
            unit = unit.over(below) if below else unit
    return unit


def _scale(written: str | None) -> float:
    if not written:
        return 1.0
    named = {"thousand": 1e3, "million": 1e6, "billion": 1e9}.get(written.strip().casefold())
    exponent = re.sub(r"^\s*[×xX]\s*10\s*\^?\s*", "", written)
    return named or (10.0 ** int(exponent) if _EXPONENT.fullmatch(exponent) else 1.0)


def _amounts(flat: str, text: str) -> Iterator[Quantity]:
    """Amounts with their ranges, limits and ages."""
    atoms = _inheriting(flat, sorted(_atoms(flat), key=lambda atom: (atom.start, -atom.end)))
    at = 0
    while at < len(atoms):
        first = atoms[at]
        second = atoms[at + 1] if at + 1 < len(atoms) else None
        shape = _joined(flat, first, second) if second else "single"
        if second and shape != "single":
            at += 1
            yield _quantity(flat, text, (first, second), shape)
        else:
            yield _quantity(flat, text, (first,), "single")
        end = atoms[at].end
        at += 1
        while at < len(atoms) and atoms[at].start < end:
            at += 1


def _inheriting(flat: str, atoms: list[_Atom]) -> list[_Atom]:
    """In “10, 20 and 40 mg” and “36.6 ± 0.4 °C” the unit is said once."""
    in_list = False
    for at in range(len(atoms) - 2, -1, -1):
        this, later = atoms[at], atoms[at + 1]
        gap = flat[this.end : later.start]
        in_list = _LISTED.fullmatch(gap) is not None or (in_list and gap.strip() == ",")
        if this.unit is None and not this.is_word and later.unit and in_list:
            atoms[at] = replace(this, unit=later.unit)
    return atoms


def _joined(flat: str, first: _Atom, second: _Atom) -> Shape:
    """Whether two numbers make one quantity."""
    gap = flat[first.end : second.start]
    same = first.unit is None or (second.unit is not None and first.unit.dimension == second.unit.dimension)
    if same and (
        _RANGE.fullmatch(gap)
        or (_AND.fullmatch(gap) and _BETWEEN.search(flat, max(0, first.start - LOOK_BACK), first.start))
    ):
        return "range"
    if gap.strip() == "/" or (gap == ":" and first.unit is second.unit is None):
        return "pair"
    is_share = first.value <= second.value and first.value.is_integer() and second.value.is_integer()
    if first.unit is None and second.unit is None and is_share and _OF.fullmatch(gap):
        return "pair"
    return "single"


def _quantity(flat: str, text: str, atoms: tuple[_Atom, ...], shape: Shape) -> Quantity:
    start, end = atoms[0].start, atoms[-1].end
    unit = atoms[-1].unit
    before, low = comparator_before(flat, start)
    after, high = comparator_after(flat, end)
    limit, span = (after, (start, high)) if after is not PLAIN else (before, (low, end))
    if unit is None and (
        _AGED.search(flat, max(0, start - LOOK_BACK), start) or (limit.sign != "=" and is_bare_age(flat, *span))
    ):
        unit = unit_named("year")
    is_chance = unit is None and _CHANCE.search(flat, max(0, low - LOOK_BACK), low) is not None
    values = tuple(_base(atom.value, atom.unit or unit) for atom in atoms)
    dimension = unit.dimension if unit else CHANCE if is_chance else BARE
    dimension = "temperature" if dimension == "fahrenheit" else dimension
    name = (unit.name if unit else "") if all(atom.unit in (None, unit) for atom in atoms) else "mixed"
    made = Quantity(*span, text[span[0] : span[1]], values, tuple(atom.value for atom in atoms), dimension, name, shape)
    is_word = atoms[0].is_word and unit is None
    told = told_of(flat, *span, unit=name, is_limit=limit.sign != "=") if dimension == "time" else ""
    return replace(made, sign=limit.sign, loose=_is_loose(limit, unit), is_word=is_word, told=told)


def _base(value: float, unit: Unit | None) -> float:
    if unit is None:
        return value
    return (value - 32) / 1.8 if unit.dimension == "fahrenheit" else value * unit.size


def _is_loose(limit: Comparator, unit: Unit | None) -> bool:
    """“Over 15 minutes” may be how long an infusion takes; “over 40” is a limit."""
    if limit.sign == ">" and limit.loose:
        return unit is not None and unit.dimension == "time" and unit.size < 28
    return limit.loose
