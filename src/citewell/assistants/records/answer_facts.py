"""What the facts tell to each wish: which of them, in which order, and a sentence that leads to them."""

from __future__ import annotations

from collections.abc import Callable

from citewell.assistants.records.answer_medicines import allergies, medicines, prescriber
from citewell.assistants.records.answer_open_questions import due, effects, reason, together, upcoming
from citewell.assistants.records.answer_results import diagnoses, listing, results, trend
from citewell.assistants.records.answer_timeline import changes, person, prepare, visits
from citewell.assistants.records.fact_query import RECORD, FactQuery, GatheredFacts, told
from citewell.assistants.records.intents import Intent
from citewell.types.facts import LabResult, Procedure, Professional, Referral, Symptom, Vaccination


def of_named(asked: FactQuery) -> GatheredFacts | None:
    """What the record says of something that is named, where nothing tells what about it is wanted."""
    for tell in (medicines, results, diagnoses):
        if (gathered_facts := tell(asked)) is not None and gathered_facts.facts and not gathered_facts.if_mentioned:
            return gathered_facts
    if any(isinstance(fact, LabResult) for fact in asked.named) and (gathered_facts := results(asked)) is not None:
        return gathered_facts  # not of the time that is asked for, but there
    others = [fact for fact in asked.inside(asked.named) if not isinstance(fact, Professional)]
    if others:
        return told(f"{RECORD} says of this:", others)
    if any(isinstance(fact, Professional) for fact in asked.named):
        return visits(asked)
    return None


TELLERS: tuple[tuple[Intent, Callable[[FactQuery], GatheredFacts | None]], ...] = (
    (Intent.PREPARE, prepare),
    (Intent.CHANGES, changes),
    (Intent.PRESCRIBER, prescriber),
    (Intent.EFFECTS, effects),
    (Intent.TOGETHER, together),
    (Intent.REASON, reason),
    (Intent.DUE, due),
    (Intent.NEXT, upcoming),
    (Intent.ALLERGIES, allergies),
    (Intent.TREND, trend),
    (Intent.RESULTS, results),
    (Intent.VACCINATIONS, listing(Vaccination, "vaccination", "vaccinations")),
    (Intent.MEDICINES, medicines),
    (Intent.DIAGNOSES, diagnoses),
    (Intent.PROCEDURES, listing(Procedure, "procedure", "procedures")),
    (Intent.REFERRALS, listing(Referral, "referral", "referrals")),
    (Intent.SYMPTOMS, listing(Symptom, "symptom", "symptoms")),
    (Intent.DOCTORS, listing(Professional, "doctor or nurse", "doctors and nurses")),
    (Intent.VISITS, visits),
    (Intent.PERSON, person),
)
"""The first wish that the facts can tell something to decides; “who prescribed” comes before “which medicines”."""
