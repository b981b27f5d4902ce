"""Tells whom a passage or a sentence is for, and whether this patient is one of them, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.assistants.consult.disease_stages import LATER_LINE
from citewell.assistants.consult.patient_conditions import KnownConditions, is_own, other_disease
from citewell.clinical.populations import Applies, applies, populations
from citewell.types.consult import Patient

_BULLET = re.compile(r"\s[•●▪]\s")
_OR_END = re.compile(r"\bor\s*$", re.IGNORECASE)
_TREATED = re.compile(
    r"\b(?:adults|people|patients|women|men|those|anyone)\b[^.;:]{0,40}"
    r"\balready (?:having|taking|on|receiving|treated)\b",
    re.IGNORECASE,
)
_GENERAL = re.compile(r"\b(?:in|of|for) (?:the )?general (?:\w+ )?population\b|\bpeople in general\b", re.IGNORECASE)
"""“In the general pregnant population”: named to compare with, not because this patient is one of them."""


@dataclass(frozen=True, slots=True)
class Applicable:
    """Whether words are for this patient, and why not, or why it cannot be told."""

    applies: bool
    reasons: tuple[str, ...] = ()
    is_specific: bool = False
    """They are for a group that this patient is known to belong to."""
    is_general: bool = False
    """They are about people in general, named to compare with."""


def applicability_of(
    section: Sequence[str], sentence: str, patient: Patient, known: KnownConditions | None = None
) -> Applicable:
    """Whether a sentence under these headings is for the patient: each heading that names people, and the words.

    Where it is known what the patient has, words for people with another disease are not for them.

    >>> told = applicability_of(("Malaria", "Treatment in adults"), "Give 4 tablets.", Patient(age_years=4))
    >>> told.applies, told.reasons
    (False, ('for adults; the patient is 4',))
    >>> either = "Check standing pressure in people with: • type 2 diabetes or • symptoms or • aged 80 and over."
    >>> applicability_of((), either, Patient(age_years=63)).applies
    True
    """
    others = [*_for_others(section, sentence, known)] if known is not None else []
    if others:
        return Applicable(applies=False, reasons=tuple(dict.fromkeys(others)))
    headings = [_judged(part, patient, is_heading=True) for part in section if part]
    judged = [*headings, _any_of(sentence, patient)] if sentence else headings
    reasons = tuple(dict.fromkeys(reason for applicable in judged for reason in applicable.reasons))
    is_general = any(map(_GENERAL.search, (*section, sentence)))
    is_specific = any(applicable.is_specific for applicable in judged) and not is_general
    is_specific = is_specific or (known is not None and bool(sentence) and is_own(sentence, known))
    return Applicable(all(applicable.applies for applicable in judged), reasons, is_specific, is_general)


def _for_others(section: Sequence[str], sentence: str, known: KnownConditions) -> Iterator[str]:
    """Why words are for people with another disease, or for those who are treated; of items with “or” one is enough."""
    yield from (why for part in section if part and (why := other_disease(part, known)))
    lead, items = _items(sentence)
    whole = [f"{lead} {item}" for item in items] or [sentence]
    reasons = [other_disease(one, known) for one in whole if one]
    if reasons and all(reasons):
        yield from (why for why in reasons[:1] if why)
    if known.takes_nothing and _TREATED.search(sentence):
        yield LATER_LINE


def _items(sentence: str) -> tuple[str, list[str]]:
    """The beginning of a list and its items, where “or” stands between them; else no items."""
    lead, *items = _BULLET.split(sentence)
    is_any = len(items) >= 2 and lead.rstrip().endswith(":") and all(_OR_END.search(item) for item in items[:-1])
    return lead, items if is_any else []


def _any_of(sentence: str, patient: Patient) -> Applicable:
    """A sentence; of a list whose items stand with “or” between them, its beginning and the item that fits best."""
    lead, items = _items(sentence)
    if not items:
        return _judged(sentence, patient, is_heading=False)
    first = _judged(lead, patient, is_heading=False)
    every = [_judged(item, patient, is_heading=False) for item in items]
    best = next((applicable for applicable in every if applicable.applies and not applicable.reasons), None)
    best = best or next((applicable for applicable in every if applicable.applies), every[0])
    return Applicable(
        first.applies and best.applies,
        (*first.reasons, *best.reasons),
        is_specific=first.is_specific or (best.applies and best.is_specific),
    )


def _judged(text: str, patient: Patient, *, is_heading: bool) -> Applicable:
    """One heading or sentence; what people have is left to what is known of the patient's diseases."""
    found = [
        population
        for population in populations(text, is_heading=is_heading)
        if population.kind == "kidney" or not population.condition
    ]
    applicability = applies(found, patient)
    return Applicable(applicability.answer is not Applies.NO, applicability.reasons, applicability.is_specific)
