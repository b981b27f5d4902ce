"""What a search of a record system sends: its resources, and whether one is about somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def objects(given: Any) -> list[dict[str, Any]]:
    """The objects of a list; nothing where it is none."""
    return [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []


def resources_of(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The resource, or those of a bundle of search results; what a search says of itself is none."""
    if given.get("resourceType") != "Bundle":
        return [given]
    inner = objects([entry.get("resource") for entry in objects(given.get("entry"))])
    return [resource for resource in inner if resource.get("resourceType") != "OperationOutcome"]


def is_about_other(resource: Mapping[str, Any], patient_id: str) -> bool:
    """Whether a resource names another patient; what names none by an id is not known to.

    >>> is_about_other({"resourceType": "Condition", "subject": {"reference": "Patient/p1/_history/2"}}, "p1")
    False
    """
    if resource.get("resourceType") == "Patient":
        return str(resource.get("id")) != patient_id
    subject = resource.get("subject") or resource.get("patient")
    reference = subject.get("reference") if isinstance(subject, Mapping) else None
    if not isinstance(reference, str) or "Patient/" not in reference:
        return False
    return reference.rpartition("Patient/")[2].partition("/_history/")[0] != patient_id
