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
    if _is_in_band(claim, source):
        return Agreement.SAME
    if _is_rounded(claim, source) or _is_rounded(source, claim):
        return Agreement.SAME
    if not _equal(claim, source):
        return Agreement.OTHER
    return _limits(claim, source)


def _is_in_band(claim: Quantity, source: Quantity) -> bool:
    """Whether the claim speaks of one age, and the source of an age band that holds it.

    >>> from citewell.clinical.quantities import quantities
    >>> _is_in_band(quantities("a four-month-old baby")[0], quantities("patients aged 2 months or over")[0])
    True
    """
    if not (claim.told == source.told == "age") or claim.sign != "=" or len(claim.values) != 1:
        return False
    age = claim.values[0]
    if source.shape == "range":
        return source.values[0] <= age <= source.values[1]
    limit = source.values[0]
    return {"<": age < limit, "<=": age <= limit, ">": age > limit, ">=": age >= limit}.get(source.sign, False)


SPOKEN = 3.5
"""How many points of a hundred a share in words may be off: “about four in five” is 78%, “more than half” 53%."""


def _is_rounded(spoken: Quantity, exact: Quantity) -> bool:
    """Whether a share told in words is the other's percentage, or the other's so many out of so many, rounded.

    >>> from citewell.clinical.quantities import quantities
    >>> read = lambda text: quantities(text)[0]
    >>> half = read("more than half of them")
    >>> _is_rounded(half, read("53%")), _is_rounded(half, read("47%"))
    (True, False)
    >>> _is_rounded(read("roughly one in five"), read("8 of 38"))
    True
    """
    is_spoken = spoken.unit == "share" or (spoken.shape == "pair" and (spoken.is_word or spoken.loose))
    share, other = _percent(spoken), _percent(exact)
    if not is_spoken or share is None or other is None or exact.sign != "=":
        return False
    more = other - share
    is_within = more >= 0 if spoken.sign[0] == ">" else more <= 0 if spoken.sign[0] == "<" else True
    return is_within and abs(more) <= SPOKEN


def _percent(share: Quantity) -> float | None:
    """A percentage, or so many out of so many, of a hundred."""
    if share.dimension == "percent" and len(share.values) == 1:
        return share.values[0]
    if share.shape == "pair" and share.dimension == BARE and 0 < share.values[1] >= share.values[0]:
        return 100 * share.values[0] / share.values[1]
    return None


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
