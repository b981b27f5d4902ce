"""Findings that cannot both hold: shown as such, and asked about, never settled by guessing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from citewell.types.consult import Category, Contradiction, Finding, Polarity

SAME_YEARS = 1.0
SAME_SHARE = 0.05
"""Two weights this near each other are one."""
SETTLED = frozenset({"temperature", "pulse", "respiratory rate", "oxygen saturation", "glucose"})
"""Measurements that change in an hour: the last one holds, and none contradicts another."""
_HELD = (Polarity.PRESENT, Polarity.ABSENT)


def contradictions(findings: Sequence[Finding]) -> tuple[Contradiction, ...]:
    """Every pair that cannot both hold, with the question that settles it.

    >>> from citewell.types.consult import By
    >>> one = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, By.RULES)
    >>> other = Finding("f2", Category.SYMPTOM, "Fever", Polarity.ABSENT, By.RULES)
    >>> contradictions([one, other])[0].question
    'Both “Fever” and “no Fever” were said: which holds?'
    """
    return (*_opposites(findings), *_numbers(findings), *_impossible(findings))


def _opposites(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    for first, second in combinations(findings, 2):
        if first.key == second.key and first.polarity != second.polarity:
            if first.polarity in _HELD and second.polarity in _HELD:
                name = first.name if first.name != "any" else _any(first)
                yield Contradiction(first.id, second.id, f"Both “{name}” and “no {name}” were said: which holds?")
        elif _none_beside_some(first, second) or _none_beside_some(second, first):
            named = second if first.name == "any" else first
            told = "an allergy" if named.category is Category.ALLERGY else "a medicine"
            yield Contradiction(
                first.id, second.id, f"Both none at all and {told} ({named.name}) were said: which holds?"
            )


def _any(one: Finding) -> str:
    return "allergies" if one.category is Category.ALLERGY else "medicines"


def _none_beside_some(first: Finding, second: Finding) -> bool:
    """“No known allergies” beside an allergy."""
    if first.category is not second.category or first.category not in (Category.ALLERGY, Category.MEDICATION):
        return False
    is_none = first.name == "any" and first.polarity is Polarity.ABSENT
    return is_none and second.name != "any" and second.polarity is Polarity.PRESENT


def _numbers(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    measured = [one for one in findings if one.category in (Category.VITAL, Category.DEMOGRAPHIC)]
    for first, second in combinations(measured, 2):
        if first.name != second.name or first.name in SETTLED or first.key != second.key:
            continue
        if first.name == "sex" and first.unit != second.unit:
            yield Contradiction(first.id, second.id, f"Both “{first.unit}” and “{second.unit}” were said: which holds?")
        elif first.value is not None and second.value is not None and _differ(first, second):
            told = f"{first.name} {first.value:g} and {second.value:g} {second.unit}"
            yield Contradiction(first.id, second.id, f"Two values were said: {told}. Which holds?")


def _differ(first: Finding, second: Finding) -> bool:
    one, other = first.value or 0.0, second.value or 0.0
    if first.name in ("age", "pregnant"):
        return abs(one - other) > SAME_YEARS
    return abs(one - other) > SAME_SHARE * max(one, other)


def _impossible(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    """A pregnancy beside a record that says male."""
    male = next((one for one in findings if one.name == "sex" and one.unit == "male"), None)
    pregnant = next((one for one in findings if one.name == "pregnant" and one.polarity is Polarity.PRESENT), None)
    if male is not None and pregnant is not None:
        where = "The record says male" if male.by.value == "record" else "Male was said"
        question = f"{where}, and a pregnancy was said: correct the one that is wrong. Neither is used until then."
        yield Contradiction(male.id, pregnant.id, question)
