"""Tells the findings in a few lines, in a fixed order: who, complaints, what is absent, history, measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from citewell.assistants.consult.patient import patient_of
from citewell.clinical.populations import CHILD_YEARS
from citewell.types.consult import COMPLAINTS, Category, Consult, Finding, Patient, Polarity

FELT = (Category.SYMPTOM, Category.ASSOCIATED)


def summary(consult: Consult) -> str:
    """The assessment's first paragraph: only what was found, each in the words of the list."""
    return " ".join(part for part in _parts(consult, patient_of(consult)) if part)


def _parts(consult: Consult, patient: Patient) -> Iterator[str]:
    found = consult.settled
    present = [one for one in found if one.category in FELT and one.polarity is Polarity.PRESENT]
    yield f"{who(patient)}{' with ' + _listed(map(told, present)) if present else ''}."
    absent = [one for one in found if one.category in FELT and one.polarity is Polarity.ABSENT]
    yield f"Denied: {_listed(one.name.lower() for one in absent)}." if absent else ""
    for title, category, polarities in (
        ("History", Category.MEDICAL_HISTORY, (Polarity.PRESENT, Polarity.PAST)),
        ("Family history", None, (Polarity.FAMILY,)),
        ("Medicines", Category.MEDICATION, (Polarity.PRESENT,)),
        ("Allergies", Category.ALLERGY, (Polarity.PRESENT,)),
    ):
        these = [one for one in found if category in (None, one.category) and one.polarity in polarities]
        yield f"{title}: {_listed(told(one) for one in these)}." if these else ""
    for name, words in ((Category.ALLERGY, "No known allergies."), (Category.MEDICATION, "No medicines taken.")):
        none = [one for one in found if one.category is name and one.name == "any"]
        yield words if none else ""
    vitals = [one for one in found if one.category is Category.VITAL]
    yield f"Measured: {_listed(f'{one.name} {one.value:g} {one.unit}' for one in vitals)}." if vitals else ""
    open_points = [_in_doubt(one) for one in consult.findings if one.id in consult.doubted and one.name != "any"]
    yield f"Unresolved: {_listed(open_points)}." if open_points else ""


def _in_doubt(one: Finding) -> str:
    """What a contradiction is about, with its value where two were said."""
    if one.category in (Category.ALLERGY, Category.MEDICATION):
        return f"{'allergy to' if one.category is Category.ALLERGY else 'taking'} {one.name}"
    if one.name == "sex":
        return f"sex {one.unit}"
    if one.name == "pregnant":
        return "pregnancy"
    return f"{one.name.lower()} {one.value:g} {one.unit}" if one.value is not None else one.name.lower()


def record_of(findings: Sequence[Finding], patient: Patient) -> list[str]:
    """What is known of the patient as plain sentences, for what is said of them to rest on.

    >>> from dataclasses import replace
    >>> from citewell.types.consult import FindingSource
    >>> fever = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, FindingSource.RULES)
    >>> record_of([fever, replace(fever, name="Cough", polarity=Polarity.ABSENT)], Patient(age_years=30, sex="male"))
    ['The patient is a man aged 30.', 'The patient has fever.', 'The patient has no cough.']
    """
    found = [f"The patient is a {who(patient)[0].lower()}{who(patient)[1:].rstrip(',')}."]
    for polarity, words in (
        (Polarity.PRESENT, "The patient has {}."),
        (Polarity.PAST, "The patient had {}."),
        (Polarity.ABSENT, "The patient has no {}."),
    ):
        names = [one.name.lower() for one in findings if one.category in COMPLAINTS and one.polarity is polarity]
        every = list(dict.fromkeys(names))
        found += [words.format(name) for name in every]
        if len(every) > 1 and polarity is not Polarity.ABSENT:
            found.append(words.format(f"{', '.join(every[:-1])} and {every[-1]}"))
    return found


def who(patient: Patient) -> str:
    """The patient in a few words.

    >>> who(Patient(age_years=28, sex="female", is_pregnant=True, pregnancy_weeks=9))
    'Woman aged 28, 9 weeks pregnant,'
    """
    age = patient.age_years
    grown = {"female": "Woman", "male": "Man"}.get(patient.sex or "", "Patient")
    young = {"female": "Girl", "male": "Boy"}.get(patient.sex or "", "Child")
    name = young if age is not None and age < CHILD_YEARS else grown
    aged = f" aged {patient.age_told}" if age is not None else f" {patient.age_told}"
    weeks = f"{patient.pregnancy_weeks:g} weeks " if patient.pregnancy_weeks else ""
    return f"{name}{aged}" + (f", {weeks}pregnant," if patient.is_pregnant else "")


def told(one: Finding) -> str:
    """A finding with since when."""
    if one.onset:
        return f"{one.name.lower()} ({one.onset})"
    if one.duration_days is not None:
        days = one.duration_days
        return f"{one.name.lower()} ({days:g} day{'' if days == 1 else 's'})"
    past = " (past)" if one.polarity is Polarity.PAST else ""
    return one.name.lower() + past


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
