"""The results of a record by test: the newest of each in words, its course, and a row that can be scanned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property

from citewell.assistants.records.fact_sentences import course_sentence, pressure_of, value_of, with_pressures
from citewell.assistants.records.known_facts import test_keys, when
from citewell.types.coded_names import name_of_test
from citewell.types.facts import Flag, LabResult, ResultCategory, fact_id
from citewell.types.facts_line import FLAGS, shown
from citewell.types.unit_names import number_name, unit_name

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
COLOURS = {
    None: "wait",
    Flag.NORMAL: "good",
    Flag.LOW: "busy",
    Flag.HIGH: "busy",
    Flag.CRITICAL_LOW: "bad",
    Flag.CRITICAL_HIGH: "bad",
}
SIGNS = {Flag.LOW: "▼", Flag.HIGH: "▲", Flag.CRITICAL_LOW: "▼", Flag.CRITICAL_HIGH: "▲"}
"""A sign beside the word: the colour is never the only one."""


class ResultGroup(StrEnum):
    """What kind of result it is, as a patient sorts them."""

    LABORATORY = "laboratory"
    VITALS = "vitals"
    SCORES = "scores"
    NOTES = "notes"


GROUP_TITLES = {
    ResultGroup.LABORATORY: "Laboratory and other tests",
    ResultGroup.VITALS: "Vital signs",
    ResultGroup.SCORES: "Questionnaires and scores",
    ResultGroup.NOTES: "Other notes",
}
_TESTS = frozenset({ResultCategory.LABORATORY, ResultCategory.IMAGING})


@dataclass(frozen=True)
class ResultSeries:
    """All results of one test in one unit, newest first; a blood pressure is one test with two values."""

    id: str
    results: tuple[LabResult, ...]

    @property
    def newest(self) -> LabResult:
        return self.results[0]

    @cached_property
    def name(self) -> str:
        """What people call the test."""
        return "Blood pressure" if pressure_of(self.newest) else name_of_test(self.newest.test_name)

    @property
    def is_pressure(self) -> bool:
        return pressure_of(self.newest) is not None

    @property
    def full_name(self) -> str:
        """The name that the laboratory uses, where it says more."""
        return "" if self.is_pressure or self.newest.test_name == self.name else self.newest.test_name

    @cached_property
    def reading(self) -> Reading:
        """The newest result in words."""
        return Reading(self.newest)

    @property
    def group(self) -> ResultGroup:
        newest = self.newest
        if newest.category is ResultCategory.SURVEY or newest.unit == "{score}":
            return ResultGroup.SCORES
        if newest.category is ResultCategory.VITAL_SIGNS:
            return ResultGroup.VITALS
        is_test = newest.category in _TESTS or newest.value is not None or bool(newest.parts)
        return ResultGroup.LABORATORY if is_test or newest.category is None else ResultGroup.NOTES

    @property
    def trend(self) -> str:
        """Its course in words: the direction, the lowest and the highest value, how many, and over which time."""
        return course_sentence(list(reversed(self.results)))


@dataclass(frozen=True, slots=True)
class Reading:
    """One result in words."""

    result: LabResult

    @property
    def value(self) -> str:
        return value_of(self.result)

    @property
    def day(self) -> str:
        return shown(self.result.collected)

    @property
    def flag(self) -> Flag | None:
        return flag_of(self.result)

    @property
    def word(self) -> str:
        """How it stands against its range; empty where nobody said."""
        flag = self.flag
        return FLAGS[flag] if flag else ""

    @property
    def sign(self) -> str:
        return SIGNS.get(self.flag, "") if self.flag else ""

    @property
    def colour(self) -> str:
        return COLOURS[self.flag]

    @property
    def band(self) -> str:
        return band_words(self.result)

    @property
    def is_out(self) -> bool:
        return self.flag not in (None, Flag.NORMAL)


def flag_of(result: LabResult) -> Flag | None:
    """The mark of the laboratory, else what its own range says of the number."""
    low, high, value = result.range_low, result.range_high, result.value
    if result.flag is not None or value is None or (low is None and high is None):
        return result.flag
    if low is not None and value < low:
        return Flag.LOW
    return Flag.HIGH if high is not None and value > high else Flag.NORMAL


def band_words(result: LabResult) -> str:
    """The range that is usual, in words.

    >>> from citewell.types.facts import REPORTED
    >>> band_words(LabResult(id="1", origin=REPORTED, test_name="INR", value=2.5, range_low=2.0, range_high=3.0))
    'range 2 to 3'
    """
    low, high = result.range_low, result.range_high
    if low is not None and high is not None:
        return f"range {number_name(low)} to {number_name(high)}"
    if low is not None:
        return f"range {number_name(low)} or more"
    return "" if high is None else f"range up to {number_name(high)}"


def series_of(results: Iterable[LabResult]) -> list[ResultSeries]:
    """A series for each test and unit, those whose newest result is out of range first, then by name."""
    ordered = sorted(results, key=lambda one: when(one) or LONG_AGO, reverse=True)
    by_test: dict[str, list[LabResult]] = {}
    known: dict[tuple[str, str | None], str] = {}
    for result in with_pressures(ordered):
        for single in _singles(result):
            unit = _unit(single)
            keys = [(key, unit) for key in _keys(single)]
            # Words such as “not done” or “< 5” have no unit, and belong to the numbers of their test.
            anyhow = [(key, None) for key, _ in keys]
            found = next(
                (known[key] for key in (*keys, *(anyhow if single.value is None else ())) if key in known), None
            )
            name = found or fact_id("test", keys[-1][0], unit)
            known |= dict.fromkeys(keys, name) | {key: known.get(key, name) for key in anyhow}
            by_test.setdefault(name, []).append(single)
    series = [ResultSeries(name, tuple(some)) for name, some in by_test.items()]
    return sorted(series, key=lambda one: (not one.reading.is_out, one.name.casefold(), one.id))


def _keys(result: LabResult) -> tuple[str, ...]:
    return ("blood pressure",) if pressure_of(result) else test_keys(result)


def _unit(result: LabResult) -> str:
    return "" if pressure_of(result) else unit_name(result.unit)


def _singles(result: LabResult) -> Sequence[LabResult]:
    """A result, or each value of a panel as a result of its own; a part has no range or flag that is known."""
    if not result.parts or pressure_of(result):
        return [result]
    return [
        replace(
            result,
            test_name=f"{result.test_name}: {part.test_name}",
            code=None,
            value=part.value,
            value_text=part.value_text,
            unit=part.unit,
            range_low=None,
            range_high=None,
            flag=None,
            parts=(),
        )
        for part in result.parts
    ]
