"""One reader for each kind of FHIR resource that becomes a fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from citewell.adapters.records.bundle import Bundle, BundleEntry, Json
from citewell.adapters.records.cda_values import is_untold
from citewell.adapters.records.dosage_words import COUNTED, UNITS, dose_and_count
from citewell.adapters.records.fhir_person_details import read_details
from citewell.adapters.records.fhir_statuses import (
    ALLERGY_STATES,
    CONDITION_STATES,
    MEDICATION_STATES,
    SEVERITIES,
    SEXES,
    UNSURE,
    VISIT_STATES,
    flag_of,
)
from citewell.adapters.records.fhir_values import (
    about,
    called,
    code_of,
    codes_in,
    ending,
    first,
    how_often,
    is_named,
    known,
    moment,
    must_name,
    name_of,
    person_name,
)
from citewell.adapters.records.imported_facts import NOT_YET
from citewell.adapters.records.person_names import NO_NAME
from citewell.adapters.records.product_names import read_product
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    FrequencyType,
    LabResult,
    Medication,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    ResultCategory,
    ResultPart,
    Severity,
    Vaccination,
    fact_id,
    professional_id,
)

NO_ALLERGIES, NO_KNOWN_IN_IPS = "716186003", "no-known-allergies"
ABSENCES = frozenset(
    f"no-{what}"
    for kind in ("allergy", "medication", "problem", "immunization", "procedure", "device")
    for what in (f"{kind}-info", f"known-{kind}s")
) | {"no-known-allergies", "no-known-medication-allergies", "no-known-environmental-allergies"}
"""The codes by which a patient summary says that there is nothing, or that nothing is known."""
WORDS = ("valueString", "valueDateTime", "valueTime")
SPREADS = (
    ("valueRange", ("low", "high"), " to "),
    ("valuePeriod", ("start", "end"), " to "),
    ("valueRatio", ("numerator", "denominator"), ":"),
)
CATEGORIES = {category.value: category for category in ResultCategory}


def is_absence(concept: Any) -> bool:
    """Whether a code says that nothing is known, or that there is nothing."""
    return code_of(concept) in ABSENCES or is_untold(name_of(concept) or "")


def read_professional(entry: BundleEntry) -> Iterator[Professional]:
    """Somebody who treats the person, if they have a name."""
    if name := person_name(entry.resource):
        specialty = name_of(first(first(entry.resource, "qualification") or {}, "code"))
        yield Professional(id=professional_id(name), origin=NOT_YET, name=name, specialty=specialty)


def _person(entry: BundleEntry, _bundle: Bundle) -> Fact | None:
    name = person_name(entry.resource)
    sex = entry.resource.get("gender")
    return RecordOwner(
        id=fact_id("person"),
        origin=NOT_YET,
        name=name or NO_NAME,
        born=moment(entry.resource, "birthDate"),
        died=moment(entry.resource, "deceasedDateTime"),
        sex=None if sex is None else known(SEXES, sex, "sex"),
        details=tuple(read_details(entry.resource)),
    )


def _medication(entry: BundleEntry, bundle: Bundle) -> Fact | None:
    one = entry.resource
    states = MEDICATION_STATES[entry.kind]
    if (status := known(states, one.get("status"), "status")) is None:
        return None
    concept = one.get("medicationCodeableConcept")
    if concept is None and (held := bundle.referred(one.get("medicationReference"), within=one)) is not None:
        concept = held.resource.get("code")
    if is_absence(concept):
        return None
    product = read_product(must_name(concept or _shown(one.get("medicationReference"))))
    dosage = first(one, "dosageInstruction") or first(one, "dosage") or {}
    dose, count = dose_and_count(product, *_amount(dosage))
    told = dosage.get("patientInstruction") or dosage.get("text")
    reason = name_of(first(one, "reasonCode")) or about(bundle, first(one, "reasonReference"), within=one)
    return Medication(
        id=_id(entry),
        origin=NOT_YET,
        is_verified=one.get("status") not in UNSURE and (concept is None or is_named(concept)),
        generic_name=product.generic_name,
        brand_name=product.brand_name,
        code=code_of(concept),
        codes=codes_in(concept),
        dose=dose,
        frequency=how_often(dosage.get("timing")),
        frequency_type=_frequency_type(dosage),
        route=name_of(dosage.get("route")) or product.route,
        prescriber=called(bundle, one.get("requester") or one.get("informationSource"), within=one),
        start=moment(one, "authoredOn", "effectivePeriod", "effectiveDateTime", "dateAsserted"),
        end=ending(one, "effectivePeriod"),
        reason_start=reason,
        reason_stop=name_of(one.get("statusReason")) if isinstance(one.get("statusReason"), Mapping) else None,
        status=status,
        instructions="; ".join(part for part in (count, told) if part) or None,
        ingredients=product.ingredients,
    )


def _shown(reference: Any) -> Json | None:
    """What a reference itself says about what it leads to."""
    return {"text": reference.get("display")} if isinstance(reference, Mapping) else None


def _amount(dosage: Json) -> tuple[str | None, str | None]:
    """How much at a time, and in what unit; a bare number says nothing about the dose."""
    given = first(dosage, "doseAndRate") or dosage  # the amount stood in the dosage itself before R4
    quantity, band = given.get("doseQuantity") or {}, given.get("doseRange") or {}
    low, high = band.get("low") or {}, band.get("high") or {}
    parts = [quantity] if quantity else [part for part in (low, high) if part.get("value") is not None]
    unit = next((str(found) for part in parts if (found := part.get("unit") or part.get("code"))), "1")
    plain = unit.strip("{}").removesuffix("(s)")
    if plain == "1" or not parts or any(part.get("value") is None for part in parts):
        return None, None
    counted = COUNTED.match(plain)
    unit = counted.group().lower() if counted else UNITS.get(plain.casefold(), plain)
    return " to ".join(f"{float(part['value']):g}" for part in parts), unit


def _frequency_type(dosage: Json) -> FrequencyType | None:
    if dosage.get("asNeededBoolean") or dosage.get("asNeededCodeableConcept"):
        return FrequencyType.AS_NEEDED
    return FrequencyType.SCHEDULED if dosage.get("timing") else None


def _allergy(entry: BundleEntry, _bundle: Bundle) -> Fact | None:
    one = entry.resource
    if code_of(one.get("code")) == NO_KNOWN_IN_IPS:
        code = {"coding": [{"code": NO_ALLERGIES}], "text": "No known allergies"}
        one = {**one, "code": code}
    elif is_absence(one.get("code")):
        return None
    reactions = [
        name for held in one.get("reaction", []) for each in held.get("manifestation", []) if (name := name_of(each))
    ]
    severities = [
        known(SEVERITIES, held["severity"], "severity") for held in one.get("reaction", []) if "severity" in held
    ]
    severity = max(severities, key=list(Severity).index, default=None)
    if any("anaph" in name.casefold() for name in reactions):
        severity = Severity.LIFE_THREATENING
    state = code_of(one.get("clinicalStatus"))
    return Allergy(
        id=_id(entry),
        origin=NOT_YET,
        is_verified=_is_sure(one) and is_named(one.get("code")),
        allergen=must_name(one.get("code")),
        code=code_of(one.get("code")),
        codes=codes_in(one.get("code")),
        reaction=", ".join(reactions) or None,
        severity=severity,
        since=moment(one, "onsetDateTime", "onsetPeriod", "recordedDate"),
        is_active=(state is None or known(ALLERGY_STATES, state, "status"))
        and code_of(one.get("code")) not in NO_KNOWN,
    )


def _diagnosis(entry: BundleEntry, bundle: Bundle) -> Fact | None:
    one = entry.resource
    if is_absence(one.get("code")):
        return None
    state = code_of(one.get("clinicalStatus"))
    ended = moment(one, "abatementDateTime", "abatementPeriod")
    guessed = DiagnosisStatus.RESOLVED if ended else DiagnosisStatus.ACTIVE
    return Diagnosis(
        id=_id(entry),
        origin=NOT_YET,
        is_verified=_is_sure(one) and state is not None and is_named(one.get("code")),
        name=must_name(one.get("code")),
        code=code_of(one.get("code")),
        codes=codes_in(one.get("code")),
        dated=moment(one, "onsetDateTime", "onsetPeriod", "recordedDate"),
        ended=ended,
        by=called(bundle, one.get("recorder") or one.get("asserter")),
        status=guessed if state is None else known(CONDITION_STATES, state, "status"),
    )


def _result(entry: BundleEntry, bundle: Bundle) -> Fact | None:
    one = entry.resource
    if one.get("status") == "cancelled":
        return None
    value, value_text, unit = _value(one)
    band = first(one, "referenceRange") or {}
    low, high = ((band.get(side) or {}).get("value") for side in ("low", "high"))
    return LabResult(
        id=_id(entry),
        origin=NOT_YET,
        is_verified=one.get("status") not in UNSURE and is_named(one.get("code")),
        test_name=must_name(one.get("code")),
        code=code_of(one.get("code")),
        codes=codes_in(one.get("code")),
        category=next((CATEGORIES[code] for code in categories(one) if code in CATEGORIES), None),
        value=value,
        value_text=value_text,
        unit=unit,
        range_low=None if low is None else float(low),
        range_high=None if high is None else float(high),
        flag=flag_of(code_of(first(one, "interpretation")), value, low, high),
        collected=moment(one, "effectiveDateTime", "effectivePeriod", "effectiveInstant", "issued"),
        facility=None,
        ordered_by=called(bundle, first(one, "performer")),
        parts=tuple(_part(part) for part in one.get("component", [])),
    )


def categories(resource: Json) -> list[str]:
    """Every code of a category; FHIR prefers a list for them and allows others."""
    concepts = resource.get("category", [])
    return [
        str(coding["code"])
        for concept in (concepts if isinstance(concepts, list) else [])
        for coding in concept.get("coding", [])
        if coding.get("code")
    ]


def unknown_categories(resource: Json) -> list[str]:
    """The codes of a category of which none is one that FHIR prefers."""
    try:
        codes = categories(resource)
    except (AttributeError, TypeError, KeyError):  # the entry is broken, and was reported as such
        return []
    return [] if any(code in CATEGORIES for code in codes) else codes


def _part(part: Json) -> ResultPart:
    value, value_text, unit = _value(part)
    return ResultPart(must_name(part.get("code")), code_of(part.get("code")), value, value_text, unit)


def _value(entry: Json) -> tuple[float | None, str | None, str | None]:
    """A number with its unit, or words."""
    quantity = entry.get("valueQuantity")
    if isinstance(quantity, Mapping) and quantity.get("value") is not None:
        if comparator := quantity.get("comparator"):
            return None, f"{comparator} {quantity['value']:g} {quantity.get('unit') or ''}".strip(), None
        return float(quantity["value"]), None, quantity.get("unit") or quantity.get("code")
    if (number := entry.get("valueInteger")) is not None:
        return float(number), None, None
    if (truth := entry.get("valueBoolean")) is not None:
        return None, "yes" if truth else "no", None
    concept = entry.get("valueCodeableConcept")
    words = must_name(concept) if concept else next((entry[name] for name in WORDS if entry.get(name)), None)
    return None, words or _spread(entry) or name_of(entry.get("dataAbsentReason")), None


def _spread(entry: Json) -> str | None:
    """A value that is a range, a ratio or a time from one moment to another."""
    for name, sides, mark in SPREADS:
        if isinstance(held := entry.get(name), Mapping):
            parts = [held.get(side) for side in sides]
            told = [_plain(part) if isinstance(part, Mapping) else str(part) for part in parts if part]
            return mark.join(told) or None
    return None


def _plain(quantity: Json) -> str:
    return " ".join(str(part) for part in (quantity.get("value"), quantity.get("unit")) if part is not None)


def _procedure(entry: BundleEntry, bundle: Bundle) -> Fact | None:
    one = entry.resource
    if is_absence(one.get("code")):
        return None
    performer = (first(one, "performer") or {}).get("actor")
    return Procedure(
        id=_id(entry),
        origin=NOT_YET,
        is_verified=one.get("status") not in UNSURE,
        name=must_name(one.get("code")),
        code=code_of(one.get("code")),
        codes=codes_in(one.get("code")),
        performed=moment(one, "performedDateTime", "performedPeriod"),
        ended=ending(one, "performedPeriod"),
        by=called(bundle, performer),
        reason=name_of(first(one, "reasonCode")) or about(bundle, first(one, "reasonReference")),
        status=known(VISIT_STATES[entry.kind], one.get("status"), "status"),
    )


def _vaccination(entry: BundleEntry, _bundle: Bundle) -> Fact | None:
    one = entry.resource
    if one.get("status") == "not-done":
        return None
    concept = one.get("vaccineCode")
    if is_absence(concept):
        return None
    given = moment(one, "occurrenceDateTime")
    return Vaccination(
        id=_id(entry),
        origin=NOT_YET,
        name=must_name(concept),
        code=code_of(concept),
        codes=codes_in(concept),
        given=given,
    )


def _visit(entry: BundleEntry, bundle: Bundle) -> Fact | None:
    one = entry.resource
    people = [held.get("individual") or held.get("actor") for held in one.get("participant", [])]
    names = [name for person in people if (name := called(bundle, person))]
    return Appointment(
        id=_id(entry),
        origin=NOT_YET,
        is_verified=one.get("status") not in UNSURE,
        name=name_of(first(one, "type")) or name_of(first(one, "serviceType")) or one.get("description") or "Visit",
        at=moment(one, "period", "start"),
        ended=ending(one, "period", "end"),
        professional=", ".join(names) or None,
        institution=called(bundle, one.get("serviceProvider")),
        reason=name_of(first(one, "reasonCode")),
        status=known(VISIT_STATES[entry.kind], one.get("status"), "status"),
    )


def _referral(entry: BundleEntry, bundle: Bundle) -> Fact | None:
    one = entry.resource
    return Referral(
        id=_id(entry),
        origin=NOT_YET,
        is_verified=one.get("status") not in UNSURE,
        name=must_name(one.get("code")),
        dated=moment(one, "authoredOn", "occurrenceDateTime"),
        by=called(bundle, one.get("requester")),
        to=called(bundle, first(one, "performer")),
        reason=name_of(first(one, "reasonCode")) or about(bundle, first(one, "reasonReference")),
        status=known(VISIT_STATES[entry.kind], one.get("status"), "status"),
    )


def _id(entry: BundleEntry) -> str:
    return fact_id("fhir", entry.kind, entry.id)


def _is_sure(entry: Json) -> bool:
    return code_of(entry.get("verificationStatus")) not in UNSURE


READERS: dict[str, Callable[[BundleEntry, Bundle], Fact | None]] = {
    "Patient": _person,
    "MedicationRequest": _medication,
    "MedicationStatement": _medication,
    "AllergyIntolerance": _allergy,
    "Condition": _diagnosis,
    "Observation": _result,
    "Procedure": _procedure,
    "Immunization": _vaccination,
    "Encounter": _visit,
    "Appointment": _visit,
    "ServiceRequest": _referral,
}
"""A reader gives no fact for what was planned and never done."""
