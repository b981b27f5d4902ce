"""Makes a finding of what a clinician types into the list: checked, and in place of another where it corrects one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from citewell.assistants.consult.measurements import VITALS, find_measures
from citewell.assistants.consult.mentions import concept_of
from citewell.errors import InputError
from citewell.types.consult import Category, Finding, FindingSource, Polarity

MAX_NAME = 200
FIELDS = frozenset({"name", "category", "polarity", "value", "unit", "onset", "duration_days"})


def corrected(old: Finding | None, change: Mapping[str, Any], *, number: int) -> Finding:
    """The finding as the clinician has it; what is not named stays as it was."""
    if unknown := set(change) - FIELDS:
        raise InputError(f"Unknown field {', '.join(sorted(unknown))}. A finding has {', '.join(sorted(FIELDS))}.")
    if old is None and not str(change.get("name") or "").strip():
        raise InputError("Enter a name for the finding, such as “fever”.")
    base = old or Finding("", Category.SYMPTOM, "", Polarity.PRESENT, FindingSource.CLINICIAN)
    made = replace(base, id=f"f{number}", by=FindingSource.CLINICIAN, is_confirmed=True, arithmetic=None)
    if change.get("name"):
        made = _named(made, str(change["name"]), is_new=old is None)
    if change.get("category"):
        made = replace(made, category=Category(_one_of(Category, str(change["category"]), "category")))
    if change.get("polarity"):
        made = replace(made, polarity=Polarity(_one_of(Polarity, str(change["polarity"]), "polarity")))
    if change.get("onset"):
        made = replace(made, onset=str(change["onset"])[:MAX_NAME])
    if change.get("unit"):
        made = replace(made, unit=str(change["unit"])[:MAX_NAME])
    if change.get("value") is not None:
        made = replace(made, value=_number(change["value"], "value"))
    if change.get("duration_days") is not None:
        made = replace(made, duration_days=_number(change["duration_days"], "duration_days"))
    return _measured(made, change)


def _named(made: Finding, written: str, *, is_new: bool) -> Finding:
    name = " ".join(written.split())[:MAX_NAME]
    known, concept, category = concept_of(name)
    if name.casefold() in VITALS:
        return replace(made, name=name.casefold(), concept=None, category=Category.VITAL, codes=())
    kept = category if is_new else made.category
    return replace(made, name=known, concept=concept, category=kept, codes=())


def _measured(made: Finding, change: Mapping[str, Any]) -> Finding:
    """A measurement in the unit of the table: pounds become kilograms, with the arithmetic."""
    if made.category is not Category.VITAL:
        return made
    if made.value is None:
        raise InputError(f"Enter a value for {made.name}.")
    if change.get("value") is None:
        return made
    unit = str(change.get("unit") or "")
    read = find_measures(f"{made.name} {made.value:g} {unit}".strip())
    measure = next((other for other in read if other.name == made.name), None)
    if measure is None or measure.trouble:
        raise InputError(
            measure.trouble if measure and measure.trouble else (f"{made.name} could not be read from this value.")
        )
    return replace(made, value=measure.value, unit=measure.unit, arithmetic=measure.arithmetic)


def _one_of(kind: type[Category] | type[Polarity], written: str, field: str) -> Category | Polarity:
    try:
        return kind(written.strip().lower())
    except ValueError as error:
        raise InputError(f"“{field}” must be one of {', '.join(one.value for one in kind)}.") from error


def _number(value: object, field: str) -> float:
    try:
        return float(str(value))
    except ValueError as error:
        raise InputError(f"“{field}” must be a number.") from error
