"""The index by symptom says the same as the rules in other words: a patient of a row meets the rules it names."""

from __future__ import annotations

import re

import pytest

from citewell.assistants.guidelines.evaluate import evaluate
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.guideline import Guideline, SymptomRow
from citewell.assistants.guidelines.patient import Complaint, PatientInput

_WHOM = re.compile(
    r",?\s*(?:in (?:women|men|adults|children(?: and young people)?)\b)?,?\s*(?:especially if )?"
    r"(?:\d+ and over|under \d+)"
    r"|, (?:ever|never) smoked|, exposed to asbestos|\bin (?:women|men|adults|children and young people|children)\b"
)

EXPLAINED = {
    (42, "1.3.5"),  # two words printed as one
    (46, "1.8.3"),  # two words printed as one
    (46, "1.8.4"),
    (48, "1.8.4"),  # the rule asks what a dentist found, the row does not say
    (56, "1.8.3"),  # “oral cavity red or red and white patch”: no record is worded so
    (56, "1.8.4"),
    (57, "1.7.1"),  # a score is a result, not a symptom
    (58, "1.7.6"),  # worry about a delay needs reading
    (59, "1.6.4"),  # “either without infection or after treatment”: no record is worded so; it is asked about
    (59, "1.6.6"),
    (63, "1.5.2"),  # the guideline's own slip: fatigue is in 1.5.3, which is met
    (69, "1.10.6"),  # the rule asks for results that suggest myeloma, the row names single results
    (69, "1.6.3"),  # a threshold by age needs a number
    (70, "1.5.7"),  # a threshold needs a number
    (71, "1.3.2"),  # a threshold needs a number
    (72, "1.5.8"),  # the row does not say that it is about women
    (72, "1.11.5"),  # two words printed as one
    (73, "1.10.6"),  # “is not available” is read as a denial
    (81, "1.13.1"),  # a parent's concern needs reading
}


def _patient(row: SymptomRow, *, years: int = 0) -> PatientInput:
    """Someone whom the row describes; `years` makes them younger."""
    text = row.symptom
    low, under = re.search(r"(\d+) and over", text), re.search(r"under (\d+)", text)
    age = int(low.group(1)) if low else int(under.group(1)) - 1 if under else 10 if "child" in text else 45
    is_woman = re.search(r"\bwomen\b|vulval|vagin|cervix", text, re.IGNORECASE)
    is_man = re.search(r"\bmen\b|prostate|testi|penile", text, re.IGNORECASE)
    smoking = "Never smoked" if "never smoked" in text else "Current smoker" if "ever smoked" in text else None
    return PatientInput(
        "row",
        age=age - years,
        sex="female" if is_woman else "male" if is_man else None,
        smoking=smoking,
        exposures=("exposed to asbestos",) if "asbestos" in text else (),
        complaints=(Complaint(_WHOM.sub("", text)),),
    )


def _state(guideline: Guideline, rule: str, patient: PatientInput) -> str | None:
    criteria = guideline.by_id[rule].criteria
    return None if criteria is None else evaluate(criteria, PatientRecord(patient), guideline).state.value


@pytest.mark.slow
def test_a_patient_of_a_row_meets_the_rules_that_it_refers_to(ng12: Guideline) -> None:
    missed = {
        (row.page, rule)
        for row in ng12.symptoms
        for rule in row.references
        if _state(ng12, rule, _patient(row)) not in ("met", "assumed", None)
    }
    assert missed <= EXPLAINED


def test_a_year_younger_than_the_row_says_is_outside_the_rule(ng12: Guideline) -> None:
    aged = [row for row in ng12.symptoms if re.search(r"\d+ and over", row.symptom) and "especially" not in row.symptom]
    wrong = [
        (row.page, rule, row.symptom)
        for row in aged
        for rule in row.references
        if rule in SINGLE_AGE and _state(ng12, rule, _patient(row, years=1)) in ("met", "assumed")
    ]
    assert len(aged) > 60
    assert wrong == []


SINGLE_AGE = {
    "1.1.2",
    "1.1.3",
    "1.1.5",
    "1.1.6",
    "1.2.3",
    "1.2.4",
    "1.2.5",
    "1.2.9",
    "1.5.10",
    "1.5.12",
    "1.6.5",
    "1.6.6",
    "1.8.1",
}
"""Rules all of whose branches start at the same age."""
