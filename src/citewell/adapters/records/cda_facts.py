"""One reader for each template of C-CDA entries that becomes a fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from citewell.adapters.parsers.markup_flow import child_named, children_named, descendants_named, local_name
from citewell.adapters.records.cda_values import (
    Element,
    amount,
    attribute,
    code_of,
    concern_of,
    id_of,
    is_denied,
    moment,
    name_of,
    number,
    outer_of,
    person_in,
    span_of,
    status_of,
    template,
    templated,
)
from citewell.adapters.records.fhir_statuses import flag_of
from citewell.adapters.records.imported_facts import NOT_YET
from citewell.adapters.records.product_names import read_product
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    FrequencyType,
    LabResult,
    Medication,
    MedicationStatus,
    Procedure,
    Professional,
    RecordOwner,
    ResultCategory,
    Severity,
    Vaccination,
    VisitStatus,
    fact_id,
    professional_id,
)

ALLERGY, MEDICATION, PROBLEM, RESULT, VITAL_SIGN = "7", "16", "4", "2", "27"
PROCEDURES, VACCINATION, VISIT, SMOKING = ("14", "13", "12"), "52", "49", "78"
CONCERNS = frozenset({"3", "33", "34"})
"""Acts that hold the problems of the person: concerns, diagnoses at admission and at discharge."""
NO_ALLERGIES = "716186003"
ANYTHING = frozenset({"105590001", "410942007", "373873005", "762766007"})
"""SNOMED CT: substance, drug, pharmaceutical product, edible substance; “no allergy to a substance” means to none."""
MAX_VISIT_CHARACTERS = 100
SEVERITIES = {
    "255604002": Severity.MILD,
    "371923003": Severity.MODERATE,
    "6736007": Severity.MODERATE,
    "371924009": Severity.SEVERE,
    "24484000": Severity.SEVERE,
    "399166001": Severity.LIFE_THREATENING,
}
"""SNOMED CT: mild, mild to moderate, moderate, moderate to severe, severe, fatal."""
SEXES = {"M": "male", "F": "female", "UN": "other"}
PERIODS = {"h": "hours", "d": "days", "wk": "weeks", "min": "minutes"}


def read_people(root: Element) -> Iterator[Fact]:
    """The person, and everybody with a name who wrote or signed."""
    for patient in descendants_named(root, "patient"):
        if name := person_in(patient.getparent()):
            born = moment(attribute(child_named(patient, "birthTime"), "value"))
            sex = SEXES.get(attribute(child_named(patient, "administrativeGenderCode"), "code") or "")
            yield RecordOwner(id=fact_id("person"), origin=NOT_YET, name=name, born=born, sex=sex)
    for who in descendants_named(root, "assignedAuthor", "assignedEntity"):
        if name := person_in(who):
            place = child_named(child_named(who, "representedOrganization"), "name")
            yield Professional(
                id=professional_id(name),
                origin=NOT_YET,
                name=name,
                specialty=attribute(child_named(who, "code"), "displayName"),
                institution=" ".join((place.text or "").split()) or None if place is not None else None,
            )


def _allergy(element: Element, _now: datetime) -> Fact | None:
    entity = next(iter(descendants_named(element, "playingEntity")), None)
    code = child_named(entity, "code")
    spoken = child_named(entity, "name")
    name = name_of(code) or (" ".join((spoken.text or "").split()) if spoken is not None else None)
    since, _ended, has_ended = span_of(element)
    if is_denied(element):
        told = f"No known allergy to {name}" if name and code_of(code) not in ANYTHING else "No known allergies"
        return Allergy(
            id=id_of(element), origin=NOT_YET, allergen=told, code=NO_ALLERGIES, since=since, is_active=False
        )
    if name is None:
        return None
    reactions = [name_of(child_named(held, "value")) for held in templated(element, "9")]
    codes = [code_of(child_named(held, "value")) or "" for held in _severities(element)]
    known = [SEVERITIES[held] for held in codes if held in SEVERITIES]
    return Allergy(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=code_of(code) is not None,
        allergen=name,
        code=code_of(code),
        reaction=", ".join(dict.fromkeys(reaction for reaction in reactions if reaction)) or None,
        severity=max(known, key=list(Severity).index, default=None),
        since=since,
        is_active=not has_ended and concern_of(element) != "completed",
    )


def _severities(element: Element) -> Iterator[Element]:
    """Of the allergy and its reactions, and of what follows it in its concern, up to the next allergy there."""
    yield from templated(element, "8")
    outer = element.getparent()
    for beside in outer.itersiblings() if outer is not None and local_name(outer) == "entryRelationship" else ():
        if next(templated(beside, ALLERGY), None) is not None:
            return
        yield from templated(beside, "8")


def _medication(element: Element, now: datetime) -> Fact | None:
    code = next((child_named(held, "code") for held in descendants_named(element, "manufacturedMaterial")), None)
    name = name_of(code)
    if name is None or is_denied(element):
        return None
    product = read_product(name)
    start, end, has_ended = span_of(element)
    reasons = [name_of(child_named(held, "value")) for held in templated(element, "19")]
    frequency = _frequency(element)
    is_needed = child_named(element, "precondition") is not None
    return Medication(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=code_of(code) is not None,
        generic_name=product.generic_name,
        brand_name=product.brand_name,
        code=code_of(code),
        dose=amount(child_named(element, "doseQuantity")) or product.dose,
        frequency=frequency,
        frequency_type=FrequencyType.AS_NEEDED if is_needed else FrequencyType.SCHEDULED if frequency else None,
        route=_route(element) or product.route,
        prescriber=person_in(child_named(element, "author")),
        start=start,
        end=end,
        reason_start=next((reason for reason in reasons if reason), None),
        status=_taken(status_of(element), is_over=has_ended and (end is None or end.at < now)),
        ingredients=product.ingredients,
    )


def _route(element: Element) -> str | None:
    told = attribute(child_named(element, "routeCode"), "displayName")
    return told.lower().removesuffix(" route of administration") if told else None


def _taken(status: str | None, *, is_over: bool) -> MedicationStatus:
    if status == "suspended":
        return MedicationStatus.PAUSED
    return MedicationStatus.STOPPED if is_over or status in ("completed", "aborted") else MedicationStatus.ACTIVE


def _frequency(element: Element) -> str | None:
    for time in children_named(element, "effectiveTime"):
        period = child_named(time, "period")
        unit = PERIODS.get(attribute(period, "unit") or "")
        if unit and (every := number(period)) is not None:
            return f"every {every:g} {unit}"
    return None


def _problem(element: Element, _now: datetime) -> Fact | None:
    value = child_named(element, "value")
    name = name_of(value)
    if name is None or is_denied(element) or not template(outer_of(element)) & CONCERNS:
        return None
    dated, ended, has_ended = span_of(element)
    is_over = has_ended or concern_of(element) == "completed"
    return Diagnosis(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=code_of(value) is not None,
        name=name,
        code=code_of(value),
        dated=dated,
        ended=ended,
        by=person_in(child_named(element, "author")),
        status=DiagnosisStatus.RESOLVED if is_over else DiagnosisStatus.ACTIVE,
    )


def _result(element: Element, category: ResultCategory, usual_name: str | None = None) -> Fact | None:
    code, value = child_named(element, "code"), child_named(element, "value")
    name = name_of(code) or usual_name
    if name is None or is_denied(element):
        return None
    words = None if value is None else name_of(value) or " ".join((value.text or "").split()) or None
    band = next(iter(descendants_named(element, "observationRange")), None)
    limits = child_named(band, "value")
    low, high = number(child_named(limits, "low")), number(child_named(limits, "high"))
    collected, _ended, _has_ended = span_of(element)
    found = number(value)
    return LabResult(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=code_of(code) is not None,
        test_name=name,
        code=code_of(code),
        category=category,
        value=found,
        value_text=None if found is not None else words or ("pending" if status_of(element) == "active" else None),
        unit=None if found is None else attribute(value, "unit"),
        range_low=low,
        range_high=high,
        flag=flag_of(attribute(child_named(element, "interpretationCode"), "code"), found, low, high),
        collected=collected,
        ordered_by=person_in(child_named(element, "author")),
    )


def _procedure(element: Element, _now: datetime) -> Fact | None:
    code = child_named(element, "code")
    name = name_of(code)
    if name is None or is_denied(element) or element.get("moodCode") != "EVN":
        return None
    performed, ended, _has_ended = span_of(element)
    cancelled = status_of(element) in ("aborted", "cancelled")
    return Procedure(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=code_of(code) is not None,
        name=name,
        code=code_of(code),
        performed=performed,
        ended=ended,
        by=person_in(child_named(element, "performer")),
        status=VisitStatus.CANCELLED if cancelled else VisitStatus.DONE,
    )


def _vaccination(element: Element, _now: datetime) -> Fact | None:
    code = next((child_named(held, "code") for held in descendants_named(element, "manufacturedMaterial")), None)
    name = name_of(code)
    if name is None or is_denied(element) or element.get("moodCode") != "EVN":
        return None
    given = span_of(element)[0]
    return Vaccination(id=id_of(element), origin=NOT_YET, name=name, code=code_of(code), given=given)


def _visit(element: Element, _now: datetime) -> Fact | None:
    at, ended, _has_ended = span_of(element)
    return Appointment(
        id=id_of(element),
        origin=NOT_YET,
        name=_visit_name(name_of(child_named(element, "code")) or "Visit"),
        at=at,
        ended=ended,
        professional=person_in(child_named(element, "performer")),
        status=VisitStatus.DONE if element.get("moodCode") == "EVN" else VisitStatus.PLANNED,
    )


def _visit_name(name: str) -> str:
    """Billing codes are called by whole paragraphs; their first clause says what it was."""
    return name if len(name) <= MAX_VISIT_CHARACTERS else name.partition(",")[0]


READERS: dict[str, Callable[[Element, datetime], Fact | None]] = {
    ALLERGY: _allergy,
    MEDICATION: _medication,
    PROBLEM: _problem,
    RESULT: lambda element, _now: _result(element, ResultCategory.LABORATORY),
    VITAL_SIGN: lambda element, _now: _result(element, ResultCategory.VITAL_SIGNS),
    SMOKING: lambda element, _now: _result(element, ResultCategory.SOCIAL_HISTORY, "Tobacco smoking status"),
    **dict.fromkeys(PROCEDURES, _procedure),
    VACCINATION: _vaccination,
    VISIT: _visit,
}
"""A reader gives no fact for an entry without a name, or one that says that something was not so."""
