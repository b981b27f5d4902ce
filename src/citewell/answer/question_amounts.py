"""Amounts that a question gives, such as an age or a laboratory result, and the texts that speak of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from citewell.clinical.quantities import unit_named
from citewell.sentences import stem
from citewell.work import spend

MAX_TIMES = 10.0
"""A limit is not meant for an amount more than so many times as large: “over 70” is no word on 1,500."""

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_UNIT = r"(?:[\s-]?(?P<unit>[a-zA-Zµ%°][\w/%]*))?"
_GIVEN = re.compile(rf"(?<![\w.,-])(?P<low>{_NUMBER}){_UNIT}")
_BETWEEN = re.compile(
    rf"(?<![\w.,])(?P<low>{_NUMBER})(?:\s?[a-zA-Z%]{{1,3}})?\s?(?:to|–|-)\s?(?P<high>{_NUMBER}){_UNIT}"
)
_FROM_TO = re.compile(
    rf"\bbetween\s(?P<low>{_NUMBER})(?:\s?[a-zA-Z%][\w/%]{{0,9}})?\sand\s(?P<high>{_NUMBER}){_UNIT}", re.IGNORECASE
)
_AT_LEAST = re.compile(rf"(?:above|over|more than|at least|older than|[≥>])\s?(?P<low>{_NUMBER}){_UNIT}", re.IGNORECASE)
_AT_MOST = re.compile(
    rf"(?:below|under|less than|fewer than|at most|younger than|[≤<])\s?(?P<high>{_NUMBER}){_UNIT}", re.IGNORECASE
)
_OR_MORE = re.compile(
    rf"(?<![\w.,])(?P<low>{_NUMBER}){_UNIT} (?:and|or) (?:over|above|more|older|higher|greater|upwards)\b"
)
_OR_LESS = re.compile(
    rf"(?<![\w.,])(?P<high>{_NUMBER}){_UNIT} (?:and|or) (?:under|below|less|fewer|younger|lower|smaller)\b"
)
_RANGES = (_BETWEEN, _FROM_TO, _AT_LEAST, _AT_MOST, _OR_MORE, _OR_LESS)
_PRESSURE = re.compile(r"(?<![\w./])(?P<systolic>[5-9]\d|[12]\d\d)/(?P<diastolic>[3-9]\d|1\d\d)(?![\w/]|\.\d)")
"""A blood pressure, such as “180/120”."""

YEAR = stem("year")
_AGE = re.compile(
    r"\b(?:at|aged?|age of|(?:man|woman|boy|girl|lady|gentleman|patient|person|adult|child|male|female) of)\s+$",
    re.IGNORECASE,
)
AGE_REACH = 40
"""How many characters before a number are looked at for such a word."""
_AGES = range(18, 111)
"""After “at” or “a man of” a number like these, without a unit, is an age."""
_MONTHS = {YEAR: 12.0, stem("month"): 1.0, stem("week"): 12 / 52}
"""Months in each unit of age."""
AGES = frozenset(_MONTHS)
_OF_AGE = re.compile(
    r"\b(?:aged?|ages|old|older|younger|adults?|people|patients?|child(?:ren)?|men|women|over|under)\b", re.I
)
"""A limit without a unit is one of age only near one of these."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with the stem of its unit, if it has one; `text` is how the question writes it."""

    value: float
    unit: str
    text: str


def amounts(question: str) -> tuple[Amount, ...]:
    """The amounts that a question gives.

    >>> [(amount.value, amount.unit) for amount in amounts("NT-proBNP 1,500 in a 50 year old with CRB-65 of 2")]
    [(1500.0, ''), (50.0, 'year'), (2.0, '')]
    >>> amounts("blood in urine at 62")
    (Amount(value=62.0, unit='year', text='62'),)
    >>> amounts("Blood pressure of 190/125: what now?")
    (Amount(value=190.0, unit='', text='190/125'),)
    """
    spend()
    pressures = [Amount(_value(pressure["systolic"]), "", pressure.group()) for pressure in _pressures(question)]
    rest = _PRESSURE.sub(lambda one: " " * len(one.group()), question) if pressures else question
    return (*pressures, *(_given(match, rest) for match in _GIVEN.finditer(rest)))


def _pressures(text: str) -> list[re.Match[str]]:
    """The blood pressures of a text: the first number is the larger one."""
    return [match for match in _PRESSURE.finditer(text) if _value(match["systolic"]) > _value(match["diastolic"])]


def _by_systolic(text: str) -> str:
    """The text with each blood pressure by its first number, so that its limits are read as those of one number."""
    for pressure in reversed(_pressures(text)):
        text = text[: pressure.end("systolic")] + text[pressure.end() :]
    return text


def _given(match: re.Match[str], question: str) -> Amount:
    unit, value = _unit(match), _value(match["low"])
    if not unit and value in _AGES and _AGE.search(question, max(0, match.start() - AGE_REACH), match.start()):
        return Amount(value, YEAR, match["low"])
    return Amount(value, unit, match.group() if unit else match["low"])


def states(text: str, amount: Amount) -> bool:
    """Whether the text gives this very amount.

    >>> twelve = Amount(12.0, "kg", "12 kg")
    >>> [states(text, twelve) for text in ("a child of 12 kg", "Weight (kg): 12; Dose: 4 ml", "12 hours, 8 kg")]
    [True, True, False]
    >>> states("Weight (kg): 10; Dose (ml): 12", twelve)
    False
    """
    if _PRESSURE.fullmatch(amount.text):
        return amount.text in text
    same = [match for match in _GIVEN.finditer(text) if _value(match["low"]) == amount.value]
    headed = f"({amount.unit}): "
    return any(_unit(match) == amount.unit or text[: match.start()].endswith(headed) for match in same)


def admits(text: str, amount: Amount) -> bool:
    """Whether the amount lies within a range or a limit that the text states.

    >>> [admits("400 to 2,000 ng/L: refer", Amount(value, "", "")) for value in (1500.0, 3000.0)]
    [True, False]
    >>> [admits(text, Amount(50.0, "year", "")) for text in ("aged 40 and over", "more than 40 mL")]
    [True, False]
    >>> [admits(f"20 mg for a child of {age} or more", Amount(2.0, "year", "")) for age in ("6 months", "3 years")]
    [True, False]
    >>> [admits(f"{limit} mmHg or higher", Amount(190.0, "", "190/125")) for limit in ("180/120", "200/130", "20")]
    [True, False, False]
    """
    is_pressure = _PRESSURE.fullmatch(amount.text) is not None
    if is_pressure and not _pressures(text):
        return False
    text = _by_systolic(text) if is_pressure else text
    return any(_holds(match, amount) for pattern in _RANGES for match in pattern.finditer(text))


def _holds(match: re.Match[str], amount: Amount) -> bool:
    limits = match.groupdict()
    unit = _unit(match)
    if unit in AGES and amount.unit in AGES:
        amount = replace(amount, value=amount.value * _MONTHS[amount.unit] / _MONTHS[unit], unit=unit)
    if unit and amount.unit and unit != amount.unit:
        return False
    if amount.unit == YEAR and not unit and not _OF_AGE.search(match.string, max(0, match.start() - 40), match.end()):
        return False
    low = _value(limits["low"]) if limits.get("low") else None
    high = _value(limits["high"]) if limits.get("high") else None
    if high is None:
        return low is not None and low <= amount.value <= low * MAX_TIMES
    return (low or 0.0) <= amount.value <= high


def _unit(match: re.Match[str]) -> str:
    """The word after a number, where it is a unit: in “INR 6 without bleeding” it is none."""
    word = match["unit"] or ""
    return stem(word.casefold()) if word == "%" or unit_named(word) is not None else ""


def _value(number: str) -> float:
    return float(number.replace(",", ""))
