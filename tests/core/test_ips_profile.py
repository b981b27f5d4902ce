"""The patient summary is held against the models of FHIR R4B and against what the profiles of IPS require."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fhir.resources.R4B import get_fhir_model_class
from lxml import etree

from citewell.adapters.records.fhir_import import read_fhir
from citewell.adapters.records.fhir_ips_write import write_summary
from citewell.types.facts import (
    REPORTED,
    Allergy,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    PartialDate,
    Procedure,
    RecordOwner,
    Vaccination,
)
from tests.contracts.test_facts import ALL as EVERY_KIND

Json = dict[str, Any]
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "record.json"
REQUIRED_SECTIONS = {"10160-0": "MedicationStatement", "48765-2": "AllergyIntolerance", "11450-4": "Condition"}
OTHER_SECTIONS = {
    "11369-6": "Immunization",
    "30954-2": "Observation",
    "47519-4": "Procedure",
    "8716-3": "Observation",
    "11348-0": "Condition",
    "29762-2": "Observation",
}
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "Composition": (("status",), ("type",), ("subject",), ("date",), ("author",), ("title",), ("section",)),
    "Patient": (("name",), ("birthDate",)),
    "MedicationStatement": (("status",), ("medicationCodeableConcept",), ("subject",), ("effective",)),
    "AllergyIntolerance": (("code",), ("patient",), ("clinicalStatus",), ("verificationStatus",)),
    "Condition": (("code",), ("subject",), ("clinicalStatus",), ("verificationStatus",)),
    "Immunization": (("status",), ("vaccineCode",), ("patient",), ("occurrence",)),
    "Procedure": (("status",), ("code",), ("subject",), ("performed",)),
    "Observation": (("status",), ("code",), ("subject",), ("effective",), ("value", "dataAbsentReason", "component")),
}
"""What the profiles of IPS want at least once; of a choice, one of its forms or the reason why it is absent."""
OVER = {"inactive", "resolved", "remission"}
BARE: tuple[Fact, ...] = (
    Medication(id="00000000-0000-4000-8000-000000000001", origin=REPORTED, generic_name="Aspirin <81> & co"),
    Allergy(id="00000000-0000-4000-8000-000000000002", origin=REPORTED, allergen="Latex"),
    Diagnosis(
        id="00000000-0000-4000-8000-000000000003",
        origin=REPORTED,
        name="Pneumonia",
        dated=PartialDate("2013-07"),
        ended=PartialDate("2013-08-14"),
        status=DiagnosisStatus.ACTIVE,
    ),
    Procedure(id="00000000-0000-4000-8000-000000000004", origin=REPORTED, name="Appendectomy"),
    Vaccination(id="00000000-0000-4000-8000-000000000005", origin=REPORTED, name="Tetanus"),
    LabResult(id="00000000-0000-4000-8000-000000000006", origin=REPORTED, test_name="INR"),
    RecordOwner(id="00000000-0000-4000-8000-000000000007", origin=REPORTED, name="Ann Roe"),
)
"""Facts of which nothing is known but the name, and one that is active although it ended."""


def records() -> Iterator[tuple[str, tuple[Fact, ...]]]:
    yield "of every kind", tuple(EVERY_KIND)
    yield "bare", BARE
    yield "empty", ()
    yield "example", read_fhir(EXAMPLE.read_bytes()).facts


@pytest.fixture(params=list(records()), ids=lambda pair: pair[0])
def summary(request: pytest.FixtureRequest) -> Json:
    told: Json = json.loads(write_summary("a-record", request.param[1]))
    return told


def resources(summary: Json) -> list[Json]:
    return [entry["resource"] for entry in summary["entry"]]


def holds(resource: Json, names: tuple[str, ...]) -> bool:
    """Whether a resource has one of these, in one of its forms, or says why it has none."""
    for key, value in resource.items():
        is_form = any(key.removeprefix("_").startswith(name) for name in names)
        is_absent = key.startswith("_") and value.get("extension", [{}])[0].get("url") == ABSENT
        if is_form and value not in (None, "", [], {}) and (not key.startswith("_") or is_absent):
            return True
    return False


def references(held: Any) -> Iterator[str]:
    if isinstance(held, dict):
        if isinstance(held.get("reference"), str):
            yield held["reference"]
        for value in held.values():
            yield from references(value)
    elif isinstance(held, list):
        for value in held:
            yield from references(value)


def test_every_resource_is_one_of_fhir(summary: Json) -> None:
    assert get_fhir_model_class("Bundle").model_validate(summary).type == "document"
    for resource in resources(summary):
        get_fhir_model_class(resource["resourceType"]).model_validate(resource)


def test_the_bundle_is_a_document_with_its_parts(summary: Json) -> None:
    first, *others = resources(summary)
    assert summary["identifier"]["value"]
    assert summary["timestamp"]
    assert first["resourceType"] == "Composition"
    assert [one["resourceType"] for one in others].count("Patient") == 1
    urls = [entry["fullUrl"] for entry in summary["entry"]]
    assert len(urls) == len(set(urls))
    assert set(references(summary)) <= set(urls)
    assert set(references(first)) | {urls[0]} == set(urls), "whatever is in the document is referred to by it"


def test_each_resource_has_what_its_profile_wants(summary: Json) -> None:
    for resource in resources(summary):
        missing = [names for names in NEEDED.get(resource["resourceType"], ()) if not holds(resource, names)]
        assert not missing, (resource["resourceType"], missing)
        whose = resource.get("subject") or resource.get("patient")
        assert whose is None or whose["reference"].startswith("urn:uuid:")
    (patient,) = (one for one in resources(summary) if one["resourceType"] == "Patient")
    assert all(name.keys() & {"family", "given", "text"} for name in patient["name"])


def test_each_section_has_its_code_its_words_and_its_kind_of_entries(summary: Json) -> None:
    composition = resources(summary)[0]
    assert composition["type"]["coding"][0] | {"display": ""} == {
        "system": "http://loinc.org",
        "code": "60591-5",
        "display": "",
    }
    sections = {section["code"]["coding"][0]["code"]: section for section in composition["section"]}
    assert set(REQUIRED_SECTIONS) <= set(sections) <= {*REQUIRED_SECTIONS, *OTHER_SECTIONS}
    kinds = {entry["fullUrl"]: entry["resource"]["resourceType"] for entry in summary["entry"]}
    for code, section in sections.items():
        assert section["title"]
        assert section["code"]["coding"][0]["system"] == "http://loinc.org"
        assert bool(section.get("entry")) != bool(section.get("emptyReason"))
        held = {kinds[entry["reference"]] for entry in section.get("entry", [])}
        assert held <= {(REQUIRED_SECTIONS | OTHER_SECTIONS)[code]}


def test_narratives_are_well_formed(summary: Json) -> None:
    parts = [*resources(summary), *resources(summary)[0]["section"]]
    for narrative in (part["text"] for part in parts if "text" in part):
        assert narrative["status"] == "generated"
        assert etree.fromstring(narrative["div"]).tag == "{http://www.w3.org/1999/xhtml}div"


def test_what_is_over_is_not_called_active(summary: Json) -> None:
    for condition in (one for one in resources(summary) if one["resourceType"] == "Condition"):
        assert "abatementDateTime" not in condition or condition["clinicalStatus"]["coding"][0]["code"] in OVER
