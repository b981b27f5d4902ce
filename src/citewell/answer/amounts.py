"""Amounts that a question gives, such as an age or a laboratory result, and the texts that speak of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.words import STOP_WORDS, stem

MAX_TIMES = 10.0
"""A limit is not meant for an amount more than so many times as large: “over 70” is no word on 1,500."""

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_UNIT = r"(?:[\s-]?(?P<unit>[a-zA-Zµ%°][\w/%]*))?"
_GIVEN = re.compile(rf"(?<![\w.,-])(?P<low>{_NUMBER}){_UNIT}")
_BETWEEN = re.compile(
    rf"(?<![\w.,])(?P<low>{_NUMBER})(?:\s?[a-zA-Z%]{{1,3}})?\s?(?:to|–|-)\s?(?P<high>{_NUMBER}){_UNIT}"
)
_AT_LEAST = re.compile(rf"(?:above|over|more than|at least|older than|[≥>])\s?(?P<low>{_NUMBER}){_UNIT}", re.IGNORECASE)
_AT_MOST = re.compile(
    rf"(?:below|under|less than|fewer than|at most|younger than|[≤<])\s?(?P<high>{_NUMBER}){_UNIT}", re.IGNORECASE
)
_OR_MORE = re.compile(rf"(?<![\w.,])(?P<low>{_NUMBER}){_UNIT} (?:and|or) (?:over|above|more|older)\b")
_OR_LESS = re.compile(rf"(?<![\w.,])(?P<high>{_NUMBER}){_UNIT} (?:and|or) (?:under|below|less|fewer|younger)\b")
_RANGES = (_BETWEEN, _AT_LEAST, _AT_MOST, _OR_MORE, _OR_LESS)


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
    """
    return tuple(Amount(_value(found["low"]), _unit(found), found.group()) for found in _GIVEN.finditer(question))


def states(text: str, amount: Amount) -> bool:
    """Whether the text gives this very amount.

    >>> twelve = Amount(12.0, "kg", "12 kg")
    >>> [states(text, twelve) for text in ("a child of 12 kg", "Weight (kg): 12; Dose: 4 ml", "12 hours, 8 kg")]
    [True, True, False]
    """
    same = [found for found in _GIVEN.finditer(text) if _value(found["low"]) == amount.value]
    if not amount.unit:
        return bool(same)
    units = {_unit(found) for found in same}
    return amount.unit in units or ("" in units and f"({amount.unit})" in text)


def admits(text: str, amount: Amount) -> bool:
    """Whether the amount lies within a range or a limit that the text states.

    >>> [admits("400 to 2,000 ng/L: refer", Amount(value, "", "")) for value in (1500.0, 3000.0)]
    [True, False]
    >>> [admits(text, Amount(50.0, "year", "")) for text in ("aged 40 and over", "more than 40 mL")]
    [True, False]
    """
    return any(_holds(found, amount) for pattern in _RANGES for found in pattern.finditer(text))


def _holds(found: re.Match[str], amount: Amount) -> bool:
    limits = found.groupdict()
    unit = _unit(found)
    if unit and amount.unit and unit != amount.unit:
        return False
    low = _value(limits["low"]) if limits.get("low") else None
    high = _value(limits["high"]) if limits.get("high") else None
    if high is None:
        return low is not None and low <= amount.value <= low * MAX_TIMES
    return (low or 0.0) <= amount.value <= high


def _unit(found: re.Match[str]) -> str:
    """The word after a number, where it can be a unit."""
    word = (found["unit"] or "").casefold()
    return "" if word in STOP_WORDS else stem(word)


def _value(number: str) -> float:
    return float(number.replace(",", ""))
