"""Results beyond limits of our own, and tests that are missing beside a medicine: two tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from citewell.assistants.records.known_facts import LONG_AGO, KnownFacts, when
from citewell.assistants.records.tables import rows
from citewell.clinical.medicines import substances
from citewell.clinical.populations import ADULT_YEARS
from citewell.clinical.quantities import Test, days_in, in_usual_unit, known_tests, named_test, years_between
from citewell.types.facts import Fact, Flag, LabResult, Medication, RecordOwner

JUDGED = frozenset({Flag.NORMAL, Flag.CRITICAL_LOW, Flag.CRITICAL_HIGH})
"""Marks by which a laboratory has said how grave a value is; “high” or “low” leaves that open."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Beyond which values of a test, in its usual unit, laboratories usually call."""

    test: Test
    below: float | None
    above: float | None

    def is_passed(self, result: LabResult) -> bool:
        """Whether a result of this test is beyond it."""
        value = self.value_of(result)
        return value is not None and self.is_beyond(value)

    def value_of(self, result: LabResult) -> float | None:
        """The value of a result in the usual unit; None where it is of another test, or in a unit that does not fit."""
        if result.value is None or not self.is_of(result) or not (result.unit or not self.test.unit):
            return None
        return in_usual_unit(self.test, result.value, result.unit).value

    def is_of(self, result: LabResult) -> bool:
        """Whether a result is one of this test."""
        return named_test(result.test_name) is self.test

    def is_beyond(self, value: float) -> bool:
        return (self.below is not None and value < self.below) or (self.above is not None and value > self.above)


@cache
def limits() -> dict[str, Limit]:
    """The limits by the name of their test."""
    return {
        name: Limit(known_tests()[name], float(below) if below else None, float(above) if above else None)
        for name, below, above in rows("critical_limits.tsv")
    }


def beyond_limits(known: Sequence[Fact]) -> list[LabResult]:
    """The newest result of each test that is beyond a limit and that no laboratory judged; adults only."""
    all_of_them = KnownFacts(tuple(known))
    newest = all_of_them.latest(all_of_them.of(LabResult))
    unjudged = [lab_result for lab_result in newest if lab_result.flag not in JUDGED]
    passed = [lab_result for lab_result in unjudged if any(limit.is_passed(lab_result) for limit in limits().values())]
    return [lab_result for lab_result in passed if is_adult(all_of_them, when(lab_result))]


def is_adult(known: KnownFacts, at: datetime | None) -> bool:
    """Whether the person was grown up then; who gives no date of birth counts as it."""
    born = next((owner.born.at for owner in known.of(RecordOwner) if owner.born), None)
    return born is None or at is None or years_between(born, at) >= ADULT_YEARS


@dataclass(frozen=True, slots=True)
class MissingTest:
    """A medicine whose usual test is missing, and the newest result of it, if there is one."""

    medication: Medication
    test: str
    pattern: re.Pattern[str]
    """How records call it."""
    last: LabResult | None


def gaps(active: Sequence[Medication], results: Sequence[LabResult], *, now: datetime) -> Iterator[MissingTest]:
    """The gaps of medicines that are taken now; one that was begun of late, or nobody knows when, has none."""
    for medicines, pattern, test, months in rows("gaps.tsv"):
        since = now - timedelta(days=int(months) * days_in("month"))
        named = frozenset(medicines.split("|"))
        lab_results = [lab_result for lab_result in results if _pattern(pattern).search(lab_result.test_name)]
        last = max(lab_results, key=lambda lab_result: when(lab_result) or LONG_AGO, default=None)
        if last is not None and (when(last) or LONG_AGO) >= since:
            continue
        for medication in active:
            begun = when(medication)
            if begun is not None and begun < since and substances(medication.generic_name) & named:
                yield MissingTest(medication, test, _pattern(pattern), last)


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)
