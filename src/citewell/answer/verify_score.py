"""From words in common to a probability: coefficients fitted on SciFact's train claims, and nothing hidden."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

WITH_SIMILARITY: Mapping[str, float] = MappingProxyType(
    {"base": -3.4, "coverage": 0.0, "cosine": 2.7, "passage": 3.0, "turned": -1.5, "unsaid": -1.1, "denied": -0.4}
)
WITHOUT_SIMILARITY: Mapping[str, float] = MappingProxyType(
    {"base": -2.2, "coverage": 0.4, "passage": 3.4, "turned": -1.4, "unsaid": -1.1, "denied": -0.5}
)
"""What each fact adds to the log-odds that a claim is carried; bench/quality/verify.py --fit prints them anew."""


def carried(facts: Mapping[str, float]) -> float:
    """The probability that a source sentence carries a claim.

    >>> round(carried({"coverage": 1.0, "cosine": 1.0, "passage": 1.0}), 2)
    0.91
    >>> round(carried({"coverage": 0.2, "passage": 0.3}), 2)
    0.25
    """
    weights = WITH_SIMILARITY if "cosine" in facts else WITHOUT_SIMILARITY
    return sigmoid(weights["base"] + sum(weights[name] * value for name, value in facts.items()))


def sigmoid(odds: float) -> float:
    """A probability from log-odds."""
    return 1 / (1 + math.exp(-odds))
