"""Fetches the facts that go with every question of a kind, beside those that it names; allergies go with all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from citewell.assistants.records.known_facts import LONG_AGO, KnownFacts, T, when
from citewell.assistants.records.strategy import Part, Strategy
from citewell.types.facts import NO_KNOWN, Allergy, Diagnosis, DiagnosisStatus, Fact, LabResult, Symptom

MOST: Mapping[Part, int] = {"medications": 20, "diagnoses": 20, "labs": 10, "symptoms": 5}
"""Of each kind no more than so many; what the question names is not among them."""


def allergies(known: KnownFacts) -> list[Allergy]:
    """Every allergy that holds, and where the record says in so many words that there are none."""
    return [allergy for allergy in known.of(Allergy) if allergy.is_active or allergy.code in NO_KNOWN]


def fetch(known: KnownFacts, plan: Strategy, *, now: datetime) -> Iterator[Fact]:
    """The facts that a strategy wants: medicines that are taken, active conditions, newest results, symptoms."""
    for part, find in _FINDERS.items():
        if part in plan.parts:
            yield from find(known, plan, now)[: MOST[part]]


def _results(known: KnownFacts, plan: Strategy, now: datetime) -> list[Fact]:
    """The newest of each test: of late first, and among those what is out of range."""
    newest = known.latest(known.of(LabResult))
    return [*sorted(newest, key=lambda lab_result: not _is_of_late(lab_result, now, plan.lab_window_days))]


def _symptoms(known: KnownFacts, plan: Strategy, now: datetime) -> list[Fact]:
    symptoms = known.of(Symptom)
    return [*sorted(symptoms, key=lambda symptom: not _is_of_late(symptom, now, plan.symptom_window_days))]


def _diagnoses(known: KnownFacts, _plan: Strategy, _now: datetime) -> list[Fact]:
    """Active ones first; one that is over is a part of the story too."""
    return [*sorted(known.of(Diagnosis), key=lambda diagnosis: diagnosis.status is not DiagnosisStatus.ACTIVE)]


_FINDERS: Mapping[Part, Callable[[KnownFacts, Strategy, datetime], list[Fact]]] = {
    "medications": lambda known, _plan, _now: [*known.taken],
    "diagnoses": _diagnoses,
    "labs": _results,
    "symptoms": _symptoms,
}
"""In the order in which they are shown."""


def _is_of_late(fact: T, now: datetime, days: int) -> bool:
    return (when(fact) or LONG_AGO) >= now - timedelta(days=days)
