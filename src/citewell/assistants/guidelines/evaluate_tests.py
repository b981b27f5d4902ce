"""Holds thresholds and findings of tests against the results on record."""

from __future__ import annotations

import operator
import re
from functools import cache, lru_cache

from citewell.assistants.guidelines.criteria import Threshold
from citewell.assistants.guidelines.match import Unit, units
from citewell.assistants.guidelines.patient import Patient, TestResult
from citewell.assistants.guidelines.state import Judged, State
from citewell.assistants.guidelines.tables import rows

_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


@cache
def _tests() -> tuple[tuple[frozenset[Unit], tuple[str, ...], str], ...]:
    return tuple(
        (units(name), tuple(names.split("|")), direction)
        for name, names, direction in ((*row, "", "")[:3] for row in rows("tests.tsv"))
    )


@lru_cache(maxsize=5_000)
def _for(phrase: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The tests that show a finding, and the direction that makes it true."""
    asked = units(phrase)
    return tuple(
        (names, direction)
        for wanted, names, direction in _tests()
        if all(any(one & other for other in asked) for one in wanted)
    )


def is_test(phrase: str) -> bool:
    """Whether only a test can show it.

    >>> is_test("chest X-ray findings"), is_test("raised platelet count"), is_test("cough")
    (True, True, False)
    """
    return bool(_for(phrase))


def _results(names: tuple[str, ...], patient: Patient) -> list[TestResult]:
    """The results of a test, whatever it is called."""
    words = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE)
    return [one for one in patient.tests if words.search(one.name)]


def judge_by_test(phrase: str, patient: Patient) -> Judged | None:
    """A finding such as thrombocytosis by the result of its test; None where no result decides."""
    for names, direction in _for(phrase):
        for result in _results(names, patient) if direction else ():
            if result.flag is not None:
                is_met = result.flag == direction
                return Judged(phrase, State.MET if is_met else State.NOT_MET, result.told, is_clinical=is_met)
            if result.value is not None:
                ask = f"Is {result.told} {direction}? The record gives no reference range."
                return Judged(phrase, State.UNKNOWN, result.told, ask=ask)
    return None


def judge_threshold(condition: Threshold, patient: Patient) -> Judged:
    """A number on record against the rule's; without a number it is unknown."""
    found = _for(condition.test)
    names = tuple(name for every, _ in found for name in every) or (condition.test,)
    result = next((one for one in _results(names, patient) if one.value is not None), None)
    if result is None or result.value is None:
        return Judged(condition.text, State.UNKNOWN, None, ask=f"What is the {condition.test} result?")
    if _unit(result.unit) and _unit(condition.unit) and _unit(result.unit) != _unit(condition.unit):
        ask = f"The record gives {result.told}: convert it to {condition.unit} and compare."
        return Judged(condition.text, State.UNKNOWN, result.told, ask=ask)
    is_met = _COMPARE[condition.comparison](result.value, condition.value)
    return Judged(condition.text, State.MET if is_met else State.NOT_MET, result.told, is_clinical=is_met)


@cache
def _units() -> dict[str, str]:
    return {other: name for name, *others in rows("units.tsv") for other in (name, *others)}


def _unit(words: str | None) -> str | None:
    """A unit by one name for all its spellings.

    >>> _unit("micrograms of haemoglobin per gram of faeces") == _unit("µg/g")
    True
    """
    if not words:
        return None
    plain = " ".join(words.lower().split())
    return _units().get(plain, plain)
