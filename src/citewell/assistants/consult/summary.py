"""Tells the findings in a few lines, in a fixed order: who, complaints, what is absent, history, measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from citewell.assistants.consult.patient import patient_of
from citewell.clinical.populations import CHILD_YEARS
from citewell.types.consult import COMPLAINTS, Category, Consult, Finding, Patient, Polarity

YEAR = 365.25
MONTH = YEAR / 12
FELT = (Category.SYMPTOM, Category.ASSOCIATED)


def summary(consult: Consult) -> str:
    """The assessment's first paragraph: only what was found, each in the words of the list."""
    return " ".join(part for part in _parts(consult, patient_of(consult)) if part)


def _parts(consult: Consult, patient: Patient) -> Iterator[str]:
    findings = consult.settled
    present = [finding for finding in findings if finding.category in FELT and finding.polarity is Polarity.PRESENT]
    yield f"{who(patient)}{' with ' + _listed(map(told, present)) if present else ''}."
    absent = [finding for finding in findings if finding.category in FELT and finding.polarity is Polarity.ABSENT]
    yield f"Denied: {_listed(finding.name.lower() for finding in absent)}." if absent else ""
    for title, category, polarities in (
        ("History", Category.MEDICAL_HISTORY, (Polarity.PRESENT, Polarity.PAST)),
        ("Family history", None, (Polarity.FAMILY,)),
        ("Medicines", Category.MEDICATION, (Polarity.PRESENT,)),
        ("Allergies", Category.ALLERGY, (Polarity.PRESENT,)),
    ):
        these = [
            finding for finding in findings if category in (None, finding.category) and finding.polarity in polarities
        ]
        yield f"{title}: {_listed(told(finding) for finding in these)}." if these else ""
    for name, words in ((Category.ALLERGY, "No known allergies."), (Category.MEDICATION, "No medicines taken.")):
        none = [finding for finding in findings if finding.category is name and finding.name == "any"]
        yield words if none else ""
    vitals = [_with_value(one) for one in findings if one.category is Category.VITAL and one.value is not None]
    yield f"Measured: {_listed(vitals)}." if vitals else ""
    open_points = [
        _in_doubt(finding) for finding in consult.findings if finding.id in consult.doubted and finding.name != "any"
    ]
    yield f"Unresolved: {_listed(open_points)}." if open_points else ""


def _in_doubt(finding: Finding) -> str:
    """What a contradiction is about, with its value where two were said."""
    if finding.category in (Category.ALLERGY, Category.MEDICATION):
        return f"{'allergy to' if finding.category is Category.ALLERGY else 'taking'} {finding.name}"
    if finding.name == "sex":
        return f"sex {finding.unit}"
    if finding.name == "pregnant":
        return "pregnancy"
    return _with_value(replace(finding, name=finding.name.lower()))


def _with_value(finding: Finding) -> str:
    """Its name with the value, where it has one: “temperature 38.5 °C”."""
    return finding.name if finding.value is None else f"{finding.name} {finding.value:g} {finding.unit or ''}".strip()


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
        names = [
            finding.name.lower()
            for finding in findings
            if finding.category in COMPLAINTS and finding.polarity is polarity
        ]
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


def told(finding: Finding) -> str:
    """A finding with since when."""
    if finding.onset:
        return f"{finding.name.lower()} ({finding.onset})"
    if finding.duration_days is not None:
        return f"{finding.name.lower()} for {lasting(finding.duration_days)}"
    past = " (past)" if finding.polarity is Polarity.PAST else ""
    return finding.name.lower() + past


def lasting(days: float) -> str:
    """A length of time as a colleague says it.

    >>> [lasting(days) for days in (10 / 1440, 0.5, 1, 5, 35, 90, 1095.75)]
    ['10 minutes', '12 hours', '1 day', '5 days', '5 weeks', '3 months', '3 years']
    """
    for most, per, unit in ((1 / 24, 1 / 1440, "minute"), (1, 1 / 24, "hour"), (14, 1, "day"), (70, 7, "week")):
        if days < most:
            return _counted(days / per, unit)
    return _counted(days / MONTH, "month") if days < 2 * YEAR else _counted(days / YEAR, "year")


def _counted(number: float, unit: str) -> str:
    whole = max(round(number), 1)
    return f"{whole} {unit}{'' if whole == 1 else 's'}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
