"""Differentials: entered, changed, removed or suggested, each with what speaks for and against it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from citewell.answer.denial_cues import denials
from citewell.assistants.consult.chapter_lines import role_of
from citewell.assistants.consult.mentions import find_mentions
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.plan_evidence import AssessmentParts, DiagnosisEvidence, evidence_for
from citewell.assistants.consult.plan_lines import feature_lines
from citewell.assistants.consult.tables import rows
from citewell.clinical import broader
from citewell.errors import InputError
from citewell.types import Hit, Scope
from citewell.types.consult import Category, Consult, Differential, Finding, FindingBearing, FindingSource, Polarity


def named_in(sentence: str) -> list[str]:
    """What a sentence names, as `key_of` tells findings apart."""
    denied = denials(sentence)
    return [
        mention.concept or mention.name.casefold()
        for mention in find_mentions(sentence)
        if not any(denial.reaches(mention.start) for denial in denied)
    ]


def key_of(finding: Finding) -> str:
    """What two mentions of one finding share."""
    return finding.concept or finding.name.casefold()


_HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt}


@dataclass(frozen=True, slots=True)
class VitalSign:
    """A sign, and the measurement that shows whether it is there."""

    key: str
    """As `key_of` tells findings apart."""
    name: str
    finding: Finding
    is_present: bool

    @property
    def words(self) -> str:
        return f"{self.name} ({self.finding.name} {self.finding.value:g})"


def vital_signs(findings: Iterable[Finding], age: float | None) -> Iterator[VitalSign]:
    """The signs that measurements show or rule out; without an age, those that are the same at any age.

    >>> from citewell.types.consult import Category, FindingSource, Polarity
    >>> taken = Finding("f1", Category.VITAL, "temperature", Polarity.PRESENT, FindingSource.RULES, value=38.9)
    >>> [sign.words for sign in vital_signs([taken], None)]
    ['fever (temperature 38.9)']
    """
    for finding in (one for one in findings if one.value is not None):
        for sign, measurement, low, high, comparison, limit in rows("vital_signs.tsv"):
            is_of_age = (low, high) == ("0", "200") or (age is not None and float(low) <= age < float(high))
            if finding.name == measurement and is_of_age and finding.value is not None:
                is_present = _HOLDS[comparison](finding.value, float(limit))
                yield from (VitalSign(key, sign, finding, is_present) for key in named_in(sign))


MAX_DIFFERENTIALS = 10
MAX_CONDITION = 120
MAX_ASK = 6
"""Features of one differential that are asked after: more is no question."""
FEVER = "fever"
SPEAKING = (Category.SYMPTOM, Category.ASSOCIATED, Category.MEDICAL_HISTORY)


@cache
def _confidences() -> dict[str, str]:
    known: dict[str, str] = {}
    for word, others, _order in rows("confidences.tsv"):
        known |= dict.fromkeys((word, *others.split("|")), word)
    return known


def confidence_of(written: str) -> str:
    """One of high, moderate and low.

    >>> confidence_of("Likely")
    'high'
    """
    found = _confidences().get(written.strip().casefold())
    if found is None:
        raise InputError("The likelihood of a differential must be high, moderate or low.")
    return found


def checked_differentials(
    known: Sequence[Differential],
    entered: Sequence[tuple[str, str]],
    removed: Sequence[str],
    proposed: Sequence[Differential],
) -> list[Differential]:
    """The list after a change, the surest first: what the clinician enters stands over what a model suggests."""
    gone = {one.strip().casefold() for one in removed}
    if lost := gone - {differential.condition.casefold() for differential in known}:
        raise InputError(f"No differential is called {', '.join(sorted(lost))}.")
    found = {
        differential.condition.casefold(): differential
        for differential in known
        if differential.condition.casefold() not in gone
    }
    for one in proposed:
        found.setdefault(one.condition.casefold(), one)
    for condition, confidence in entered:
        name = " ".join(condition.split())
        if not name or len(name) > MAX_CONDITION:
            raise InputError(f"Enter the name of a condition, up to {MAX_CONDITION} characters.")
        found[name.casefold()] = Differential(name, confidence_of(confidence), FindingSource.CLINICIAN)
    if len(found) > MAX_DIFFERENTIALS:
        raise InputError(f"There can be at most {MAX_DIFFERENTIALS} differentials. Remove some first.")
    order = [row[0] for row in rows("confidences.tsv")]
    return sorted(found.values(), key=lambda differential: order.index(differential.confidence))


def weighed(
    differentials: Sequence[Differential], consult: Consult, *, scope: Scope, parts: AssessmentParts
) -> list[Differential]:
    """Each differential with the findings that passages on it name: present ones for, absent ones against."""
    conditions = [differential.condition for differential in differentials]
    found, _ = evidence_for(conditions, consult, scope=scope, parts=parts)
    told = [_weighed(one, consult, evidence) for one, evidence in zip(differentials, found, strict=True)]
    shared = [{bearing.finding for bearing in one.supports} for one in told]
    common = set.intersection(*shared) if len(shared) > 1 else set()
    return [  # what speaks for this one alone comes first
        replace(one, supports=tuple(sorted(one.supports, key=lambda bearing: bearing.finding in common)))
        for one in told
    ]


def _weighed(differential: Differential, consult: Consult, evidence: DiagnosisEvidence) -> Differential:
    """A differential with what its guidelines say of its features: found, denied, and not asked yet."""
    features = [line for guideline in evidence.guidelines for line in feature_lines(guideline)]
    named: dict[str, tuple[str, str]] = {}
    asked: dict[str, str] = {}
    for title, text in features:
        for mention in (one for one in find_mentions(text) if one.category in SPEAKING[:2]):
            asked.setdefault(mention.concept or mention.name.casefold(), text[mention.start : mention.end].lower())
        for key in named_in(text):
            named.setdefault(key, (title, text))
    speaking: tuple[Category, ...] = SPEAKING
    if not named:  # a guideline without a section on how the illness shows itself
        speaking, named = SPEAKING[:2], _named([passage.hit for passage in evidence.gathered.passages])
    itself = set(named_in(differential.condition))
    supports, opposes, known = [], [], {key_of(finding) for finding in consult.findings}
    for finding in consult.settled:
        key = key_of(finding)
        wider = broader({key})
        known |= wider
        is_itself = key in itself and finding.category is Category.MEDICAL_HISTORY
        if (
            finding.category not in speaking
            or is_itself
            or finding.name.casefold() == differential.condition.casefold()
        ):
            continue
        if finding.polarity is Polarity.PRESENT and (place := _first(named, key, *sorted(wider))):
            supports.append(FindingBearing(finding.id, finding.name, *place))
        elif finding.polarity is Polarity.ABSENT and (place := _first(named, key, *_narrower(named, key))):
            opposes.append(FindingBearing(finding.id, finding.name, *place))
    for sign in vital_signs(consult.settled, patient_of(consult).age_years):
        if sign.key in named and sign.key not in known | itself:
            known.add(sign.key)
            if sign.is_present or sign.name == FEVER:  # a normal pulse or pressure speaks against little
                bearing = FindingBearing(sign.finding.id, sign.words, *named[sign.key])
                (supports if sign.is_present else opposes).append(bearing)
    ask = [words for key, words in asked.items() if key in named and key not in known]
    return replace(
        differential, supports=tuple(supports), opposes=tuple(opposes), ask=tuple(dict.fromkeys(ask))[:MAX_ASK]
    )


def _first(named: Mapping[str, tuple[str, str]], *keys: str) -> tuple[str, str] | None:
    """Where the first of some findings is named."""
    return next((named[key] for key in keys if key in named), None)


def _narrower(named: Iterable[str], key: str) -> list[str]:
    """The findings named that are a kind of one: who has no cough has no dry cough."""
    return [one for one in named if key in broader({one})]


def _named(hits: Sequence[Hit]) -> dict[str, tuple[str, str]]:
    """What passages name without denying it: the source and the sentence, by concept."""
    found: dict[str, tuple[str, str]] = {}
    for hit in (hit for hit in hits if not hit.section or role_of(hit.section[-1]) != "none"):
        label = " › ".join(dict.fromkeys((hit.document, *hit.section[-1:])))
        for start, end, _ in hit.why.near:
            sentence = hit.text[max(start - hit.start, 0) : end - hit.start]
            for key in named_in(sentence):
                found.setdefault(key, (label, sentence.strip()))
    return found
