"""What a model proposes from a paper stands only where the paper's own words hold it, and waits to be confirmed."""

from __future__ import annotations

import json

import pytest

from citewell.app import App
from citewell.assistants.records.propose import PART_CHARACTERS, propose
from citewell.errors import InputError
from citewell.types import Source
from citewell.types.facts import Allergy, Diagnosis, LabResult, Medication, MedicationStatus
from citewell.vaults.health_record import Record

LETTER = (
    "Mrs Roe takes Warfarin 5 mg once a day.\nMetformin was stopped in May.\nNo allergy to penicillin is known.\n"
    "She reacts to latex with a rash.\nPotassium was 4.1 mmol/L.\nAsthma since childhood.\n"
)


def line(kind: str, name: str, quote: str, **fields: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "quote": quote, **fields}


def told(*lines: object) -> str:
    return f"Here you are:\n{json.dumps({'facts': list(lines)})}"


def test_only_what_the_words_of_the_paper_hold_is_kept_with_its_span() -> None:
    reply = told(
        line("medication", "warfarin", "Warfarin 5 mg once a day", dose="5 mg", frequency="twice a day"),
        line("medication", "Metformin", "Metformin was stopped in May", dose="500 mg"),
        line("allergy", "latex", "reacts to  latex with a rash", reaction="rash"),
        line("allergy", "penicillin", "No allergy to penicillin is known"),  # it is denied
        line("result", "Potassium", "Potassium was 4.1 mmol/L", value="4.1", unit="mmol/L"),
        line("diagnosis", "Asthma", "Asthma since childhood"),
        line("medication", "Digoxin", "Digoxin 0.125 mg"),  # it is nowhere
        line("medication", "Digoxin", "Warfarin 5 mg"),  # it is not in its quote
        line("procedure", "Asthma", "Asthma since childhood"),  # nobody asked for it
        "nonsense",
    )
    found = propose(LETTER, "d1", ask=lambda _part: reply)
    assert found.dropped == 4
    warfarin, metformin, latex, potassium, asthma = found.facts
    assert isinstance(warfarin, Medication)
    assert (warfarin.dose, warfarin.frequency) == ("5 mg", None)
    assert isinstance(metformin, Medication)
    assert (metformin.dose, metformin.status) == (None, MedicationStatus.STOPPED)
    assert isinstance(latex, Allergy)
    assert latex.reaction == "rash"
    assert isinstance(potassium, LabResult)
    assert (potassium.value, potassium.unit) == (4.1, "mmol/L")
    assert isinstance(asthma, Diagnosis)
    spans = [LETTER[one.origin.start : one.origin.end] for one in found.facts]
    assert spans[:3] == ["Warfarin 5 mg once a day", "Metformin was stopped in May", "reacts to latex with a rash"]
    assert [one.is_verified for one in found.facts] == [False] * 5
    assert propose(LETTER, "d1", ask=lambda _part: reply).facts == found.facts


@pytest.mark.parametrize("reply", ["", "I cannot do that.", "{", "[]", '{"facts": 3}', '{"facts": [{"kind": null}]}'])
def test_a_reply_that_cannot_be_read_proposes_nothing(reply: str) -> None:
    assert propose(LETTER, "d1", ask=lambda _part: reply).facts == ()


def test_a_long_paper_is_read_in_parts_that_lose_nothing() -> None:
    text = "".join(f"Line {number} of a letter.\n" for number in range(400)) + "Asthma since childhood."
    parts: list[str] = []

    def ask(part: str) -> str:
        parts.append(part)
        return told(line("diagnosis", "Asthma", "Asthma since childhood"))

    (found,) = propose(text, "d1", ask=ask).facts
    assert text[found.origin.start : found.origin.end] == "Asthma since childhood"
    assert len(parts) > 3
    assert max(len(part) for part in parts) <= PART_CHARACTERS + 30
    assert sum(part.count("Line ") for part in parts) == 400


def test_without_a_model_nothing_is_proposed_and_it_says_what_to_do(app: App) -> None:
    record = Record(app)
    added = record.import_source(Source(LETTER.encode(), "letter.txt")).added
    assert added is not None
    with pytest.raises(InputError, match="CITEWELL_MODEL"):
        record.propose(added.entry.id)
