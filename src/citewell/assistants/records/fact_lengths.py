"""How long something lasted, or has lasted: from the two days that a fact has, or from its day to now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from citewell.assistants.records.known_facts import end_of, moment_of
from citewell.assistants.records.named_facts import names_of
from citewell.types.coded_names import name_of_test
from citewell.types.facts import Diagnosis, DiagnosisStatus, Fact, Medication, MedicationStatus, PartialDate

MOST = 6
"""Facts whose length is told; a longer list says when each began and ended."""
MONTH, YEAR = 60, 730
"""Days up to which a length is told in days, and in months."""
WHOLE_DAY = len("2015-03-12")


def lengths(facts: Sequence[Fact], now: datetime) -> str:
    """How long each lasted, or has lasted; those that say it first.

    >>> from citewell.types.facts import REPORTED
    >>> broken = Diagnosis(id="1", origin=REPORTED, name="Fracture", status=DiagnosisStatus.RESOLVED,
    ...     dated=PartialDate("2018-09-15"), ended=PartialDate("2018-10-15"))
    >>> lengths([broken], datetime.fromisoformat("2026-01-01T00:00+00:00"))
    'How long: Fracture lasted 30 days.'
    """
    told = list(dict.fromkeys(words for fact in _first_of_medicines(facts) if (words := _length(fact, now))))
    return f"How long: {'; '.join(told)}." if told and len(told) <= MOST else ""


def _length(fact: Fact, now: datetime) -> str:
    begun, ended, name = moment_of(fact), end_of(fact), name_of_test(next(iter(names_of(fact)), ""))
    if begun is None or not name:
        return ""
    if ended is not None:
        return f"{name} lasted {_span(begun, ended)}" if ended.at >= begun.at else ""
    return f"{name} began about {_about((now - begun.at).days)} ago" if _is_going_on(fact) and begun.at < now else ""


def _first_of_medicines(facts: Sequence[Fact]) -> list[Fact]:
    """A medicine that is prescribed anew every year is one, from its first prescription on."""
    starts: dict[str, PartialDate] = {}
    for one in facts:
        if isinstance(one, Medication) and one.start is not None:
            name = one.generic_name.casefold()
            starts[name] = min(starts.get(name, one.start), one.start, key=lambda start: start.at)
    taken = {one.generic_name.casefold() for one in facts if isinstance(one, Medication) and _is_going_on(one)}
    return [
        replace(one, start=starts.get(one.generic_name.casefold(), one.start)) if isinstance(one, Medication) else one
        for one in facts
        if not isinstance(one, Medication) or _is_going_on(one) or one.generic_name.casefold() not in taken
    ]


def _is_going_on(fact: Fact) -> bool:
    match fact:
        case Medication():
            return fact.status is MedicationStatus.ACTIVE and fact.is_verified
        case Diagnosis():
            return fact.status is DiagnosisStatus.ACTIVE and fact.is_verified
    return False


def _span(begun: PartialDate, ended: PartialDate) -> str:
    """The time from one moment to another, as exactly as both are known."""
    if len(begun.text) > WHOLE_DAY and len(ended.text) > WHOLE_DAY and ended.at - begun.at < timedelta(days=1):
        minutes = round((ended.at - begun.at).total_seconds() / 60)
        return _count(minutes, "minute") if minutes < 120 else _count(round(minutes / 60), "hour")
    days = (ended.day - begun.day).days
    if len(begun.text) < WHOLE_DAY or len(ended.text) < WHOLE_DAY:
        return f"about {_about(days)}"
    return _count(days, "day") if days < MONTH else f"about {_about(days)}"


def _about(days: int) -> str:
    return _count(round(days / 30.44), "month") if days < YEAR else _count(int(days / 365.25), "year")


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"
