"""Patients just inside a rule, just outside it, or with a fact unknown get exactly that state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citewell.assistants.guidelines.evaluate import evaluate
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.read_patient import patient_from

FILE = Path(__file__).parent / "golden" / "ng12-cases.tsv"
CASES = [line.split("\t") for line in FILE.read_text("utf-8").splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize(("rule", "expected", "why", "patient"), CASES, ids=[f"{one[0]}: {one[2]}" for one in CASES])
def test_a_rule_and_a_patient_give_the_state(ng12: Guideline, rule: str, expected: str, why: str, patient: str) -> None:
    criteria = ng12.by_id[rule].criteria
    assert criteria is not None, why
    assert evaluate(criteria, PatientRecord(patient_from(json.loads(patient))), ng12).state.value == expected


def test_there_are_three_cases_for_each_of_twenty_rules_at_least() -> None:
    states: dict[str, set[str]] = {}
    for rule, expected, *_ in CASES:
        states.setdefault(rule, set()).add("inside" if expected in ("met", "assumed") else expected)
    assert sum(found == {"inside", "not met", "unknown"} for found in states.values()) >= 20
