"""What the pages of guidelines show: a patient as typed, and the way to each rule of an assessment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.read_patient import patient_from, patients_from_json
from citewell.errors import InputError
from citewell.web.source_highlights import SourceTarget

CONDITIONS = {
    "met": ("✓", "met", "good"),
    "assumed": ("≈", "assumed, please confirm", "busy"),
    "not met": ("✗", "not met", "bad"),
    "unknown": ("?", "not known", "wait"),
}
"""The mark of a condition's state, its words, and the colour it has."""

LEVELS = {
    "Urgent Referral": "bad",
    "Urgent Investigation": "bad",
    "Consider Referral": "busy",
    "Investigation": "busy",
}
"""The colour of a risk level; none of them is calm."""

UNNAMED = "unnamed"
"""The id of a patient who was given none."""
SMOKING = ("", "Never smoked", "Ex-smoker", "Current smoker")
_RESULT = re.compile(
    r"(?P<name>[\d\s]*+[^\d\s](?:.*?(?<![\s:=]))??)[\s:=]++(?P<value>-?\d+(?:\.\d+)?)\s*+(?P<unit>[^\s\d].*)?"
)
_WORDS = re.compile(r"(?P<name>[^:=]+)[:=]\s*(?P<text>.+)")


@dataclass(frozen=True, slots=True)
class TypedPatient:
    """A patient as typed into the form, so that nothing is lost when something is wrong."""

    patient_id: str = ""
    age: str = ""
    sex: str = ""
    smoking: str = ""
    days: str = ""
    symptoms: str = ""
    tests: str = ""
    exposures: str = ""
    organs: str = ""
    pasted: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> TypedPatient:
        """What a form sent."""
        return cls(**{field.name: str(given.get(field.name, "")) for field in fields(cls)})

    @classmethod
    def from_patient(cls, patient: Mapping[str, Any]) -> TypedPatient:
        """A patient as an assessment repeats it, to be changed and assessed again."""
        durations = {complaint["duration_days"] for complaint in patient["complaints"]}
        shared = durations.pop() if len(durations) == 1 else None
        smoking = (patient["smoking"] or "").casefold()
        return cls(
            patient_id="" if patient["id"] == UNNAMED else patient["id"],
            age="" if patient["age"] is None else f"{patient['age']:g}",
            sex=patient["sex"] or "",
            smoking=next((one for one in SMOKING if one.casefold() == smoking), ""),
            days="" if shared is None else f"{shared:g}",
            symptoms="\n".join(_told(complaint, shared) for complaint in patient["complaints"]),
            tests="\n".join(_result(test) for test in patient["tests"]),
            exposures="\n".join(patient["exposures"]),
            organs="\n".join(patient["organs"]),
        )

    @property
    def facts(self) -> list[str]:
        """The patient in a few words, for the head of a result."""
        days = f"symptoms for {self.days} {'day' if self.days == '1' else 'days'}" if self.days else ""
        age = f"{self.age} years" if self.age else "Age not recorded"
        known = (age, self.sex or "sex not recorded", self.smoking, days)
        lines = (self.symptoms, self.tests, self.exposures, self.organs)
        return [*filter(None, known), *(line for text in lines for line in _lines(text))]

    def patient(self) -> PatientInput:
        """The patient that was typed; a line is one symptom, test or exposure."""
        if self.pasted.strip():
            patient_inputs = patients_from_json(self.pasted)
            if len(patient_inputs) > 1:
                raise InputError("Paste one patient at a time.")
            return patient_inputs[0]
        return patient_from(
            {
                "patient_id": self.patient_id.strip() or None,
                "age": _number(self.age, "age"),
                "gender": self.sex or None,
                "smoking_history": self.smoking or None,
                "symptom_duration_days": _number(self.days, "number of days"),
                "symptoms": _lines(self.symptoms),
                "tests": [result_from(line) for line in _lines(self.tests)],
                "exposures": _lines(self.exposures),
                "organs": _lines(self.organs),
            }
        )


def _told(complaint: Mapping[str, Any], shared: float | None) -> str:
    """A symptom as a line of the form, with how long it has lasted where the others lasted differently."""
    days = complaint["duration_days"]
    return str(complaint["text"]) if days is None or shared is not None else f"{complaint['text']} for {days:g} days"


def _result(test: Mapping[str, Any]) -> str:
    """A test result as a line of the form.

    >>> _result({"name": "PSA", "value": 4.6, "unit": "ng/mL", "text": None})
    'PSA 4.6 ng/mL'
    """
    if test["value"] is None:
        return f"{test['name']}: {test['text'] or ''}".strip()
    return " ".join(str(part) for part in (test["name"], f"{test['value']:g}", test["unit"]) if part)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _number(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"Enter the {name} in digits.") from error


def result_from(line: str) -> dict[str, Any]:
    """A line of the form as a test result.

    >>> result_from("PSA 4.6 ng/mL"), result_from("CA125: 40")
    ({'name': 'PSA', 'value': 4.6, 'unit': 'ng/mL'}, {'name': 'CA125', 'value': 40.0, 'unit': None})
    >>> result_from("chest X-ray: suggests cancer")
    {'name': 'chest X-ray', 'text': 'suggests cancer'}
    """
    if measured := _RESULT.fullmatch(line):
        return {"name": measured["name"], "value": float(measured["value"]), "unit": measured["unit"]}
    if match := _WORDS.fullmatch(line):
        return {"name": match["name"].strip(), "text": match["text"]}
    raise InputError(
        f"“{line[:60]}” could not be read as a test result. Enter it like “PSA 4.6 ng/mL” or “chest X-ray: normal”."
    )


# ------------------------------------------------------------------------------------------------------ an assessment


@dataclass(frozen=True, slots=True)
class RuleLink:
    """The way to the words of a rule."""

    document_id: str
    query: str
    label: str


def rule_links(entry: Mapping[str, Any], guidelines: Iterable[Guideline]) -> dict[tuple[str, str], RuleLink]:
    """The way to every rule that an assessment names, by guideline and number; none to what is no longer here."""
    links = {}
    for guideline in guidelines:
        for group in ("matched", "near_misses"):
            for one in entry[group]:
                rule = guideline.by_id.get(one["rule"]) if one["guideline"] == guideline.name else None
                if rule is not None and guideline.entry is not None:
                    query = SourceTarget(None, rule.start, rule.end).query
                    label = f"{guideline.name} §{rule.id}, p.{rule.page}"
                    links[guideline.name, rule.id] = RuleLink(guideline.entry.id, query, label)
    return links
