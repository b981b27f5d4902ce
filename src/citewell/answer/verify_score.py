"""From words in common to a probability: coefficients fitted on SciFact's train claims, and nothing hidden."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from citewell.types import Check, Verdict

WITH_SIMILARITY: Mapping[str, float] = MappingProxyType(
    {
        "base": -3.5,
        "coverage": 0.2,
        "cosine": 2.6,
        "passage": 3.1,
        "turned": -1.2,
        "unsaid": -0.9,
        "denied": -0.8,
        "aim": -0.8,
        "contested": -1.2,
    }
)
WITHOUT_SIMILARITY: Mapping[str, float] = MappingProxyType(
    {
        "base": -2.3,
        "coverage": 0.6,
        "passage": 3.5,
        "turned": -1.2,
        "unsaid": -0.9,
        "denied": -0.8,
        "aim": -0.8,
        "contested": -1.2,
    }
)
"""What each fact adds to the log-odds that a claim is carried; bench/quality/verify.py --fit prints them anew."""


def carried(facts: Mapping[str, float]) -> float:
    """The probability that a source sentence carries a claim.

    >>> round(carried({"coverage": 1.0, "cosine": 1.0, "passage": 1.0}), 2)
    0.92
    >>> round(carried({"coverage": 0.2, "passage": 0.3}), 2)
    0.24
    """
    weights = WITH_SIMILARITY if "cosine" in facts else WITHOUT_SIMILARITY
    return sigmoid(weights["base"] + sum(weights[name] * value for name, value in facts.items()))


def sigmoid(odds: float) -> float:
    """A probability from log-odds."""
    return 1 / (1 + math.exp(-odds))


CALIBRATION: Mapping[str, float] = MappingProxyType(
    {"base": -0.1, "log-odds of support": 1.0, Verdict.PARTLY: -0.1, Verdict.CONTRADICTED: -1.3}
)
"""From support and verdict to log-odds, fitted on the train claims by `bench/quality/verify.py --fit`."""


def calibrated(checks: Sequence[Check]) -> float:
    """The probability that a sentence of these is truly carried by what it cites, on average.

    >>> calibrated([])
    0.0
    """
    if not checks:
        return 0.0
    return sum(map(_chance, checks)) / len(checks)


def _chance(check: Check) -> float:
    if check.span is None:
        return 0.0
    odds = math.log(max(check.support, 1e-3) / max(1 - check.support, 1e-3))
    weights = CALIBRATION
    return sigmoid(weights["base"] + weights["log-odds of support"] * odds + weights.get(check.verdict, 0.0))
