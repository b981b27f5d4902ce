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
        "creatinine",
        "potassium",
        "BMI",
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
    taken = (
        reading
        for reading in results(sentence)
        if reading.test in _TAKEN and reading.written and not reading.is_earlier
    )
    return [measure for test_reading in taken for measure in _measures(sentence, test_reading)]


def _measures(sentence: str, reading: TestReading) -> Iterator[Measure]:
    values = reading.values or reading.written
    names = [reading.test]
    if reading.test == "blood pressure":
        is_lower = sentence[: reading.start].rstrip().casefold().endswith("diastolic")
        names = [SYSTOLIC, DIASTOLIC] if len(values) == 2 else [DIASTOLIC if is_lower else SYSTOLIC]
    is_open = reading.sign != "=" or len(values) > len(names)
    problem = reading.problem or (
        f"“{reading.text}” is not a single value. What is the exact value?" if is_open else None
    )
    for name, value in zip(names, values, strict=False):
        yield Measure(reading.start, reading.end, name, value, reading.unit or "", reading.arithmetic, problem)
