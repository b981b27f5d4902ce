"""The patient as the findings tell: what is in doubt or contradicted stays unknown."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.clinical.populations import egfr_of_stage
from citewell.types.consult import COMPLAINTS, Category, Consult, Finding, Patient, Polarity

FERTILE_YEARS = (11, 56)


def patient_of(consult: Consult) -> Patient:
    """Age, sex, pregnancy and weight, as far as they are known and not contradicted."""
    return _patient(consult.settled, consult)


def possible(consult: Consult) -> tuple[Patient, ...]:
    """The patient by each answer that another one contradicts: what would be unsafe for one of them is told."""
    return tuple(
        _patient((*consult.settled, finding), consult)
        for finding in consult.findings
        if finding.id in consult.doubted and finding.category is Category.DEMOGRAPHIC
    )


def may_be_pregnant(patient: Patient) -> bool:
    """Whether the patient is a woman of an age to be pregnant of whom nobody has said whether she is."""
    age = patient.age_years
    is_fertile = age is not None and FERTILE_YEARS[0] <= age < FERTILE_YEARS[1]
    return patient.sex == "female" and is_fertile and patient.is_pregnant is None


def _patient(sure: Sequence[Finding], consult: Consult) -> Patient:
    pregnant = _last(sure, "pregnant")
    weeks = pregnant.value if pregnant is not None and pregnant.polarity is Polarity.PRESENT else None
    feeding = _last(sure, "breastfeeding")
    sex = _last(sure, "sex")
    is_pregnant = _held(pregnant) if pregnant is not None else (False if sex and sex.unit == "male" else None)
    age, weight = _last(sure, "age"), _last(sure, "weight")
    clearance = _last(sure, "creatinine clearance")
    illnesses = [finding for finding in sure if finding.category is Category.MEDICAL_HISTORY]
    return Patient(
        age_years=None if age is None else age.value,
        sex="female" if sex is None and is_pregnant else None if sex is None else sex.unit,
        is_pregnant=is_pregnant,
        pregnancy_weeks=weeks,
        is_breastfeeding=False if sex and sex.unit == "male" else _held(feeding),
        weight_kg=None if weight is None else weight.value,
        setting=consult.setting,
        country=consult.country,
        conditions=tuple(
            illness.name for illness in illnesses if illness.polarity in (Polarity.PRESENT, Polarity.PAST)
        ),
        without=tuple(illness.name for illness in illnesses if illness.polarity is Polarity.ABSENT),
        egfr=_egfr(sure),
        creatinine_clearance=None if clearance is None else clearance.value,
    )


def _egfr(sure: Sequence[Finding]) -> tuple[float, float] | None:
    """The eGFR that was told, else the one that the stage of a kidney disease leaves open: “CKD 4”."""
    told = _last(sure, "eGFR")
    if told is not None and told.value is not None:
        return told.value, told.value
    return next(filter(None, map(egfr_by_stage, reversed(sure))), None)


def egfr_by_stage(finding: Finding) -> tuple[float, float] | None:
    """From which eGFR to which a finding of kidney disease is, by its stage; a chronic one of before is one of now."""
    if finding.category not in COMPLAINTS or finding.polarity not in (Polarity.PRESENT, Polarity.PAST):
        return None
    return egfr_of_stage(finding.name) or (egfr_of_stage(finding.words.text) if finding.words else None)


def _last(findings: Sequence[Finding], name: str) -> Finding | None:
    kinds = (Category.DEMOGRAPHIC, Category.VITAL)
    return next((finding for finding in reversed(findings) if finding.name == name and finding.category in kinds), None)


def _held(finding: Finding | None) -> bool | None:
    if finding is None or finding.polarity in (Polarity.HYPOTHETICAL, Polarity.UNCLEAR):
        return None
    return finding.polarity is Polarity.PRESENT
