"""Assesses a patient: the rules that match, those that nearly do, and what to confirm or ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from citewell.assistants.guidelines.criteria import CriteriaOutcome, CriterionState, JudgedCriterion
from citewell.assistants.guidelines.evaluate import evaluate
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.evaluate_tests import measured, notes_on_results
from citewell.assistants.guidelines.guideline import Action, Guideline, GuidelineRule
from citewell.assistants.guidelines.patient import PatientInput, notes_on_age_and_sex, notes_on_status
from citewell.assistants.guidelines.scores import WorkedScore, worked_scores
from citewell.assistants.guidelines.tables import rows
from citewell.assistants.guidelines.taken_into_account import Account, account
from citewell.clinical.quantities import named_tests
from citewell.clinical.spelling_correction import corrections
from citewell.types import Emergency

MAX_STRANGE = 10
NOTHING_MET = "No recommendations are met by this record."
NEAR = 2
"""A rule that lacks more conditions than this is not near."""


@dataclass(frozen=True, slots=True)
class EvaluatedRule:
    """A rule held against the patient."""

    guideline: Guideline
    rule: GuidelineRule
    outcome: CriteriaOutcome

    @property
    def is_match(self) -> bool:
        return self.outcome.state in (CriterionState.MET, CriterionState.ASSUMED)

    @property
    def is_near(self) -> bool:
        """Something speaks for it, and little is missing that could turn out otherwise."""
        return not self.is_match and self.outcome.is_relevant and bool(self.ways)

    @property
    def ways(self) -> tuple[tuple[JudgedCriterion, ...], ...]:
        """What would make it match: few conditions each, and none that cannot change."""
        return tuple(way for way in self.outcome.ways if 0 < len(way) <= NEAR and not any(map(_is_out, way)))

    @property
    def missing(self) -> tuple[JudgedCriterion, ...]:
        """What any of these ways lacks."""
        return tuple(dict.fromkeys(criterion for way in self.ways for criterion in way))

    @property
    def would_match_if(self) -> str:
        """The ways in words."""
        return "; or ".join(" and ".join(criterion.text for criterion in way) for way in self.ways)


def _is_out(criterion: JudgedCriterion) -> bool:
    return criterion.is_fixed and criterion.state is CriterionState.NOT_MET


@dataclass(frozen=True, slots=True)
class Assessment:
    """What guidelines say of a patient."""

    patient: PatientInput
    guidelines: tuple[Guideline, ...]
    matched: tuple[EvaluatedRule, ...]
    near: tuple[EvaluatedRule, ...]
    account: Account
    emergency: Emergency | None = None
    """What the symptoms tell of that cannot wait."""
    scores: tuple[WorkedScore, ...] = ()

    @property
    def risk_level(self) -> str:
        """The highest level of a matched rule."""
        if not self.matched:
            names = [one.name for one in self.guidelines if any(rule.criteria for rule in one.rules)]
            return f"No {' or '.join(names or [one.name for one in self.guidelines])} Criteria Met"
        return min((level_of(rule.rule.action) for rule in self.matched), key=_order)


def assess(patient: PatientInput, guidelines: Sequence[Guideline]) -> Assessment:
    """The same patient and guidelines give the same result, always."""
    record = PatientRecord(patient)
    rules = [(guideline, rule) for guideline in guidelines for rule in guideline.rules if level_of(rule.action)]
    applied = [
        EvaluatedRule(guideline, rule, evaluate(rule.criteria, record, guideline, seen=frozenset({rule.id})))
        for guideline, rule in rules
        if rule.criteria is not None
    ]
    matched = sorted(
        (evaluated_rule for evaluated_rule in applied if evaluated_rule.is_match),
        key=lambda evaluated_rule: _order(level_of(evaluated_rule.rule.action)),
    )
    near = sorted(
        (evaluated_rule for evaluated_rule in applied if evaluated_rule.is_near),
        key=lambda evaluated_rule: len(evaluated_rule.ways[0]),
    )
    return Assessment(
        patient,
        tuple(guidelines),
        tuple(matched),
        tuple(near),
        account(record, rules),
        scores=worked_scores(record, guidelines),
    )


@lru_cache(maxsize=2_000)
def level_of(action: Action) -> str:
    """The risk level of a rule's action; empty where it sets none.

    >>> level_of(Action("Refer people", "referral", "do", "suspected cancer pathway"))
    'Urgent Referral'
    """
    for level, deed, strength, urgency in rows("levels.tsv"):
        fits = deed == action.deed and strength in ("*", action.strength)
        if fits and urgency in ("*", action.urgency or "-"):
            return level
    return ""


def _order(level: str) -> int:
    return [row[0] for row in rows("levels.tsv")].index(level)


# --------------------------------------------------------------------------------------------------------- as shown


def assessment_json(assessment: Assessment, wording: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The assessment as its views show it, the order of everything fixed, and what a model made of its reasons."""
    top = [rule for rule in assessment.matched if level_of(rule.rule.action) == assessment.risk_level]
    return {
        "patient": assessment.patient.shown(),
        "guidelines": [_guideline(guideline) for guideline in assessment.guidelines],
        "risk_level": assessment.risk_level,
        "sites": list(
            dict.fromkeys(evaluated_rule.rule.site for evaluated_rule in assessment.matched if evaluated_rule.rule.site)
        ),
        "action": "; ".join(dict.fromkeys(rule.rule.action.text for rule in top)) or None,
        "matched": [_matched(rule) for rule in assessment.matched],
        "near_misses": [_near(rule) for rule in assessment.near],
        "unknowns": list(_unknowns(assessment)),
        **({"scores": [score.shown() for score in assessment.scores]} if assessment.scores else {}),
        **assessment.account.shown(),
        "citations": [_citation(rule) for rule in assessment.matched],
        "reasoning": " ".join(_reasons(assessment)),
        "wording": None if wording is None else dict(wording),
        "notes": list(_notes(assessment)),
        "corrected": _corrected(assessment),
        "emergency": None if assessment.emergency is None else asdict(assessment.emergency),
    }


def cited(rule: EvaluatedRule) -> str:
    """The citation of a rule."""
    return f"[{rule.guideline.name} §{rule.rule.id}, p.{rule.rule.page}]"


def _guideline(guideline: Guideline) -> dict[str, Any]:
    document_id = None if guideline.entry is None else guideline.entry.id
    return {"document_id": document_id, "name": guideline.name, "title": guideline.title, "edition": guideline.edition}


def _conditions(judged: Sequence[JudgedCriterion]) -> list[dict[str, Any]]:
    return [{"text": criterion.text, "state": criterion.state.value, "fact": criterion.fact} for criterion in judged]


def _place(rule: EvaluatedRule) -> dict[str, Any]:
    return {"guideline": rule.guideline.name, "rule": rule.rule.id, "page": rule.rule.page, "site": rule.rule.site}


def _matched(rule: EvaluatedRule) -> dict[str, Any]:
    return {
        **_place(rule),
        "risk_level": level_of(rule.rule.action),
        "action": rule.rule.action.text,
        "state": rule.outcome.state.value,
        "quote": rule.rule.text,
        "conditions": _conditions(rule.outcome.judged),
    }


def _near(rule: EvaluatedRule) -> dict[str, Any]:
    return {
        **_place(rule),
        "state": rule.outcome.state.value,
        "quote": rule.rule.text,
        "would_match_if": rule.would_match_if,
        "missing": _conditions(rule.missing),
        "conditions": _conditions(rule.outcome.judged),
    }


def _citation(rule: EvaluatedRule) -> dict[str, Any]:
    document_id = None if rule.guideline.entry is None else rule.guideline.entry.id
    place = {"guideline": rule.guideline.name, "section": rule.rule.id, "page": rule.rule.page}
    place |= {"document_id": document_id, "start": rule.rule.start, "end": rule.rule.end}
    return {**place, "label": cited(rule), "excerpt": rule.rule.text}


def _unknowns(assessment: Assessment) -> Iterator[dict[str, Any]]:
    """What to confirm of the matches, then what to ask of the near ones, each question once."""
    asked: dict[str, dict[str, Any]] = {}
    open_ = [
        evaluated_rule for evaluated_rule in assessment.near if evaluated_rule.outcome.state is CriterionState.UNKNOWN
    ]  # where an answer would change the result
    for kind, group in (("confirm", assessment.matched), ("ask", open_)):
        for one in group:
            for judged in one.outcome.judged if kind == "confirm" else one.missing:
                if judged.ask is None or judged.state not in (CriterionState.ASSUMED, CriterionState.UNKNOWN):
                    continue
                if kind == "confirm" and judged.state is not CriterionState.ASSUMED:
                    continue
                entry = {"kind": kind, "ask": judged.ask, "condition": judged.text, "rules": []}
                rules = asked.setdefault(judged.ask, entry)["rules"]
                if (label := f"{one.guideline.name} {one.rule.id}") not in rules:
                    rules.append(label)
    for judged, needing in assessment.account.questions:
        if judged.ask is not None:
            entry = {"kind": "ask", "ask": judged.ask, "condition": judged.text, "rules": []}
            rules = asked.setdefault(judged.ask, entry)["rules"]
            rules += [rule for rule in needing if rule not in rules]
    yield from asked.values()


def reason(rule: EvaluatedRule) -> str:
    """Why a rule matches, or what would make it."""
    if not rule.is_match:
        return f"{cited(rule)} would be met with: {rule.would_match_if}."
    told = [f"{judged.text} ({judged.fact})" for judged in rule.outcome.judged if judged.state is CriterionState.MET]
    assumed = [judged.text for judged in rule.outcome.judged if judged.state is CriterionState.ASSUMED and judged.ask]
    sentence = f"{cited(rule)} is met: {'; '.join(told)}."
    return sentence + (f" Assumed, please confirm: {'; '.join(assumed)}." if assumed else "")


def _reasons(assessment: Assessment) -> Iterator[str]:
    yield from map(reason, assessment.matched)
    if not assessment.matched:
        yield NOTHING_MET
        yield from assessment.account.told()
    yield from map(reason, assessment.near)


def _corrected(assessment: Assessment) -> dict[str, str]:
    """The misspelt words of the record, each with the word that it was read as."""
    return {
        word: right
        for complaint in assessment.patient.complaints
        for word, right in corrections(complaint.text).items()
    }


def _tests_on_record(assessment: Assessment) -> Iterator[str]:
    """The tests that a matched recommendation offers although the record has a result."""
    results = [result for result in measured(assessment.patient) if result.test is not None]
    for rule in assessment.matched:
        offered = {test.name for _, _, test in named_tests(rule.rule.action.text)}
        for result in results:
            if result.test is not None and result.test.name in offered:
                yield (
                    f"{rule.guideline.name} {rule.rule.id} offers a test that has a result on record: {result.told}. "
                    "Check whether it is still needed."
                )


def notes_on_patient(patient: PatientInput) -> Iterator[str]:
    """What of a patient was taken otherwise than it was given, and what to confirm."""
    yield from notes_on_age_and_sex(patient)
    yield from notes_on_status(patient)
    yield from notes_on_results(patient)


def _notes(assessment: Assessment) -> Iterator[str]:
    """What of the record was not understood, and how much of each guideline was held against the patient."""
    if strange := [f"“{one.words}”" for one in assessment.account.not_understood]:
        more = f" and {len(strange) - MAX_STRANGE} more" if len(strange) > MAX_STRANGE else ""
        listed = f"{', '.join(strange[:MAX_STRANGE])}{more}"
        yield f"Not understood, so not used: {listed}. Rephrase or check the guideline yourself."
    yield from (f"“{word}” was read as {right}." for word, right in _corrected(assessment).items())
    yield from dict.fromkeys(notes_on_patient(assessment.patient))
    yield from _tests_on_record(assessment)
    for guideline in assessment.guidelines:
        silent = sum(rule.criteria is None or not level_of(rule.action) for rule in guideline.rules)
        if silent == len(guideline.rules):
            yield f"{guideline.name}: no criteria found, so patients cannot be assessed against it."
        else:
            counted = f"in {silent} of {len(guideline.rules)} recommendations"
            yield f"{guideline.name}: no criteria found {counted}; {guideline.unread} have criteria to check by hand."
