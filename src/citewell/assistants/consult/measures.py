"""Reads measurements: vitals and weight, each in one unit, with the arithmetic where it was said in another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from citewell.assistants.consult.tables import rows

KG_PER_LB = 0.45359237
KG_PER_STONE = 6.35029318
MG_PER_MMOL_GLUCOSE = 18.0
_NUMBER = r"(?P<number>\d{1,3}(?:[.,]\d{1,2})?)"
_JOIN = r"\s*(?:(?:is|was|of|at|now|around|about|:|=|up to|has been|today|were|rate)\s*){0,3}"
_FAHRENHEIT = re.compile(r"\s*(?:°\s*f|degrees\s+f(?:ahrenheit)?|f(?:ahrenheit)?\b)", re.IGNORECASE)
_PRESSURE = re.compile(
    rf"\b(?:blood pressure|bp){_JOIN}(?P<high>\d{{2,3}})\s*(?:/|over)\s*(?P<low>\d{{2,3}})", re.IGNORECASE
)
_BARE_PRESSURE = re.compile(r"(?<![\d/])(?P<high>\d{2,3})/(?P<low>\d{2,3})(?=\s*mm\s?hg)", re.IGNORECASE)
_READING = re.compile(
    r"\b(?:blood pressures?|bps?|readings?|pressures?)\b[^.;\d]{1,60}?(?P<high>[89]\d|1\d\d|2[0-4]\d)\s?/\s?"
    r"(?P<low>[4-9]\d|1[0-4]\d)(?![\d/])",
    re.IGNORECASE,
)
"""With other words between: “readings at home average 152/94”."""
_PEAK = re.compile(
    r"\b(?:fevers?|temp(?:erature)?s?|pyrexia)\b(?=[^.;]{1,40}?\d)[^.;]{1,40}?"
    r"\b(?:up to|reach(?:ed|ing)|peak(?:ed|ing) at|as high as|max(?:imum)?(?: of)?)\s*"
    r"(?P<number>(?:3[5-9]|4[0-3]|9[5-9]|10[0-8])(?:[.,]\d)?)(?!\d)",
    re.IGNORECASE,
)
"""With other words between: “fever for 4 days, up to 39.5”."""
_STONE = re.compile(
    r"(?P<stone>\d{1,2})\s*(?:st|stone)\b(?:\s*(?:and\s*)?(?P<pounds>\d{1,2})\s*(?:lbs?|pounds?)?)?", re.I
)
_POUNDS = re.compile(r"(?P<pounds>\d{1,3}(?:\.\d+)?)\s*(?:lbs?|pounds?)\b", re.IGNORECASE)
_KILOS = re.compile(
    r"(?P<kilos>\d{1,3}(?:[.,]\d+)?)\s*(?:kgs?|kilos?|kilograms?|kilogrammes?)\b(?!\s*/)", re.IGNORECASE
)
_NOT_WEIGHT = re.compile(
    r"(?:lost|gained|loss of|gain of|lose|gain|put on|per|every|/)\s*(?:about|around|over)?\s*$", re.I
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measurement in a sentence; with `trouble` it is asked about and not taken."""

    start: int
    end: int
    name: str
    value: float
    unit: str
    arithmetic: str | None = None
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Vital:
    """One row of the table."""

    name: str
    unit: str
    pattern: re.Pattern[str] | None
    low: float
    high: float
    decimals: int


@cache
def vitals() -> dict[str, Vital]:
    """The measurements that are known, by name."""
    found = {}
    for name, unit, before, after, low, high, decimals in rows("vitals.tsv"):
        pattern = None
        if before:
            tail = rf"(?:\s*(?:{after})(?![\w])|(?![\w.,]*\d|\s*/|\s*(?:years?|months?|weeks?|days?)\b))"
            pattern = re.compile(rf"(?<![\w])(?:{before}){_JOIN}{_NUMBER}{tail}", re.IGNORECASE)
        found[name] = Vital(name, unit, pattern, float(low), float(high), int(decimals))
    return found


def find_measures(sentence: str) -> list[Measure]:
    """Every measurement, in order.

    >>> [(one.name, one.value, one.arithmetic) for one in find_measures("She weighs 44 lb, pulse 110")]
    [('weight', 19.96, '44 lb × 0.453592 = 19.96 kg'), ('pulse', 110.0, None)]
    >>> [one.value for one in find_measures("Her readings at home average 152/94.")]
    [152.0, 94.0]
    >>> [one.value for one in find_measures("Fever for 4 days up to 39.5")]
    [39.5]
    >>> find_measures("temp 101.3 F")[0].arithmetic
    '(101.3 °F − 32) ÷ 1.8 = 38.5 °C'
    """
    found = [*_pressures(sentence), *_weights(sentence)]
    found += [
        _checked(_temperature(sentence, match, float(match["number"].replace(",", "."))))
        for match in _PEAK.finditer(sentence)
    ]
    for name, vital in vitals().items():
        if vital.pattern is None or name in ("weight", "systolic blood pressure"):
            continue
        for match in vital.pattern.finditer(sentence):
            found.append(_checked(_one(sentence, match, vital)))
    found.sort(key=lambda one: (one.start, one.end))
    return [one for at, one in enumerate(found) if not any(_clash(one, other) for other in found[:at])]


def _clash(one: Measure, other: Measure) -> bool:
    return one.start < other.end and other.start < one.end and one.name == other.name


def _one(sentence: str, match: re.Match[str], vital: Vital) -> Measure:
    written = float(match["number"].replace(",", "."))
    end = match.end("number")
    if vital.name == "temperature":
        return _temperature(sentence, match, written)
    if vital.name == "glucose" and written > vital.high:
        value = round(written / MG_PER_MMOL_GLUCOSE, 1)
        told = f"{written:g} mg/dL ÷ 18 = {value:g} mmol/L"
        return Measure(match.start(), end, vital.name, value, vital.unit, told)
    if vital.name == "height" and written < 3:
        value = round(written * 100)
        return Measure(match.start(), match.end(), vital.name, value, vital.unit, f"{written:g} m × 100 = {value:g} cm")
    return Measure(match.start(), match.end(), vital.name, round(written, vital.decimals), vital.unit)


def _temperature(sentence: str, match: re.Match[str], written: float) -> Measure:
    """In °C; a number that only makes sense in °F is read so, and said to be."""
    end = match.end("number")
    fahrenheit = _FAHRENHEIT.match(sentence, end)
    if fahrenheit or 93 <= written <= 110:
        value = round((written - 32) / 1.8, 1)
        read = "" if fahrenheit else " (no unit was said; it can only be °F)"
        told = f"({written:g} °F − 32) ÷ 1.8 = {value:g} °C{read}"
        stop = fahrenheit.end() if fahrenheit else end
        return Measure(match.start(), stop, "temperature", value, "°C", told)
    return Measure(match.start(), match.end(), "temperature", round(written, 1), "°C")


def _pressures(sentence: str) -> Iterator[Measure]:
    for pattern in (_PRESSURE, _BARE_PRESSURE, _READING):
        for match in pattern.finditer(sentence):
            span = match.span()
            yield _checked(Measure(*span, "systolic blood pressure", float(match["high"]), "mmHg"))
            yield _checked(Measure(*span, "diastolic blood pressure", float(match["low"]), "mmHg"))


def _weights(sentence: str) -> Iterator[Measure]:
    """A weight in kilograms, pounds or stone; what was lost or gained is none."""
    taken: list[tuple[int, int]] = []
    for pattern, read in ((_STONE, _stone), (_KILOS, _kilos), (_POUNDS, _pounds)):
        for match in pattern.finditer(sentence):
            overlaps = any(match.start() < end and start < match.end() for start, end in taken)
            if overlaps or _NOT_WEIGHT.search(sentence[: match.start()]):
                continue
            taken.append(match.span())
            yield _checked(read(match))


def _kilos(match: re.Match[str]) -> Measure:
    return Measure(*match.span(), "weight", float(match["kilos"].replace(",", ".")), "kg")


def _pounds(match: re.Match[str]) -> Measure:
    written = float(match["pounds"])
    value = round(written * KG_PER_LB, 2)
    return Measure(*match.span(), "weight", value, "kg", f"{written:g} lb × 0.453592 = {value:g} kg")


def _stone(match: re.Match[str]) -> Measure:
    stone, pounds = float(match["stone"]), float(match["pounds"] or 0)
    value = round(stone * KG_PER_STONE + pounds * KG_PER_LB, 2)
    more = f" + {pounds:g} lb × 0.453592" if pounds else ""
    return Measure(*match.span(), "weight", value, "kg", f"{stone:g} st × 6.350293{more} = {value:g} kg")


def _checked(measure: Measure) -> Measure:
    """A value that nobody has is asked about."""
    vital = vitals()[measure.name]
    if vital.low <= measure.value <= vital.high:
        return measure
    trouble = (
        f"A {measure.name} of {measure.value:g} {measure.unit} cannot be right "
        f"({vital.low:g} to {vital.high:g} {vital.unit} is read). What is it, and in which unit?"
    )
    return Measure(measure.start, measure.end, measure.name, measure.value, measure.unit, measure.arithmetic, trouble)
