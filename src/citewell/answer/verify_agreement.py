"""Whether two quantities mean the same."""

from __future__ import annotations

from enum import IntEnum

from citewell.clinical.quantities import BARE, Quantity


class Agreement(IntEnum):
    """How far two quantities mean the same."""

    OTHER = 0
    """Different numbers, or things that cannot be compared."""
    OPPOSED = 1
    """The same number as opposite limits."""
    CLOSE = 2
    """The same number with another kind of limit."""
    SAME = 3


def agreement(claim: Quantity, source: Quantity) -> Agreement:
    """Whether a source's quantity is the claim's.

    >>> from citewell.clinical.quantities import quantities
    >>> one, other = quantities("at least 500 mg")[0], quantities("0.5 g or more")[0]
    >>> agreement(one, other), agreement(one, quantities("up to 500 mg")[0])
    (<Agreement.SAME: 3>, <Agreement.OPPOSED: 1>)
    """
    if claim.dimension == source.dimension == "date":
        fits = all(said in (0, held) for said, held in zip(claim.values, source.values, strict=True))
        return Agreement.SAME if fits else Agreement.OTHER
    if not _equal(claim, source):
        return Agreement.OTHER
    return _limits(claim, source)


_COUNTABLE = [
    {BARE, dimension} for dimension in ("time", "tablets", "capsules", "puffs", "drops", "sprays", "doses", "fold")
]
"""A number without a unit may be an age in years or a count; never an amount."""


def comparable(claim: Quantity, source: Quantity) -> bool:
    """Whether two quantities could stand for each other."""
    if is_age_and_length(claim, source):
        return False
    if claim.dimension == source.dimension or {claim.dimension, source.dimension} == {"time", "period"}:
        return True
    return {claim.dimension, source.dimension} in _COUNTABLE


def is_age_and_length(one: Quantity, other: Quantity) -> bool:
    """Whether one time is somebody's age and the other how long, or how often: they answer other questions.

    >>> from citewell.clinical.quantities import quantities
    >>> age, hours = quantities("people over 40")[0], quantities("within 24 hours")[0]
    >>> is_age_and_length(age, hours), is_age_and_length(age, quantities("from 30 years")[0])
    (True, False)
    """
    kinds = {"period" if quantity.dimension == "period" else quantity.told for quantity in (one, other)}
    return "age" in kinds and not kinds.isdisjoint(("length", "period"))


def _equal(claim: Quantity, source: Quantity) -> bool:
    if not comparable(claim, source):
        return _share_of(claim, source) or _share_of(source, claim)
    if claim.dimension != source.dimension and BARE in (claim.dimension, source.dimension):
        ours, theirs, slack = claim.written, source.written, 1e-9
    else:
        ours, theirs = claim.values, source.values
        slack = (
            1e-9
            if claim.unit == source.unit != "mixed"
            else 0.02
            if claim.dimension in ("time", "period", "percent")
            else 0.003
        )
    if len(ours) != len(theirs) or ("range" in (claim.shape, source.shape) and claim.shape != source.shape):
        return False
    pairs = list(zip(ours, theirs, strict=True))
    if all(abs(one - other) <= slack * max(abs(one), abs(other)) for one, other in pairs):
        return True
    may_round = claim.dimension in ("percent", BARE) and claim.unit == source.unit
    return may_round and all(one >= 10 and one == int(one) == round(other) for one, other in pairs)


def _share_of(pair: Quantity, percent: Quantity) -> bool:
    """Whether “1 in 5” is the other's 20 %."""
    if pair.shape != "pair" or percent.dimension != "percent" or len(percent.values) != 1 or not pair.values[1]:
        return False
    return abs(100 * pair.values[0] / pair.values[1] - percent.values[0]) <= 0.5


def _limits(claim: Quantity, source: Quantity) -> Agreement:
    if claim.sign == source.sign:
        return Agreement.SAME
    if (claim.sign == "=" and source.loose) or (source.sign == "=" and claim.loose):
        return Agreement.SAME
    if {claim.sign[0], source.sign[0]} == {"<", ">"}:
        return Agreement.OPPOSED
    return Agreement.CLOSE
