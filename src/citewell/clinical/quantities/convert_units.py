"""Results in the usual unit of their test, with the arithmetic, or with what is asked where no unit can be right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.clinical.quantities.known_tests import OtherUnit, Test, TestReading, listed
from citewell.clinical.quantities.units import unit_of_result

if TYPE_CHECKING:
    import re


KG_IN_POUND, KG_IN_STONE = 0.45359237, 6.35029318


def in_usual_unit(test: Test, value: float, unit: str | None) -> TestReading:
    """A value that is on record with its test: in the usual unit, with the arithmetic or the problem.

    >>> from citewell.clinical.quantities.known_tests import named_test
    >>> in_usual_unit(named_test("PSA"), 6.1, "ng/mL").values, in_usual_unit(named_test("Hb"), 98, "mmol/mol").problem
    ((6.1,), '“mmol/mol” is not a unit for haemoglobin (usual unit: g/L). What is the value, and in which unit?')
    """
    made = TestReading(0, 0, "", test.name, test.name, (value,), test.unit or None, written=(value,), written_unit=unit)
    return converted(made, test) if unit and test.unit not in ("", "score") else assumed(made, test)


def converted(reading: TestReading, test: Test) -> TestReading:
    """The result in the usual unit, with the arithmetic; a unit of another dimension is a problem."""
    unit, usual = unit_of_result(reading.written_unit or ""), unit_of_result(test.unit)
    other = next(
        (other_unit for other_unit in test.others if unit is not None and unit_of_result(other_unit.written) == unit),
        None,
    )
    if other is None and unit is not None and usual is not None and unit.dimension == usual.dimension:
        factor = unit.size / usual.size
        if unit.name == usual.name:
            return _checked(reading, test)
        name = reading.written_unit or ""
        name = unit.name if name.isalpha() and len(name) > 3 else name
        other = OtherUnit(name, factor, 0.0, f"× {factor:.6g}" if factor < 1e5 else f"× {factor:.0f}")
    if other is None:
        return replace(reading, values=(), problem=no_unit_of(reading.written_unit, test))
    values = tuple(_rounded(value * other.factor + other.offset, test) for value in reading.written)
    arithmetic = other.arithmetic(reading.written, values, test.unit)
    return _checked(replace(reading, values=values, arithmetic=arithmetic), test)


def assumed(reading: TestReading, test: Test) -> TestReading:
    """A value without a unit: in the usual one, or in the only other one that it can be in."""
    if not test.unit or test.unit in ("score", "mmHg", "/min", "%", "kg/m2"):
        return _checked(reading, test)
    told = f"{reading.name} {listed(reading.written)}"
    if test.can_be(reading.values):
        note = f"No unit was given for {told}: {test.unit} was assumed."
        return replace(reading, note=note)
    able = [
        replace(
            reading,
            values=values,
            arithmetic=f"{other.arithmetic(reading.written, values, test.unit)} (no unit given; {only})",
            note=f"No unit was given for {told}. It was read as {unit}, the only plausible unit.",
        )
        for other in test.others
        for unit, only in [(other.written, f"only {other.written} is plausible")]
        if test.can_be(
            values := tuple(_rounded(value * other.factor + other.offset, test) for value in reading.written)
        )
    ]
    return able[0] if len(able) == 1 else _checked(reading, test)


def in_stone(made: TestReading, stone: float, match: re.Match[str], test: Test) -> TestReading:
    """A weight in stone and pounds."""
    pounds = float(match["pounds"] or 0)
    more = f" + {pounds:g} lb × {KG_IN_POUND:.6f}" if pounds else ""
    value = round(stone * KG_IN_STONE + pounds * KG_IN_POUND, 2)
    arithmetic = f"{stone:g} st × {KG_IN_STONE:.6f}{more} = {value:g} kg"
    made = replace(made, end=match.end(), values=(value,), written=(stone,), written_unit="stone", unit="kg")
    return _checked(replace(made, arithmetic=arithmetic), test)


def _checked(reading: TestReading, test: Test) -> TestReading:
    """A value that nobody has is asked about."""
    if test.can_be(reading.values):
        return reading
    low, high = ("/".join(f"{part:.10g}" for part in limit) for limit in (test.lowest, test.highest))
    unit = "" if test.unit == "score" else f" {test.unit}".rstrip()
    told = "/".join(f"{value:g}" for value in reading.values) if test.is_pair else listed(reading.values)
    problem = (
        f"A {test.name} of {told}{unit} cannot be right (expected {low} to {high}{unit}). "
        "What is it, and in which unit?"
    )
    return replace(reading, problem=problem)


def no_unit_of(unit: str | None, test: Test) -> str:
    """That a unit is none of a test."""
    usual = f" (usual unit: {test.unit})" if test.unit and test.unit != "score" else ""
    return f"“{unit}” is not a unit for {test.name}{usual}. What is the value, and in which unit?"


def _rounded(value: float, test: Test) -> float:
    """As many figures as the conversion can bear."""
    return float(f"{value:.4g}" if test.is_body or value >= 1000 else f"{value:.3g}")
