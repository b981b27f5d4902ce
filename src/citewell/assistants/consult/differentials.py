"""Differentials: entered, changed, removed or suggested, each with what speaks for and against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from citewell.assistants.consult.named_findings import key_of, named_in
from citewell.assistants.consult.plan_evidence import AssessmentParts, evidence_for
from citewell.assistants.consult.tables import rows
from citewell.errors import InputError
from citewell.types import Hit, Scope
from citewell.types.consult import Category, Consult, Differential, FindingBearing, FindingSource, Polarity

MAX_DIFFERENTIALS = 10
MAX_CONDITION = 120
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
    return [
        _weighed(differential, consult, _named([passage.hit for passage in evidence.gathered.passages]))
        for differential, evidence in zip(differentials, found, strict=True)
    ]


def _weighed(differential: Differential, consult: Consult, named: dict[str, tuple[str, str]]) -> Differential:
    supports, opposes = [], []
    for finding in consult.settled:
        is_itself = finding.name.casefold() == differential.condition.casefold()
        if finding.category not in SPEAKING or is_itself or (place := key_of(finding)) not in named:
            continue
        speaks = FindingBearing(finding.id, finding.name, *named[place])
        if finding.polarity is Polarity.PRESENT:
            supports.append(speaks)
        elif finding.polarity is Polarity.ABSENT:
            opposes.append(speaks)
    return replace(differential, supports=tuple(supports), opposes=tuple(opposes))


def _named(hits: Sequence[Hit]) -> dict[str, tuple[str, str]]:
    """What passages name without denying it: the source and the sentence, by concept."""
    found: dict[str, tuple[str, str]] = {}
    for hit in hits:
        label = " › ".join((hit.document, *hit.section[-1:]))
        for start, end, _ in hit.why.near:
            sentence = hit.text[max(start - hit.start, 0) : end - hit.start]
            for key in named_in(sentence):
                found.setdefault(key, (label, sentence.strip()))
    return found
