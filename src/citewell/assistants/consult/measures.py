"""Measurements of a consult: vital signs and weight, each in one unit, with the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from citewell.clinical.quantities import TestReading, results

SYSTOLIC, DIASTOLIC = "systolic blood pressure", "diastolic blood pressure"
_TAKEN = frozenset(
    (
        "temperature",
        "pulse",
        "respiratory rate",
        "oxygen saturation",
        "blood pressure",
        "weight",
        "height",
        "glucose",
        "eGFR",
        "creatinine clearance",
    )
)
VITALS = (_TAKEN - {"blood pressure"}) | {SYSTOLIC, DIASTOLIC}
"""The measurements by the names of their findings."""


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


def find_measures(sentence: str) -> list[Measure]:
    """Every measurement, in order.

    >>> [(one.name, one.value, one.arithmetic) for one in find_measures("She weighs 44 lb, pulse 110")]
    [('weight', 19.96, '44 lb × 0.453592 = 19.96 kg'), ('pulse', 110.0, None)]
    >>> [one.value for one in find_measures("Her readings at home average 152/94.")]
    [152.0, 94.0]
    """
    taken = (one for one in results(sentence) if one.test in _TAKEN and one.written and not one.is_earlier)
    return [measure for one in taken for measure in _measures(sentence, one)]


def _measures(sentence: str, found: TestReading) -> Iterator[Measure]:
    values = found.values or found.written
    names = [found.test]
    if found.test == "blood pressure":
        is_lower = sentence[: found.start].rstrip().casefold().endswith("diastolic")
        names = [SYSTOLIC, DIASTOLIC] if len(values) == 2 else [DIASTOLIC if is_lower else SYSTOLIC]
    is_open = found.sign != "=" or len(values) > len(names)
    problem = found.problem or (f"“{found.text}” is not a single value. What is it exactly?" if is_open else None)
    for name, value in zip(names, values, strict=False):
        yield Measure(found.start, found.end, name, value, found.unit or "", found.arithmetic, problem)
