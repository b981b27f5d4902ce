"""What the facts tell about medicines and allergies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.assistants.records.fact_query import (
    FACTS,
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
from citewell.assistants.records.known_facts import LONG_AGO, when
from citewell.clinical.medicines import reacts, substances
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Diagnosis,
    LabResult,
    Medication,
    MedicationStatus,
    Procedure,
    Symptom,
)
from citewell.types.facts_line import shown

NO_ALLERGIES = f"{RECORD} has no entry about allergies"
SILENCE = "That does not mean you have none."


def allergies(asked: FactQuery) -> GatheredFacts | None:
    """Allergies that hold; silence is told apart from “none are known”."""
    every = asked.known.of(Allergy)
    real = [allergy for allergy in every if allergy.code not in NO_KNOWN]
    held = [allergy for allergy in real if allergy.is_active]
    if hit := [allergy for allergy in real if allergy in asked.named]:
        lead = f"{RECORD} lists this allergy:" if len(hit) == 1 else f"{RECORD} lists these allergies:"
        is_over = not any(allergy.is_active for allergy in hit)
        return told(f"{lead[:-1]} as no longer active:" if is_over else lead, hit)
    if asked.named and not any(isinstance(one, Allergy | Medication) for one in asked.named) and not asked.unknown:
        return None  # “allergy jabs”
    if held:
        return _not_among(asked, held) or told(
            f"{RECORD} lists {count(held, 'allergy', 'allergies')}:",
            [*held, *(allergy for allergy in real if allergy not in held)],
        )
    if none_known := [allergy for allergy in every if allergy not in real]:
        return denied(f"{RECORD} says that no allergies are known", facts=none_known)
    beside = "It lists this as no longer active:"
    none = f"{RECORD} does not list any active allergies" if real else NO_ALLERGIES
    return replace(denied(none, beside=beside, facts=real, after=_of_medicine(asked)), if_silent=SILENCE)


def _not_among(asked: FactQuery, held: list[Allergy]) -> GatheredFacts | None:
    """That what is named is not among the allergies, and those to what is like it; None where nothing is named."""
    if kin := _kin(asked, held):
        groups = listed(list(dict.fromkeys(group for _, group in kin if group))) or "the same substance"
        return denied(
            f"{RECORD} does not list {listed(list(asked.said), last='or')} by that name among your allergies",
            beside=f"It lists this, and both are {groups}:",
            facts=[allergy for allergy, _ in kin],
        )
    if asked.names_nothing:
        return None
    words = asked.unknown or asked.about or asked.said
    medicines = asked.named_of(Medication)
    beside = f"It lists {count(held, 'allergy', 'allergies')}"
    return denied(
        f"{RECORD} does not list {listed(list(words), last='or') if words else 'that'} among your allergies",
        beside=f"{beside}, and {count(medicines, 'medicine')} of that name:" if medicines else f"{beside}:",
        facts=[*held, *medicines],
        after=_of_medicine(asked),
    )


def _kin(asked: FactQuery, held: list[Allergy]) -> list[tuple[Allergy, str]]:
    """Allergies to something of the same group as a medicine that is named, each with the group."""
    found = [(allergy, reacts(allergy.allergen, [said])) for allergy in held for said in asked.said]
    return [(allergy, group) for allergy, group in found if group is not None]


def _of_medicine(asked: FactQuery) -> str:
    """Whether a medicine that may or may not be taken is on record at all."""
    if Intent.MAY not in asked.wanted or not asked.unknown:
        return ""
    return f"{FACTS} does not mention {listed(list(asked.unknown), last='or')}."


def prescriber(asked: FactQuery) -> GatheredFacts | None:
    """Who prescribed what is named, or all that is taken now."""
    medicines = asked.named_of(Medication) or (asked.known.taken if asked.names_nothing else [])
    if not medicines:
        tests, done = asked.known.latest(asked.named_of(LabResult)), asked.named_of(Procedure)
        if tests or done:
            return _ordered([*tests, *done])
        return not_mentioned(asked, among="" if asked.unknown else "your medicines")
    known = [medicine for medicine in medicines if medicine.prescriber]
    if not known:
        return told(f"{RECORD} does not say who prescribed this:", medicines)
    people = list(dict.fromkeys(medication.prescriber for medication in known if medication.prescriber))
    return told(f"According to your record, this was prescribed by {listed(people)}:", known)


def _ordered(orders: Sequence[LabResult | Procedure]) -> GatheredFacts:
    """Who ordered tests, or did operations; papers may say it where facts do not."""
    people = [one.ordered_by if isinstance(one, LabResult) else one.by for one in orders]
    if known := list(dict.fromkeys(name for name in people if name)):
        return told(f"According to your record, this was ordered or done by {listed(known)}:", orders)
    return denied(f"{RECORD} does not say who ordered this", beside="It has this:", facts=orders)


def medicines(asked: FactQuery) -> GatheredFacts | None:
    """Medicines that are named, are given for what is named, are past, or are taken now."""
    if medications := asked.named_of(Medication):
        return _named(asked, medications)
    if asked.unknown or (asked.named and Intent.MEDICINES not in asked.wanted):
        return not_mentioned(asked) if asked.unknown else None
    if asked.about or any(isinstance(fact, Diagnosis | Symptom) for fact in asked.named):
        return _for_it(asked)
    if asked.named:
        return None  # “how many doses” of a vaccine
    if Intent.PAST in asked.wanted:
        past = [one for one in asked.inside(asked.known.of(Medication)) if one.status is not MedicationStatus.ACTIVE]
        return told(f"{RECORD} lists {count(past, 'past medicine')}:", past)
    return _taken(asked)


def _named(asked: FactQuery, named: list[Medication]) -> GatheredFacts:
    """Medicines that are named, those that are taken now first."""
    active = [one for one in named if one.status is MedicationStatus.ACTIVE]
    if not active:
        is_paused = any(one.status is MedicationStatus.PAUSED for one in named)
        state = "paused" if is_paused else "a past medicine, not a current one"
        return told(f"{RECORD} lists this as {state}:", named)
    first = _first(asked, active)
    since = f" The earliest entry for it is from {shown(first.start)}:" if first else ""
    lead = f"{RECORD} lists this among your current medicines"
    others = [one for one in named if one not in active]
    return told(f"{lead}.{since}" if first else f"{lead}:", [*active, *([first] if first else []), *others])


def _taken(asked: FactQuery) -> GatheredFacts:
    """All that is taken now; where nothing is, whatever else there is stands beside the “no”."""
    taken = asked.inside(asked.known.taken)
    held = substances(*(one.generic_name for one in taken)) if taken else frozenset()
    others = [] if asked.wanted.since is not None else asked.known.of(Medication)
    others = [one for one in others if one not in taken and not substances(one.generic_name) & held]
    past = count({one.generic_name.casefold() for one in others}, "past medicine")
    if not taken and others:
        return denied(f"{RECORD} lists no current medicines", beside=f"It lists {past}:", facts=others)
    also = f"It also lists {past}." if others else ""
    return told(f"{RECORD} lists {count(taken, 'current medicine')}:", taken, after=also)


def _first(asked: FactQuery, active: list[Medication]) -> Medication | None:
    """The oldest entry of the same substance that is over: what is prescribed anew every year is one medicine."""
    taken = substances(*(medication.generic_name for medication in active))
    past = [medication for medication in asked.known.of(Medication) if medication.start and medication not in active]
    same = [medication for medication in past if substances(medication.generic_name) & taken]
    oldest = min(same, key=lambda medication: when(medication) or LONG_AGO, default=None)
    begun = min((when(medication) or LONG_AGO for medication in active), default=LONG_AGO)
    return oldest if oldest is not None and (when(oldest) or begun) < begun else None


def _for_it(asked: FactQuery) -> GatheredFacts | None:
    """The medicines for something; that none is for it is no reason to list the others."""
    if for_it := _given_for(asked):
        return told(f"{RECORD} lists {count(for_it, 'medicine')} for this:", for_it)
    if asked.about:
        return not_mentioned(asked, among="your medicines", others=asked.known.taken)
    days = {day.date() for one in asked.named if isinstance(one, Diagnosis) and (day := when(one)) is not None}
    begun = [one for one in asked.known.of(Medication) if (day := when(one)) is not None and day.date() in days]
    lacking = f"{RECORD} does not say which medicine is for this"
    return denied(lacking, beside="This was prescribed on the same day:", facts=begun)


def _given_for(asked: FactQuery) -> list[Medication]:
    """The medicines that the record gives a named condition or symptom as the reason for."""
    names = [one.name.casefold() for one in asked.named if isinstance(one, Diagnosis)]
    names += [one.specific.casefold() for one in asked.named if isinstance(one, Symptom)]
    names += [*asked.about]
    return [
        medication
        for medication in asked.known.of(Medication)
        if any(
            name in (said or "").casefold()
            for name in names
            for said in (medication.reason_start, medication.condition)
        )
    ]
