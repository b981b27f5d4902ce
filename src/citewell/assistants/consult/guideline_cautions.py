"""Holds what a guideline warns of against the patient: the medicines that they take, the illnesses that they have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from citewell.answer.illnesses import are_related, named_illnesses, wider
from citewell.assistants.consult.conflicts import (
    KIDNEY_DISEASE,
    PatientMedicines,
    conflicts,
    given,
    interactions,
    is_warned_of,
    listed_cautions,
)
from citewell.assistants.consult.disease_stages import is_other_stage
from citewell.assistants.consult.plan_lines import FoundLines, PlannedLine
from citewell.clinical import broader, concept_ids, mentions
from citewell.clinical.medicines import Medicine, medicines, members, reacts
from citewell.clinical.populations import Applies, applies, belongs, populations
from citewell.types.consult import COMPLAINTS, Polarity
from citewell.types.consult_plan import Conflict

FORBIDS = re.compile(
    r"\bavoid|\bcontra-?indicat|\b(?:do|must|should) not\b|\bnot (?:for use|recommended|be used)\b|\bnever\b"
    r"|\b(?:recommends?|suggests?|advises?) against\b",
    re.IGNORECASE,
)
"""Words that rule a medicine out, and do not only ask for care."""


NSAID, ASPIRIN = "NSAID", "aspirin"
COLLECTIONS = frozenset(
    ("haematinic", "other drug", "gut drug", "skin drug", "eye drug", "antidote", "obstetric drug", "addiction drug")
)
"""Rows of unlike medicines: a warning of supplements is none of folic acid."""
GROWN = ("adults", "women", "men", "people")
"""Groups that a caution names without meaning that they are at risk."""


def of_taken(held: PatientMedicines) -> Iterator[Conflict]:
    """What speaks against the medicines that the patient takes, whatever the plan is."""
    for finding in held.taken:
        for medicine in medicines(finding.name):
            for conflict in listed_cautions(medicine, held):
                text = f"The patient takes {finding.name}{held.doubt(finding)}. {conflict.text}"
                yield Conflict(conflict.kind, medicine.name, text, conflict.source, conflict.is_grave)
    for name, said in held.earlier:
        for medicine in medicines(name):
            for told in listed_cautions(medicine, held):
                if told.kind == "pregnancy" and told.is_grave:
                    text = f"If {name} is still taken: {told.text} The note says: “{said}”"
                    yield Conflict(told.kind, medicine.name, text, told.source, is_grave=False)
    taken = {medicine.name: finding.name for finding in held.taken for medicine in medicines(finding.name)}
    for told in held.printed:
        if told.medicine in taken:
            text = f"The patient takes {taken[told.medicine]}. {told.text}"
            yield Conflict(told.kind, told.medicine, text, told.source, told.is_grave)
    for one, other in combinations(held.taken, 2):
        for first, second in product(medicines(one.name), medicines(other.name)):
            for concern, source, is_grave in interactions(first, second):
                both = f"{one.name}{held.doubt(one)} and {other.name}{held.doubt(other)}"
                yield Conflict("interaction", first.name, f"The patient takes {both}: {concern}.", source, is_grave)


def of_guideline(lines: FoundLines, held: PatientMedicines) -> Iterator[Conflict]:
    """Medicines taken that a guideline on the illness advises against, at whatever stage of it."""
    told = [(one.line.own, one.line.text, one.guideline.entry.title) for one in (*lines.lines, *lines.cautions)]
    told += [(one.words, one.words, one.document) for one in lines.left_out if is_other_stage(one.reason)]
    for own, text, source in told:
        if not _warns_of_such(own, held):
            continue
        warned = [medicine for medicine in medicines(own) if is_warned_of(own, medicine)]
        for finding in held.taken:
            for taken in medicines(finding.name):
                if any(is_one_of(taken, other) for other in warned):
                    who = f"The patient takes {finding.name}{held.doubt(finding)}."
                    said = f"{who} The guideline advises against it: “{text}”"
                    yield Conflict("current_medicine", taken.name, said, source, is_grave=True)


def _warns_of_such(text: str, held: PatientMedicines) -> bool:
    """Whether a warning is for people like this patient: “not in pregnant women” is for those who are pregnant."""
    named = populations(text)
    barred = [population for population in named if population.kind.startswith("not")]
    if barred:
        return any(belongs(population, held.patient)[0] is Applies.NO for population in barred)
    return applies(named, held.patient).answer is not Applies.NO


def is_one_of(taken: Medicine, warned: Medicine) -> bool:
    """Whether a medicine is the one that is warned of, or of its class; aspirin is warned of with the NSAIDs."""
    if taken.name == warned.name or (warned.name == NSAID and taken.name == ASPIRIN):
        return True
    is_class = warned.is_class and warned.family not in COLLECTIONS
    return is_class and (warned.family == taken.family or taken.family in members(warned.family))


def against(
    statement: str, cautions: Sequence[PlannedLine], held: PatientMedicines, condition: str
) -> tuple[Conflict, ...]:
    """What speaks against a statement for this patient: the record, and what its guideline says of its medicines."""
    found = {(one.kind, one.medicine, one.text): one for one in conflicts(statement, held)}
    for medicine in given(statement):
        for planned in cautions:
            warned = [
                other
                for other in medicines(planned.line.text)
                if is_one_of(medicine, other) or other.name == medicine.name
            ]
            if warned:
                for conflict in _met(planned, medicine.name, held, condition):
                    found.setdefault((conflict.kind, conflict.medicine, conflict.text), conflict)
    return tuple(sorted(found.values(), key=lambda conflict: not conflict.is_grave))


def _met(planned: PlannedLine, medicine: str, held: PatientMedicines, condition: str) -> Iterator[Conflict]:
    """What a caution names that this patient has, is, or is allergic to."""
    line = planned.line
    is_grave = FORBIDS.search(line.own) is not None
    source = planned.guideline.entry.title
    for kind, told in named_of(line.own, held, condition):
        reason = told[:1].upper() + told[1:]
        yield Conflict(kind, medicine, f"{reason}. The guideline says: “{line.text}”", source, is_grave)


def named_of(
    text: str, held: PatientMedicines, condition: str, diagnoses: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """What a text names that this patient has, is, or is allergic to; the illness that it is about is none."""
    yield from _people(text, held)
    yield from _illnesses(text, held, condition, diagnoses)
    for allergy in held.allergies:
        if reacts(allergy.name, [other.name for other in medicines(text)]) is not None and "hypersensitiv" in text:
            yield "allergy", f"the patient is allergic to {allergy.name}"


def _people(text: str, held: PatientMedicines) -> Iterator[tuple[str, str]]:
    """The groups of a text that the patient belongs to."""
    for population in populations(text):
        is_plain = (
            population.name in GROWN
            or population.kind.startswith("not")
            or population.is_without
            or population.condition is not None
        )
        if not is_plain and belongs(population, held.patient)[0] is Applies.YES:
            if population.kind == "kidney":
                yield "renal", (held.kidneys or ("", "the patient's kidney function is reduced"))[1]
                continue
            kind = "pregnancy" if population.is_pregnant else "age"
            yield kind, f"the patient is {'pregnant' if population.is_pregnant else held.patient.age_told}"
    if held.plans_pregnancy and re.search(r"\bplan\w* (?:a )?pregnan|\bconce(?:ive|ption)", text, re.IGNORECASE):
        yield "pregnancy", "the patient is planning a pregnancy"
    if held.patient.is_pregnant and re.search(r"\bpregnan", text, re.IGNORECASE):
        yield "pregnancy", "the patient is pregnant"


def _illnesses(
    text: str, held: PatientMedicines, condition: str, diagnoses: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The illnesses and signs of a text that the patient has."""
    named = {id_ for mention in mentions(text) for id_ in mention.ids}
    illnesses, own_illness = named_illnesses(text), named_illnesses(condition)
    for diagnosis in diagnoses:
        if any(one in wider(other) for one in illnesses for other in named_illnesses(diagnosis)):
            yield "illness", f"the diagnosis is {diagnosis}"
            own_illness |= {name for other in named_illnesses(diagnosis) for name in wider(other)}
    held_now = (Polarity.PRESENT, Polarity.PAST, Polarity.UNCLEAR)
    for finding in held.findings:
        own, kinds = concept_ids(finding.name), named_illnesses(finding.name)
        if finding.category not in COMPLAINTS or finding.polarity not in held_now or kinds & own_illness:
            continue
        is_named = not named.isdisjoint(own | broader(own))
        is_kind = any(are_related(one, other) for one in illnesses for other in kinds)
        if is_named or is_kind:
            yield "illness", f"the patient has {finding.name.lower()}"
    for sign, told in held.signs:
        is_named = not named.isdisjoint(concept_ids(sign)) or not illnesses.isdisjoint(named_illnesses(sign))
        if is_named:
            yield ("renal" if sign == KIDNEY_DISEASE else "illness"), told
