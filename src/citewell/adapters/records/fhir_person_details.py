"""What a FHIR Patient says about the person besides name and birth: numbers, addresses, contacts, languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from citewell.adapters.records.bundle import Json
from citewell.adapters.records.fhir_values import as_list, code_of, each, name_of, person_name
from citewell.types.facts import PersonDetail

SYSTEMS = {
    "http://hl7.org/fhir/sid/us-ssn": "Social security number",
    "https://fhir.nhs.uk/Id/nhs-number": "NHS number",
}
EXTENSIONS = {
    "us-core-race": "Race",
    "us-core-ethnicity": "Ethnicity",
    "patient-mothersMaidenName": "Mother's maiden name",
    "patient-birthPlace": "Place of birth",
    "patient-religion": "Religion",
    "patient-nationality": "Nationality",
}
"""The last part of the name of an extension, and what it is called."""
WAYS = {"phone": "Phone", "sms": "Phone", "email": "Email"}
MARITAL = {"M": "married", "S": "never married", "D": "divorced", "W": "widowed", "L": "separated", "T": "partnered"}
ADDRESS = ("line", "city", "state", "postalCode", "country")


def read_details(patient: Json) -> Iterator[PersonDetail]:
    """The details of a person in the order in which people look for them, each once."""
    found = [
        *_identifiers(patient),
        *((WAYS.get(str(way.get("system")), ""), way.get("value")) for way in each(patient, "telecom")),
        *(("Address", address_in(address)) for address in each(patient, "address")),
        ("Marital status", _marital(patient.get("maritalStatus"))),
        *(("Language", name_of(spoken.get("language"))) for spoken in each(patient, "communication")),
        *_names(patient),
        *_contacts(patient),
        *(("Regular doctor or practice", doctor.get("display")) for doctor in each(patient, "generalPractitioner")),
        *((EXTENSIONS.get(_last(held), ""), _extended(held)) for held in each(patient, "extension")),
    ]
    yield from dict.fromkeys(
        PersonDetail(label, " ".join(value.split()))
        for label, value in found
        if label and isinstance(value, str) and value.strip()
    )


def address_in(address: Json) -> str:
    """An address on one line."""
    if isinstance(address.get("text"), str):
        return str(address["text"])
    parts = [part for name in ADDRESS for part in as_list(address.get(name))]
    return ", ".join(str(part) for part in parts if part)


def _identifiers(patient: Json) -> Iterator[tuple[str, Any]]:
    """Numbers whose kind is said; one without a kind tells nobody anything."""
    for held in each(patient, "identifier"):
        yield name_of(held.get("type")) or SYSTEMS.get(str(held.get("system")), ""), held.get("value")


def _marital(status: Any) -> str | None:
    """A status in words; some files write its code."""
    return MARITAL.get(name_of(status) or code_of(status) or "", name_of(status))


def _names(patient: Json) -> Iterator[tuple[str, Any]]:
    for name in each(patient, "name"):
        if name.get("use") in ("maiden", "old"):
            yield ("Maiden name" if name["use"] == "maiden" else "Former name"), person_name({"name": [name]})
        elif name.get("use") == "nickname":
            yield "Called", person_name({"name": [name]})


def _contacts(patient: Json) -> Iterator[tuple[str, Any]]:
    for contact in each(patient, "contact"):
        kinds = [name for one in each(contact, "relationship") if (name := name_of(one))]
        reached = [str(way["value"]) for way in each(contact, "telecom") if way.get("value")]
        who = person_name(contact) or ""
        yield f"Contact{f' ({kinds[0]})' if kinds else ''}", ", ".join(part for part in (who, *reached) if part)


def _extended(extension: Json) -> Any:
    """The words of an extension, or of its part that is for people."""
    if isinstance(place := extension.get("valueAddress"), Mapping):
        return address_in(place)
    inner = [held.get("valueString") for held in each(extension, "extension") if held.get("url") == "text"]
    return extension.get("valueString") or name_of(extension.get("valueCodeableConcept")) or next(iter(inner), None)


def _last(extension: Json) -> str:
    return str(extension.get("url")).rsplit("/", 1)[-1]
