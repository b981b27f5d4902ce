"""FHIR bundles become one readable document and facts that point at its lines; broken ones change nothing."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.records.fact_columns import columns_of
from citewell.adapters.records.facts import SqlFacts
from citewell.adapters.records.fhir_import import read_fhir
from citewell.app import App
from citewell.errors import DamagedFile, DiskFull, InputError
from citewell.ingest.media_types import FHIR, sniff
from citewell.ports.records import FactCounts
from citewell.types import Source
from citewell.types.facts import (
    Allergy,
    Diagnosis,
    DiagnosisStatus,
    FactOrigin,
    Flag,
    FrequencyType,
    LabResult,
    Medication,
    MedicationStatus,
    RecordOwner,
    Severity,
)
from citewell.types.facts_json import fact_json, read_fact
from citewell.types.facts_line import line_of
from citewell.vaults.health_record import Record

DOCTOR = {"resourceType": "Practitioner", "id": "d1", "name": [{"family": "Chen", "given": ["Li"], "prefix": ["Dr."]}]}
PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "name": [{"family": "Roe", "given": ["Ann"]}],
    "birthDate": "1950-02-03",
}
WARFARIN = {
    "resourceType": "MedicationRequest",
    "id": "m1",
    "status": "active",
    "authoredOn": "2015-03-12",
    "medicationCodeableConcept": {
        "coding": [{"code": "855332"}],
        "text": "Warfarin Sodium 5 MG Oral Tablet [Coumadin]",
    },
    "requester": {"reference": "urn:uuid:d1"},
    "reasonReference": [{"reference": "Condition/c1"}],
    "dosageInstruction": [
        {"timing": {"repeat": {"frequency": 1, "period": 1, "periodUnit": "d"}}, "asNeededBoolean": False}
    ],
}
FIBRILLATION = {
    "resourceType": "Condition",
    "id": "c1",
    "code": {"text": "Atrial fibrillation (disorder)"},
    "onsetDateTime": "2015",
    "clinicalStatus": {"coding": [{"code": "active"}]},
    "verificationStatus": {"coding": [{"code": "provisional"}]},
}
PENICILLIN = {
    "resourceType": "AllergyIntolerance",
    "id": "a1",
    "code": {"text": "Penicillin V"},
    "clinicalStatus": {"coding": [{"code": "active"}]},
    "reaction": [
        {"manifestation": [{"text": "Rash"}], "severity": "mild"},
        {"manifestation": [{"text": "Anaphylaxis"}]},
    ],
}
INR = {
    "resourceType": "Observation",
    "id": "o1",
    "status": "final",
    "code": {"text": "INR"},
    "category": [{"coding": [{"code": "laboratory"}]}],
    "effectiveDateTime": "2024-05-01T08:00:00+02:00",
    "valueQuantity": {"value": 9.1},
    "interpretation": [{"coding": [{"code": "HH"}]}],
    "referenceRange": [{"low": {"value": 2}, "high": {"value": 3}}],
}
MISTAKE = {**FIBRILLATION, "id": "c2", "verificationStatus": {"coding": [{"code": "entered-in-error"}]}}
ALL = [PATIENT, DOCTOR, WARFARIN, FIBRILLATION, PENICILLIN, INR, MISTAKE]


def bundle(*resources: dict[str, Any]) -> bytes:
    entries = [{"fullUrl": f"urn:uuid:{one.get('id')}", "resource": one} for one in resources]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


@pytest.fixture
def record(app: App) -> Record:
    return Record(app)


def test_every_kind_of_entry_is_read_with_its_fields() -> None:
    told = {fact.kind: fact for fact in read_fhir(bundle(*ALL)).facts}
    assert set(told) == {"person", "professional", "medication", "diagnosis", "allergy", "result"}
    medication, allergy, result, person = told["medication"], told["allergy"], told["result"], told["person"]
    diagnosis = told["diagnosis"]
    assert isinstance(medication, Medication)
    assert (
        medication.generic_name,
        medication.brand_name,
        medication.dose,
        medication.route,
        medication.frequency,
    ) == (
        "Warfarin Sodium",
        "Coumadin",
        "5 mg",
        "oral",
        "once a day",
    )
    assert (medication.status, medication.frequency_type) == (MedicationStatus.ACTIVE, FrequencyType.SCHEDULED)
    assert (medication.prescriber, medication.reason_start) == ("Dr. Li Chen", "Atrial fibrillation")
    assert isinstance(allergy, Allergy)
    assert (allergy.allergen, allergy.reaction, allergy.severity, allergy.is_active) == (
        "Penicillin V",
        "Rash, Anaphylaxis",
        Severity.LIFE_THREATENING,
        True,
    )
    assert isinstance(result, LabResult)
    assert (result.value, result.range_low, result.range_high, result.flag) == (9.1, 2.0, 3.0, Flag.CRITICAL_HIGH)
    assert isinstance(diagnosis, Diagnosis)
    assert (diagnosis.name, diagnosis.status, diagnosis.is_verified) == (
        "Atrial fibrillation",
        DiagnosisStatus.ACTIVE,
        False,
    )
    assert isinstance(person, RecordOwner)
    assert (person.name, person.born and person.born.text) == ("Ann Roe", "1950-02-03")


def test_every_fact_points_at_its_own_line_of_the_document() -> None:
    told = read_fhir(bundle(*ALL))
    for fact in told.read_from("doc"):
        assert fact.origin.via is FactOrigin.DOCUMENT
        assert told.document.text[fact.origin.start : fact.origin.end] == line_of(fact)
    assert told.document.title == "Health record of Ann Roe"
    assert [note for note in told.document.notes if "does not" in note or "refuted" in note] == [
        "1 entries were left out because the record itself marks them as an error or refuted."
    ]


def without(resource: dict[str, Any], *names: str, **fields: Any) -> dict[str, Any]:
    return {name: value for name, value in {**resource, **fields}.items() if name not in names}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (without(WARFARIN, status="sometimes"), "its status is not one that FHIR R4 defines"),
        (without(WARFARIN, "medicationCodeableConcept"), "it does not say what it is about"),
        (without(INR, effectiveDateTime="soon"), "Enter a date as 2015"),
        (without(INR, "code"), "it does not say what it is about"),
        (without(INR, valueQuantity={"value": "nine"}), "could not convert|wrong"),
        (without(PENICILLIN, reaction=["rash"]), "a part of it is missing or misplaced"),
        (without(FIBRILLATION, clinicalStatus={"coding": [{"code": "perhaps"}]}), "its status is not one"),
    ],
)
def test_a_broken_entry_is_named_and_the_rest_is_imported(record: Record, wrong: dict[str, Any], why: str) -> None:
    source = Source(bundle(PATIENT, DOCTOR, without(FIBRILLATION, id="c9"), wrong), "record.json")
    imported = record.import_source(source)
    assert (imported.change, imported.left_out) == (FactCounts(added=3), 1)
    lead, named, *_ = imported.added.entry.notes
    assert lead == "1 entry is invalid and was not imported, so this record is incomplete:"
    assert re.fullmatch(rf"Entry 4 \({wrong['resourceType']}\) is invalid: .*(?:{why}).*\.", named)
    assert {fact.kind for fact in record.facts.all(record.scope)} == {"person", "professional", "diagnosis"}


def test_what_fhir_only_prefers_is_read_and_noted() -> None:
    odd = without(INR, category=[{"coding": [{"code": "vital-sign"}]}])
    lost = without(WARFARIN, requester={"reference": "urn:uuid:nobody"})
    told = read_fhir(bundle(PATIENT, odd, lost))
    results = [fact for fact in told.facts if isinstance(fact, LabResult)]
    assert [(result.value, result.category) for result in results] == [(9.1, None)]
    assert [fact.prescriber for fact in told.facts if isinstance(fact, Medication)] == [None]
    assert told.left_out == 0
    assert [note for note in told.document.notes if "preferred" in note or "not in the file" in note] == [
        "Some results were imported without a category because its code is not on FHIR's preferred list: "
        "“vital-sign” (1).",
        "1 entry refers to something that is not in the file, so some names may be missing.",
    ]


def test_a_code_without_a_name_is_read_and_waits() -> None:
    pulse = without(INR, id="o2", code={"coding": [{"system": "http://loinc.org", "code": "8867-4"}]})
    bare = without(FIBRILLATION, code={"coding": [{"system": "http://snomed.info/sct", "code": "49436004"}]})
    facts = {fact.kind: fact for fact in read_fhir(bundle(PATIENT, pulse, bare)).facts}
    result, diagnosis = facts["result"], facts["diagnosis"]
    assert isinstance(result, LabResult)
    assert isinstance(diagnosis, Diagnosis)
    assert (result.test_name, result.is_verified) == ("Heart rate", True)
    assert (diagnosis.name, diagnosis.is_verified) == ("SNOMED CT 49436004", False)


def test_references_lead_to_what_is_contained_and_past_versions_and_servers() -> None:
    medication = {"resourceType": "Medication", "id": "m", "code": {"text": "Digoxin 0.25 MG Oral Tablet"}}
    order = {
        **without(WARFARIN, "medicationCodeableConcept"),
        "medicationReference": {"reference": "#m"},
        "contained": [medication],
        "requester": {"reference": "https://other.example/r4/Practitioner/d1/_history/2"},
    }
    (found,) = (fact for fact in read_fhir(bundle(PATIENT, DOCTOR, order)).facts if isinstance(fact, Medication))
    assert (found.generic_name, found.prescriber) == ("Digoxin", "Dr. Li Chen")


@pytest.mark.parametrize(
    ("name", "dosage", "expected"),
    [
        ("Insulin glargine 100 UNT/ML Injectable Solution", {}, (None, None)),
        (
            "Insulin glargine 100 UNT/ML Injectable Solution",
            {"doseAndRate": [{"doseQuantity": {"value": 20, "unit": "[iU]"}}]},
            ("20 units", None),
        ),
        (
            "Metformin 500 MG Oral Tablet",
            {"doseAndRate": [{"doseQuantity": {"value": 2, "unit": "{tablet}"}}], "text": "with food"},
            ("500 mg", "2 tablets; with food"),
        ),
        (
            "Ibuprofen 200 MG Oral Tablet",
            {"doseAndRate": [{"doseRange": {"low": {"value": 1, "unit": "tablet"}, "high": {"value": 2}}}]},
            ("200 mg", "1 to 2 tablets"),
        ),
        ("Warfarin 5 MG Oral Tablet", {"doseAndRate": [{"doseQuantity": {"value": 1}}]}, ("5 mg", None)),
    ],
)
def test_the_dose_is_what_is_taken_and_never_a_concentration(
    name: str, dosage: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    order = without(WARFARIN, medicationCodeableConcept={"text": name}, dosageInstruction=[dosage])
    (found,) = (fact for fact in read_fhir(bundle(PATIENT, order)).facts if isinstance(fact, Medication))
    assert (found.dose, found.instructions) == expected


def test_bundles_in_bundles_lines_and_single_resources_are_read() -> None:
    inner = json.loads(bundle(*ALL))
    answered = {"resourceType": "Bundle", "type": "batch-response", "entry": [{"resource": inner}, {"response": {}}]}
    lines = "\n".join(json.dumps(one) for one in ALL).encode()
    expected = {fact.id for fact in read_fhir(bundle(*ALL)).facts}
    for data in (json.dumps(answered).encode(), lines):
        told = read_fhir(data)
        assert ({fact.id for fact in told.facts}, told.left_out) == (expected, 0)
    assert sniff(Source(lines, "all.ndjson")) == sniff(Source(json.dumps(PATIENT).encode(), "me.json")) == FHIR
    assert [fact.kind for fact in read_fhir(json.dumps(INR).encode()).facts] == ["result"]


def test_one_person_under_the_ids_of_two_hospitals_is_one() -> None:
    told = read_fhir(bundle(PATIENT, {**PATIENT, "id": "p2", "name": [{"text": "ROE, ANN"}]}, INR))
    assert [fact.kind for fact in told.facts] == ["person", "result"]


def test_what_a_summary_says_is_not_known_is_no_fact() -> None:
    def absent(code: str) -> dict[str, Any]:
        return {"coding": [{"code": code, "display": code.replace("-", " ")}]}

    told = read_fhir(
        bundle(
            PATIENT,
            without(WARFARIN, medicationCodeableConcept=absent("no-medication-info")),
            without(FIBRILLATION, code=absent("no-known-problems")),
            without(PENICILLIN, "reaction", code=absent("no-known-allergies")),
            {**PENICILLIN, "id": "a2", "code": absent("no-allergy-info")},
        )
    )
    assert [fact.kind for fact in told.facts] == ["person", "allergy"]
    assert [fact.allergen for fact in told.facts if isinstance(fact, Allergy) and not fact.is_active] == [
        "No known allergies"
    ]


def test_what_phones_and_old_portals_export_is_read_as_the_newer_release() -> None:
    order = {**without(WARFARIN, "authoredOn", "requester"), "resourceType": "MedicationOrder", "dateWritten": "2015"}
    allergy = {
        "resourceType": "AllergyIntolerance",
        "id": "a3",
        "substance": {"text": "Latex"},
        "status": "confirmed",
        "criticality": "CRITH",
    }
    gout = {"resourceType": "Condition", "id": "c3", "code": {"text": "Gout"}, "clinicalStatus": "resolved"}
    shot = {"resourceType": "Immunization", "id": "i1", "status": "completed", "vaccineCode": {"text": "Tetanus"},
            "date": "2016-05-01", "wasNotGiven": False}  # fmt: skip
    refused = {**shot, "id": "i2", "wasNotGiven": True}
    told = {fact.kind: fact for fact in read_fhir(bundle(PATIENT, order, allergy, gout, shot, refused)).facts}
    medicine, latex, diagnosis = told["medication"], told["allergy"], told["diagnosis"]
    assert isinstance(medicine, Medication)
    assert isinstance(latex, Allergy)
    assert isinstance(diagnosis, Diagnosis)
    assert medicine.start is not None
    assert (medicine.generic_name, medicine.start.text) == ("Warfarin Sodium", "2015")
    assert (latex.allergen, latex.is_active, diagnosis.status) == ("Latex", True, DiagnosisStatus.RESOLVED)
    assert "vaccination" in told


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"valueRange": {"low": {"value": 2, "unit": "mg"}, "high": {"value": 4, "unit": "mg"}}}, "2 mg to 4 mg"),
        ({"valueRatio": {"numerator": {"value": 1}, "denominator": {"value": 128}}}, "1:128"),
        ({"valueTime": "08:30:00"}, "08:30:00"),
        ({"valueCodeableConcept": {"coding": [{"system": "http://snomed.info/sct", "code": "10828004"}]}},
         "SNOMED CT 10828004"),
    ],
)  # fmt: skip
def test_values_that_are_no_quantity_are_told(value: dict[str, Any], words: str) -> None:
    (result,) = (fact for fact in read_fhir(bundle({**without(INR, "valueQuantity"), **value})).facts)
    assert isinstance(result, LabResult)
    assert (result.value, result.value_text) == (None, words)


def test_a_second_category_is_read_where_the_first_is_not_known() -> None:
    both = without(INR, category=[{"coding": [{"code": "odd"}, {"code": "vital-signs"}]}])
    (result,) = (fact for fact in read_fhir(bundle(both)).facts if isinstance(fact, LabResult))
    assert result.category == "vital-signs"


def test_a_broken_person_or_nothing_but_broken_entries_change_nothing(record: Record) -> None:
    for broken in (
        bundle({**PATIENT, "gender": "sometimes"}, FIBRILLATION),
        bundle({**FIBRILLATION, "onsetDateTime": "soon"}),
    ):
        with pytest.raises(DamagedFile, match=r"is invalid: .*\. Nothing was imported\."):
            record.import_source(Source(broken, "record.json"))
    assert (record.facts.all(record.scope), record._app.entries()) == ([], [])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"resourceType": "Bundle", "entry": [', "not complete JSON"),
        (
            rb'{"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient", "id": "\ud800"}}]}',
            "invalid character",
        ),
        (b'{"resourceType": "Bundle", "entry": {}}', "not a FHIR bundle with entries"),
        (b'{"resourceType": "Bundle", "entry": [{"fullUrl": "x"}]}', "Entry 1 of the bundle has no resource"),
        (b'{"resourceType": "Bundle", "entry": [7]}', "Entry 1 of the bundle has no resource"),
        (b'{"resourceType": "Bundle", "entry": ' + b"[" * 200_000, "not complete JSON"),
        (bundle(PATIENT, {**PATIENT, "id": "p2", "birthDate": "1950-02-04"}), "more than one person"),
    ],
)
def test_a_broken_bundle_says_what_is_wrong(record: Record, data: bytes, why: str) -> None:
    with pytest.raises(DamagedFile, match=why):
        record.import_source(Source(data, "record.json"))


WORDS = ("", " ", "\0", "\ud800", "|", "2015-02-30", "0001-01-01T00:00:00+14:00", "urn:uuid:nobody", "x" * 3000)
JUNK = st.sampled_from([None, 0, -1, 1e308, 10**400, True, [], {}, [[]], [None], [{}], {"a": 1}, *WORDS])


def places(held: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ()
    return [place for key, value in inner for place in ((*path, key), *places(value, (*path, key)))]


PLACES = places(ALL)


def has(held: Any, key: Any) -> bool:
    """Whether a place is still there, once something else was put where it was."""
    if isinstance(held, list):
        return isinstance(key, int) and key < len(held)
    return isinstance(held, dict) and key in held


@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=2))
def test_whatever_stands_in_a_bundle_it_is_read_or_refused(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    resources: Any = copy.deepcopy(ALL)
    for (*way, last), junk in changes:
        held = resources
        for key in way:
            held = held[key] if has(held, key) else {}
        if isinstance(held, dict) or has(held, last):
            held[last] = copy.deepcopy(junk)  # the same list twice could hold itself
    entries = [{"fullUrl": f"urn:uuid:{number}", "resource": one} for number, one in enumerate(resources)]
    data = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()
    try:
        told = read_fhir(data)
    except DamagedFile:
        return
    for fact in told.facts:
        assert columns_of(fact)["name"]
        assert fact_json(read_fact(fact_json(fact))) == fact_json(fact)


def test_two_things_of_one_name_are_told() -> None:
    told = read_fhir(bundle(FIBRILLATION, {**FIBRILLATION, "code": {"text": "Gout"}}))
    assert [fact.name for fact in told.facts if isinstance(fact, Diagnosis)] == ["Atrial fibrillation"]
    assert told.document.notes[1] == "Entry 2 (Condition) has the same ID as another entry."


def test_a_reference_out_of_the_file_is_no_error() -> None:
    away = {**WARFARIN, "requester": {"reference": "Practitioner/77", "display": "Dr. Elsewhere"}}
    (medication,) = (fact for fact in read_fhir(bundle(away, FIBRILLATION)).facts if isinstance(fact, Medication))
    assert medication.prescriber == "Dr. Elsewhere"


def test_the_same_bundle_twice_changes_nothing(record: Record) -> None:
    first = record.import_source(Source(bundle(*ALL), "record.json"))
    before = record.facts.all(record.scope)
    again = record.import_source(Source(bundle(*ALL), "other-name.json"))
    assert (first.added.was_there, first.change) == (False, FactCounts(added=6))
    assert (again.added.was_there, again.added.entry.id, again.change) == (
        True,
        first.added.entry.id,
        FactCounts(same=6),
    )
    assert record.facts.all(record.scope) == before


def test_facts_that_cannot_be_kept_leave_no_document_behind(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object) -> None:
        raise DiskFull("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(SqlFacts, "put_within", full)
        with pytest.raises(DiskFull):
            record.import_source(Source(bundle(*ALL), "record.json"))
    assert (record._app.entries(), record.facts.all(record.scope)) == ([], [])
    assert record.import_source(Source(bundle(*ALL), "record.json")).change == FactCounts(added=6)


def test_a_newer_bundle_changes_what_it_says_otherwise(record: Record) -> None:
    record.import_source(Source(bundle(*ALL), "record.json"))
    later = record.import_source(Source(bundle(*ALL[:2], {**WARFARIN, "status": "stopped"}, *ALL[3:]), "record.json"))
    assert later.change == FactCounts(changed=1, same=5)
    (medication,) = record.facts.all(record.scope, kind="medication")
    assert isinstance(medication, Medication)
    assert (medication.status, medication.origin.document_id) == (MedicationStatus.STOPPED, later.added.entry.id)
    assert [entry.version for entry in record._app.entries()] == [1, 1]  # two papers, not two versions of one


def test_a_newer_bundle_asks_before_it_changes_what_a_person_confirmed(record: Record) -> None:
    record.import_source(Source(bundle(*ALL), "record.json"))
    (guess,) = record.facts.unverified(record.scope)
    confirmed = record.facts.confirm(guess.id, record.scope)
    ended = {**FIBRILLATION, "abatementDateTime": "2026-01-01"}
    newer = Source(bundle(*(ended if one is FIBRILLATION else one for one in ALL)), "newer.json")
    assert record.import_source(newer).change == FactCounts(added=1, same=5)
    assert record.facts.one(guess.id, record.scope) == confirmed
    (waits,) = record.facts.unverified(record.scope)
    assert isinstance(waits, Diagnosis)
    assert (waits.name, waits.ended and waits.ended.text) == ("Atrial fibrillation", "2026-01-01")
    assert record.import_source(newer).change == FactCounts(same=6)


def test_the_words_of_a_fact_are_those_that_its_document_has(record: Record) -> None:
    entry = record.import_source(Source(bundle(*ALL), "record.json")).added.entry
    _entry, document, _chunks = record._app.library.opened(entry.id, record.scope)
    for fact in record.facts.all(record.scope):
        assert fact.origin.document_id == entry.id
        assert document.text[fact.origin.start : fact.origin.end] == line_of(fact)


def test_removing_a_document_removes_what_was_read_from_it(record: Record) -> None:
    entry = record.import_source(Source(bundle(*ALL), "record.json")).added.entry
    record._app.delete(entry.id)
    assert record.facts.all(record.scope) == []


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"birthDate": "1951-01-01"}, "date of birth"),
        ({"name": [{"family": "Roe", "given": ["Eve"]}]}, "name"),  # a twin
        ({"name": [{"family": "Hill", "given": ["Eve"]}]}, "name"),
    ],
)
def test_another_persons_bundle_is_refused(record: Record, other: dict[str, Any], what: str) -> None:
    record.import_source(Source(bundle(*ALL), "record.json"))
    file = bundle({**PATIENT, **other}, {**FIBRILLATION, "id": "c7"})
    with pytest.raises(InputError, match=f"The {what} in this file does not match"):
        record.import_source(Source(file, "other.json"))
    assert len(record.facts.all(record.scope)) == 6


def test_a_letter_is_a_document_without_facts(record: Record) -> None:
    for name in ("letter.txt", "letter.txt"):
        imported = record.import_source(Source(f"Dear Ann, {name}".encode() * 2, name))
    assert imported.change == FactCounts()
    assert [entry.subject for entry in record._app.entries()] == ["self"]


def test_json_that_is_no_bundle_is_text() -> None:
    assert sniff(Source(b'{"a": 1}', "a.json")) != FHIR
    assert sniff(Source(b'A letter about {"resourceType": "Bundle", "entry": []}', "a.txt")) != FHIR
    last = json.dumps(json.loads(bundle(*ALL * 9)), sort_keys=True).encode()  # what it is stands at its end
    assert last.index(b'"Bundle"') > 4000
    assert sniff(Source(last, "a.json")) == FHIR
    assert sniff(Source(b'\xef\xbb\xbf {\n "id": "x", "resourceType" : "Bundle", "entry": []}', "a.txt")) == FHIR


def test_counts_of_real_bundles_are_those_of_their_json(shared_data: Path) -> None:
    kinds = {
        "MedicationRequest": "medication",
        "AllergyIntolerance": "allergy",
        "Condition": "diagnosis",
        "Observation": "result",
        "Procedure": "procedure",
        "Encounter": "appointment",
    }
    for path in sorted((shared_data / "fhir").glob("*.json")):
        entries = [one["resource"]["resourceType"] for one in json.loads(path.read_bytes())["entry"]]
        expected = Counter(kinds[one] for one in entries if one in kinds)
        told = read_fhir(path.read_bytes())
        assert Counter(fact.kind for fact in told.facts if fact.kind in kinds.values()) == expected
        assert len(told.spans) == len(told.facts)
