"""How far an answer from a record can be trusted, and the word for it that a patient sees."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

from citewell.assistants.records.alerts import amounts_of, names_of
from citewell.clinical.medicines import substances
from citewell.types.facts import Allergy, Fact, LabResult, Medication, MedicationStatus


def agree(shown: Iterable[Fact], known: Sequence[Fact]) -> float:
    """The least agreement about any one thing that is shown: a dose, a result, whether an allergy holds.

    >>> from citewell.types.facts import REPORTED
    >>> doses = [Medication(id=one, origin=REPORTED, generic_name="Warfarin", dose=one) for one in ("5 mg", "3 mg")]
    >>> agree(doses[:1], doses), agree(doses[:1], doses[:1])
    (0.5, 1.0)
    """
    wanted = {thing for fact in shown if (thing := _thing(fact)) is not None}
    values: dict[Hashable, list[str]] = {}
    for fact in known:
        if (thing := _thing(fact)) in wanted and thing is not None:
            values.setdefault(thing, []).append(_value(fact))
    return min((agreement(value) for value in values.values()), default=1.0)


def _thing(fact: Fact) -> Hashable | None:
    """What two entries must have in common to be able to differ."""
    match fact:
        case Medication(status=MedicationStatus.ACTIVE, dose=str()):
            return "dose", substances(*names_of(fact))
        case LabResult(value=float() | int(), collected=collected) if collected is not None:
            return "result", fact.test_name.casefold(), fact.unit, collected.text
        case Allergy():
            return "allergy", substances(fact.allergen)
    return None


def _value(fact: Fact) -> str:
    match fact:
        case Medication():
            return str(amounts_of(fact.dose or "") or (fact.dose or "").casefold().split())
        case LabResult():
            return f"{fact.value:g}"
        case Allergy():
            return str(fact.is_active)
    raise AssertionError(fact.kind)


Band = Literal["well supported", "partly supported", "limited"]
WELL, PARTLY = 0.8, 0.5
"""From here on an answer is well supported, and partly supported."""


def confidence(*, verified: int, claims: int, relevances: Sequence[float], agreement: float) -> float:
    """The share of verified claims × the relevance of what was found × how far the sources agree; 0 without evidence.

    Relevance is the mean of the passages that are cited. Every factor is held within [0, 1], and a value that is no
    number counts as 0.

    >>> confidence(verified=3, claims=4, relevances=[0.9, 0.7], agreement=1.0)
    0.6
    >>> confidence(verified=0, claims=0, relevances=[], agreement=1.0)
    0.0
    """
    if claims <= 0 or not relevances:
        return 0.0
    relevance = sum(_held(other) for other in relevances) / len(relevances)
    return round(_held(verified / claims) * relevance * _held(agreement), 6)


def agreement(values: Sequence[str]) -> float:
    """How far sources agree that give a value for the same thing: the share of the value that most of them give.

    >>> agreement(["5 mg", "5 mg", "10 mg", "5 mg"]), agreement([]), agreement(["5 mg"])
    (0.75, 1.0, 1.0)
    """
    plain = [" ".join(value.casefold().split()) for value in values]
    return max(map(plain.count, plain)) / len(plain) if plain else 1.0


def band(overall: float) -> Band:
    """The word for a confidence, as it is shown.

    >>> band(0.8), band(0.79), band(0.5), band(0.49)
    ('well supported', 'partly supported', 'partly supported', 'limited')
    """
    if overall >= WELL:
        return "well supported"
    return "partly supported" if overall >= PARTLY else "limited"


def _held(value: float) -> float:
    return 0.0 if math.isnan(value) else min(1.0, max(0.0, value))
