"""What happened when: visits with what was found and done there, by day and year, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from citewell.assistants.records.known_facts import KnownFacts, moment_of
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    Fact,
    LabResult,
    Medication,
    PartialDate,
    Procedure,
    Referral,
    Symptom,
    Vaccination,
    VisitStatus,
)
from citewell.types.facts_line import shown
from citewell.web.records_things import Thing, thing
from citewell.web.result_series import Reading, series_of

MOST_ON_A_PAGE = 200
"""Entries that one page shows; older years are a link away."""
MOST_RESULTS = 40
"""Results of one day that are listed here; all of them are under Results."""
LONGEST_STAY = timedelta(days=400)
FULL_DATE = len("2015-03-12")
TITLES = {
    Diagnosis.kind: "Conditions",
    Allergy.kind: "Allergies",
    Procedure.kind: "Procedures",
    Vaccination.kind: "Vaccines",
    Medication.kind: "Medicines prescribed",
    "ended": "Medicines ended",
    Referral.kind: "Referrals",
    Symptom.kind: "Symptoms",
}
"""What each kind of entry of a day is called, in the order in which they stand."""


@dataclass(frozen=True, slots=True)
class DayResult:
    """A result of a day, with the way to all results of its test."""

    test: str
    name: str
    reading: Reading


@dataclass(slots=True)
class Day:
    """A day, a stay, or a month or year where the day is not known, and what it brought."""

    id: str
    words: str
    visits: list[Thing] = field(default_factory=list)
    entries: dict[str, list[Thing]] = field(default_factory=dict)
    results: list[DayResult] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What the visit was; without one, what there is."""
        names = list(dict.fromkeys(visit.name for visit in self.visits))
        return ", ".join(names or [*(title for title, _ in self.groups), *(["Results"] if self.results else [])])

    @property
    def is_one_thing(self) -> bool:
        """Whether the heading says already of what kind all entries are."""
        return not self.visits and len(self.entries) + bool(self.results) == 1

    @property
    def groups(self) -> list[tuple[str, list[Thing]]]:
        return [(title, self.entries[kind]) for kind, title in TITLES.items() if kind in self.entries]

    @property
    def listed(self) -> list[DayResult]:
        """Results that are listed, those out of range first."""
        return sorted(self.results, key=lambda one: (not one.reading.is_out, one.name.casefold()))[:MOST_RESULTS]

    @property
    def count(self) -> int:
        return len(self.visits) + len(self.results) + sum(len(rows) for rows in self.entries.values())


@dataclass(frozen=True, slots=True)
class Year:
    """A year; its days are there where the page has room for them."""

    year: int
    count: int
    days: tuple[Day, ...]
    older: str = ""
    """From which day on the rest of the year is on a page of its own."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What the page shows, and how many entries cannot stand on it."""

    years: tuple[Year, ...]
    undated: int


def timeline(facts: Iterable[Fact], *, year: int | None = None, before: str = "") -> Timeline:
    """What happened, the newest year first; the days from the year that is asked for on, as many as fit."""
    known = KnownFacts(tuple(facts))
    days = _days(known)
    every: dict[int, list[Day]] = {}
    for day in days:
        every.setdefault(int(day.id[:4]), []).append(day)
    room, years = MOST_ON_A_PAGE, []
    for number in sorted(every, reverse=True):
        of_year = every[number]
        count = sum(day.count for day in of_year)
        is_here = number == year or (number < year if year is not None else True)
        shown_days, older = _fitting(of_year, before if number == year else "", room if is_here else 0)
        room -= sum(day.count for day in shown_days)
        years.append(Year(number, count, shown_days, older if shown_days else ""))
    return Timeline(tuple(years), sum(1 for fact in known.facts if _is_dateless(fact)))


def _fitting(days: Sequence[Day], before: str, room: int) -> tuple[tuple[Day, ...], str]:
    """The days for which there is room, at least one where there is any, and which day comes next."""
    rest = [day for day in days if not before or day.id <= before]
    kept: list[Day] = []
    for day in rest:
        if room <= 0:
            return tuple(kept), day.id
        kept.append(day)
        room -= day.count
    return tuple(kept), ""


def _days(known: KnownFacts) -> list[Day]:
    stays = _stays(known.of(Appointment))
    days: dict[str, Day] = {}

    def of(moment: PartialDate) -> Day:
        name = moment.text[:FULL_DATE]
        is_exact = len(name) == FULL_DATE
        stay = next((stay for stay in stays if is_exact and stay[0] <= name <= stay[1]), None)
        begun = name if stay is None else stay[0]
        if begun not in days:
            words = shown(moment) if is_exact else f"{shown(moment)}, day not recorded"
            days[begun] = Day(begun, words if stay is None else stay[2])
        return days[begun]

    for visit in reversed(known.of(Appointment)):
        if visit.at is not None and visit.status is not VisitStatus.PLANNED:
            of(visit.at).visits.append(thing([visit]))
    for kind, moment, fact in _events(known):
        of(moment).entries.setdefault(kind, []).append(thing([fact]))
    for series in series_of(known.of(LabResult)):
        for result in series.results:
            if result.collected is not None:
                of(result.collected).results.append(DayResult(series.id, series.name, Reading(result)))
    return sorted(days.values(), key=lambda day: day.id, reverse=True)


def _events(known: KnownFacts) -> Iterable[tuple[str, PartialDate, Fact]]:
    """What began, was found, done or ended, with its day."""
    for fact in known.facts:
        if isinstance(fact, Procedure | Referral) and fact.status is VisitStatus.PLANNED:
            continue
        moment = moment_of(fact)
        if moment is not None and fact.kind in TITLES:
            yield fact.kind, moment, fact
        if isinstance(fact, Medication) and fact.end is not None:
            yield "ended", fact.end, fact


def _stays(visits: Sequence[Appointment]) -> list[tuple[str, str, str]]:
    """Visits of several days: what happened within belongs to them."""
    found = []
    for visit in visits:
        if visit.at is None or visit.ended is None or visit.status is not VisitStatus.DONE:
            continue
        begun, end = visit.at, visit.ended
        if min(len(begun.text), len(end.text)) < FULL_DATE or not _is_stay(begun.day, end.day):
            continue
        found.append((begun.text[:FULL_DATE], end.text[:FULL_DATE], f"{shown(begun)} to {shown(end)}"))
    return found


def _is_stay(begun: date, ended: date) -> bool:
    return timedelta(0) < ended - begun <= LONGEST_STAY


def _is_dateless(fact: Fact) -> bool:
    return (fact.kind in TITLES or isinstance(fact, LabResult | Appointment)) and moment_of(fact) is None
