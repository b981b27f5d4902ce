"""Resources of earlier releases of FHIR, which phones and old portals still export, as R4 has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Json = Mapping[str, Any]
_STATUS = ("clinicalStatus", "verificationStatus")


def as_r4(resource: dict[str, Any]) -> dict[str, Any]:
    """The same resource under the names of R4; one of R4 stays as it is.

    >>> as_r4({"resourceType": "MedicationOrder", "status": "active"})
    {'resourceType': 'MedicationRequest', 'status': 'active'}
    """
    change = _CHANGES.get(str(resource.get("resourceType")))
    return resource if change is None else change(resource)


def _renamed(resource: Json, names: Mapping[str, str]) -> dict[str, Any]:
    """A resource with some names changed, where the newer ones are not there."""
    return {
        names[name] if name in names and names[name] not in resource else name: value
        for name, value in resource.items()
    }


def _with_statuses(resource: dict[str, Any]) -> dict[str, Any]:
    """A status in one word becomes a code."""
    for name in _STATUS:
        if isinstance(resource.get(name), str):
            resource = {**resource, name: {"coding": [{"code": resource[name]}]}}
    return resource


def _order(resource: dict[str, Any]) -> dict[str, Any]:
    names = {"dateWritten": "authoredOn", "prescriber": "requester"}
    return {**_renamed(resource, names), "resourceType": "MedicationRequest"}


def _request(resource: dict[str, Any]) -> dict[str, Any]:
    """Release 5 has the code or the reference in one element; release 3 the person inside “agent”."""
    medication, requester = resource.get("medication"), resource.get("requester")
    if isinstance(requester, Mapping) and isinstance(requester.get("agent"), Mapping):
        resource = {**resource, "requester": requester["agent"]}
    if isinstance(medication, Mapping):
        held = {
            "medicationCodeableConcept": medication.get("concept"),
            "medicationReference": medication.get("reference"),
        }
        resource = {**resource, **{name: value for name, value in held.items() if value is not None}}
    return resource


def _allergy(resource: dict[str, Any]) -> dict[str, Any]:
    resource = _renamed(resource, {"substance": "code", "onset": "onsetDateTime", "assertedDate": "recordedDate"})
    status = resource.get("status")
    if isinstance(status, str) and "clinicalStatus" not in resource:
        known = {"confirmed": "active", "unconfirmed": "active"}.get(status, status)
        told = {} if known in ("refuted", "entered-in-error") else {"clinicalStatus": known}
        resource = {**resource, **told, **({"verificationStatus": "unconfirmed"} if status == "unconfirmed" else {})}
    return _with_statuses(resource)


def _condition(resource: dict[str, Any]) -> dict[str, Any]:
    return _with_statuses(_renamed(resource, {"dateRecorded": "recordedDate", "assertedDate": "recordedDate"}))


def _observation(resource: dict[str, Any]) -> dict[str, Any]:
    """Lists that were one thing before."""
    lists = {
        name: [resource[name]] for name in ("category", "interpretation") if isinstance(resource.get(name), Mapping)
    }
    return {**resource, **lists} if lists else resource


def _immunization(resource: dict[str, Any]) -> dict[str, Any]:
    is_refused = resource.get("wasNotGiven") is True or resource.get("notGiven") is True
    renamed = _renamed(resource, {"date": "occurrenceDateTime"})
    return {**renamed, "status": "not-done"} if is_refused else renamed


def _procedure(resource: dict[str, Any]) -> dict[str, Any]:
    """Release 5 says “occurrence” for “performed”."""
    names = {"occurrenceDateTime": "performedDateTime", "occurrencePeriod": "performedPeriod"}
    is_refused = resource.get("notPerformed") is True or resource.get("notDone") is True
    renamed = _renamed(resource, names)
    return {**renamed, "status": "not-done"} if is_refused else renamed


_CHANGES: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "MedicationOrder": _order,
    "MedicationRequest": _request,
    "MedicationStatement": _request,
    "AllergyIntolerance": _allergy,
    "Condition": _condition,
    "Observation": _observation,
    "Immunization": _immunization,
    "Procedure": _procedure,
}
