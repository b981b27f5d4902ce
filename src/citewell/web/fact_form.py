"""A fact as a form that corrects it: one box for each part that a person can say, and what its filling changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, get_args, get_type_hints

from citewell.errors import InputError
from citewell.types.facts import Fact, PartialDate
from citewell.types.facts_json import fact_json

FIXED = frozenset({"id", "origin", "is_verified", "code", "medication_id"})
"""Parts of a fact that a person does not write."""


WORDS = {
    "generic_name": "Medicine",
    "brand_name": "Brand",
    "frequency": "How often",
    "frequency_type": "Regularly, as needed or tapering",
    "route": "How it is taken",
    "prescriber": "Prescribed by",
    "start": "Taken since",
    "end": "Taken until",
    "reason_start": "Taken for",
    "reason_stop": "Stopped because of",
    "over_the_counter": "Bought without a prescription",
    "max_daily_dose": "At most, per day",
    "test_name": "Test",
    "value_text": "Result in words",
    "range_low": "Range from",
    "range_high": "Range to",
    "flag": "Marked as",
    "collected": "Date of the sample",
    "ordered_by": "Ordered by",
    "dated": "Date",
    "by": "Doctor or nurse",
    "allergen": "Allergic to",
    "is_active": "Still allergic",
    "performed": "Date",
    "given": "Date",
    "specific": "Symptom",
    "body_region": "Where in the body",
    "onset": "Since",
    "still_active": "Still there",
    "resolved": "Gone since",
    "at": "Date",
    "professional": "With",
    "institution": "Where",
    "to": "Referred to",
}
"""What a patient calls the parts of a fact; the others by their own names."""


@dataclass(frozen=True, slots=True)
class Field:
    """One part of a fact that can be corrected."""

    name: str
    words: str
    value: str
    choices: tuple[tuple[str, str], ...] = ()
    """What can be chosen: what is kept, and the words for it."""


def correctable(fact: Fact) -> list[Field]:
    """The parts of a fact that a form can show: words, numbers, dates and closed lists."""
    entry, hints = fact_json(fact), get_type_hints(type(fact))
    found = []
    for field in fields(fact):
        kind = _plain_type(hints[field.name])
        if field.name in FIXED or kind is None:
            continue
        choices = tuple((str(value.value), _plain(value.value)) for value in kind) if issubclass(kind, Enum) else ()
        choices = (("true", "yes"), ("false", "no")) if kind is bool else choices
        value = entry.get(field.name, "")
        shown_as = str(value).lower() if isinstance(value, bool) else str(value)
        found.append(Field(field.name, WORDS.get(field.name) or _plain(field.name).capitalize(), shown_as, choices))
    return found


def _plain(name: str) -> str:
    return name.replace("_", " ").replace("-", " ")


def corrected(fact: Fact, typed: Mapping[str, str]) -> dict[str, Any]:
    """What a form changes of a fact; an empty box clears what it held."""
    hints, changed = get_type_hints(type(fact)), {}
    for field in correctable(fact):
        value = typed.get(field.name, field.value).strip()
        if value != field.value:
            changed[field.name] = _typed(field, value, _plain_type(hints[field.name]))
    return changed


def _typed(field: Field, value: str, kind: type | None) -> Any:
    if value == "":
        return None
    if kind is bool:
        return value == "true"
    if kind in (int, float):
        try:
            return kind(value)
        except ValueError as error:
            raise InputError(f"Enter a number for “{field.words}”.") from error
    return value


def _plain_type(hint: Any) -> type | None:
    """The type of a part that one box can hold, or None."""
    inner = [arg for arg in (get_args(hint) or (hint,)) if arg is not type(None)]
    is_plain = len(inner) == 1 and isinstance(inner[0], type) and not get_args(inner[0])
    return inner[0] if is_plain and issubclass(inner[0], str | int | float | Enum | PartialDate) else None
