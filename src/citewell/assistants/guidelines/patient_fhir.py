"""Reads a FHIR R4 bundle as a patient: active conditions, smoking status, the latest result of each test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from citewell.assistants.guidelines.patient import (
    NO_STATUS,
    SEXES,
    Complaint,
    PatientInput,
    TestResult,
    UnreadField,
    by_range,
)
from citewell.clinical.quantities import ages_of_birth
from citewell.errors import InputError
from citewell.types.coded_names import plain_name
from citewell.types.codes import ICD_10_CM, SYSTEMS
from citewell.vocabulary.icd10cm import icd10cm_name

SMOKING = "72166-2"
"""LOINC: tobacco smoking status."""
DATES = ("effectiveDateTime", "onsetDateTime", "performedDateTime", "authoredOn", "recordedDate")
NO_NAME = "has no name and was not read"
SHOWN = 200
"""Characters of what could not be read that are repeated."""
MISTAKEN = ("entered-in-error", "refuted", "cancelled")


def patient_from_bundle(bundle: Mapping[str, Any], *, on: date | None = None) -> PatientInput:
    """The one patient of a bundle, as old as on a day, or as on its last dated entry."""
    resources = [entry["resource"] for entry in _list(bundle, "entry") if isinstance(entry.get("resource"), Mapping)]
    entries = [resource for resource in resources if not _is_mistaken(resource)]
    people = [resource for resource in entries if resource.get("resourceType") == "Patient"]
    if len(people) != 1:
        raise InputError("The bundle must contain exactly one patient. Export one patient at a time.")
    person = people[0]
    observations = [resource for resource in entries if resource.get("resourceType") == "Observation"]
    last = on or max((day for resource in entries for day in _dates(resource)), default=_day(bundle.get("timestamp")))
    last = last or date.today()  # noqa: DTZ011 - a birthday
    latest: dict[str, Mapping[str, Any]] = {}
    for observation in sorted(observations, key=lambda observation: max(_dates(observation), default=date.min)):
        latest[_called(observation)] = observation
    smoking = [resource for resource in latest.values() if _has_code(resource, SMOKING)]
    gender = str(person.get("gender", "")).lower()
    sex = SEXES.get(gender)
    ages, unread = _ages(person.get("birthDate"), last)
    return PatientInput(
        id=str(person.get("id") or "unnamed"),
        age=ages[0] if ages and ages[0] == ages[1] else None,
        sex=sex,
        smoking=plain_name(_named_value(smoking[-1])) if smoking else None,
        complaints=tuple(_complaints(entries, last)),
        tests=tuple(
            test
            for _, resource in sorted(latest.items())
            if (name := _named(resource)) and (test := _test(name, resource)) is not None
        ),
        not_read=(*unread, *_death(person), *_not_read(resources, latest, gender if sex is None else "")),
        ages=ages if ages and ages[0] != ages[1] else None,
    )


def has_died(person: Mapping[str, Any]) -> bool:
    """Whether a Patient resource says that the person is dead."""
    return person.get("deceasedBoolean") is True or bool(person.get("deceasedDateTime"))


def _death(person: Mapping[str, Any]) -> Iterator[UnreadField]:
    if has_died(person):
        yield UnreadField("deceased", "Patient", "the record says that the patient has died")


def _not_read(
    resources: Iterable[Mapping[str, Any]], latest: Mapping[str, Mapping[str, Any]], gender: str
) -> Iterator[UnreadField]:
    """The entries of which nothing is taken: each condition and result by its name, the other kinds by their number."""
    if gender:
        yield UnreadField(gender, "gender", "does not say which organs the patient has")
    others: Counter[str] = Counter()
    for resource in resources:
        kind, name = str(resource.get("resourceType") or ""), plain_name(_named(resource))
        if kind in ("Condition", "Observation") and _is_mistaken(resource):
            yield UnreadField(name or _called(resource), kind, "marked in the record as an error, refuted or cancelled")
        elif kind == "Condition" and not (_is_active(resource) and name):
            why = "not active in the record" if name else NO_NAME
            yield UnreadField(name or _called(resource), kind, why)
        elif kind not in ("Patient", "Condition", "Observation"):
            others[kind or "no kind"] += 1
    for name, resource in latest.items():
        if not _named(resource):
            yield UnreadField(name, "Observation", NO_NAME)
        elif not _has_code(resource, SMOKING) and _test(name, resource) is None:
            yield UnreadField(name, "Observation", "has no single value")
    for kind, count in sorted(others.items()):
        yield UnreadField(f"{count} × {kind}", "entry", "this type of entry is not read")


def _is_active(resource: Mapping[str, Any]) -> bool:
    """Whether a condition is going on; one without a status is, unless it says when it ended."""
    if _has_status(resource):
        return _code(resource.get("clinicalStatus")) in ("active", "recurrence", "relapse")
    return not any(key.startswith("abatement") for key in resource)


def _has_status(resource: Mapping[str, Any]) -> bool:
    return _code(resource.get("clinicalStatus")) not in ("", "unknown")


def _is_mistaken(resource: Mapping[str, Any]) -> bool:
    """Whether the record itself says that an entry does not hold."""
    return resource.get("status") in MISTAKEN or _code(resource.get("verificationStatus")) in MISTAKEN


def _complaints(entries: list[Mapping[str, Any]], last: date | None) -> Iterator[Complaint]:
    for resource in entries:
        if resource.get("resourceType") == "Condition" and _is_active(resource):
            began = min(_dates(resource), default=None)
            days = (last - began).days if last and began and began <= last else None
            if name := plain_name(_named(resource)):
                yield Complaint(name, days, "Condition" if _has_status(resource) else NO_STATUS)


def _test(name: str, resource: Mapping[str, Any]) -> TestResult | None:
    quantity = resource.get("valueQuantity")
    if isinstance(quantity, Mapping) and isinstance(quantity.get("value"), int | float):
        ranges = _list(resource, "referenceRange")
        low = _limit(ranges[0], "low") if ranges else None
        high = _limit(ranges[0], "high") if ranges else None
        value = float(quantity["value"])
        flag = by_range(value, low, high)
        return TestResult(name, value, str(quantity.get("unit") or "") or None, None, flag, low, high)
    words = _named_value(resource)
    return TestResult(name, text=words) if words else None


def _limit(given: Mapping[str, Any], key: str) -> float | None:
    value = given.get(key)
    number = value.get("value") if isinstance(value, Mapping) else None
    return float(number) if isinstance(number, int | float) else None


def _ages(born: object, last: date) -> tuple[tuple[int, int] | None, list[UnreadField]]:
    """The youngest and oldest that a patient can be, or why a date of birth tells nothing; none given is silent."""
    if born is None:
        return None, []
    try:
        return ages_of_birth(str(born), last), []
    except ValueError as error:
        return None, [UnreadField(str(born)[:SHOWN], "birthDate", str(error))]


def _dates(resource: Mapping[str, Any]) -> list[date]:
    """The days that a resource names for itself."""
    period = resource.get("period")
    given = [resource.get(key) for key in DATES]
    given += [period.get("start")] if isinstance(period, Mapping) else []
    return [day for text in given if (day := _day(text)) is not None]


def _day(given: object) -> date | None:
    try:
        return date.fromisoformat(str(given)[:10])
    except ValueError:
        return None


def _named(resource: Mapping[str, Any]) -> str:
    return _concept(resource.get("code"))


def _called(resource: Mapping[str, Any]) -> str:
    """The name of an entry, else its codes, each with the terminology that it is of."""
    if name := _named(resource):
        return name
    given = resource.get("code")
    codings = _list(given, "coding") if isinstance(given, Mapping) else []
    codes = [
        f"Code {coding['code']} ({SYSTEMS.get(str(coding.get('system')), coding.get('system') or 'no system')})"
        for coding in codings
        if coding.get("code")
    ]
    return ", ".join(codes)[:SHOWN] or "no name"


def _named_value(resource: Mapping[str, Any]) -> str:
    return _concept(resource.get("valueCodeableConcept")) or str(resource.get("valueString") or "")


def _concept(given: object) -> str:
    if not isinstance(given, Mapping):
        return ""
    shown = [str(coding.get("display") or _tabled(coding)) for coding in _list(given, "coding")]
    return str(given.get("text") or next(filter(None, shown), ""))


def _tabled(coding: Mapping[str, Any]) -> str:
    """The name in ICD-10-CM of a code that comes without one."""
    return icd10cm_name(str(coding.get("code") or "")) or "" if coding.get("system") == ICD_10_CM else ""


def _code(given: object) -> str:
    codings = _list(given, "coding") if isinstance(given, Mapping) else []
    return str(codings[0].get("code") or "") if codings else ""


def _has_code(resource: Mapping[str, Any], code: str) -> bool:
    given = resource.get("code")
    return isinstance(given, Mapping) and any(coding.get("code") == code for coding in _list(given, "coding"))


def _list(given: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = given.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
