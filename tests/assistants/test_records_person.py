"""What a bundle holds besides facts of health is read and told: who the person is, letters, family, insurance."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.records.fhir_import import read_fhir
from citewell.app import build
from citewell.config import Settings
from citewell.types import Source, User
from citewell.vaults.ask import make_record_service
from citewell.vaults.health_record import Record

LETTER = "# Plan\n\nWalk for thirty minutes every day.\n\nThe eye clinic will write to you."
ENTRIES: tuple[dict[str, Any], ...] = (
    {
        "resourceType": "Patient",
        "id": "p1",
        "name": [{"family": "Roe", "given": ["Anneliese"]}, {"use": "maiden", "family": "Doe", "given": ["Anneliese"]}],
        "birthDate": "1950-02-03",
        "identifier": [{"type": {"text": "Medical Record Number"}, "value": "MRN-77"}, {"value": "no-kind"}],
        "telecom": [{"system": "phone", "value": "555-0100"}],
        "address": [{"line": ["4 Mill Lane"], "city": "Leeds", "postalCode": "LS1 1AA"}],
        "maritalStatus": {"text": "M"},
        "contact": [
            {
                "relationship": [{"text": "Emergency contact"}],
                "name": {"text": "Tom Roe"},
                "telecom": [{"value": "555-0199"}],
            }
        ],
    },
    {
        "resourceType": "FamilyMemberHistory",
        "id": "f1",
        "status": "completed",
        "relationship": {"text": "father"},
        "condition": [{"code": {"text": "Bowel cancer"}, "onsetAge": {"value": 61, "code": "a"}}],
    },
    {
        "resourceType": "Coverage",
        "id": "c1",
        "status": "active",
        "payor": [{"display": "Aviva"}],
        "subscriberId": "A-9",
    },
    {
        "resourceType": "DocumentReference",
        "id": "d1",
        "status": "current",
        "date": "2024-05-02",
        "type": {"text": "Discharge letter"},
        "content": [
            {"attachment": {"contentType": "text/plain", "data": base64.b64encode(LETTER.encode()).decode()}},
            {"attachment": {"contentType": "application/pdf", "data": "AAAA", "title": "Scan"}},
        ],
    },
    {
        "resourceType": "Encounter",
        "id": "e1",
        "status": "finished",
        "class": {"code": "IMP"},
        "type": [{"text": "Hospital stay"}],
        "period": {"start": "2024-04-28T10:00:00+00:00", "end": "2024-05-02T09:00:00+00:00"},
    },
)


def bundle() -> bytes:
    entries = [{"resource": one} for one in ENTRIES]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[Record]:
    with build(Settings(home=tmp_path_factory.mktemp("person"))) as app:
        app.__dict__["embedder"] = embedder
        made = Record(app)
        made.import_source(Source(bundle(), "hospital.json"))
        yield made


def answer(record: Record, question: str) -> str:
    service = make_record_service(record._app, record.facts)
    return service.answer(question, asker=User.owner(record.scope)).answer.text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("whats my mrn", "MRN-77"),
        ("what phone number do you have for me", "555-0100"),
        ("my home adress?", "4 Mill Lane, Leeds, LS1 1AA"),
        ("am i married", "married"),
        ("who should be called in an emergency", "Tom Roe, 555-0199"),
        ("what was my maiden name", "Anneliese Doe"),
        ("who is my health insurance with", "Aviva"),
        ("does cancer run in the family", "Bowel cancer (at 61 years)"),
        ("how long was anneliese in hospital", "4 days"),
    ],
)
def test_what_is_asked_of_the_person_is_told(record: Record, question: str, said: str) -> None:
    assert said in answer(record, question)


def test_numbers_are_told_only_where_they_are_asked_for(record: Record) -> None:
    told = answer(record, "how old am i")
    assert "born 3 February 1950" in told
    assert "MRN-77" not in told


def test_letters_inside_a_bundle_are_read_and_other_files_are_named(record: Record) -> None:
    text = read_fhir(bundle()).document.text
    assert "Walk for thirty minutes every day." in text
    assert "Scan, 2 May 2024" in text
    assert "(application/pdf) is not text, so it was not read" in text
    assert "thirty minutes" in answer(record, "what did the discharge letter say about walking")
