"""Bands of results that words are for: “INR above 8”, “creatinine clearance 15 to 29”, “BP of 180/120 or higher”."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from citewell.clinical.populations import ValueBand, age_limits, weight_limits
from citewell.clinical.quantities import (
    BARE,
    Quantity,
    Test,
    TestReading,
    ages,
    in_usual_unit,
    named_tests,
    quantities,
    results,
)

REACH = 120
"""Characters between the name of a test and the band of its results."""
LONGEST_BETWEEN = 12
_THRESHOLD = re.compile(r"\b(?:threshold|cut-?offs?|upper limit|normal|reference)\b", re.IGNORECASE)
"""Before a value that results are compared with, whoever has them: no band of those whom a row is for."""
_ENDS = re.compile(r";|[.?!]\s")
_LATER = re.compile(r"\b(?:(?:until|once|target|aim\w*|goal)\b[^.;:]{0,40}|to\s+)$", re.IGNORECASE)
"""Before a band that is to be reached, and is not the one that somebody has: “stop until the INR is below 5”."""
_SCORE = re.compile(r"\bscores?(?:\s+of)?\b", re.IGNORECASE)
"""What would make a label of a score: “score of 2” is one score, “of 2 or more” several."""
_BETWEEN = re.compile(r"\bbetween\s*$", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|to|–|-)\s*", re.IGNORECASE)


@lru_cache(maxsize=20_000)
def bands(text: str) -> tuple[ValueBand, ...]:
    """The bands of results that a text names, each with its test, in the usual unit.

    >>> row = "INR: 5.1 to 8.0; Bleeding: None; Vitamin K: 2 mg"
    >>> [(band.of, band.low, band.high) for band in (*bands(row), *bands("Creatinine clearance (mL/min): Below 30"))]
    [('INR', 5.1, 8.0), ('creatinine clearance', None, 30.0)]
    >>> bands("Stop warfarin until the INR is below 5.0."), bands("Check the INR in 3 days.")
    ((), ())
    """
    named = named_tests(text)
    if not named:
        return ()
    found = quantities(_SCORE.sub(lambda match: " " * len(match.group()), text))
    starts = [quantity.start for quantity in found]
    made: list[ValueBand] = []
    for at, (_, end, test) in enumerate(named):
        last = named[at + 1][0] if at + 1 < len(named) else len(text)
        stop = _ENDS.search(text, end, last)
        last = stop.start() if stop else last
        if _THRESHOLD.search(text, end, min(last, end + REACH)):
            continue
        behind = found[bisect_left(starts, end) : bisect_left(starts, last)]
        made += _of_test(text, test, end, [quantity for quantity in behind if quantity.end <= last])
    return tuple(made)


def _of_test(text: str, test: Test, end: int, within: Sequence[Quantity]) -> Iterator[ValueBand]:
    """The bands of one test among the quantities behind its name, up to the first that is something else."""
    for at, quantity in enumerate(within):
        if quantity.start - end > REACH or (quantity.dimension != BARE and not _is_of(test, quantity)):
            return
        following = within[at + 1] if at + 1 < len(within) else None
        end = quantity.end
        if _LATER.search(text, max(0, quantity.start - REACH), quantity.start):
            continue
        if (
            following
            and _BETWEEN.search(text, max(0, quantity.start - LONGEST_BETWEEN), quantity.start)
            and _AND.fullmatch(text, quantity.end, following.start)
        ):
            yield _limits(test, quantity, quantity.written[0], following.written[0])
            return
        if quantity.shape == "range" and not test.is_pair:
            yield _limits(test, quantity, min(quantity.written), max(quantity.written))
        elif quantity.sign in (">", ">="):
            yield _limits(test, quantity, quantity.written[0], None)
        elif quantity.sign in ("<", "<="):
            yield _limits(test, quantity, None, quantity.written[0])
        elif test.unit == "score" and quantity.shape == "single":
            yield _limits(test, quantity, quantity.written[0], quantity.written[0])


def _is_of(test: Test, quantity: Quantity) -> bool:
    """Whether a quantity has a unit that results of a test have."""
    if test.unit in ("", "score"):
        return not quantity.unit
    return in_usual_unit(test, quantity.written[0], quantity.unit).problem is None


def _limits(test: Test, quantity: Quantity, low: float | None, high: float | None) -> ValueBand:
    """A band in the usual unit of its test."""
    made = ValueBand(quantity.start, quantity.end, quantity.text, test.name, is_over=quantity.sign == ">")
    ends = [None if end is None else _usual(test, end, quantity) for end in (low, high)]
    return replace(made, low=ends[0], high=ends[1], is_through=quantity.sign != "<")


def _usual(test: Test, value: float, quantity: Quantity) -> float:
    found = in_usual_unit(test, value, quantity.unit or None).values
    return found[0] if found else value


def is_within(text: str, given: Sequence[TestReading]) -> bool | None:
    """Whether a text is for results like the given ones; None where it names no band of such a test.

    >>> from citewell.clinical.quantities import results
    >>> [is_within(text, results("INR 6")) for text in ("INR above 8: stop", "INR 5 to 8: stop", "INR: stop")]
    [False, True, None]
    """
    judged = []
    for result in given:
        own = [band for band in bands(text) if band.of == result.test]
        if own and result.values:
            judged.append(any(band.has(result.values[0], result.values[0]) for band in own))
    return all(judged) if judged else None


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A result, an age or a weight that a question gives."""

    start: int
    end: int
    test: str
    value: float


@lru_cache(maxsize=256)
def given_in(question: str) -> tuple[GivenValue, ...]:
    """The results, ages and weights that a question gives, each where it stands."""
    measured = [
        GivenValue(given_result.start, given_result.end, given_result.test, given_result.values[0])
        for given_result in given_results(question)
    ]
    aged = [GivenValue(age.start, age.end, "age", age.years) for age in ages(question) if not age.problem]
    return tuple(sorted((*measured, *aged), key=lambda given_value: given_value.start))


def given_results(question: str) -> tuple[TestReading, ...]:
    """The results that a question gives: values of now, that somebody can have."""
    return tuple(result for result in results(question) if _is_given(result))


def _is_given(result: TestReading) -> bool:
    return bool(result.values) and not result.problem and result.sign == "=" and not result.is_earlier


def as_bands(question: str, text: str) -> list[tuple[int, int, str]]:
    """Each value of a question that lies in a band of a text: where it stands, and the band in the text's words.

    >>> as_bands("CrCl 25, dose at 7 years old?", "Clearance: 15 to 29 mL/min; Aged 5 to 11 years: 5 mg")
    [(0, 7, 'Clearance 15 to 29 mL/min'), (17, 28, 'aged 5 to 11 years')]
    """
    given = given_in(question)
    if not given:
        return []
    named = {test.name: text[start:end] for start, end, test in reversed(named_tests(text))}
    known = [*bands(text), *age_limits(text), *(replace(limits, of="weight") for limits in weight_limits(text))]
    edits = []
    for given_value in given:
        own = next(
            (band for band in known if band.of == given_value.test and band.has(given_value.value, given_value.value)),
            None,
        )
        if own is not None:
            name = "aged" if given_value.test == "age" else named.get(given_value.test, given_value.test)
            edits.append((given_value.start, given_value.end, f"{name} {own.text}"))
    return edits
