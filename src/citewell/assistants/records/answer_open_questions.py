"""What a record cannot answer by itself, told with what it holds: side effects, reasons, interactions, what is due."""

from __future__ import annotations

import re

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
from citewell.assistants.records.known_facts import KnownFacts, when
from citewell.assistants.records.result_limits import gaps
from citewell.types.facts import (
    Allergy,
    Appointment,
    Fact,
    LabResult,
    Medication,
    Procedure,
    Referral,
    Symptom,
    Vaccination,
    VisitStatus,
)

NO_CAUSE = (
    "A symptom noted while taking a medicine is not always caused by it. The leaflet in the pack lists side "
    "effects; your pharmacist or doctor can tell you more."
)
NOT_CHECKED = (
    "This does not check whether medicines can be taken together, or with food and drink. Your pharmacist can "
    "check that in a minute: show them this list."
)
NOT_DUE = "A record cannot say what is due, but your doctor, nurse or pharmacist can."


def effects(asked: FactQuery) -> GatheredFacts:
    """What was noted of side effects: symptoms, reactions, why medicines were stopped; never what comes from what."""
    named = asked.named_of(Medication)
    facts = _noted(asked, named)
    of = f" of {listed(list(asked.said), last='or')}" if asked.said else " of your medicines"
    lacking = f"{RECORD} does not list any side effects{of}"
    missing = [one for one in asked.unknown if one in asked.said]
    absent = f"{RECORD} does not mention {listed(missing, last='or')} among your medicines. " if missing else ""
    if not facts:
        shown = named or ([] if missing else asked.known.taken)
        return denied(lacking, beside=f"It lists {count(shown, 'medicine')}:", facts=shown, after=absent + NO_CAUSE)
    return denied(
        lacking, beside=f"It has {count(facts)} about symptoms or reactions:", facts=facts, after=absent + NO_CAUSE
    )


def _noted(asked: FactQuery, named: list[Medication]) -> list[Fact]:
    """Symptoms, reactions and reasons to stop; of a medicine that is named, only what belongs to it."""
    known, ids = asked.known, {medication.id for medication in named}
    symptoms = [symptom for symptom in known.of(Symptom) if not asked.said or symptom.medication_id in ids]
    stopped = [medication for medication in (named or known.of(Medication)) if medication.reason_stop]
    reactions = [
        allergy for allergy in known.of(Allergy) if allergy.reaction and (not asked.said or allergy in asked.named)
    ]
    return [*symptoms, *([] if asked.said and not named else stopped), *reactions]


def reason(asked: FactQuery) -> GatheredFacts | None:
    """Why a medicine is taken, or was stopped, as far as the record says it."""
    medicines = asked.named_of(Medication)
    if not medicines:
        done: list[Procedure | Appointment] = [*asked.named_of(Procedure), *asked.named_of(Appointment)]
        if told_why := [one for one in done if one.reason]:
            return told(f"{RECORD} gives a reason for this:", told_why)
        return not_mentioned(asked) if asked.unknown and asked.said else None
    is_past = Intent.PAST in asked.wanted
    given = [
        medicine
        for medicine in medicines
        if (medicine.reason_stop if is_past else medicine.reason_start or medicine.condition or _says_why(medicine))
    ]
    if given:
        return told(f"{RECORD} gives a reason for this:", given)
    what = "was stopped" if is_past else "is taken"
    return denied(f"{RECORD} does not say why this {what}", beside="It has this:", facts=medicines)


def _says_why(medicine: Medication) -> bool:
    """Whether the instructions say what it is for: “as needed for joint pain”."""
    return _WHAT_FOR.search(medicine.instructions or "") is not None


_WHAT_FOR = re.compile(
    r"\bfor (?!\d|the (?:next|first)|one|two|three|a (?:day|week|month)|up to)[a-z]{4,}", re.IGNORECASE
)


def together(asked: FactQuery) -> GatheredFacts:
    """What is taken now, and that nobody here knows what goes together."""
    named = asked.named_of(Medication)
    taken = named or asked.known.taken
    lead = f"{RECORD} does not say what can be taken with your medicines"
    beside = "It has this medicine:" if len(named) == 1 else f"It lists {count(taken, 'medicine')}:"
    return denied(lead, beside=beside, facts=taken, after=NOT_CHECKED)


def due(asked: FactQuery) -> GatheredFacts | None:
    """Tests that usually go with a medicine and are not there of late, and what is planned; vaccinations as given."""
    known = asked.known
    if Intent.VACCINATIONS in asked.wanted or asked.named_of(Vaccination):
        given = asked.named_of(Vaccination) or known.of(Vaccination)
        return told(f"{RECORD} lists {count(given, 'vaccination')}:", given, after=NOT_DUE)
    if not asked.names_nothing or Intent.RESULTS not in asked.wanted:
        return None
    missing_tests = list(gaps(known.taken, known.of(LabResult), now=asked.now))
    facts = list(dict.fromkeys(one for gap in missing_tests for one in (gap.medication, gap.last) if one is not None))
    tests = listed(list(dict.fromkeys(gap.test for gap in missing_tests))) if missing_tests else ""
    lead = f"{RECORD} does not say which tests are due"
    beside = f"With these medicines doctors usually check {tests}, and your facts include no recent result:"
    return denied(lead, beside=beside, facts=[*facts, *coming(known, asked)], after=NOT_DUE)


def coming(known: KnownFacts, asked: FactQuery) -> list[Fact]:
    """Visits, procedures and referrals that are planned, and not for a day that is over."""
    every: list[Appointment | Procedure | Referral] = [
        *known.of(Appointment),
        *known.of(Procedure),
        *known.of(Referral),
    ]
    planned = [one for one in every if one.status is VisitStatus.PLANNED]
    return [one for one in planned if (day := when(one)) is None or day.date() >= asked.now.date()]


def upcoming(asked: FactQuery) -> GatheredFacts:
    """What is still to come."""
    facts = coming(asked.known, asked)
    if asked.named:
        planned = [one for one in facts if one in asked.named]
        past = [one for one in asked.known.newest_of(asked.named) if one not in planned]
        if planned:
            return told(f"{RECORD} lists {count(planned)} of this coming up:", planned)
        if any(getattr(one, "status", None) is VisitStatus.PLANNED for one in past):
            return told(f"{RECORD} has this; a planned date is over:", past)
        return denied(f"{RECORD} has no planned date for this", beside="It has this:", facts=past)
    if not facts:
        return denied(f"{RECORD} has no upcoming visit")
    return told(f"{RECORD} lists {count(facts)} coming up:", facts)
