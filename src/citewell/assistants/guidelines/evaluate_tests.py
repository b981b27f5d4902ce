"""Holds thresholds and findings of tests against the results on record, and those in the words of complaints."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from citewell.assistants.guidelines.concept_match import Unit, units
from citewell.assistants.guidelines.criteria import CriterionState, JudgedCriterion, Threshold
from citewell.assistants.guidelines.patient import Flag, PatientInput, TestResult
from citewell.assistants.guidelines.tables import rows
from citewell.clinical.assertion import read_context
from citewell.clinical.populations import ADULT_YEARS
from citewell.clinical.quantities import (
    Test,
    TestReading,
    in_usual_unit,
    known_tests,
    named_test,
    results,
    unit_of_result,
)
from citewell.types.consult import Polarity

TOGETHER = "+"
"""Between tests that show a finding only together."""
_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_FLAGS: dict[str, Flag] = {"high": "high", "low": "low", "normal": "normal"}
_OF_OTHERS = (Polarity.FAMILY, Polarity.OTHER, Polarity.HYPOTHETICAL, Polarity.INTENDED)


@dataclass(frozen=True, slots=True)
class MeasuredResult:
    """A result on record, its value in the usual unit of the test."""

    told: str
    """In the words of the record, with the arithmetic."""
    name: str
    test: Test | None
    values: tuple[float, ...] = ()
    sign: str = "="
    unit: str | None = None
    flag: Flag | None = None
    words: str | None = None
    note: str | None = None
    """What was taken for granted, such as the unit."""
    problem: str | None = None
    """Why the value is not used."""


def measured(patient: PatientInput) -> tuple[MeasuredResult, ...]:
    """Every result of a patient: those listed, then those in the words of complaints for tests that are not listed."""
    listed = tuple(map(_listed, patient.tests))
    known = {
        measured_result.test.name
        for measured_result in listed
        if measured_result.test is not None and (measured_result.values or measured_result.flag)
    }
    measured_results = [word for complaint in patient.complaints for word in _in_words(complaint.text)]
    return (
        *listed,
        *(
            measured_result
            for measured_result in measured_results
            if measured_result.test is None or measured_result.test.name not in known
        ),
    )


def _listed(given: TestResult) -> MeasuredResult:
    test = named_test(given.name)
    made = MeasuredResult(given.told, given.name, test, flag=given.flag, words=given.text, unit=given.unit)
    if given.value is None:
        test_readings = results(f"{given.name} {given.text}") if given.text and test is not None else ()
        return (
            _with_value(made, test_readings[0])
            if test_readings
            and (test_readings[0].values or test_readings[0].problem)
            and test is known_tests()[test_readings[0].test]
            else made
        )
    if test is None or not test.lowest:
        return replace(made, values=(given.value,))
    return _with_value(made, in_usual_unit(test, given.value, given.unit))


def _with_value(made: MeasuredResult, result: TestReading) -> MeasuredResult:
    told = f"{made.told} ({result.arithmetic})" if result.arithmetic else made.told
    values = () if result.problem else result.values
    return replace(
        made, told=told, values=values, unit=result.unit, sign=result.sign, note=result.note, problem=result.problem
    )


def _in_words(text: str) -> Iterator[MeasuredResult]:
    """The patient's own results in a text, the newest of each test."""
    test_readings = [result for result in results(text) if not result.is_earlier]
    context = read_context(text) if test_readings else None
    for result in test_readings:
        assert context is not None
        if context.assertion(result.start, result.end).status not in _OF_OTHERS:
            flag = _FLAGS.get(result.words or "")
            made = MeasuredResult(result.text, result.name, known_tests()[result.test], flag=flag, words=result.words)
            yield _with_value(made, result)


def notes_on_results(patient: PatientInput) -> Iterator[str]:
    """What was taken for granted of results, and which of them could not be used."""
    for measured_result in measured(patient):
        if measured_result.problem:
            yield f"Not used: “{measured_result.told}”. {measured_result.problem}"
        elif measured_result.note:
            yield measured_result.note


@cache
def _findings() -> tuple[tuple[frozenset[Unit], tuple[str, ...], str], ...]:
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
        for wanted, names, direction in _findings()
        if all(any(one & other for other in asked) for one in wanted)
    )


def is_test(phrase: str) -> bool:
    """Whether only a test can show it.

    >>> is_test("chest X-ray findings"), is_test("raised platelet count"), is_test("cough")
    (True, True, False)
    """
    return bool(_for(phrase))


def judge_by_test(phrase: str, record: Sequence[MeasuredResult], age: int | None) -> JudgedCriterion | None:
    """A finding such as thrombocytosis by the result of its test; None where no result decides."""
    for names, direction in _for(phrase):
        for name in names if direction else ():
            judged = [_judge_result(phrase, part, direction, record, age) for part in name.split(TOGETHER)]
            known = [criterion for criterion in judged if criterion is not None]
            if len(known) == len(judged) == 1:
                return known[0]
            if len(known) == len(judged) and all(
                judged_criterion.state in (CriterionState.MET, CriterionState.ASSUMED) for judged_criterion in known
            ):
                is_sure = all(criterion.state is CriterionState.MET for criterion in known)
                ask = " ".join(criterion.ask for criterion in known if criterion.ask) or None
                told = ", ".join(criterion.fact for criterion in known if criterion.fact)
                return JudgedCriterion(
                    phrase, CriterionState.MET if is_sure else CriterionState.ASSUMED, told, ask=ask, is_clinical=True
                )
    return None


def _judge_result(
    phrase: str, name: str, direction: str, record: Sequence[MeasuredResult], age: int | None
) -> JudgedCriterion | None:
    """A finding by the first result of one test; None where there is none."""
    for measured_result in record:
        if measured_result.test is None or measured_result.test.name != name:
            continue
        if measured_result.flag is not None:
            is_met = measured_result.flag == direction
            return JudgedCriterion(
                phrase,
                CriterionState.MET if is_met else CriterionState.NOT_MET,
                measured_result.told,
                is_clinical=is_met,
            )
        if measured_result.problem:
            return JudgedCriterion(phrase, CriterionState.UNKNOWN, measured_result.told, ask=measured_result.problem)
        if measured_result.values:
            return _by_usual_limit(phrase, measured_result, direction, age)
    return None


def _by_usual_limit(phrase: str, measured_result: MeasuredResult, direction: str, age: int | None) -> JudgedCriterion:
    """A value without a reference range: beyond what is surely low or high in adults, else it is asked."""
    test = measured_result.test
    assert test is not None
    limit = test.high_above if direction == "high" else test.low_below
    is_adult = age is not None and age >= ADULT_YEARS
    if limit is not None and is_adult and _holds(measured_result, ">" if direction == "high" else "<", limit):
        side = "above" if direction == "high" else "below"
        result = measured_result.told
        ask = f"Is {result} {direction}? It is {side} {limit:g} {test.unit}; the record gives no reference range."
        return JudgedCriterion(phrase, CriterionState.ASSUMED, measured_result.told, ask=ask, is_clinical=True)
    ask = f"Is {measured_result.told} {direction}? The record gives no reference range."
    return JudgedCriterion(phrase, CriterionState.UNKNOWN, measured_result.told, ask=ask)


def judge_threshold(condition: Threshold, record: Sequence[MeasuredResult]) -> JudgedCriterion:
    """A number on record against the rule's; without a number it is unknown."""
    names = {name for tests_of, _ in _for(condition.test) for name in tests_of if TOGETHER not in name}
    asked = named_test(condition.test)
    names |= {asked.name} if asked is not None else set()
    measured_results = [
        of_side
        for measured_result in record
        if (measured_result.test.name in names if measured_result.test else measured_result.name == condition.test)
        if (of_side := _of_side(measured_result, condition.test)) is not None
    ]
    ask = f"What is the {condition.test} result?"
    best = next((measured_result for measured_result in measured_results if measured_result.values), None) or next(
        iter(measured_results), None
    )
    if best is None:
        return JudgedCriterion(condition.text, CriterionState.UNKNOWN, None, ask=ask)
    if not best.values:
        unit = f" in {condition.unit}" if condition.unit else ""
        ask = best.problem or f"The record says “{best.told}”. What is the {condition.test} value{unit}?"
        speaks_for = (best.words or "").casefold() not in ("negative", "normal", "")
        is_clinical = best.problem is not None or (speaks_for and best.flag != "normal") or best.flag == "high"
        return JudgedCriterion(condition.text, CriterionState.UNKNOWN, best.told, ask=ask, is_clinical=is_clinical)
    limit = _limit(condition, best)
    if limit is None:
        ask = f"The record gives {best.told}. Convert it to {condition.unit} and compare."
        return JudgedCriterion(condition.text, CriterionState.UNKNOWN, best.told, ask=ask)
    is_met = _holds(best, condition.comparison, limit)
    if is_met is None:
        return JudgedCriterion(
            condition.text, CriterionState.UNKNOWN, best.told, ask=f"The record gives {best.told}. What is the value?"
        )
    return JudgedCriterion(
        condition.text, CriterionState.MET if is_met else CriterionState.NOT_MET, best.told, is_clinical=is_met
    )


_SIDES = {"systolic": max, "diastolic": min}


def _of_side(measured_result: MeasuredResult, test: str) -> MeasuredResult | None:
    """The systolic or diastolic value where a rule asks for one; None where the result is the other.

    >>> _of_side(MeasuredResult("BP 120/80", "BP", None, (120.0, 80.0)), "diastolic blood pressure").values
    (80.0,)
    >>> _of_side(MeasuredResult("systolic 120", "systolic blood pressure", None, (120.0,)), "diastolic blood pressure")
    """
    side = next((side for side in _SIDES if side in test.casefold()), None)
    if side is None:
        return measured_result
    if any(other in measured_result.name.casefold() for other in _SIDES if other != side):
        return None
    is_pair = len(measured_result.values) > 1
    return replace(measured_result, values=(_SIDES[side](measured_result.values),)) if is_pair else measured_result


def _limit(condition: Threshold, measured_result: MeasuredResult) -> float | None:
    """The rule's number in the unit of the result; None where the units do not compare."""
    if measured_result.test is not None and measured_result.test.lowest:
        limit = in_usual_unit(measured_result.test, condition.value, condition.unit)
        return limit.values[0] if limit.values else None
    ours, theirs = unit_of_result(measured_result.unit or ""), unit_of_result(condition.unit or "")
    is_same = measured_result.unit == condition.unit or (ours is not None and ours == theirs)
    return condition.value if not measured_result.unit or not condition.unit or is_same else None


def _holds(measured_result: MeasuredResult, comparison: str, limit: float) -> bool | None:
    """Whether a value is beyond a limit; None where a range or a limit of its own leaves it open.

    >>> over = MeasuredResult("FIT >200", "FIT", None, (200.0,), ">")
    >>> _holds(over, ">=", 10), _holds(over, ">=", 400), _holds(over, "<", 10)
    (True, None, False)
    """
    compare = _COMPARE[comparison]
    verdicts = {bool(compare(value, limit)) for value in measured_result.values}
    if len(verdicts) > 1:
        return None
    is_so = verdicts.pop()
    if measured_result.sign == "=":
        return is_so
    is_same_side = measured_result.sign[0] == comparison[0]
    if measured_result.sign in (">", "<") and measured_result.values[0] == limit:
        return is_same_side  # more than 10 is at least 10, and is not less than 10
    return is_so if is_same_side == is_so else None
