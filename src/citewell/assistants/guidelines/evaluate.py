"""Holds a rule's criteria against a patient: each condition is met, assumed, not met or unknown, never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice, product
from typing import assert_never

from citewell.assistants.guidelines.criteria import (
    Absence,
    AgeRange,
    AllOf,
    AnyOf,
    Condition,
    Criteria,
    CriteriaOutcome,
    CriterionState,
    Exposure,
    FindingCriterion,
    JudgedCriterion,
    MeetsOtherRules,
    NeedsReading,
    Sex,
    Threshold,
    described,
)
from citewell.assistants.guidelines.evaluate_finding import (
    READ_IT,
    PatientRecord,
    judge_absence,
    judge_finding,
    judge_silence,
    judge_unparsed,
)
from citewell.assistants.guidelines.evaluate_tests import judge_threshold
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.record_clauses import as_read
from citewell.assistants.guidelines.tables import rows
from citewell.clinical.assertion import SURE, read_context
from citewell.clinical.populations import has_organ, with_article
from citewell.clinical.quantities import age_told
from citewell.types.consult import Polarity

_COUNTS = (Polarity.PRESENT, Polarity.UNCLEAR)
_DENIED = re.compile(r"\b(?:no|not|never|nor|nil|without|denies)\b(?:\s+\w+){0,2}\s*$", re.IGNORECASE)


@cache
def _parts() -> dict[str, tuple[tuple[str, int, re.Pattern[str]], ...]]:
    """The parts of each score: name, points, and the words that say that it is there."""
    found: dict[str, list[tuple[str, int, re.Pattern[str]]]] = {}
    for test, part, points, words in rows("scores.tsv"):
        found.setdefault(test, []).append((part, int(points), re.compile(rf"\b(?:{words})\b", re.IGNORECASE)))
    return {test: tuple(parts) for test, parts in found.items()}


def judge_score(condition: Threshold, record: PatientRecord) -> JudgedCriterion | None:
    """A score by its parts in the words of one complaint: assumed where they are enough; None where they are not."""
    parts = _parts().get(condition.test, ())
    for complaint in record.patient.complaints if parts else ():
        text = as_read(complaint.text)
        there = [(part, points) for part, points, words in parts if _says(text, words)]
        total = sum(points for _, points in there)
        if total >= condition.value:
            counted = " + ".join(f"{part} {points}" for part, points in there)
            ask = f"Is the {condition.test} score {total} ({counted})?"
            return JudgedCriterion(
                condition.text, CriterionState.ASSUMED, f"{counted} = {total}", ask=ask, is_clinical=True
            )
    return None


def is_part_of_score(test: str, words: str) -> bool:
    """Whether words name a part of a score."""
    return any(pattern.search(words) for _, _, pattern in _parts().get(test, ()))


def _says(text: str, words: re.Pattern[str]) -> bool:
    """Whether a text says of something that it is there."""
    context = None
    for match in words.finditer(text):
        context = context or read_context(text)
        if _DENIED.search(text, 0, match.start()) is None and context.assertion(*match.span()).status in _COUNTS:
            return True
    return False


def said_part(test: str, item: str, record: PatientRecord) -> str | None:
    """The words of the record that name the part of a score that an item means; None where it is not known how."""
    words = set(re.findall(r"\w+", item.casefold()))
    shared = [(len(words & set(re.findall(r"\w+", part))), pattern) for part, _, pattern in _parts().get(test, ())]
    if not shared or not (best := max(shared, key=lambda one: one[0]))[0]:
        return None
    texts = (complaint.text for complaint in record.patient.complaints)
    return next((text for text in texts if _says(as_read(text), best[1])), None)


ASK_AGE, ASK_SEX = "How old is the patient?", "What is the patient's sex?"
MAX_WAYS = 8
"""More ways to meet a rule than these are not told."""


def evaluate(
    tree: Criteria, record: PatientRecord, guideline: Guideline, *, seen: frozenset[str] = frozenset()
) -> CriteriaOutcome:
    """The state of a tree in Kleene's logic, with “assumed” between met and unknown."""
    match tree:
        case AllOf(parts=parts):
            return _all([evaluate(part, record, guideline, seen=seen) for part in parts])
        case AnyOf(parts=parts, at_least=count):
            return _any([evaluate(part, record, guideline, seen=seen) for part in parts], count)
        case MeetsOtherRules(rules=rules):
            return _meets(tree, rules, record, guideline, seen)
        case _:
            if tree not in record.outcomes:
                record.outcomes[tree] = _condition(tree, record)
            return record.outcomes[tree]


def _condition(condition: Condition, record: PatientRecord) -> CriteriaOutcome:
    if isinstance(condition, FindingCriterion) and record.is_silent_on(condition):
        return _silence(condition.phrase, condition.detail)
    return _leaf(_judge(condition, record))


@lru_cache(maxsize=5_000)
def _silence(phrase: str, detail: str | None) -> CriteriaOutcome:
    """What most findings come to: nothing is on record."""
    return _leaf([judge_silence(phrase, detail)])


def _leaf(judged: Sequence[JudgedCriterion]) -> CriteriaOutcome:
    state = _least(criterion.state for criterion in judged)
    missing = tuple(
        judged_criterion
        for judged_criterion in judged
        if judged_criterion.state in (CriterionState.NOT_MET, CriterionState.UNKNOWN)
    )
    is_relevant = any(criterion.is_clinical and criterion.fact is not None for criterion in judged)
    return CriteriaOutcome(state, tuple(judged), (missing,), is_relevant)


ORDER = {CriterionState.NOT_MET: 0, CriterionState.UNKNOWN: 1, CriterionState.ASSUMED: 2, CriterionState.MET: 3}


def _least(states: Iterable[CriterionState]) -> CriterionState:
    return min(states, key=ORDER.__getitem__)


def _all(parts: Sequence[CriteriaOutcome]) -> CriteriaOutcome:
    return CriteriaOutcome(
        _least(part.state for part in parts),
        tuple(criterion for part in parts for criterion in part.judged),
        tuple(tuple(chain.from_iterable(way)) for way in islice(product(*(part.ways for part in parts)), MAX_WAYS)),
        any(part.is_relevant for part in parts),
    )


def _any(parts: Sequence[CriteriaOutcome], count: int) -> CriteriaOutcome:
    """The state that the best `count` parts share; the ways are those of the nearest parts."""
    best = sorted(parts, key=lambda part: ORDER[part.state], reverse=True)
    state = best[count - 1].state if len(best) >= count else CriterionState.NOT_MET
    near = sorted(parts, key=_farness)[:count]
    ways = [_lacking(near, parts)]
    if sum(not part.missing for part in parts) == count - 1:  # one more is enough: any that may be so already
        open_ = [part for part in parts if part.missing and part.is_relevant and part.state is CriterionState.UNKNOWN]
        ways += [way for part in open_ for way in part.ways]
    shown = [part for part in parts if part.state in (CriterionState.MET, CriterionState.ASSUMED)] or list(near)
    if state in (CriterionState.NOT_MET, CriterionState.UNKNOWN):
        shown = [part for part in parts if part.is_relevant] or list(near)
    judged = tuple(dict.fromkeys(criterion for part in shown for criterion in part.judged))
    is_relevant = any(part.is_relevant for part in (near if count == 1 else parts))
    return CriteriaOutcome(state, judged, tuple(dict.fromkeys(ways))[:MAX_WAYS], is_relevant)


def _farness(part: CriteriaOutcome) -> tuple[bool, bool, bool, int]:
    """How far a part is from being met: what is unknown may be so already, what is not met is not."""
    return bool(part.missing), not part.is_relevant, part.state is CriterionState.NOT_MET, len(part.missing)


def _lacking(near: Sequence[CriteriaOutcome], parts: Sequence[CriteriaOutcome]) -> tuple[JudgedCriterion, ...]:
    """What the nearest parts lack; where nothing speaks for them, any of the others would do as well."""
    lacking = [part for part in near if part.missing]
    blank = [
        part
        for part in lacking
        if not part.is_relevant and all(criterion.state is CriterionState.NOT_MET for criterion in part.missing)
    ]
    others = [part for part in parts if part.missing and not part.is_relevant]
    if not blank or len(others) == len(blank):
        return tuple(judged_criterion for part in lacking for judged_criterion in part.missing)
    named = "; ".join(" and ".join(criterion.text for criterion in part.missing) for part in others)
    some = JudgedCriterion(f"{len(blank)} of: {named}", CriterionState.NOT_MET, None)
    return (*(criterion for part in lacking if part not in blank for criterion in part.missing), some)


def _meets(
    tree: MeetsOtherRules, rules: Sequence[str], record: PatientRecord, guideline: Guideline, seen: frozenset[str]
) -> CriteriaOutcome:
    """The criteria of other rules: one of them is enough."""
    found = [
        (name, evaluate(rule.criteria, record, guideline, seen=seen | {name}))
        for name in rules
        if name not in seen and (rule := guideline.by_id.get(name)) is not None and rule.criteria is not None
    ]
    if not found:
        return _leaf([JudgedCriterion(tree.text, CriterionState.UNKNOWN, None)])
    whole = _any([outcome for _, outcome in found], 1)
    names = [name for name, outcome in found if outcome.state is whole.state]
    fact = f"meets {', '.join(names)}" if whole.state in (CriterionState.MET, CriterionState.ASSUMED) else None
    judged = JudgedCriterion(tree.text, whole.state, fact, is_clinical=True)
    assumed = tuple(criterion for criterion in whole.judged if criterion.state is CriterionState.ASSUMED)
    missing = () if whole.state in (CriterionState.MET, CriterionState.ASSUMED) else (judged,)
    return CriteriaOutcome(whole.state, (judged, *assumed), (missing,), whole.is_relevant)


def _judge(condition: Condition, record: PatientRecord) -> list[JudgedCriterion]:
    if isinstance(condition, FindingCriterion):
        return judge_finding(condition, record)
    return [_judge_one(condition, record)]


def _judge_one(condition: Condition, record: PatientRecord) -> JudgedCriterion:
    match condition:
        case AgeRange():
            judged = _judge_age(condition, record)
        case Sex():
            judged = _judge_sex(condition, record)
        case Exposure():
            judged = _judge_exposure(condition, record)
        case Absence():
            judged = judge_absence(condition, record)
        case Threshold():
            judged = judge_threshold(condition, record.results)
            if judged.fact is None:
                judged = judge_score(condition, record) or judged
        case NeedsReading():
            judged = judge_unparsed(condition, record)
        case FindingCriterion() | MeetsOtherRules():
            judged = JudgedCriterion(described(condition), CriterionState.UNKNOWN, None, ask=READ_IT)
        case _:
            assert_never(condition)
    return judged


def _judge_age(condition: AgeRange, record: PatientRecord) -> JudgedCriterion:
    if record.ages is None:
        return JudgedCriterion(condition.text, CriterionState.UNKNOWN, None, ask=ASK_AGE)
    youngest, oldest = record.ages
    fact = f"aged {age_told(record.ages)}"
    fits = {
        (condition.age_from is None or age >= condition.age_from)
        and (condition.age_below is None or age < condition.age_below)
        for age in range(youngest, oldest + 1)
    }
    if len(fits) > 1:
        return JudgedCriterion(condition.text, CriterionState.ASSUMED, fact, ask=ASK_AGE)
    is_older = condition.age_below is not None and youngest >= condition.age_below  # nobody grows younger
    is_fixed = condition.population is not None or is_older
    state = CriterionState.MET if fits == {True} else CriterionState.NOT_MET
    return JudgedCriterion(condition.text, state, fact, is_fixed=is_fixed)


def _judge_sex(condition: Sex, record: PatientRecord) -> JudgedCriterion:
    """By the organs on record where they tell, else by sex; an organ left out beside its like is asked about."""
    patient, organ = record.patient, condition.organ
    by_sex = None if record.sex is None else record.sex == condition.sex
    has = by_sex if organ is None else has_organ(organ, patient.organs, record.sex)
    fact = f"organs recorded: {', '.join(patient.organs)}" if organ and patient.organs else record.sex
    if has is None:
        left_out = " It is not among the recorded organs." if patient.organs else ""
        ask = f"Does the patient have {with_article(organ)}?{left_out}" if organ else ASK_SEX
        return JudgedCriterion(condition.text, CriterionState.UNKNOWN, fact, ask=ask)
    return JudgedCriterion(condition.text, CriterionState.MET if has else CriterionState.NOT_MET, fact, is_fixed=True)


@cache
def exposure_words() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    """For each exposure what states and denies it: anywhere in the record, then in a field of its own."""

    def pattern(words: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words.split('|')))})(?![\w-])", re.IGNORECASE)

    return {
        name: tuple(pattern(cell or "\0") for cell in (*cells, "", "")[:4]) for name, _, *cells in rows("exposures.tsv")
    }


def _judge_exposure(condition: Exposure, record: PatientRecord) -> JudgedCriterion:
    """Stated, denied or unknown; “never smoked” is a denial, silence is not."""
    stating, denying, field_stating, field_denying = exposure_words()[condition.name]
    patient = record.patient
    field = patient.smoking if condition.name == "smoking" else None
    for words in (
        *([field] if field else []),
        *patient.exposures,
        *(complaint.text for complaint in patient.complaints),
    ):
        if PASSIVE.search(words) or not is_of_patient(stating, words):
            continue
        if denying.search(words):
            return JudgedCriterion(condition.text, CriterionState.NOT_MET, words)
        if stating.search(words):
            return JudgedCriterion(condition.text, CriterionState.MET, words)
    is_told = field and not PASSIVE.search(field) and is_of_patient(field_stating, field)
    if field and is_told and (field_denying.search(field) or field_stating.search(field)):
        is_denied = field_denying.search(field) is not None
        return JudgedCriterion(condition.text, CriterionState.NOT_MET if is_denied else CriterionState.MET, field)
    question = "Has the patient ever smoked?" if condition.name == "smoking" else f"Was the patient {condition.text}?"
    return JudgedCriterion(condition.text, CriterionState.UNKNOWN, None, ask=question)


_NOT_OF_PATIENT = (Polarity.UNCLEAR, Polarity.FAMILY, Polarity.OTHER, Polarity.HYPOTHETICAL)


def is_of_patient(stating: re.Pattern[str], words: str) -> bool:
    """Whether an exposure is told of the patient anywhere: not “?ex-smoker”, nor “father was a smoker”."""
    matches = list(stating.finditer(words))
    return not matches or any(_is_told_of_patient(words, match) for match in matches)


def _is_told_of_patient(words: str, exposure: re.Match[str]) -> bool:
    if words[: exposure.start()].rstrip().endswith("?"):
        return False
    held = read_context(words).assertion(*exposure.span())
    return held.status not in _NOT_OF_PATIENT or held.share < SURE


PASSIVE = re.compile(r"\bpassive\b|\bunknown\b|\bnot recorded\b|\bnot known\b", re.IGNORECASE)
"""Neither did nor did not."""
