"""What a record says that a consult needs: who the patient is, allergies, medicines, illnesses, the last weight."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from citewell.assistants.consult.mentions import find_mentions
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import ADULT_YEARS
from citewell.clinical.quantities import ages_of_birth
from citewell.types.consult import Category, Finding, FindingSource, Polarity
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    MedicationStatus,
    RecordOwner,
)

_PREGNANT = re.compile(r"\b(?:pregnan(?:t|cy)|gestation)\b", re.IGNORECASE)
_NOT_ILLNESS = re.compile(
    r"\((?:finding|situation)\)|employ|education|school|housing|criminal|medication review|labor force"
    r"|reports of violence"
    r"|social|transport|refugee|veteran|stress",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"(?:(?<!\s)\s+)?\((?:finding|disorder|situation|procedure|person|substance|product)\)$", re.IGNORECASE
)
WEIGHT_CODE = "29463-7"
"""LOINC: body weight."""
FRESH_WEIGHT_DAYS = {"adult": 365, "child": 31}


def ages_in(facts: Sequence[Fact], now: datetime) -> range:
    """Every age that the person of a record can have; empty where it is not known."""
    born = next((fact.born for fact in facts if isinstance(fact, RecordOwner)), None)
    if born is None:
        return range(0)
    try:
        youngest, oldest = ages_of_birth(born.text, now.date())
    except ValueError:  # a day to come, or too long ago
        return range(0)
    return range(youngest, oldest + 1)


def findings_of(facts: Sequence[Fact], *, now: datetime | None = None, age: int | None = None) -> list[Finding]:
    """Findings of a record, none with words of a message; what is old enough to have changed is left out.

    Where only a month or a year of birth is known, the age is the one that is given, else left open.
    """
    now = now or datetime.now(UTC)
    possible = ages_in(facts, now)
    age = possible[0] if len(possible) == 1 else age
    findings = [*_person(facts, age), *_allergies(facts), *_medicines(facts), *_illnesses(facts)]
    findings += _weight(facts, now)
    return list({(finding.category, finding.name.casefold()): finding for finding in findings}.values())


def _finding(category: Category, name: str, polarity: Polarity = Polarity.PRESENT, **more: object) -> Finding:
    return Finding("", category, name, polarity, FindingSource.RECORD, None, **more)  # type: ignore[arg-type]


def _person(facts: Sequence[Fact], age: int | None) -> Iterator[Finding]:
    for fact in facts:
        if isinstance(fact, RecordOwner):
            if age is not None:
                yield _finding(Category.DEMOGRAPHIC, "age", value=float(age), unit="years")
            if fact.sex in ("female", "male"):
                yield _finding(Category.DEMOGRAPHIC, "sex", unit=fact.sex)
            return


def _allergies(facts: Sequence[Fact]) -> Iterator[Finding]:
    for fact in facts:
        if isinstance(fact, Allergy) and fact.is_active:
            if fact.code in NO_KNOWN or fact.allergen.casefold().startswith("no known"):
                yield _finding(Category.ALLERGY, "any", Polarity.ABSENT, codes=fact.codes)
            else:
                known = medicines(fact.allergen)
                name = known[0].name if known else _KIND.sub("", fact.allergen).casefold()
                yield _finding(Category.ALLERGY, name, codes=fact.codes)


def _medicines(facts: Sequence[Fact]) -> Iterator[Finding]:
    for fact in facts:
        if isinstance(fact, Medication) and fact.status is MedicationStatus.ACTIVE:
            known = medicines(fact.generic_name)
            yield _finding(Category.MEDICATION, known[0].name if known else fact.generic_name, codes=fact.codes)


def _illnesses(facts: Sequence[Fact]) -> Iterator[Finding]:
    for fact in facts:
        if not isinstance(fact, Diagnosis):
            continue
        is_over = fact.ended is not None or fact.status is DiagnosisStatus.RESOLVED
        if _PREGNANT.search(fact.name):
            if not is_over:
                yield _finding(Category.DEMOGRAPHIC, "pregnant", codes=fact.codes)
            continue
        if _NOT_ILLNESS.search(fact.name):
            continue
        name = _KIND.sub("", fact.name)
        mention = next(iter(find_mentions(name)), None)
        polarity = Polarity.PAST if is_over else Polarity.PRESENT
        known = (
            (mention.name, mention.concept)
            if mention and len(name) - (mention.end - mention.start) < 4
            else (name, None)
        )
        yield _finding(Category.MEDICAL_HISTORY, known[0], polarity, concept=known[1], codes=fact.codes)


def _weight(facts: Sequence[Fact], now: datetime) -> Iterator[Finding]:
    """The last weight, while it is fresh: a child's changes within weeks."""
    weighed = [fact for fact in facts if isinstance(fact, LabResult) and (fact.code == WEIGHT_CODE or _is_weight(fact))]
    dated = [lab_result for lab_result in weighed if lab_result.collected is not None and lab_result.value is not None]
    is_child = any(age < ADULT_YEARS for age in ages_in(facts, now))
    for one in sorted(dated, key=lambda result: result.collected.at if result.collected else now, reverse=True)[:1]:
        assert one.collected is not None
        if (now - one.collected.at).days <= FRESH_WEIGHT_DAYS["child" if is_child else "adult"] and one.unit == "kg":
            taken = one.collected.text[:10]
            yield _finding(Category.VITAL, "weight", value=one.value, unit="kg", onset=taken, codes=one.codes)


def _is_weight(lab_result: LabResult) -> bool:
    return lab_result.test_name.casefold() in ("body weight", "weight")
