"""Reads one patient from a record system, whole or with the reason why a part was not used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

from citewell.adapters.records.searchsets import is_about_other, objects, resources_of
from citewell.adapters.smart.http import ELSEWHERE, NOT_JSON, RecordSystemClient, Reply
from citewell.adapters.smart.launch import Grant
from citewell.errors import Unavailable

MAX_ENTRIES, MAX_PAGES = 5_000, 200
PAGE = 100
NOT_OFFERED = frozenset({400, 404, 405, 406, 410, 422, 501})
NOT_PERMITTED = frozenset({401, 403})
SEARCHES = (
    ("conditions", "Condition", ""),
    ("allergies", "AllergyIntolerance", ""),
    ("prescriptions", "MedicationRequest", "&_include=MedicationRequest:medication"),
    ("medicines taken", "MedicationStatement", "&_include=MedicationStatement:medication"),
    ("procedures", "Procedure", ""),
    ("laboratory results", "Observation", "&category=laboratory"),
    ("vital signs", "Observation", "&category=vital-signs"),
    ("social history", "Observation", "&category=social-history"),
)
"""Each search by the words for it; record systems need not find results without a category."""
NEEDED_BY_CONSULT = frozenset({"conditions", "allergies", "prescriptions"})

OTHER_PATIENT = (
    "The record system sent data about another patient than the one opened, so nothing was used. Tell its "
    "administrator."
)
NO_PATIENT = "The record system did not let Citewell read this patient. Nothing was used."
FAILED = "The record system stopped in the middle, so nothing was used. Try again."


@dataclass(frozen=True, slots=True)
class PartRead:
    """What one search gave, or why nothing of it was used; and remarks of the record system."""

    name: str
    count: int
    why_not: str | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PatientRead:
    """A patient as a bundle, and what each search gave."""

    bundle: dict[str, Any]
    parts: tuple[PartRead, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """What a consult needs and could not be read."""
        return tuple(part.name for part in self.parts if part.why_not and part.name in NEEDED_BY_CONSULT)


def read_patient(client: RecordSystemClient, address: str, grant: Grant) -> PatientRead:
    """Everything that was granted of the patient; data about anybody else end it."""
    reply = client.get(f"{address}/Patient/{quote(grant.patient)}", grant.token)
    if reply.status in NOT_PERMITTED | NOT_OFFERED:
        raise Unavailable(NO_PATIENT)
    person = _checked(reply)
    if person.get("resourceType") != "Patient":
        raise Unavailable(NOT_JSON)
    _refuse_other(person, grant.patient)
    resources = [person]
    parts = []
    for name, kind, more in SEARCHES:
        first = f"{address}/{kind}?patient={quote(grant.patient)}&_count={PAGE}{more}"
        part, entries = _searched(client, name, first, address, grant)
        parts.append(part)
        resources += entries
    once = {json.dumps(resource, sort_keys=True): resource for resource in resources}  # a result may be in two groups
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [_entry(address, resource) for resource in once.values()],
    }
    return PatientRead(bundle, tuple(parts))


def _searched(
    client: RecordSystemClient, name: str, first: str, address: str, grant: Grant
) -> tuple[PartRead, list[dict[str, Any]]]:
    """All pages of a search; where one is missing nothing of it is used."""
    entries: list[dict[str, Any]] = []
    remarks: list[str] = []
    total = None
    for page in _pages(client, first, address, grant):
        if page is None or len(entries) > MAX_ENTRIES:
            return PartRead(name, 0, f"more than {MAX_ENTRIES:,} entries, or pages without end"), []
        if page.status in NOT_PERMITTED:
            return PartRead(name, 0, "not permitted"), []
        if page.status in NOT_OFFERED:
            return PartRead(name, 0, "the record system does not offer this search"), []
        bundle = _checked(page)
        if bundle.get("resourceType") != "Bundle":
            raise Unavailable(NOT_JSON)
        outcomes = list(_outcomes(bundle))
        if any(severity in ("error", "fatal") for severity, _ in outcomes):
            return PartRead(name, 0, "the record system reported an error"), []
        remarks += [words for _, words in outcomes if words]
        entries += resources_of(bundle)
        said = bundle.get("total")
        total = said if isinstance(said, int) and total is None else total
    for entry in entries:
        _refuse_other(entry, grant.patient)
    kind = first.rpartition("/")[2].partition("?")[0]
    count = sum(entry.get("resourceType") == kind for entry in entries)
    if total is not None and count < total:
        return PartRead(name, 0, f"only {count} of {total} entries were sent"), []
    return PartRead(name, count, None, tuple(dict.fromkeys(remarks))), entries


def _pages(client: RecordSystemClient, first: str, address: str, grant: Grant) -> Iterator[Reply | None]:
    """The pages of a search in their order; None where they do not end. All are below the address of the system."""
    seen: set[str] = set()
    at: str | None = first
    while at is not None:
        if at in seen or len(seen) >= MAX_PAGES:
            yield None
            return
        seen.add(at)
        reply = client.get(at, grant.token)
        yield reply
        links = [link.get("url") for link in objects(reply.body.get("link")) if link.get("relation") == "next"]
        at = None
        if links:
            at = _below(address, str(links[0]))


def _below(address: str, link: str) -> str:
    """The address of a next page; a token goes nowhere but to the system that gave it."""
    try:
        at = urljoin(f"{address}/", link)
        is_below = at.startswith((f"{address}/", f"{address}?")) and ".." not in unquote(urlsplit(at).path).split("/")
    except ValueError:
        is_below = False
    if not is_below:
        raise Unavailable(ELSEWHERE)
    return at


def _checked(reply: Reply) -> dict[str, Any]:
    if reply.status != 200:
        raise Unavailable(FAILED)
    return reply.body


def _refuse_other(resource: dict[str, Any], patient: str) -> None:
    if is_about_other(resource, patient):
        raise Unavailable(OTHER_PATIENT)


def _outcomes(bundle: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a search says of itself: how grave, and its words."""
    for entry in objects(bundle.get("entry")):
        held = entry.get("resource")
        if isinstance(held, dict) and held.get("resourceType") == "OperationOutcome":
            for issue in objects(held.get("issue")):
                details = issue.get("details")
                words = details.get("text") if isinstance(details, dict) else None
                said = words or issue.get("diagnostics")
                if issue.get("severity") != "information":
                    yield str(issue.get("severity")), said[:200] if isinstance(said, str) else "a warning without words"


def _entry(address: str, resource: dict[str, Any]) -> dict[str, Any]:
    name = f"{address}/{resource.get('resourceType')}/{resource['id']}" if resource.get("id") else None
    return {"resource": resource} if name is None else {"fullUrl": name, "resource": resource}
