"""All facts of a record, and when each began: what answers, pages and plots look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    Fact,
    Flag,
    LabResult,
    Medication,
    MedicationStatus,
    Moment,
    Procedure,
    Referral,
    Symptom,
    Vaccination,
    VisitStatus,
)

T = TypeVar("T", bound=Fact)

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Known:
    """All facts of a record, and what can be asked of them."""

    facts: tuple[Fact, ...]

    def of(self, kind: type[T]) -> list[T]:
        """The facts of a kind, newest first."""
        found = [one for one in self.facts if isinstance(one, kind)]
        return sorted(found, key=lambda one: when(one) or LONG_AGO, reverse=True)

    @property
    def taken(self) -> list[Medication]:
        return [one for one in self.of(Medication) if one.status is MedicationStatus.ACTIVE]

    @property
    def last_visit(self) -> datetime | None:
        done = (when(one) for one in self.of(Appointment) if one.status is VisitStatus.DONE)
        return next((moment for moment in done if moment is not None), None)

    def latest(self, results: Iterable[LabResult]) -> list[LabResult]:
        """The newest of each test, what is out of range first."""
        newest: dict[str, LabResult] = {}
        for one in results:
            newest.setdefault(one.test_name.casefold(), one)
        return sorted(newest.values(), key=lambda one: not is_abnormal(one))


def when(fact: Fact) -> datetime | None:
    """When a fact began or was found."""
    moment: Moment | None = None
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
    return None if moment is None else moment.at


def is_abnormal(result: LabResult) -> bool:
    """Whether a result is marked as out of its range."""
    return result.flag is not None and result.flag is not Flag.NORMAL
