"""From facts to a probability: weights fitted on SciFact's train claims, in tables that can be read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

from citewell import vocabulary
from citewell.types import Check, Verdict

BASE = "base"
SUPPORTED = "supported from"
"""The row of the table that is no weight: the probability from which a sentence is carried."""

EVEN = 0.5
"""The most that support counts for where the source speaks against a sentence: of the five train claims with more, one
was carried."""


@cache
def weights(*, with_similarity: bool) -> Mapping[str, float]:
    """What each fact adds to the log-odds that a claim is carried, and the threshold."""
    rows = vocabulary.rows("support.tsv")
    found = {fact: with_it if with_similarity else without for fact, with_it, without, _ in rows}
    return {fact: float(number) for fact, number in found.items() if number}


def carried(facts: Mapping[str, float]) -> float:
    """The probability that a source sentence carries a claim.

    >>> near = {"passage": 1.0, "letters": 1.0, "way": 0.9}
    >>> carried(near) > 0.8 > carried({**near, "turned": 1.0, "against": 1.0})
    True
    """
    known = weights(with_similarity="likeness" in facts)
    return sigmoid(known[BASE] + sum(known[name] * value for name, value in facts.items()))


def supported_from(*, with_similarity: bool) -> float:
    """The probability from which a sentence without a veto is carried."""
    return weights(with_similarity=with_similarity)[SUPPORTED]


def sigmoid(odds: float) -> float:
    """A probability from log-odds."""
    return 1 / (1 + math.exp(-odds))


@cache
def calibration() -> Mapping[str, float]:
    """From support and verdict to log-odds that a sentence is truly carried."""
    return {name: float(weight) for name, weight, _ in vocabulary.rows("calibration.tsv")}


def calibrated(checks: Sequence[Check]) -> float:
    """The probability that a sentence of these is truly carried by what it cites, on average.

    >>> calibrated([])
    0.0
    """
    if not checks:
        return 0.0
    return sum(map(_chance, checks)) / len(checks)


def log_odds(probability: float) -> float:
    """The other way round, within reason.

    >>> round(log_odds(1.0), 1), log_odds(0.5)
    (6.9, 0.0)
    """
    return math.log(max(probability, 1e-3) / max(1 - probability, 1e-3))


def _chance(check: Check) -> float:
    if check.span is None:
        return 0.0
    known = calibration()
    verdict = known.get(check.verdict.value, 0.0)
    share = min(check.support, EVEN) if check.verdict is Verdict.CONTRADICTED else check.support
    return sigmoid(known[BASE] + known["support"] * log_odds(share) + verdict)
