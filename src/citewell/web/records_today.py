"""The start page of a record and the sheet for an appointment: what matters now, each with the page behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from citewell.assistants.records.alerts import Alert
from citewell.assistants.records.answer_timeline import planned
from citewell.assistants.records.known_facts import KnownFacts, is_abnormal, is_unjudged, when
from citewell.assistants.records.result_limits import beyond_limits
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    Symptom,
)
from citewell.web.records import NOTHING_BESIDE, FactLine, UnreadPapers
from citewell.web.records_things import THING_KINDS, Thing, taken_now, thing, thing_groups
from citewell.web.result_series import ResultSeries, series_of

T = TypeVar("T")

FEW = 5
"""Rows of each part; the page behind it has all of them."""
MOST_ALERTS = 3
MOST_ON_SHEET = 40
PASSED = "this day has passed"
NONE_OF = {kind.slug: kind.none for kind in THING_KINDS}


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """The first rows of something, and how many there are."""

    rows: tuple[T, ...]
    count: int

    @classmethod
    def of(cls, rows: Sequence[T], most: int = FEW) -> Part[T]:
        return cls(tuple(rows[:most]), len(rows))


@dataclass(frozen=True, slots=True)
class Today:
    """What the start page of a record shows."""

    alerts: Part[Alert]
    medicines: Part[Thing]
    allergies: Part[Thing]
    said_of_allergies: tuple[FactLine, ...]
    out_of_range: Part[ResultSeries]
    none_out: str
    planned: Part[Thing]
    passed: int
    """Planned entries whose day has gone by."""
    waiting: Part[FactLine]
    unread: int


def today(
    facts: Iterable[Fact], alerts: Sequence[Alert], beside: UnreadPapers = NOTHING_BESIDE, *, now: datetime
) -> Today:
    """Alerts first, then what is taken, what is out of range, what is planned, and what waits for a person."""
    known = KnownFacts(tuple(facts))
    results, ahead = series_of(known.of(LabResult)), coming(known, now)
    return Today(
        Part.of(alerts, MOST_ALERTS),
        Part.of(taken_now(known.of(Medication))),
        Part.of(_things(_live_allergies(known))),
        beside.allergy_rows,
        Part.of([series for series in results if series.reading.is_out]),
        none_out([series.newest for series in results]),
        Part.of([row for row in ahead if PASSED not in row.details]),
        sum(1 for row in ahead if PASSED in row.details),
        Part.of([FactLine.of(fact) for fact in known.facts if not fact.is_verified], MOST_ALERTS),
        len(beside.unread),
    )


def coming(known: KnownFacts, now: datetime) -> list[Thing]:
    """What is planned, the next first; a day that has gone by is said to have."""
    ahead, gone = [], []
    for fact in sorted(planned(known), key=lambda one: when(one) or now):
        row = thing([fact])
        day = when(fact)
        if day is not None and day.date() < now.date():
            gone.append(replace(row, details=(PASSED, *row.details)))
        else:
            ahead.append(row)
    return [*ahead, *reversed(gone)]


def _things(facts: Sequence[Fact]) -> list[Thing]:
    return [row for group in thing_groups(facts) for row in group.rows]


def _live_allergies(known: KnownFacts) -> list[Allergy]:
    return [allergy for allergy in known.of(Allergy) if allergy.is_active or allergy.code in NO_KNOWN]


def none_out(newest: Sequence[LabResult]) -> str:
    """That none is out of range says nothing of those without one."""
    without = sum(map(is_unjudged, newest))
    if not newest:
        return "No results recorded."
    if not without:
        return "No latest result is out of its range."
    these = f"{without} of {len(newest)} tests have" if without > 1 else "One test has"
    return f"None marked as out of range. {these} no laboratory range, so may still be out of range."


# ------------------------------------------------------------------------------------------- the sheet for a visit


@dataclass(frozen=True, slots=True)
class SheetGroup:
    """A part of the sheet: things, or lines where something is not a thing of its own; words for when it is empty."""

    id: str
    title: str
    rows: tuple[Thing, ...] = ()
    lines: tuple[FactLine, ...] = ()
    none: str = ""
    more: int = 0
    """Lines that do not stand on the sheet; allergies and medicines all do."""


def sheet_groups(facts: Iterable[Fact], beside: UnreadPapers = NOTHING_BESIDE) -> list[SheetGroup]:
    """What a doctor wants to know first, and what is open: all of it, for a page that is printed."""
    known = KnownFacts(tuple(facts))
    newest = known.latest(known.of(LabResult))
    results = dict.fromkeys([*(result for result in newest if is_abnormal(result)), *beyond_limits(known.facts)])
    open_conditions = [one for one in known.of(Diagnosis) if one.status is not DiagnosisStatus.RESOLVED]
    symptoms = [symptom for symptom in known.of(Symptom) if symptom.still_active]
    groups = [
        SheetGroup(
            "allergies", "Allergies", tuple(_things(_live_allergies(known))), beside.allergy_rows, NONE_OF["allergies"]
        ),
        SheetGroup("medicines", "Medicines taken now", taken_now(known.of(Medication)), none=NONE_OF["medicines"]),
        SheetGroup("conditions", "Conditions", tuple(_things(open_conditions)), none=NONE_OF["conditions"]),
        SheetGroup(
            "results",
            "Latest results out of range or beyond usual limits",
            lines=tuple(FactLine.of(result) for result in results),
            none=none_out(newest),
        ),
        SheetGroup("symptoms", "Current symptoms", tuple(_things(symptoms))),
        SheetGroup("planned", "Planned", tuple(coming(known, datetime.now(UTC)))),
        SheetGroup(
            "unconfirmed", "To confirm", lines=tuple(FactLine.of(one) for one in known.facts if not one.is_verified)
        ),
        SheetGroup("unread", "Documents with no facts taken from them", lines=beside.papers),
    ]
    return [_fitting(group) for group in groups if group.rows or group.lines or group.none]


def _fitting(group: SheetGroup) -> SheetGroup:
    """A part of the sheet as it can be read in a visit."""
    if group.id in ("allergies", "medicines"):
        return group
    rows, lines = group.rows[:MOST_ON_SHEET], group.lines[:MOST_ON_SHEET]
    more = len(group.rows) + len(group.lines) - len(rows) - len(lines)
    return replace(group, rows=rows, lines=lines, more=more)
