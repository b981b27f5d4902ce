"""Small values of FHIR resources: names of codes, moments, people, amounts, how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from citewell.adapters.records.bundle import Bundle, Json
from citewell.adapters.records.dosage_words import EVENTS
from citewell.adapters.records.usual_names import USUAL_NAMES
from citewell.types.coded_names import plain_name
from citewell.types.codes import ICD_10_CM, SYSTEMS, Code
from citewell.types.facts import PartialDate
from citewell.vocabulary.icd10cm import icd10cm_name

Value = TypeVar("Value")
_UNITS = {"s": "second", "min": "minute", "h": "hour", "d": "day", "wk": "week", "mo": "month", "a": "year"}
_TIMES = {1: "once", 2: "twice"}


def name_of(concept: Any) -> str | None:
    """What a code is called, without the kind that SNOMED CT puts behind it.

    >>> name_of({"coding": [{"display": "Sprain of ankle (disorder)"}]})
    'Sprain of ankle'
    """
    if not isinstance(concept, Mapping):
        return None
    names = [concept.get("text"), *(one.get("display") for one in concept.get("coding", []))]
    written = next((name for name in names if isinstance(name, str) and name.strip()), None)
    return None if written is None else plain_name(written)


def must_name(concept: Any) -> str:
    """The same where a resource is worth nothing without a name; a code without one is told as the code.

    >>> must_name({"coding": [{"system": "http://loinc.org", "code": "8867-4"}]})
    'Heart rate'
    >>> must_name({"coding": [{"system": "http://snomed.info/sct", "code": "38341003"}]})
    'SNOMED CT 38341003'
    """
    name = name_of(concept) or _coded_name(concept)
    if name is None:
        raise ValueError("it does not say what it is about")
    return name


def _coded_name(concept: Any) -> str | None:
    """What a code without a name is called: its name in a table that is here, else the system and the code."""
    for coding in concept.get("coding", []) if isinstance(concept, Mapping) else []:
        if code := coding.get("code"):
            system = SYSTEMS.get(str(coding.get("system")), "Code")
            return _tabled_name(concept) or f"{system} {code}"
    return None


def _tabled_name(concept: Any) -> str | None:
    """The usual name of a measurement, or the name in ICD-10-CM."""
    for held in codes_in(concept):
        name = icd10cm_name(held.code) if held.system == ICD_10_CM else None
        if name is not None:
            return name
    code = code_of(concept)
    return USUAL_NAMES[code][0] if code in USUAL_NAMES else None


def is_named(concept: Any) -> bool:
    """Whether a code has a name, or one that everybody uses; a bare code waits for a person."""
    return name_of(concept) is not None or _tabled_name(concept) is not None


def code_of(concept: Any) -> str | None:
    """The first code."""
    codings = concept.get("coding", []) if isinstance(concept, Mapping) else []
    return next((str(coding["code"]) for coding in codings if coding.get("code")), None)


def codes_in(concept: Any) -> tuple[Code, ...]:
    """Every code that says which terminology it is of.

    >>> codes_in({"coding": [{"system": "http://loinc.org", "code": "4548-4"}, {"code": "A1c"}]})
    (Code(system='http://loinc.org', code='4548-4'),)
    """
    codings = concept.get("coding", []) if isinstance(concept, Mapping) else []
    pairs = ((coding.get("system"), coding.get("code")) for coding in codings if isinstance(coding, Mapping))
    return tuple(
        dict.fromkeys(
            Code(system, code) for system, code in pairs if isinstance(system, str) and isinstance(code, str) and code
        )
    )


def first(resource: Json, key: str) -> Any:
    """The first of a list, or nothing."""
    found = resource.get(key)
    return found[0] if isinstance(found, list) and found else None


def each(resource: Json, key: str) -> list[Json]:
    """The parts under a key that are parts, whether they are in a list or one stands alone."""
    return [held for held in as_list(resource.get(key)) if isinstance(held, Mapping)]


def as_list(held: Any) -> list[Any]:
    """What is held, as a list."""
    return held if isinstance(held, list) else [] if held is None else [held]


def moment(resource: Json, *keys: str) -> PartialDate | None:
    """The first of these that is there; of a period, its beginning."""
    for key in keys:
        entry = resource.get(key)
        entry = entry.get("start") if isinstance(entry, Mapping) else entry
        if isinstance(entry, str):
            return PartialDate(entry)
    return None


def ending(resource: Json, *keys: str) -> PartialDate | None:
    """The end of the first period that is there."""
    for key in keys:
        entry = resource.get(key)
        entry = entry.get("end") if isinstance(entry, Mapping) else entry
        if isinstance(entry, str):
            return PartialDate(entry)
    return None


def known(table: Mapping[str, Value], given: Any, what: str) -> Value:
    """The value that a code stands for; an unknown code is an error, never a default."""
    if given not in table:
        raise ValueError(f"its {what} is not one that FHIR R4 defines")
    return table[given]


def person_name(resource: Json) -> str | None:
    """The name of a person, as they are addressed.

    >>> person_name({"name": [{"family": "Schultz", "given": ["Terrance"], "prefix": ["Dr."]}]})
    'Dr. Terrance Schultz'
    """
    name = first(resource, "name") if isinstance(resource.get("name"), list) else resource.get("name")
    if isinstance(name, str):
        return name.strip() or None
    if not isinstance(name, Mapping):
        return None
    parts = [*name.get("prefix", []), *name.get("given", []), name.get("family") or "", *name.get("suffix", [])]
    return " ".join(part for part in parts if part) or name.get("text") or None


def called(bundle: Bundle, reference: Any, *, within: Json | None = None) -> str | None:
    """The name of a person or an organisation that is referred to."""
    entry = bundle.referred(reference, within=within)
    if entry is None:
        shown = reference.get("display") if isinstance(reference, Mapping) else None
        return shown if isinstance(shown, str) and shown.strip() else None
    if entry.kind == "PractitionerRole":
        return called(bundle, entry.resource.get("practitioner"), within=within)
    return person_name(entry.resource)


def about(bundle: Bundle, reference: Any, *, within: Json | None = None) -> str | None:
    """What a condition or an observation that is referred to is called."""
    if isinstance(reference, Mapping) and isinstance(reference.get("display"), str):
        return plain_name(reference["display"])
    entry = bundle.referred(reference, within=within)
    return None if entry is None else name_of(entry.resource.get("code"))


def how_often(timing: Any) -> str | None:
    """A timing in words.

    >>> how_often({"repeat": {"frequency": 1, "period": 6, "periodUnit": "h"}})
    'every 6 hours'
    >>> how_often({"repeat": {"frequency": 2, "period": 1, "periodUnit": "d"}})
    'twice a day'
    """
    if not isinstance(timing, Mapping):
        return None
    repeat = timing.get("repeat")
    if not isinstance(repeat, Mapping) or "period" not in repeat or "periodUnit" not in repeat:
        events = repeat.get("when") if isinstance(repeat, Mapping) else None
        named = [EVENTS[event] for event in (events if isinstance(events, list) else []) if event in EVENTS]
        return name_of(timing.get("code")) or ", ".join(named) or None
    unit = known(_UNITS, repeat["periodUnit"], "unit of time")
    frequency, period = int(repeat.get("frequency", 1)), float(repeat["period"])
    each = f"a {unit}" if unit != "hour" else "an hour"
    if period == 1:
        return f"{_TIMES.get(frequency, f'{frequency} times')} {each}"
    every = f"every {period:g} {unit}s"
    return every if frequency == 1 else f"{_TIMES.get(frequency, f'{frequency} times')} {every}"
