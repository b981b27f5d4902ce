"""The patient whom rules are compared with, and what the words of a complaint say of age and sex."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from citewell.clinical.quantities import Age, age_told, ages
from citewell.errors import InputError

OLDEST = 125
MAX_TOLD = 10_000
"""Characters of all symptoms together: each is compared with every rule, and a whole chart would take minutes."""
COMPLAINTS = ("symptoms", "findings")
"""The fields of a patient that hold complaints."""

NO_STATUS = "Condition without status"
"""The field of a condition that a record gives no status; it counts as active, and is to be confirmed."""

Flag = Literal["low", "normal", "high"]
Sex = Literal["female", "male"]
SEXES: Mapping[str, Sex] = {
    **dict.fromkeys(("female", "f", "woman", "girl"), "female"),
    **dict.fromkeys(("male", "m", "man", "boy"), "male"),
}


@dataclass(frozen=True, slots=True)
class UnreadField:
    """What was given beside the patient's facts and is not among them, and why."""

    words: str
    field: str
    why: str


@dataclass(frozen=True, slots=True)
class Complaint:
    """A symptom or finding in the record's words, and how long it has been there."""

    text: str
    duration_days: float | None = None
    field: str = "symptoms"


@dataclass(frozen=True, slots=True)
class TestResult:
    """A result on record: a number, words, or both."""

    __test__ = False

    name: str
    value: float | None = None
    unit: str | None = None
    text: str | None = None
    flag: Flag | None = None
    low: float | None = None
    high: float | None = None

    @property
    def told(self) -> str:
        """The result in words."""
        number = "" if self.value is None else f"{self.value:g}" + (f" {self.unit}" if self.unit else "")
        return " ".join(part for part in (self.name, number, self.text or "", self.flag or "") if part)


@dataclass(frozen=True, slots=True)
class PatientInput:
    """What is on record; None and empty mean that it is not known."""

    id: str
    name: str | None = None
    age: int | None = None
    sex: Sex | None = None
    smoking: str | None = None
    exposures: tuple[str, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    tests: tuple[TestResult, ...] = ()
    organs: tuple[str, ...] = ()
    """Organs on record, where sex does not tell: they come before sex."""
    not_read: tuple[UnreadField, ...] = ()
    ages: tuple[int, int] | None = None
    """The youngest and the oldest that the patient can be, where the record gives no exact age."""

    def __post_init__(self) -> None:
        if sum(len(complaint.text) for complaint in self.complaints) > MAX_TOLD:
            raise InputError(
                f"The symptoms are over {MAX_TOLD:,} characters in total. Leave out those that have resolved."
            )

    def shown(self) -> dict[str, Any]:
        """The patient as the result repeats it."""
        return {key: value for key, value in asdict(self).items() if key != "ages" or value is not None}

    @property
    def known_ages(self) -> tuple[int, int] | None:
        """The youngest and the oldest that the patient can be."""
        return self.ages if self.age is None else (self.age, self.age)


def age_in_words(patient: PatientInput) -> int | None:
    """The patient's age in whole years, where the words of a complaint tell it.

    >>> age_in_words(PatientInput("P1", complaints=(Complaint("62M with a cough, mother died aged 80"),)))
    62
    """
    return next((math.floor(age.years) for age in _ages(patient) if not age.problem), None)


def sex_in_words(patient: PatientInput) -> Sex | None:
    """The patient's sex, where the words of a complaint tell it beside the age; None where they tell two.

    >>> sex_in_words(PatientInput("P1", complaints=(Complaint("62M with a cough, mother died aged 80"),)))
    'male'
    """
    is_given = any(entry.field in ("gender", "sex") for entry in patient.not_read)
    sexes = {age.sex for age in _ages(patient) if age.sex}
    return next(iter(sexes)) if len(sexes) == 1 and not is_given else None


def _ages(patient: PatientInput) -> list[Age]:
    return [age for complaint in patient.complaints for age in ages(complaint.text) if age.of == "patient"]


def notes_on_status(patient: PatientInput) -> Iterator[str]:
    """The conditions of which the record does not say whether the patient still has them."""
    for complaint in patient.complaints:
        if complaint.field == NO_STATUS:
            yield f"The record does not say whether “{complaint.text}” is active. It was taken as active: confirm it."


def notes_on_age_and_sex(patient: PatientInput) -> Iterator[str]:
    """An age or a sex that was taken from the words of a complaint, that they contradict, or that nobody has."""
    stated = _ages(patient)
    yield from (f"“{age.text}”: {age.problem}" for age in stated if age.problem)
    able = [age for age in stated if not age.problem]
    held = patient.known_ages
    if held is None and able:
        yield f"The age was taken from “{able[0].text}”."
    for age in able:
        if held is not None and not held[0] <= math.floor(age.years) <= held[1]:
            yield f"The age given is {age_told(held)}, but a symptom says “{age.text}”; {age_told(held)} was used."
    sexes = {age.sex: age.text for age in stated if age.sex}
    if patient.sex is None and (stated_sex := sex_in_words(patient)):
        yield f"The sex was taken from “{sexes[stated_sex]}”."
    for sex, words in sexes.items():
        if patient.sex is not None and sex != patient.sex:
            yield f"The sex given is {patient.sex}, but a symptom says “{words}”; {patient.sex} was used."


def by_range(value: float | None, low: float | None, high: float | None) -> Flag | None:
    """How a value stands to its reference range; None where there is none."""
    if value is None or (low is None and high is None):
        return None
    return "low" if low is not None and value < low else "high" if high is not None and value > high else "normal"
