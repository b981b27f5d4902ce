"""Assesses a patient: the rules that match, those that nearly do, and what to confirm or ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from citewell.assistants.guidelines.account import Account, account
from citewell.assistants.guidelines.evaluate import evaluate
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.evaluate_tests import notes_on_results
from citewell.assistants.guidelines.guideline import Action, Guideline, GuidelineRule
from citewell.assistants.guidelines.patient import PatientInput, notes_on_age_and_sex
from citewell.assistants.guidelines.state import CriteriaOutcome, CriterionState, JudgedCriterion
from citewell.assistants.guidelines.tables import rows
from citewell.clinical.misspellings import corrections
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
        return tuple(dict.fromkeys(one for way in self.ways for one in way))

    @property
    def would_match_if(self) -> str:
        """The ways in words."""
        return "; or ".join(" and ".join(one.text for one in way) for way in self.ways)


def _is_out(one: JudgedCriterion) -> bool:
    return one.is_fixed and one.state is CriterionState.NOT_MET


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

    @property
    def risk_level(self) -> str:
        """The highest level of a matched rule."""
        if not self.matched:
            return f"No {' or '.join(one.name for one in self.guidelines)} Criteria Met"
        return min((level_of(one.rule.action) for one in self.matched), key=_order)


def assess(patient: PatientInput, guidelines: Sequence[Guideline]) -> Assessment:
    """The same patient and guidelines give the same result, always."""
    record = PatientRecord(patient)
    rules = [(guideline, rule) for guideline in guidelines for rule in guideline.rules if level_of(rule.action)]
    applied = [
        EvaluatedRule(guideline, rule, evaluate(rule.criteria, record, guideline, seen=frozenset({rule.id})))
        for guideline, rule in rules
        if rule.criteria is not None
    ]
    matched = sorted((one for one in applied if one.is_match), key=lambda one: _order(level_of(one.rule.action)))
    near = sorted((one for one in applied if one.is_near), key=lambda one: len(one.ways[0]))
    return Assessment(patient, tuple(guidelines), tuple(matched), tuple(near), account(record, rules))


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


def assessment_json(found: Assessment, wording: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The assessment as its views show it, the order of everything fixed, and what a model made of its reasons."""
    top = [one for one in found.matched if level_of(one.rule.action) == found.risk_level]
    return {
        "patient": found.patient.shown(),
        "guidelines": [_guideline(one) for one in found.guidelines],
        "risk_level": found.risk_level,
        "sites": list(dict.fromkeys(one.rule.site for one in found.matched if one.rule.site)),
        "action": "; ".join(dict.fromkeys(one.rule.action.text for one in top)) or None,
        "matched": [_matched(one) for one in found.matched],
        "near_misses": [_near(one) for one in found.near],
        "unknowns": list(_unknowns(found)),
        **found.account.shown(),
        "citations": [_citation(one) for one in found.matched],
        "reasoning": " ".join(_reasons(found)),
        "wording": None if wording is None else dict(wording),
        "notes": list(_notes(found)),
        "corrected": _corrected(found),
        "emergency": None if found.emergency is None else asdict(found.emergency),
    }


def cited(one: EvaluatedRule) -> str:
    """The citation of a rule."""
    return f"[{one.guideline.name} §{one.rule.id}, p.{one.rule.page}]"


def _guideline(one: Guideline) -> dict[str, Any]:
    document_id = None if one.entry is None else one.entry.id
    return {"document_id": document_id, "name": one.name, "title": one.title, "edition": one.edition}


def _conditions(judged: Sequence[JudgedCriterion]) -> list[dict[str, Any]]:
    return [{"text": one.text, "state": one.state.value, "fact": one.fact} for one in judged]


def _matched(one: EvaluatedRule) -> dict[str, Any]:
    return {
        "guideline": one.guideline.name,
        "rule": one.rule.id,
        "page": one.rule.page,
        "site": one.rule.site,
        "risk_level": level_of(one.rule.action),
        "action": one.rule.action.text,
        "state": one.outcome.state.value,
        "quote": one.rule.text,
        "conditions": _conditions(one.outcome.judged),
    }


def _near(one: EvaluatedRule) -> dict[str, Any]:
    return {
        "guideline": one.guideline.name,
        "rule": one.rule.id,
        "page": one.rule.page,
        "site": one.rule.site,
        "state": one.outcome.state.value,
        "quote": one.rule.text,
        "would_match_if": one.would_match_if,
        "missing": _conditions(one.missing),
        "conditions": _conditions(one.outcome.judged),
    }


def _citation(one: EvaluatedRule) -> dict[str, Any]:
    document_id = None if one.guideline.entry is None else one.guideline.entry.id
    place = {"guideline": one.guideline.name, "section": one.rule.id, "page": one.rule.page}
    place |= {"document_id": document_id, "start": one.rule.start, "end": one.rule.end}
    return {**place, "label": cited(one), "excerpt": one.rule.text}


def _unknowns(found: Assessment) -> Iterator[dict[str, Any]]:
    """What to confirm of the matches, then what to ask of the near ones, each question once."""
    asked: dict[str, dict[str, Any]] = {}
    open_ = [
        one for one in found.near if one.outcome.state is CriterionState.UNKNOWN
    ]  # where an answer would change the result
    for kind, group in (("confirm", found.matched), ("ask", open_)):
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
    for judged, needing in found.account.questions:
        if judged.ask is not None:
            entry = {"kind": "ask", "ask": judged.ask, "condition": judged.text, "rules": []}
            rules = asked.setdefault(judged.ask, entry)["rules"]
            rules += [rule for rule in needing if rule not in rules]
    yield from asked.values()


def reason(one: EvaluatedRule) -> str:
    """Why a rule matches, or what would make it."""
    if not one.is_match:
        return f"{cited(one)} would be met with: {one.would_match_if}."
    told = [f"{judged.text} ({judged.fact})" for judged in one.outcome.judged if judged.state is CriterionState.MET]
    assumed = [judged.text for judged in one.outcome.judged if judged.state is CriterionState.ASSUMED and judged.ask]
    sentence = f"{cited(one)} is met: {'; '.join(told)}."
    return sentence + (f" Assumed, please confirm: {'; '.join(assumed)}." if assumed else "")


def _reasons(found: Assessment) -> Iterator[str]:
    yield from map(reason, found.matched)
    if not found.matched:
        yield NOTHING_MET
        yield from found.account.told()
    yield from map(reason, found.near)


def _corrected(found: Assessment) -> dict[str, str]:
    """The misspelt words of the record, each with the word that it was read as."""
    return {word: right for one in found.patient.complaints for word, right in corrections(one.text).items()}


def _notes(found: Assessment) -> Iterator[str]:
    """What of the record was not understood, and how much of each guideline was held against the patient."""
    if strange := [f"“{one.words}”" for one in found.account.not_understood]:
        more = f" and {len(strange) - MAX_STRANGE} more" if len(strange) > MAX_STRANGE else ""
        listed = f"{', '.join(strange[:MAX_STRANGE])}{more}"
        yield f"Not understood, so not compared with any recommendation: {listed}. Rephrase it."
    yield from (f"“{word}” was read as {right}." for word, right in _corrected(found).items())
    yield from dict.fromkeys((*notes_on_age_and_sex(found.patient), *notes_on_results(found.patient)))
    for one in found.guidelines:
        silent = sum(rule.criteria is None or not level_of(rule.action) for rule in one.rules)
        if silent == len(one.rules):
            yield f"{one.name}: no criteria found, so patients cannot be compared with it."
        else:
            counted = f"in {silent} of {len(one.rules)} recommendations"
            yield f"{one.name}: no criteria found {counted}; {one.unread} need checking by hand in part."
