"""What the head of a C-CDA document says about the person: numbers, addresses, whom to call, languages."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from citewell.adapters.parsers.markup_flow import child_named, children_named, descendants_named
from citewell.adapters.records.cda_values import Element, attribute, name_of, person_in
from citewell.types.facts import PersonDetail

SOCIAL_SECURITY = "2.16.840.1.113883.4.1"
CODED = {
    "maritalStatusCode": "Marital status",
    "religiousAffiliationCode": "Religion",
    "raceCode": "Race",
    "ethnicGroupCode": "Ethnicity",
}
CONTACTS = {"NOK": "Next of kin", "ECON": "Emergency contact", "CAREGIVER": "Caregiver", "GUARD": "Guardian"}
LANGUAGES = {"en": "English", "es": "Spanish", "fr": "French", "de": "German", "zh": "Chinese", "pt": "Portuguese"}
LONGER = {"eng": "en", "spa": "es", "fra": "fr", "fre": "fr", "deu": "de", "ger": "de", "zho": "zh", "por": "pt"}


def read_details(root: Element, patient: Element) -> Iterator[PersonDetail]:
    """The details of a person in the order in which people look for them, each once."""
    found = [*_of_role(patient.getparent()), *_of_patient(patient), *_contacts(root, patient)]
    yield from dict.fromkeys(PersonDetail(label, value) for label, value in found if value)


def _of_role(role: Element | None) -> Iterator[tuple[str, str]]:
    """Numbers, ways to reach the person, and the practice that keeps the record."""
    if role is None:
        return
    for number in children_named(role, "id"):
        is_social = attribute(number, "root") == SOCIAL_SECURITY
        yield "Social security number" if is_social else "Medical record number", attribute(number, "extension") or ""
    yield from _reached(role)
    yield from (("Address", _address(address)) for address in children_named(role, "addr"))
    practice = child_named(child_named(role, "providerOrganization"), "name")
    yield "Practice", "" if practice is None else _words(practice)


def _of_patient(patient: Element) -> Iterator[tuple[str, str]]:
    for part, label in CODED.items():
        yield label, name_of(child_named(patient, part)) or ""
    for held in descendants_named(patient, "languageCode"):
        code = (attribute(held, "code") or "").casefold().partition("-")[0]
        yield "Language", LANGUAGES.get(LONGER.get(code, code), "")
    for name in children_named(patient, "name"):
        if any(attribute(part, "qualifier") == "BR" for part in name):
            yield "Birth name", _words(name)
    for place in descendants_named(patient, "birthplace"):
        yield "Place of birth", next((_address(address) for address in descendants_named(place, "addr")), "")


def _contacts(root: Element, patient: Element) -> Iterator[tuple[str, str]]:
    """Who belongs to the person: guardians, next of kin, whom to call, who told what is written here."""
    for guardian in children_named(patient, "guardian"):
        yield _as(guardian, "Guardian"), _who(guardian, "guardianPerson")
    for outer in children_named(root, "participant"):
        for held in children_named(outer, "associatedEntity"):
            label = CONTACTS.get(attribute(held, "classCode") or "", "Contact")
            yield _as(held, label), _who(held, "associatedPerson")
    for outer in children_named(root, "informant"):
        for held in children_named(outer, "relatedEntity"):
            yield _as(held, "Related person"), _who(held, "relatedPerson")


def _as(entity: Element, label: str) -> str:
    """What somebody is to the person, with the relation where it is told."""
    code = child_named(entity, "code")
    relation = name_of(code) or attribute(code, "code")
    return f"{label} ({relation.lower()})" if relation else label


def _who(entity: Element, kind: str) -> str:
    return ", ".join(part for part in (person_in(entity, kind), *(value for _, value in _reached(entity))) if part)


def _reached(entity: Element) -> Iterator[tuple[str, str]]:
    for way in children_named(entity, "telecom"):
        kind, colon, rest = (attribute(way, "value") or "").partition(":")
        yield "Email" if kind == "mailto" else "Phone", unquote(rest if colon else kind).strip()


def _address(address: Element) -> str:
    parts = [" ".join((part.text or "").split()) for part in address if isinstance(part.tag, str)]
    return ", ".join(part for part in parts if part) or _words(address)


def _words(element: Element) -> str:
    return " ".join(" ".join((part.text or "") for part in element.iter() if isinstance(part.tag, str)).split())
