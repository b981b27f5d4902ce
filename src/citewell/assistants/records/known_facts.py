"""All facts of a record, and when each began: what answers, pages and plots look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from citewell.types.coded_names import UNSEEN
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    Fact,
    Flag,
    LabResult,
    Medication,
    MedicationStatus,
    PartialDate,
    Procedure,
    Referral,
    Symptom,
    Vaccination,
    VisitStatus,
)

T = TypeVar("T", bound=Fact)

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """All facts of a record, and what can be asked of them."""

    facts: tuple[Fact, ...]

    def of(self, kind: type[T]) -> list[T]:
        """The facts of a kind, newest first."""
        found = [fact for fact in self.facts if isinstance(fact, kind)]
        return sorted(found, key=lambda one: when(one) or LONG_AGO, reverse=True)

    @property
    def taken(self) -> list[Medication]:
        return [medication for medication in self.of(Medication) if medication.status is MedicationStatus.ACTIVE]

    @property
    def last_visit(self) -> datetime | None:
        done = (when(appointment) for appointment in self.of(Appointment) if appointment.status is VisitStatus.DONE)
        return next((moment for moment in done if moment is not None), None)

    def latest(self, results: Iterable[LabResult]) -> list[LabResult]:
        """The newest of each test, what is out of range first; one code is one test, however its name is written."""
        newest: list[LabResult] = []
        seen: set[str] = set()
        for lab_result in results:
            keys = test_keys(lab_result)
            if seen.isdisjoint(keys):
                newest.append(lab_result)
            seen.update(keys)
        return sorted(newest, key=lambda one: not is_abnormal(one))

    def newest_of(self, facts: Iterable[Fact]) -> list[Fact]:
        """Facts of any kind, of each test its newest result alone."""
        given = list(facts)
        ids = {fact.id for fact in given}
        results = [lab_result for lab_result in self.of(LabResult) if lab_result.id in ids]
        return [*(fact for fact in given if not isinstance(fact, LabResult)), *self.latest(results)]


def when(fact: Fact) -> datetime | None:
    """When a fact began or was found."""
    moment = moment_of(fact)
    return None if moment is None else moment.at


def end_of(fact: Fact) -> PartialDate | None:
    """When a fact was over, as exactly as it is known."""
    match fact:
        case Medication():
            return fact.end
        case Diagnosis() | Procedure() | Appointment():
            return fact.ended
        case Symptom():
            return fact.resolved
    return None


def moment_of(fact: Fact) -> PartialDate | None:
    """When a fact began or was found, as exactly as it is known."""
    moment: PartialDate | None = None
    match fact:
        case Medication():
            moment = fact.start
        case LabResult():
            moment = fact.collected
        case Diagnosis() | Referral():
            moment = fact.dated
        case Allergy():
            moment = fact.since
        case Symptom():
            moment = fact.onset or fact.recorded
        case Procedure():
            moment = fact.performed
        case Vaccination():
            moment = fact.given
        case Appointment():
            moment = fact.at
    return moment


def test_keys(result: LabResult) -> tuple[str, ...]:
    """By what two results are of the same test: the code, or the name as it is seen."""
    name = UNSEEN.sub("", result.test_name).casefold()
    return (name,) if result.code is None else (name, f"code {result.code}")


def is_abnormal(result: LabResult) -> bool:
    """Whether a result is marked as out of its range, or is outside the range that its laboratory gave."""
    if result.flag is not None:
        return result.flag is not Flag.NORMAL
    low, high, value = result.range_low, result.range_high, result.value
    return value is not None and ((low is not None and value < low) or (high is not None and value > high))


def is_unjudged(result: LabResult) -> bool:
    """Whether a number has neither a mark nor a range: nobody has said whether it is as it should be."""
    has_number = result.value is not None or any(part.value is not None for part in result.parts)
    return has_number and result.flag is None and result.range_low is None and result.range_high is None
