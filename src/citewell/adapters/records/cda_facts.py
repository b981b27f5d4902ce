"""One reader for each template of C-CDA entries that becomes a fact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from citewell.adapters.parsers.markup_flow import child_named, children_named, descendants_named, local_name
from citewell.adapters.records.cda_dosage import dose_of, frequency_of, instructions_of, reason_in
from citewell.adapters.records.cda_narrative import holds_number
from citewell.adapters.records.cda_person_details import read_details
from citewell.adapters.records.cda_status import State, concern_standing, medicine_standing
from citewell.adapters.records.cda_values import (
    MAX_REFERRED_CHARACTERS,
    Element,
    all_names_of,
    attribute,
    began,
    code_of,
    codes_in,
    ending_of,
    id_of,
    is_denied,
    is_untold,
    moment,
    name_of,
    names_of,
    number,
    outer_of,
    person_in,
    referred_within,
    said_within,
    says_nothing,
    section_code,
    status_of,
    template,
    templated,
)
from citewell.adapters.records.fhir_statuses import flag_of
from citewell.adapters.records.imported_facts import NOT_YET
from citewell.adapters.records.product_names import read_product
from citewell.adapters.records.usual_names import USUAL_NAMES
from citewell.clinical.quantities import quantities
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
SOCIAL, TOBACCO, PLANNED_VISIT, PLANNED_ACTS = "38", "85", "40", ("39", "41", "44")
PLANS = frozenset({"39", "40", "41", "42", "43", "44"})
FUNCTIONS = frozenset({"67", "68", "73", "74"})
"""Templates of functional and cognitive states."""
DONE, TAKEN, PLANNED = ("EVN",), ("INT", "RQO"), ("INT", "RQO", "ARQ", "APT", "PRMS", "PRP")
"""What an act is: an event; for a medicine also an intent or an order; a plan."""
CONCERNS = frozenset({"3", "33", "34", "51", "65"})
"""Acts that hold the problems of the person: concerns, diagnoses at admission, at discharge, after and before an
operation."""
PROBLEM_SECTIONS = frozenset({"11450-4", "11348-0", "46241-6", "42347-5", "11535-2", "10218-6", "10219-4", "55109-3"})
"""LOINC: problems, past illness, diagnoses at admission, at discharge, after and before an operation, complications."""
PLAN_SECTIONS = frozenset({"18776-5", "51847-2"})
"""LOINC: plan, assessment and plan."""
RESULTS = "30954-2"
NO_ALLERGIES, NO_DRUG_ALLERGIES, NO_FOOD_ALLERGIES = "716186003", "409137002", "429625007"
ABSENCES = {
    NO_ALLERGIES: "No known allergies",
    NO_DRUG_ALLERGIES: "No known drug allergies",
    NO_FOOD_ALLERGIES: "No known food allergies",
    "428607008": "No known environmental allergies",
}
ABSENT_KINDS = {
    "416098002": NO_DRUG_ALLERGIES,
    "419511003": NO_DRUG_ALLERGIES,
    "59037007": NO_DRUG_ALLERGIES,
    "414285001": NO_FOOD_ALLERGIES,
    "418471000": NO_FOOD_ALLERGIES,
}
"""SNOMED CT: what kind of allergy is denied, by the kind of reaction."""
ANY_SUBSTANCE = frozenset({"105590001"})
ANYTHING = frozenset({*ANY_SUBSTANCE, "410942007", "373873005", "762766007"})
"""SNOMED CT: substance, drug, pharmaceutical product, edible substance; “no allergy to a substance” means to none."""
KIND_OF_ALLERGY = re.compile(
    r"(?:(?:drug|food|environmental)? ?(?:allergy|allergies|intolerance)|allergy to (?:substance|drug|food)|"
    r"(?:propensity to )?adverse reactions?.*|propensity to adverse reactions?.*|allergic (?:disposition|reaction))",
    re.IGNORECASE,
)
"""What says of what kind an allergy is, and not to what: an allergy all the same, which a person has to look at."""
NO_ALLERGY_SAID = re.compile(
    r"\bnk(?:d|f|da|a|fa)\b|\b(?:no|denies)(?: known| any| active| current)*(?: drug| medication| food| medicine)?"
    r"(?: and \w+)? allerg\w+",
    re.IGNORECASE,
)
ABSENT_WORDS = (
    (NO_DRUG_ALLERGIES, re.compile(r"nkda|drug|medic", re.IGNORECASE)),
    (NO_FOOD_ALLERGIES, re.compile(r"nkfa|food", re.IGNORECASE)),
)
MAX_NAME_CHARACTERS = 100
VISIT_NAMES = ("Visit", "Encounter", "Appointment")
MEDICINE_STATES = {
    State.ACTIVE: MedicationStatus.ACTIVE,
    State.CALMED: MedicationStatus.ACTIVE,
    State.PAUSED: MedicationStatus.PAUSED,
    State.OVER: MedicationStatus.STOPPED,
}
PROBLEM_STATES = {
    State.ACTIVE: DiagnosisStatus.ACTIVE,
    State.CALMED: DiagnosisStatus.MONITORING,
    State.PAUSED: DiagnosisStatus.MONITORING,
    State.OVER: DiagnosisStatus.RESOLVED,
}
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


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of an entry besides its codes."""

    now: datetime
    """When the document was written."""
    name: str
    line: str = ""
    """Its line in the narrative."""
    called: str | None = None
    """What the narrative calls it by another name, such as a brand."""


def read_people(root: Element) -> Iterator[RecordOwner | Professional]:
    """The person, and everybody with a name who wrote or signed."""
    for patient in descendants_named(root, "patient"):
        if name := person_in(patient.getparent()):
            born = moment(attribute(child_named(patient, "birthTime"), "value"))
            sex = SEXES.get(attribute(child_named(patient, "administrativeGenderCode"), "code") or "")
            details = tuple(read_details(root, patient))
            yield RecordOwner(id=fact_id("person"), origin=NOT_YET, name=name, born=born, sex=sex, details=details)
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


def _allergy_names(element: Element) -> list[str]:
    if (absence := _absence(element)) is not None:
        return [absence[0]]
    entity = _entity(element)
    names = [*names_of(child_named(entity, "code")), *_spoken_of(entity)]
    names = names if entity is not None else names_of(child_named(element, "value"))
    return sorted(names, key=lambda name: KIND_OF_ALLERGY.fullmatch(name) is not None)


def _entity(element: Element) -> Element | None:
    """What an allergy is to."""
    for participant in children_named(element, "participant"):
        if (entity := next(iter(descendants_named(participant, "playingEntity")), None)) is not None:
            return entity
    return None


def _spoken(entity: Element) -> list[str]:
    name = child_named(entity, "name")
    words = "" if name is None else said_within(name, MAX_REFERRED_CHARACTERS)
    return [words] if words and not says_nothing(words) else []


def _absence(element: Element) -> tuple[str, str] | None:
    """The words and the code of an entry that says that there is no allergy."""
    entity, value = _entity(element), child_named(element, "value")
    code = child_named(entity, "code")
    for coded in (code, value):
        if (known := code_of(coded)) in NO_KNOWN:
            return ABSENCES.get(known or "", ABSENCES[NO_ALLERGIES]), known or NO_ALLERGIES
    if is_denied(element):
        if code_of(code) not in ANYTHING and (name := next(iter([*names_of(code), *_spoken_of(entity)]), None)):
            return f"No known allergy to {name}", NO_ALLERGIES
        kind = NO_ALLERGIES if code_of(code) in ANY_SUBSTANCE else ABSENT_KINDS.get(code_of(value) or "", NO_ALLERGIES)
        return ABSENCES[kind], kind
    said = [*all_names_of(code), *_spoken_words(entity), *(all_names_of(value) if entity is None else ())]
    for words in said:
        if (match := NO_ALLERGY_SAID.search(words)) is not None:
            kind = next((kind for kind, pattern in ABSENT_WORDS if pattern.search(match.group())), NO_ALLERGIES)
            return ABSENCES[kind], kind
    return None


def _spoken_of(entity: Element | None) -> list[str]:
    return [] if entity is None else _spoken(entity)


def _spoken_words(entity: Element | None) -> list[str]:
    name = child_named(entity, "name")
    return [] if name is None else [said_within(name, MAX_REFERRED_CHARACTERS)]


def _allergy(element: Element, reading: Reading) -> Fact | None:
    since = began(element)
    if (absence := _absence(element)) is not None:
        told, code = absence
        return Allergy(id=id_of(element), origin=NOT_YET, allergen=told, code=code, since=since, is_active=False)
    entity = _entity(element)
    coded = child_named(entity if entity is not None else element, "code" if entity is not None else "value")
    code_there = code_of(coded)
    reactions = [name_of(child_named(held, "value")) or _text_of(held) for held in templated(element, "9")]
    codes = [code_of(child_named(held, "value")) or "" for held in _severities(element)]
    known = [SEVERITIES[held] for held in codes if held in SEVERITIES]
    standing = concern_standing(element, reading.line, reading.now)
    is_named = code_there is not None and not KIND_OF_ALLERGY.fullmatch(reading.name)
    severity = max(known, key=list(Severity).index, default=None)
    if any("anaph" in reaction.casefold() for reaction in reactions if reaction):
        severity = Severity.LIFE_THREATENING
    return Allergy(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=is_named and standing.is_sure,
        allergen=reading.name,
        code=code_there,
        codes=codes_in(coded),
        reaction=", ".join(dict.fromkeys(reaction for reaction in reactions if reaction)) or None,
        severity=severity,
        since=since,
        is_active=standing.state is not State.OVER,
    )


def _text_of(element: Element) -> str | None:
    """The words of an entry, or of the narrative that it refers to, where they are few."""
    text = child_named(element, "text")
    words = None if text is None else said_within(text, MAX_NAME_CHARACTERS) or referred_within(text)
    return words if words and len(words) <= MAX_NAME_CHARACTERS and not says_nothing(words) else None


def _severities(element: Element) -> Iterator[Element]:
    """Of the allergy and its reactions, and of what follows it in its concern, up to the next allergy there."""
    yield from templated(element, "8")
    outer = element.getparent()
    for beside in outer.itersiblings() if outer is not None and local_name(outer) == "entryRelationship" else ():
        if next(templated(beside, ALLERGY), None) is not None:
            return
        yield from templated(beside, "8")


def _material(element: Element) -> Element | None:
    """The code of a medicine or a vaccine."""
    return next((child_named(held, "code") for held in descendants_named(element, "manufacturedMaterial")), None)


def _material_names(element: Element) -> list[str]:
    held = next(iter(descendants_named(element, "manufacturedMaterial")), None)
    return [*names_of(_material(element)), *_spoken_of(held)]


def _medication(element: Element, reading: Reading) -> Fact | None:
    if is_denied(element) or is_planned(element, *TAKEN):
        return None
    product, brand = read_product(reading.name), reading.called
    reasons = [name_of(child_named(held, "value")) for held in templated(element, "19")]
    frequency = frequency_of(element)
    is_needed = child_named(element, "precondition") is not None
    standing = medicine_standing(element, reading.line, reading.now)
    dose, count = dose_of(element, product, reading.name)
    return Medication(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=code_of(_material(element)) is not None and standing.is_sure and _is_said(dose, reading.line),
        generic_name=product.generic_name,
        brand_name=product.brand_name or brand,
        code=code_of(_material(element)),
        codes=codes_in(_material(element)),
        dose=dose,
        frequency=frequency,
        frequency_type=FrequencyType.AS_NEEDED if is_needed else FrequencyType.SCHEDULED if frequency else None,
        route=_route(element) or product.route,
        prescriber=person_in(child_named(element, "author")),
        start=began(element),
        end=ending_of(element).at,
        reason_start=next((reason for reason in reasons if reason), None) or reason_in(reading.line),
        status=MEDICINE_STATES[standing.state],
        instructions=instructions_of(element, reading.line, count),
        ingredients=product.ingredients,
    )


def _is_said(dose: str | None, line: str) -> bool:
    """Whether a line says this dose, or none that could be compared."""
    wanted = {(quantity.dimension, quantity.values) for quantity in quantities(dose or "")}
    kinds = {dimension for dimension, _values in wanted}
    there = {(quantity.dimension, quantity.values) for quantity in quantities(line) if quantity.dimension in kinds}
    return not there or bool(there & wanted)


def _route(element: Element) -> str | None:
    told = name_of(child_named(element, "routeCode"))
    return told.lower().removesuffix(" route of administration") if told else None


def _value_names(element: Element) -> list[str]:
    return names_of(child_named(element, "value")) or [name for name in [_text_of(element)] if name]


def _problem(element: Element, reading: Reading) -> Fact | None:
    if is_denied(element) or not _is_problem(element):
        return None
    value = child_named(element, "value")
    standing = concern_standing(element, reading.line, reading.now)
    return Diagnosis(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=code_of(value) is not None and standing.is_sure,
        name=reading.name,
        code=code_of(value),
        codes=codes_in(value),
        dated=began(element),
        ended=ending_of(element).at,
        by=person_in(child_named(element, "author")),
        status=PROBLEM_STATES[standing.state],
    )


def _is_problem(element: Element) -> bool:
    """Whether an observation is a problem of its own: not the reason for a medicine or a visit, and not a function."""
    outer = outer_of(element)
    if outer is element:
        return section_code(element) in PROBLEM_SECTIONS and not template(element) & FUNCTIONS
    return bool(template(outer) & CONCERNS) and outer_of(outer) is outer


def _code_names(element: Element) -> list[str]:
    return names_of(child_named(element, "code")) or [name for name in [_text_of(element)] if name]


def _test_names(element: Element) -> list[str]:
    """A vital sign is called as its code is, or as people call it; a smoking status has no code of its own."""
    code = child_named(element, "code")
    usual = USUAL_NAMES.get("smoking" if SMOKING in template(element) else code_of(code) or "", ())
    return list(dict.fromkeys([*names_of(code), *usual])) or _code_names(element)


def _result(element: Element, category: ResultCategory, reading: Reading) -> Fact | None:
    status = status_of(element)
    if is_denied(element) or is_planned(element) or status in ("aborted", "cancelled"):
        return None
    code, value = child_named(element, "code"), child_named(element, "value")
    found = number(value)
    words = None if value is None or found is not None else _value_words(value)
    if found is None and words is None and status != "active":
        return None
    band = next(iter(descendants_named(element, "observationRange")), None)
    limits = child_named(band, "value")
    low, high = number(child_named(limits, "low")), number(child_named(limits, "high"))
    is_said = category is not ResultCategory.LABORATORY or found is None or _says(reading.line, found)
    outer = outer_of(element)
    is_part = category is ResultCategory.LABORATORY and local_name(outer) == "organizer"
    return LabResult(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=(code_of(code) is not None or SMOKING in template(element)) and is_said,
        test_name=reading.name,
        code=code_of(code),
        codes=codes_in(code),
        category=category,
        value=found,
        value_text=words or ("pending" if found is None else None),
        unit=None if found is None else attribute(value, "unit"),
        range_low=low,
        range_high=high,
        flag=flag_of(attribute(child_named(element, "interpretationCode"), "code"), found, low, high),
        collected=began(element) or began(outer),
        ordered_by=person_in(child_named(element, "author")),
        panel=name_of(child_named(outer, "code")) if is_part else None,
    )


def _says(line: str, value: float) -> bool:
    """Whether a line says this number, or none at all."""
    return holds_number(line, value) or not any(letter.isdigit() for letter in line)


def _value_words(value: Element) -> str | None:
    """A value that is no number: a name, words, or the limits of a range."""
    low, high = (_limit(child_named(value, side)) for side in ("low", "high"))
    if low or high:
        return f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    over, under = (_limit(child_named(value, part)) for part in ("numerator", "denominator"))
    if over and under:
        return f"{over}:{under}"
    names = [*all_names_of(value), said_within(value, MAX_REFERRED_CHARACTERS), referred_within(value)]
    words = next((name for name in names if name), None)
    return words if words and not is_untold(words) else None


def _limit(part: Element | None) -> str | None:
    return " ".join(filter(None, (attribute(part, "value"), attribute(part, "unit")))) or None


def _procedure(element: Element, reading: Reading) -> Fact | None:
    if is_denied(element) or element.get("moodCode") not in (*DONE, *PLANNED):
        return None
    code = child_named(element, "code")
    cancelled = status_of(element) in ("aborted", "cancelled")
    planned = is_planned(element)
    return Procedure(
        id=id_of(element),
        origin=NOT_YET,
        is_verified=code_of(code) is not None,
        name=reading.name,
        code=code_of(code),
        codes=codes_in(code),
        performed=began(element),
        ended=ending_of(element).at,
        by=person_in(child_named(element, "performer")),
        status=VisitStatus.CANCELLED if cancelled else VisitStatus.PLANNED if planned else VisitStatus.DONE,
    )


def _vaccine_names(element: Element) -> list[str]:
    return [*_material_names(element), *(name for name in [_text_of(element)] if name)]


def _vaccination(element: Element, reading: Reading) -> Fact | None:
    if is_denied(element) or is_planned(element) or status_of(element) in ("aborted", "cancelled", "nullified"):
        return None
    coded = _material(element)
    return Vaccination(
        id=id_of(element),
        origin=NOT_YET,
        name=reading.name,
        code=code_of(coded),
        codes=codes_in(coded),
        given=began(element),
    )


def _visit_names(element: Element) -> list[str]:
    """Billing codes are called by whole paragraphs; their first clause says what it was."""
    names = _code_names(element) or (list(VISIT_NAMES) if began(element) is not None else [])
    names = [name.partition(";")[0] for name in names]
    return [name if len(name) <= MAX_NAME_CHARACTERS else name.partition(",")[0] for name in names]


def _visit(element: Element, reading: Reading) -> Fact | None:
    if is_denied(element):
        return None
    cancelled = status_of(element) in ("aborted", "cancelled")
    planned = is_planned(element)
    diagnoses = [name_of(child_named(held, "value")) for held in templated(element, PROBLEM, "19")]
    return Appointment(
        id=id_of(element),
        origin=NOT_YET,
        name=reading.name,
        at=began(element),
        ended=ending_of(element).at,
        professional=person_in(child_named(element, "performer")),
        reason=", ".join(dict.fromkeys(name for name in diagnoses if name)) or None,
        status=VisitStatus.CANCELLED if cancelled else VisitStatus.PLANNED if planned else VisitStatus.DONE,
    )


def is_planned(element: Element, *also: str) -> bool:
    """Whether an entry is a plan, a wish or an order, and nothing that was done."""
    is_a_plan = bool(template(element) & PLANS) or section_code(element) in PLAN_SECTIONS
    return is_a_plan or element.get("moodCode") not in (*DONE, *also, None)


@dataclass(frozen=True, slots=True)
class Reader:
    """How entries of one kind become facts."""

    names: Callable[[Element], list[str]]
    """What the fact may be called, the best first; none: it is no fact."""
    read: Callable[[Element, Reading], Fact | None]
    subject: Callable[[Element], Element | None]
    """The element whose references lead to the words of the entry."""


def _code(element: Element) -> Element | None:
    return child_named(element, "code")


def _value(element: Element) -> Element | None:
    return child_named(element, "value")


def _entity_code(element: Element) -> Element | None:
    return child_named(_entity(element), "code")


def _measured(category: ResultCategory) -> Reader:
    return Reader(_test_names, lambda element, reading: _result(element, category, reading), _code)


_OF_MATERIAL, _OF_PROCEDURE = Reader(_material_names, _medication, _material), Reader(_code_names, _procedure, _code)
_OF_VISIT = Reader(_visit_names, _visit, _code)
READERS: dict[str, Reader] = {
    ALLERGY: Reader(_allergy_names, _allergy, _entity_code),
    MEDICATION: _OF_MATERIAL,
    PROBLEM: Reader(_value_names, _problem, _value),
    RESULT: _measured(ResultCategory.LABORATORY),
    VITAL_SIGN: _measured(ResultCategory.VITAL_SIGNS),
    SMOKING: _measured(ResultCategory.SOCIAL_HISTORY),
    SOCIAL: _measured(ResultCategory.SOCIAL_HISTORY),
    TOBACCO: _measured(ResultCategory.SOCIAL_HISTORY),
    **dict.fromkeys((*PROCEDURES, *PLANNED_ACTS), _OF_PROCEDURE),
    VACCINATION: Reader(_vaccine_names, _vaccination, _material),
    VISIT: _OF_VISIT,
    PLANNED_VISIT: _OF_VISIT,
}
"""A reader gives no fact for an entry that says that something was not so."""


def reader_of(element: Element) -> Reader | None:
    """What reads an entry, by its template."""
    numbers = template(element)
    if numbers & set(PROCEDURES) and section_code(element) == RESULTS:
        return None  # how a specimen was taken
    return next((READERS[number] for number in READERS if number in numbers), None)


def is_offered(fact: Fact) -> bool:
    """Whether a fact is a plan, which is only kept where the narrative speaks of it too."""
    return getattr(fact, "status", None) is VisitStatus.PLANNED
