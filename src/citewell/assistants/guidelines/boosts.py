"""What a patient's record adds to the cosine of a rule before the rules beside an assessment are ordered."""

from __future__ import annotations

from collections.abc import Iterable

from citewell.assistants.guidelines.concept_match import holds, units
from citewell.assistants.guidelines.criterion_state import CriterionState
from citewell.assistants.guidelines.evaluate import evaluate
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.guideline import Guideline, GuidelineRule
from citewell.assistants.guidelines.search_entries import RuleFacts, SearchEntry, facts

BANDS = 3
"""Age bands from which a rule is read as holding a table of thresholds by age."""


AMOUNTS = {
    "age from is reached": 0.15,
    "age below is kept": 0.15,
    "symptom in common": 0.10,
    "has smoked": 0.10,
    "sex fits": 0.05,
    "sex does not fit": -0.30,
}
"""What each adds to the cosine of a rule."""


def _age_boost(record: PatientRecord, known: RuleFacts, guideline: Guideline) -> float:
    """Only an age on record counts, and only where ages tell people apart: a table has a band for everyone."""
    if sum(age.age_from is not None and age.age_below is not None for age in known.ages) >= BANDS:
        return 0.0
    met = [age_range for age_range in known.ages if evaluate(age_range, record, guideline).state is CriterionState.MET]
    is_reached = any(age_range.age_from is not None for age_range in met)
    is_kept = any(age_range.age_below is not None for age_range in met)
    return AMOUNTS["age from is reached"] * is_reached + AMOUNTS["age below is kept"] * is_kept


def boost_for_patient(record: PatientRecord, piece: SearchEntry, guideline: Guideline) -> float:
    """What a patient's record adds; the best of the rules that the piece stands for counts."""
    return max((_patient_boost(record, rule, guideline) for rule in piece.rules), default=0.0)


def _patient_boost(record: PatientRecord, rule: GuidelineRule, guideline: Guideline) -> float:
    """Only what the record states counts."""
    known = facts(rule)
    found = _age_boost(record, known, guideline)
    found += AMOUNTS["symptom in common"] * _shared(record, known)
    smoking = (exposure for exposure in known.exposures if exposure.name == "smoking")
    found += AMOUNTS["has smoked"] * any(
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
        return AMOUNTS["sex fits"]
    return AMOUNTS["sex does not fit"] if CriterionState.NOT_MET in judged else 0.0
