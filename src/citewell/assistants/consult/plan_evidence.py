"""Finds what a plan rests on: the guidelines on each diagnosis with their passages, and the patient as a record."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from citewell.answer.gate import Verify
from citewell.answer.illnesses import named_illnesses, wider
from citewell.answer.retrieve import Search, retrieve
from citewell.assistants.consult.conflicts import PatientMedicines
from citewell.assistants.consult.gather import GatheredEvidence, gather
from citewell.assistants.consult.guideline_choice import (
    ChosenGuideline,
    guidelines_on,
    may_be_on,
    other_readings,
    written_out,
)
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.patient_conditions import known_of
from citewell.assistants.consult.plan_lines import PlanPatient
from citewell.assistants.consult.printed_warnings import printed_warnings
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.patient import MAX_TOLD, Complaint, PatientInput, Sex
from citewell.clinical.medicines import Medicine, medicines
from citewell.ports import Writer, products
from citewell.types import Document, Hit, LibraryEntry, Scope
from citewell.types.consult import COMPLAINTS, Category, Consult, Patient, Polarity

_FORM = re.compile(
    r"\b(?:NSTEMI|STEMI|ST[- ](?:segment )?(?:depression|elevation)|primary prevention|secondary prevention|QRISK\d?"
    r"|stents?|PCI|CABG|angioplasty)\b",
    re.IGNORECASE,
)
"""Words of a note that say which form of an illness it is, where guidelines treat the forms apart."""
_ESTABLISHED = frozenset(("coronary heart disease", "stroke", "peripheral arterial disease"))
"""Who has one of them has cardiovascular disease: what is prevented is the next event."""
_ORIGIN = re.compile(
    r"\b(?:(?P<black>black(?: british| african| caribbean)?|(?:afro|african)[ –-]caribbean|african|caribbean|nigerian"
    r"|ghanaian|kenyan|ugandan|somali|ethiopian|zimbabwean|jamaican)|white|european|caucasian|asian|indian|pakistani"
    r"|bangladeshi|chinese)(?: british| irish)?\b"
    r"(?=[^.;]{0,12}\b(?:origin|ethnic\w*|descent|heritage|background|family)\b"
    r"|\s+(?:man|woman|male|female|gentleman|lady|patient|boy|girl)\b|(?<=british)\s*[,.;]|(?<=caribbean)\s*[,.;])",
    re.IGNORECASE,
)
"""How a note says of what family origin somebody is; a colour alone may be of anything."""
LOOKED_AT = 20
MOST_TITLES = 200
"""Titles that are compared with a diagnosis that no guideline is on."""
"""Passages nearest to the name of a diagnosis, whose documents are opened."""


@dataclass(frozen=True, slots=True)
class AssessmentParts:
    """What an assessment needs."""

    search: Search
    verify: Verify
    entry: Callable[[str], LibraryEntry]
    """The library's entry of a document."""
    shelf: Callable[[], Sequence[tuple[int, LibraryEntry]]] = tuple
    """The current documents that may be guidelines, each with its generation."""
    opened: Callable[[str], Document] | None = None
    """A document's text and structure."""
    writer: Writer | None = None
    """A model behind a prompt; None quotes."""


@dataclass(frozen=True, slots=True)
class DiagnosisEvidence:
    """What was found for one diagnosis: the guidelines on it, their passages, and what else was looked at."""

    guidelines: tuple[ChosenGuideline, ...]
    others: tuple[LibraryEntry, ...]
    gathered: GatheredEvidence


def evidence_for(
    conditions: Sequence[str], consult: Consult, *, scope: Scope, parts: AssessmentParts
) -> tuple[list[DiagnosisEvidence], tuple[Hit, ...]]:
    """The guidelines on each diagnosis with their passages, and the passages that the findings alone point at."""
    shelf = parts.shelf()
    named = " ".join((*conditions, *(one.name for one in consult.settled if one.category is Category.MEDICATION)))
    taken = frozenset(medicine.name for medicine in medicines(named))
    chosen_by_name = [chosen_for(condition, shelf, scope, parts, taken) for condition in conditions]
    conditions = [name for name, _, _ in chosen_by_name]
    choices = [(guidelines, others) for _, guidelines, others in chosen_by_name]
    generations = {entry.id: generation for generation, entry in shelf}
    chosen = [{generations[one.entry.id]: one.entry.id for one in guidelines} for guidelines, _ in choices]
    patient = patient_of(consult)
    gathered, alone = gather(conditions, consult.settled, patient, scope=scope, search=parts.search, chosen=chosen)
    return [DiagnosisEvidence(*choice, found) for choice, found in zip(choices, gathered, strict=True)], alone


def chosen_for(
    diagnosis: str,
    shelf: Sequence[tuple[int, LibraryEntry]],
    scope: Scope,
    parts: AssessmentParts,
    taken: frozenset[str],
) -> tuple[str, tuple[ChosenGuideline, ...], tuple[LibraryEntry, ...]]:
    """A diagnosis by the name under which guidelines on it are found, those, and what else was looked at."""
    name = written_out(diagnosis)
    found = _choice(name, shelf, scope, parts, taken)
    for other in other_readings(diagnosis) if not found[0] else ():
        again = _choice(other, shelf, scope, parts, taken)
        if again[0]:
            return other, *again
    return name, *found


def _choice(
    condition: str,
    shelf: Sequence[tuple[int, LibraryEntry]],
    scope: Scope,
    parts: AssessmentParts,
    taken: frozenset[str],
) -> tuple[tuple[ChosenGuideline, ...], tuple[LibraryEntry, ...]]:
    """The guidelines on a diagnosis: by their titles, by a section that the search finds, or by a medicine taken."""
    if not shelf or parts.opened is None:
        return (), ()
    found = retrieve(condition, scope=replace(scope, subject=None), search=parts.search, limit=LOOKED_AT)
    near = {hit.document_id for hit in found.hits}
    near |= {entry.id for _, entry in shelf if taken & {medicine.name for medicine in medicines(entry.title)}}
    likely = [entry for _, entry in shelf if entry.id in near or may_be_on(condition, entry.title)]
    chosen, found_on_others = guidelines_on(condition, ((entry, parts.opened(entry.id)) for entry in likely))
    others = (*found_on_others, *(entry for _, entry in shelf if entry not in likely))
    return chosen, others if chosen else _nearest_first(condition, others, parts.search)


def _nearest_first(condition: str, entries: Sequence[LibraryEntry], search: Search) -> tuple[LibraryEntry, ...]:
    """The documents looked at, the one first whose title is nearest to the diagnosis."""
    first = entries[:MOST_TITLES]
    vectors = search.embedder.embed([condition, *(entry.title for entry in first)])
    near = products(vectors[1:], vectors[0])
    ranked = sorted(range(len(first)), key=lambda at: -float(near[at]))
    return (*(first[at] for at in ranked), *entries[MOST_TITLES:])


def with_printed(
    held: PatientMedicines, conditions: Sequence[str], planned: Sequence[Medicine], parts: AssessmentParts
) -> PatientMedicines:
    """The same patient, with what is printed with the medicines that they take or a plan names."""
    if parts.opened is None:
        return held
    shelf = [entry for _, entry in parts.shelf()]
    return replace(held, printed=printed_warnings(shelf, parts.opened, held, conditions, planned))


def plan_patient(condition: str, consult: Consult, held: PatientMedicines) -> PlanPatient:
    """The patient as lines of a plan are held against them; the diagnosis itself is on the record."""
    patient = patient_input(consult, held.patient)
    named = [medicine for finding in held.taken for medicine in medicines(finding.name)]
    lasting = [
        finding.duration_days
        for finding in held.settled
        if finding.category in COMPLAINTS and finding.polarity is Polarity.PRESENT and finding.duration_days is not None
    ]
    known = known_of(condition, held.settled)
    illnesses = named_illnesses("; ".join(known.names))
    forms = ["secondary prevention"] if any(_ESTABLISHED & wider(illness) for illness in illnesses) else []
    forms += _FORM.findall(" ".join(one.text for one in consult.messages if one.role == "user"))
    return PlanPatient(
        held.patient,
        known,
        PatientRecord(replace(patient, complaints=(*patient.complaints, *_considered(condition)))),
        " ".join((condition, *forms)),
        frozenset(name for medicine in named for name in (medicine.name, medicine.family)),
        max(lasting, default=None),
        _origin(" ".join(one.text for one in consult.messages if one.role == "user")),
    )


def _considered(condition: str) -> tuple[Complaint, Complaint]:
    """A diagnosis as criteria name it: as had, and as suspected."""
    return Complaint(condition), Complaint(f"suspected {condition}")


def _origin(text: str) -> bool | None:
    """Whether a note says that somebody is of Black African or African–Caribbean family origin; None: not told."""
    told = _ORIGIN.search(text)
    return None if told is None else told["black"] is not None


def patient_input(consult: Consult, patient: Patient) -> PatientInput:
    """The patient as the criteria of guidelines are held against them: what was said, without what was taken back."""
    held = {finding.id for finding in consult.findings}
    gone = [finding.words for finding, _ in consult.gone if finding.words is not None and finding.id not in held]
    texts = []
    for message in consult.messages:
        if message.role == "user":
            text = message.text
            for words in sorted((one for one in gone if one.message == message.position), key=lambda one: -one.start):
                text = text[: words.start] + text[words.end :]
            texts.append(text)
    typed = [
        f"{'no ' if finding.polarity is Polarity.ABSENT else ''}{finding.name}"
        for finding in consult.settled
        if finding.words is None and finding.polarity in (Polarity.PRESENT, Polarity.ABSENT)
    ]
    age = None if patient.age_years is None else math.floor(patient.age_years)
    sex: Sex | None = "female" if patient.sex == "female" else "male" if patient.sex == "male" else None
    complaints, room = [], MAX_TOLD
    for text in (*texts, *typed):
        complaints += [Complaint(text[:room])] if room and text.strip() else []
        room -= min(len(text), room)
    return PatientInput(consult.id, age=age, sex=sex, complaints=tuple(complaints))
