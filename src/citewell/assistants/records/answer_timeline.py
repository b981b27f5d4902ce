"""What the facts tell about visits, changes, the person, and what is open before an appointment."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import cache

from citewell.assistants.records.answer_results import unjudged
from citewell.assistants.records.fact_query import (
    RECORD,
    FactQuery,
    GatheredFacts,
    count,
    denied,
    listed,
    not_mentioned,
    told,
)
from citewell.assistants.records.intents import Intent
from citewell.assistants.records.known_facts import LONG_AGO, KnownFacts, is_abnormal, when
from citewell.assistants.records.named_facts import names_of, surname
from citewell.assistants.records.result_limits import beyond_limits
from citewell.assistants.records.tables import rows
from citewell.clinical.languages import whole_words
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    Fact,
    LabResult,
    Medication,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    Symptom,
    Vaccination,
    VisitStatus,
)

RECENT_DAYS = 183


def visits(asked: FactQuery) -> GatheredFacts | None:
    """Visits, by doctor and date; what else happened on the days that are asked for stands with them."""
    people = [surname(one.name).casefold() for one in asked.named if isinstance(one, Professional)]
    appointments = asked.inside(asked.known.of(Appointment))
    if people:
        appointments = [
            appointment for appointment in appointments if surname(appointment.professional or "").casefold() in people
        ]
    elif asked.named:
        named = [appointment for appointment in appointments if appointment in asked.named]
        appointments = named or _for_things(asked, appointments)
    elif asked.about:
        return not_mentioned(asked, among="your visits")
    if Intent.LATEST in asked.wanted and appointments:
        return told(
            "The last visit in your record:",
            [appointment for appointment in appointments if appointment.status is VisitStatus.DONE][:1],
        )
    if Intent.SAID in asked.wanted:
        that_day = _dated(asked) if appointments and asked.wanted.words else []
        of = (
            f"It has {count(that_day)} from {asked.wanted.words}:"
            if that_day
            else f"It lists {count(appointments, 'visit')}:"
        )
        return denied(f"{RECORD} does not include what was said at a visit", beside=of, facts=that_day or appointments)
    of = f" from {asked.wanted.words}" if asked.wanted.words else ""
    return told(f"{RECORD} lists {count(appointments, 'visit')}{of}:", appointments)


def places(asked: FactQuery) -> GatheredFacts | None:
    """Where, and by whom, the person was seen for what is named, or at the time that is asked for."""
    every = [one for one in asked.known.of(Appointment) if one.institution or one.professional]
    people = {surname(one.name).casefold() for one in asked.named if isinstance(one, Professional)}
    things = [one for one in asked.named if not isinstance(one, Professional | Appointment | LabResult)]
    if things:
        seen = _for_things(asked, every)
        return told(f"{RECORD} lists {count(seen, 'visit')} for this:", [*seen, *things]) if seen else None
    if asked.about or asked.unknown:
        return None
    if people or Intent.DOCTORS in asked.wanted:
        treating = [one for one in asked.known.of(Professional) if not people or surname(one.name).casefold() in people]
        names = {surname(one.name).casefold() for one in treating}
        seen = [one for one in every if surname(one.professional or "").casefold() in names]
        newest = {one.institution: one for one in reversed(asked.inside(seen))}
        return (
            told(
                f"{RECORD} lists {count(treating, 'doctor or nurse', 'doctors and nurses')} and where you were seen:",
                [*treating, *newest.values()],
            )
            if treating
            else None
        )
    seen = asked.inside(every)
    return told(f"{RECORD} lists {count(seen, 'visit')}:", seen) if seen and asked.wanted.since is not None else None


def _for_things(asked: FactQuery, visits: Sequence[Appointment]) -> list[Appointment]:
    """The visits for a condition or an operation that is named, or of its day."""
    things = [one for one in asked.named if not isinstance(one, Professional | Appointment | LabResult)]
    said = {name.casefold() for one in things for name in names_of(one)}
    days = {day.date() for one in things if (day := when(one)) is not None}
    return [one for one in visits if (one.reason or "").casefold() in said or _is_on(one, days)]


def _is_on(visit: Appointment, days: Collection[date]) -> bool:
    return (day := when(visit)) is not None and day.date() in days


def person(asked: FactQuery) -> GatheredFacts | None:
    """Whom the record is about; numbers, addresses and contacts where they are asked for."""
    owners = asked.known.of(RecordOwner)
    if not _labels(asked.text):
        causes = [one for one in asked.known.of(LabResult) if "cause of death" in one.test_name.casefold()]
        return told(f"{RECORD} is about:", [*(replace(owner, details=()) for owner in owners), *causes])
    found = with_asked_details(asked.text, owners)
    return told(f"{RECORD} says this about you:", found) if found else None


def with_asked_details(question: str, owners: Sequence[RecordOwner]) -> list[RecordOwner]:
    """The person with those of their details that a question asks for; nobody where there are none."""
    labels = _labels(question)
    asked = ((owner, tuple(one for one in owner.details if _is_any(labels, one.label))) for owner in owners)
    return [replace(owner, details=details) for owner, details in asked if details]


def _labels(question: str) -> list[re.Pattern[str]]:
    """How records call the details that a question asks for."""
    return [label for words, label in _person_details() if words.search(question)]


def _is_any(labels: Sequence[re.Pattern[str]], called: str) -> bool:
    return any(label.search(called) for label in labels)


@cache
def _person_details() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """What patients ask of themselves, and what records call it."""
    return tuple((whole_words(words), re.compile(label, re.IGNORECASE)) for words, label in rows("person_details.tsv"))


def changes(asked: FactQuery) -> GatheredFacts:
    """What began or ended since a day, or what happened within a time."""
    if asked.wanted.since is not None and asked.wanted.until is not None:
        return _within(asked)
    since = asked.wanted.since or asked.known.last_visit
    if since is None:
        return GatheredFacts("Your record has no visit to compare with. Give a date, such as “since March 2024”.")
    new = [
        one
        for kind in (Medication, Diagnosis, Allergy, Procedure, LabResult)
        for one in asked.known.of(kind)
        if ((when(one) or LONG_AGO) >= since and (not isinstance(one, LabResult) or is_abnormal(one)))
        or (isinstance(one, Medication) and one.end is not None and one.end.at >= since)
    ]
    return told(f"Since {since.day} {since:%B %Y} your record has {count(new, 'new entry', 'new entries')}:", new)


def _within(asked: FactQuery) -> GatheredFacts:
    """Everything that the record dates to a day, a month or a year."""
    facts = _dated(asked)
    if not facts:
        return denied(f"{RECORD} has no entry from {asked.wanted.words}")
    return told(f"{RECORD} has {count(facts)} from {asked.wanted.words}:", facts)


def _dated(asked: FactQuery) -> list[Fact]:
    kinds = (Appointment, Diagnosis, Procedure, Medication, Allergy, Vaccination, Referral, Symptom, LabResult)
    return [
        one
        for kind in kinds
        for one in asked.known.of(kind)
        if asked.is_inside(when(one)) or (isinstance(one, Medication) and one.end and asked.is_inside(one.end.at))
    ]


def prepare(asked: FactQuery) -> GatheredFacts:
    """What is open before an appointment."""
    known = asked.known
    last = known.last_visit
    since = max(filter(None, (last and last - timedelta(days=RECENT_DAYS), LONG_AGO)))
    newest = known.latest(known.of(LabResult))
    groups: list[tuple[str, str, Sequence[Fact]]] = [
        (
            "result out of range",
            "results out of range",
            [lab_result for lab_result in newest if is_abnormal(lab_result)],
        ),
        ("result beyond usual limits", "results beyond usual limits", beyond_limits(known.facts)),
        (
            "symptom that you noted",
            "symptoms that you noted",
            [symptom for symptom in known.of(Symptom) if symptom.still_active],
        ),
        (
            "recent medicine",
            "recent medicines",
            [medication for medication in known.taken if last and (when(medication) or LONG_AGO) >= since],
        ),
        ("open appointment or referral", "open appointments or referrals", planned(known)),
        ("entry to confirm", "entries to confirm", [other for other in known.facts if not other.is_verified]),
    ]
    found = [(one if len(facts) == 1 else many, facts) for one, many, facts in groups if facts]
    after = unjudged(newest).replace("these tests", "your tests")
    if not found:
        none = "no result is marked as out of range" if newest else "no result"
        mentioned = (
            "Your list of facts has nothing outstanding, but your documents have values that laboratories usually call "
            "a doctor about:"
        )
        nothing = f"{RECORD} has nothing outstanding: {none}, no symptom, no recent medicine."
        return GatheredFacts(nothing, if_mentioned=mentioned, after=after)
    said = listed([f"{len(facts)} {words}" for words, facts in found])
    lead = f"You might want to talk about this at your next appointment. {RECORD} shows"
    facts = list(dict.fromkeys(fact for _, facts in found for fact in facts))
    told_of = told(f"{lead} {said}:", facts, after=after)
    return replace(
        told_of, with_papers=f"{lead} values in documents that laboratories usually call a doctor about; also {said}:"
    )


def planned(known: KnownFacts) -> list[Fact]:
    """Visits, procedures and referrals that are still to come."""
    every: list[Appointment | Procedure | Referral] = [
        *known.of(Appointment),
        *known.of(Procedure),
        *known.of(Referral),
    ]
    return [one for one in every if one.status is VisitStatus.PLANNED]
