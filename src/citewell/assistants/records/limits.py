"""Results beyond limits of our own, and tests that are missing beside a medicine: two tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from citewell.answer.reactions import substances
from citewell.assistants.records.known import LONG_AGO, Known, when
from citewell.assistants.records.tables import rows
from citewell.types.facts import Fact, LabResult, Medication, Person

ADULT_YEARS = 18
DAYS_A_YEAR, DAYS_A_MONTH = 365.25, 30.5


@dataclass(frozen=True, slots=True)
class Limit:
    """Beyond which values of a test laboratories usually call."""

    test: re.Pattern[str]
    unit: re.Pattern[str]
    below: float | None
    above: float | None

    def is_passed(self, result: LabResult) -> bool:
        """Whether a result of this test and unit is beyond it."""
        value = result.value
        if value is None or not self.test.search(result.test_name) or not self.unit.fullmatch(result.unit or ""):
            return False
        return (self.below is not None and value < self.below) or (self.above is not None and value > self.above)


@cache
def _limits() -> tuple[Limit, ...]:
    return tuple(
        Limit(_pattern(test), _pattern(unit), float(below) if below else None, float(above) if above else None)
        for _, test, unit, below, above in rows("critical_limits.tsv")
    )


def beyond_limits(known: Sequence[Fact]) -> list[LabResult]:
    """The newest result of each test that no laboratory marked and that is beyond a limit; adults only."""
    all_of_them = Known(tuple(known))
    born = next((one.born.at for one in all_of_them.of(Person) if one.born), None)
    newest = all_of_them.latest(all_of_them.of(LabResult))
    unmarked = [one for one in newest if one.flag is None and _is_adult(born, when(one))]
    return [one for one in unmarked if any(limit.is_passed(one) for limit in _limits())]


def _is_adult(born: datetime | None, at: datetime | None) -> bool:
    """Whether a person was grown up then; who gives no date of birth counts as it."""
    return born is None or at is None or (at - born).days >= ADULT_YEARS * DAYS_A_YEAR


@dataclass(frozen=True, slots=True)
class Gap:
    """A medicine whose usual test is missing, and the newest result of it, if there is one."""

    medication: Medication
    test: str
    pattern: re.Pattern[str]
    """How records call it."""
    last: LabResult | None


def gaps(active: Sequence[Medication], results: Sequence[LabResult], *, now: datetime) -> Iterator[Gap]:
    """The gaps of medicines that are taken now; one that was begun of late, or nobody knows when, has none."""
    for medicines, pattern, test, months in rows("gaps.tsv"):
        since = now - timedelta(days=int(months) * DAYS_A_MONTH)
        named = frozenset(medicines.split("|"))
        found = [one for one in results if _pattern(pattern).search(one.test_name)]
        last = max(found, key=lambda one: when(one) or LONG_AGO, default=None)
        if last is not None and (when(last) or LONG_AGO) >= since:
            continue
        for one in active:
            begun = when(one)
            if begun is not None and begun < since and substances(one.generic_name) & named:
                yield Gap(one, test, _pattern(pattern), last)


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)
