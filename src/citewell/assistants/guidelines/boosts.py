"""Boosts: what canonical metadata adds to a cosine before rules are ordered; no gate ever sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from citewell.assistants.guidelines.concept_match import holds, units
from citewell.assistants.guidelines.criterion_state import CriterionState
from citewell.assistants.guidelines.evaluate import evaluate
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.guideline import Guideline, GuidelineRule
from citewell.assistants.guidelines.patient import OLDEST, SEXES, PatientInput
from citewell.assistants.guidelines.search_entries import RuleFacts, SearchEntry, facts
from citewell.assistants.guidelines.tables import rows
from citewell.clinical.populations import age_groups, age_limits, person

BANDS = 3
"""Age bands from which a rule is read as holding a table of thresholds by age."""
URGENT = frozenset({"immediate", "very urgent", "suspected cancer pathway", "urgent"})


@cache
def amount(whom: str, what: str) -> float:
    """The size of a boost, from the table."""
    return next(float(size) for one, name, size in rows("chat_boosts.tsv") if (one, name) == (whom, what))


@cache
def intent_pattern(name: str) -> re.Pattern[str]:
    """The words by which a question asks for something."""
    words = next(pattern for intent, pattern in rows("chat_intents.tsv") if intent == name)
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


def asks_for(question: str, intent: str) -> bool:
    """Whether a question asks for something, by whole words.

    >>> asks_for("Who needs urgent referral?", "urgency"), asks_for("urinary urgency?", "exact words")
    (True, False)
    """
    return intent_pattern(intent).search(question) is not None


def boost_for_question(question: str, piece: SearchEntry, guideline: Guideline, *, share: float = 0.0) -> float:
    """What the words of a question add; the best of the rules that the piece stands for counts."""
    person = PatientRecord(described_person(question))
    best = max(
        (
            _question_boost(question, piece, facts(rule)) + _person_boost(person, rule, guideline)
            for rule in piece.rules
        ),
        default=0.0,
    )
    return best + amount("question", "words in common") * share


def _question_boost(question: str, piece: SearchEntry, known: RuleFacts) -> float:
    fits = {
        "urgency": known.urgency in URGENT,
        "age": any(age.age_from is not None or age.age_below is not None for age in known.ages),
        "duration": known.has_duration,
        "exact words": piece.kind == "search",
    }
    return sum(amount("question", name) for name, is_so in fits.items() if is_so and asks_for(question, name))


CHILD_AGE = 10
"""How old a child is taken to be where a question gives no age."""


@lru_cache(maxsize=256)
def described_person(question: str) -> PatientInput:
    """The person whom a question describes, as far as it says one; what it leaves open stays unknown.

    >>> described_person("haematuria aged 60").age, described_person("a 32-year-old woman").sex
    (60, 'female')
    >>> asked = "people over 80", "under 40s?", "for 40 days", "I am 62", "a man of 55", "my toddler"
    >>> [described_person(question).age for question in asked]
    [81, 39, None, 62, 55, 10]
    """
    asked = person(question)
    age = asked.age_years
    if age is None and (
        limits := next((age_limit for age_limit in age_limits(question) if age_limit.low or age_limit.high), None)
    ):
        age = limits.low + limits.is_over if limits.low else (limits.high or 1) - 1
    if age is None and "child" in age_groups(question):
        age = CHILD_AGE
    age = None if age is None or age > OLDEST else int(age)
    return PatientInput("asked about", age=age, sex=SEXES.get(asked.sex or ""))


def _person_boost(person: PatientRecord, rule: GuidelineRule, guideline: Guideline) -> float:
    """Age and sex of a person whom a question describes, weighed like a patient's."""
    known = facts(rule)
    return _age_boost(person, known, guideline) + _sex_boost(
        evaluate(sex, person, guideline).state for sex in known.sexes
    )


def _age_boost(record: PatientRecord, known: RuleFacts, guideline: Guideline) -> float:
    """Only an age on record counts, and only where ages tell people apart: a table has a band for everyone."""
    if sum(age.age_from is not None and age.age_below is not None for age in known.ages) >= BANDS:
        return 0.0
    met = [age_range for age_range in known.ages if evaluate(age_range, record, guideline).state is CriterionState.MET]
    is_reached = any(age_range.age_from is not None for age_range in met)
    is_kept = any(age_range.age_below is not None for age_range in met)
    return amount("patient", "age from is reached") * is_reached + amount("patient", "age below is kept") * is_kept


def boost_for_patient(record: PatientRecord, piece: SearchEntry, guideline: Guideline) -> float:
    """What a patient's record adds; the best of the rules that the piece stands for counts."""
    return max((_patient_boost(record, rule, guideline) for rule in piece.rules), default=0.0)


def _patient_boost(record: PatientRecord, rule: GuidelineRule, guideline: Guideline) -> float:
    """Only what the record states counts."""
    known = facts(rule)
    found = _age_boost(record, known, guideline)
    found += amount("patient", "symptom in common") * _shared(record, known)
    smoking = (exposure for exposure in known.exposures if exposure.name == "smoking")
    found += amount("patient", "has smoked") * any(
        evaluate(exposure, record, guideline).state is CriterionState.MET for exposure in smoking
    )
    return found + _sex_boost(evaluate(sex, record, guideline).state for sex in known.sexes)


def _shared(record: PatientRecord, known: RuleFacts) -> int:
    """How many findings of the rule the record states; what it denies is none."""
    wanted = {frozenset(units(finding.phrase)) for finding in known.findings}
    return sum(any(holds(one, clause.names) for clause in record.said) for one in wanted)


def _sex_boost(states: Iterable[CriterionState]) -> float:
    judged = list(states)
    if CriterionState.MET in judged:
        return amount("patient", "sex fits")
    return amount("patient", "sex does not fit") if CriterionState.NOT_MET in judged else 0.0
