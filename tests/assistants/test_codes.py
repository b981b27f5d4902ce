"""Codes of terminologies: kept from a record with their system, found when asked for, shown, and exported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from citewell.adapters.records.cda_import import read_cda
from citewell.adapters.records.facts import SqlFacts
from citewell.adapters.records.fhir_import import read_fhir
from citewell.adapters.records.fhir_ips_write import write_summary
from citewell.adapters.records.fhir_write import write_bundle
from citewell.api.app import create_app
from citewell.app import App
from citewell.assistants.guidelines.patient_fhir import patient_from_bundle
from citewell.types import ParseLimits, Source, User
from citewell.types.codes import HPO, ICD_10_CM, LOINC, RXNORM, SNOMED, Code
from citewell.types.facts import Diagnosis, Fact, LabResult, Medication
from citewell.vaults.ask import make_record_service
from citewell.vaults.health_record import Record
from citewell.web.records_things import thing_groups

pytestmark = pytest.mark.slow

TOKEN = "a-token-for-tests"


def concept(text: str | None, *codes: tuple[str, str]) -> dict[str, Any]:
    coding = [{"system": system, "code": code} for system, code in codes]
    return {"coding": coding} if text is None else {"coding": coding, "text": text}


ACTIVE = {"coding": [{"code": "active"}]}
PATIENT = {"resourceType": "Patient", "id": "p1", "name": [{"text": "Ann Roe"}], "birthDate": "1950-02-03"}
DIABETES = {
    "resourceType": "Condition",
    "id": "c1",
    "clinicalStatus": ACTIVE,
    "code": concept("Diabetes, type 2", (SNOMED, "44054006"), (ICD_10_CM, "E11.9")),
}
NAMELESS = {
    "resourceType": "Condition",
    "id": "c2",
    "clinicalStatus": ACTIVE,
    "code": concept(None, (ICD_10_CM, "M10.9")),
}
METFORMIN = {
    "resourceType": "MedicationRequest",
    "id": "m1",
    "status": "active",
    "intent": "order",
    "medicationCodeableConcept": concept("Metformin 500 MG Oral Tablet", (RXNORM, "861007")),
}
HBA1C = {
    "resourceType": "Observation",
    "id": "o1",
    "status": "final",
    "code": concept("Hemoglobin A1c", (LOINC, "4548-4")),
    "valueQuantity": {"value": 61, "unit": "mmol/mol"},
    "effectiveDateTime": "2026-10-01",
}
RESOURCES = [PATIENT, DIABETES, NAMELESS, METFORMIN, HBA1C]


def bundle(*resources: dict[str, Any]) -> bytes:
    entries = [{"resource": one} for one in resources]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()


@pytest.fixture
def record(app: App) -> Record:
    made = Record(app)
    made.import_source(Source(bundle(*RESOURCES), "record.json"))
    return made


def codings(written: bytes) -> set[tuple[str, str]]:
    """Every coding of the facts in a bundle, by its text on JSON's own terms."""

    def walk(node: Any) -> Iterator[tuple[str, str]]:
        if isinstance(node, dict):
            if {"system", "code"} <= node.keys():
                yield node["system"], node["code"]
            for one in node.values():
                yield from walk(one)
        for one in node if isinstance(node, list) else ():
            yield from walk(one)

    return set(walk(json.loads(written)))


ALL = {(SNOMED, "44054006"), (ICD_10_CM, "E11.9"), (ICD_10_CM, "M10.9"), (RXNORM, "861007"), (LOINC, "4548-4")}


def test_every_code_of_a_record_is_kept_with_its_terminology_and_written_into_exports() -> None:
    facts = read_fhir(bundle(*RESOURCES)).facts
    diabetes = next(fact for fact in facts if isinstance(fact, Diagnosis) and fact.name.startswith("Diabetes"))
    assert (diabetes.code, diabetes.codes) == ("44054006", (Code(SNOMED, "44054006"), Code(ICD_10_CM, "E11.9")))
    assert codings(write_summary("r1", facts)) >= ALL
    whole = write_bundle("r1", facts, [])
    assert codings(whole) >= ALL
    assert {fact.id: fact.codes for fact in read_fhir(whole).facts} == {fact.id: fact.codes for fact in facts}


def test_a_code_of_icd_10_cm_without_a_name_gets_its_name() -> None:
    facts = read_fhir(bundle(*RESOURCES)).facts
    gout = next(fact for fact in facts if isinstance(fact, Diagnosis) and fact.code == "M10.9")
    assert (gout.name, gout.is_verified) == ("Gout, unspecified", True)
    unknown = {**NAMELESS, "code": concept(None, (ICD_10_CM, "M10.999"))}
    (strange,) = [fact for fact in read_fhir(bundle(PATIENT, unknown)).facts if isinstance(fact, Diagnosis)]
    assert (strange.name, strange.is_verified) == ("ICD-10-CM M10.999", False)


def test_a_condition_with_a_code_alone_is_compared_with_guidelines_by_its_name() -> None:
    patient = patient_from_bundle(json.loads(bundle(PATIENT, NAMELESS)))
    assert [complaint.text for complaint in patient.complaints] == ["Gout, unspecified"]


CDA = """<ClinicalDocument xmlns="urn:hl7-org:v3"><title>Summary</title><effectiveTime value="20200101"/>
<component><structuredBody><component><section><code code="11450-4"/><title>Problems</title>
<text><list><item>Diabetes type 2</item></list></text><entry>
<act classCode="ACT" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.3"/><id root="1.2.3" extension="a"/>
<statusCode code="active"/><entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN">
<templateId root="2.16.840.1.113883.10.20.22.4.4"/><id root="1.2.3" extension="b"/><statusCode code="completed"/>
<value xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CD" code="44054006"
codeSystem="2.16.840.1.113883.6.96" displayName="Diabetes type 2">
<translation code="E11.9" codeSystem="2.16.840.1.113883.6.90"/></value></observation></entryRelationship></act>
</entry></section></component></structuredBody></component></ClinicalDocument>"""


def test_codes_of_a_c_cda_document_are_kept_with_those_of_their_translations() -> None:
    facts = read_cda(Source(CDA.encode(), "summary.xml"), ParseLimits()).facts
    (diabetes,) = [fact for fact in facts if isinstance(fact, Diagnosis)]
    assert diabetes.codes == (Code(SNOMED, "44054006"), Code(ICD_10_CM, "E11.9"))


@pytest.mark.parametrize(
    ("question", "words", "other"),
    [
        ("E11.9", "Diabetes, type 2", "Gout"),
        ("What is 4548-4?", "Hemoglobin A1c", "Gout"),
        ("861007", "Metformin", "Gout"),
        ("Do I have m10.9?", "Gout", "Diabetes"),
    ],
)
def test_a_code_in_a_question_finds_its_fact(record: Record, app: App, question: str, words: str, other: str) -> None:
    answer = make_record_service(app, record.facts).answer(question, asker=User.owner(record.scope)).answer
    assert words in answer.text
    assert other not in answer.text


def test_a_code_that_no_fact_has_finds_none(record: Record, app: App) -> None:
    answer = make_record_service(app, record.facts).answer("J45.909", asker=User.owner(record.scope)).answer
    assert not any(name in answer.text for name in ("Diabetes", "Gout", "Metformin", "Hemoglobin"))


def test_a_number_or_a_year_is_no_code(record: Record, app: App) -> None:
    influenza = {
        "resourceType": "Immunization",
        "id": "i1",
        "status": "completed",
        "vaccineCode": concept("Influenza, seasonal", ("http://hl7.org/fhir/sid/cvx", "140")),
        "occurrenceDateTime": "2025-10-01",
    }
    record.import_source(Source(bundle(PATIENT, influenza), "more.json"))
    answer = make_record_service(app, record.facts).answer("Was my HbA1c over 140?", asker=User.owner(record.scope))
    assert "Influenza" not in answer.answer.text


def test_codes_are_found_by_lookup_too(record: Record, app: App) -> None:
    facts = SqlFacts(app.library.engine, app.library.path)
    assert [one.test_name for one in facts.trend("4548-4", record.scope)] == ["Hemoglobin A1c"]


def test_the_same_record_again_and_one_of_an_earlier_version_change_nothing(record: Record, app: App) -> None:
    facts = SqlFacts(app.library.engine, app.library.path)
    before = [fact for fact in facts.all(record.scope) if isinstance(fact, Diagnosis | Medication | LabResult)]
    without = [_without_codes(fact) for fact in before]
    counts = facts.put(without, scope=record.scope)
    assert (counts.added, counts.changed) == (0, 0)
    assert all(fact.codes for fact in facts.all(record.scope) if isinstance(fact, Diagnosis))


def _without_codes(fact: Fact) -> Fact:
    return replace(fact, codes=())


def test_a_corrected_name_loses_the_codes_of_the_old_one(record: Record, app: App) -> None:
    facts = SqlFacts(app.library.engine, app.library.path)
    gout = next(fact for fact in facts.all(record.scope, kind="diagnosis") if fact.codes[0].code == "M10.9")
    assert facts.correct(gout.id, {"status": "resolved"}, record.scope).codes
    assert facts.correct(gout.id, {"name": "Pseudogout"}, record.scope).codes == ()


def test_codes_are_shown_with_each_thing(record: Record) -> None:
    rows = [row for group in thing_groups(record.facts.all(record.scope, kind="diagnosis")) for row in group.rows]
    shown = {row.name: row.codes for row in rows}
    assert shown["Diabetes, type 2"] == (
        "SNOMED CT 44054006",
        "ICD-10-CM E11.9 (Type 2 diabetes mellitus without complications)",
    )


def test_a_consult_shows_and_exports_the_codes_of_its_record_findings_and_differentials(app: App) -> None:
    client = TestClient(
        create_app(app, token=TOKEN), base_url="http://127.0.0.1:8477", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    consult = client.post("/api/v1/consults", json={}).json()["id"]
    sent = {"bundle": json.loads(bundle(*RESOURCES)), "consent": True}
    read = client.post(f"/api/v1/consults/{consult}/record", json=sent)
    assert read.status_code == 200, read.text
    metformin = next(one for one in read.json()["findings"] if one["name"] == "metformin")
    assert metformin["codes"] == [{"system": RXNORM, "code": "861007"}]
    added = client.post(f"/api/v1/consults/{consult}/findings", json={"name": "fever"}).json()
    fever = next(one for one in added["findings"] if one["name"].casefold() == "fever")
    assert fever["concept"].startswith("HP:")
    entered = {"entered": [{"condition": "Haemoptysis", "confidence": "low"}], "despite": "a test"}
    assert client.put(f"/api/v1/consults/{consult}/differentials", json=entered).status_code == 200
    exported = client.get(f"/api/v1/consults/{consult}/export").content
    assert codings(exported) >= {
        (SNOMED, "44054006"),
        (ICD_10_CM, "E11.9"),
        (RXNORM, "861007"),
        (HPO, fever["concept"]),
        (ICD_10_CM, "R04.2"),
    }
    page = client.get(f"/consult/{consult}").text
    assert "RxNorm 861007" in page
    assert f"HPO {fever['concept']}" in page
    assert "ICD-10-CM R04.2" in page
