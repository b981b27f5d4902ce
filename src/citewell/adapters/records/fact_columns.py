"""The columns by which a fact is looked up: its names, its code, its status and its time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from citewell.clinical.medicines import medicines
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    Fact,
    LabResult,
    Medication,
    PartialDate,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    Symptom,
    Vaccination,
)

ACTIVE, INACTIVE = "active", "inactive"


def columns_of(fact: Fact) -> dict[str, Any]:
    """What stands beside the body of a fact."""
    names, code, status, at = _looked_up(fact)
    called = [*names, *(held.code for held in fact.codes)]
    return {
        "name": "|" + "|".join(dict.fromkeys(folded(name) for name in called if name)) + "|",
        "code": code,
        "status": status,
        "at": None if at is None else at.at.astimezone(UTC).replace(tzinfo=None),
    }


def folded(name: str) -> str:
    """A name as names are compared.

    >>> folded("  Body  Mass | Index ")
    'body mass index'
    """
    return " ".join(name.replace("|", " ").casefold().split())


def drug_names(medication: Medication) -> list[str]:
    """Every name that a medicine goes by: as written, its brand, its ingredients, and their usual names."""
    written = [
        medication.generic_name,
        medication.brand_name,
        *(ingredient.name for ingredient in medication.ingredients),
    ]
    known = [medicine.name for name in written if name for medicine in medicines(name) if not medicine.is_class]
    return [name for name in (*written, *known) if name]


def stored(at: datetime) -> datetime:
    """A moment as columns hold it."""
    return at.astimezone(UTC).replace(tzinfo=None)


def _looked_up(fact: Fact) -> tuple[list[str], str | None, str | None, PartialDate | None]:
    found: tuple[list[str], str | None, str | None, PartialDate | None]
    match fact:
        case Medication():
            found = drug_names(fact), fact.code, fact.status, fact.start
        case LabResult():
            found = [fact.test_name, *(part.test_name for part in fact.parts)], fact.code, fact.flag, fact.collected
        case Allergy():
            found = [fact.allergen], fact.code, ACTIVE if fact.is_active else INACTIVE, fact.since
        case Diagnosis():
            found = [fact.name], fact.code, fact.status, fact.dated
        case Symptom():
            found = [fact.specific], fact.medication_id, ACTIVE if fact.still_active else INACTIVE, fact.recorded
        case Procedure():
            found = [fact.name], fact.code, fact.status, fact.performed
        case Vaccination():
            found = [fact.name], fact.code, None, fact.given
        case Appointment():
            found = [fact.name], None, fact.status, fact.at
        case Referral():
            found = [fact.name], None, fact.status, fact.dated
        case RecordOwner() | Professional():
            found = [fact.name], None, None, None
        case _:
            raise TypeError(f"{type(fact).__name__} is no kind of fact")
    return found
