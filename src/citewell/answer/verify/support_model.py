"""From facts to a probability: weights fitted on SciFact's train claims, in tables that can be read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from citewell import vocabulary
from citewell.types import SentenceCheck, Verdict

BASE = "base"
READ = "read as carried"
SUPPORTED = "supported from"
"""The row of the table that is no weight: the probability from which a sentence is carried."""
OPPOSED, NEVER = "opposed from", "never from"
"""Two more: the log-odds from which the pair reader's word makes a contradiction of a sentence that is not carried, and
from which no sentence is carried."""

Known = Literal["words", "likeness", "pair"]
"""What is known of a claim: its words; cosines too; the word of the pair reader too."""

EVEN = 0.5
"""The most that support counts for where the source speaks against a sentence: of the five train claims with more, one
was carried."""


@cache
def weights(known: Known) -> Mapping[str, float]:
    """What each fact adds to the log-odds that a claim is carried, and the thresholds."""
    columns: tuple[Known, ...] = ("pair", "likeness", "words")
    place = 1 + columns.index(known)
    return {row[0]: float(row[place]) for row in vocabulary.rows("support.tsv") if row[place]}


def carried(facts: Mapping[str, float]) -> float:
    """The probability that a source sentence carries a claim.

    >>> near = {"passage": 1.0, "letters": 1.0}
    >>> carried(near) > carried({**near, "strange": 1.0})
    True
    """
    worth = weights("pair" if READ in facts else "likeness" if "likeness" in facts else "words")
    return sigmoid(worth[BASE] + sum(worth.get(name, 0.0) * value for name, value in facts.items()))


def supported_from(known: Known) -> float:
    """The probability from which a sentence without a veto is carried."""
    return weights(known)[SUPPORTED]


def opposed_from() -> float:
    """The log-odds from which the pair reader's word makes a contradiction of a sentence that is not carried."""
    return weights("pair")[OPPOSED]


def never_from() -> float:
    """The log-odds from which the pair reader's word lets no sentence be called carried."""
    return weights("pair")[NEVER]


def sigmoid(odds: float) -> float:
    """A probability from log-odds."""
    return 1 / (1 + math.exp(-odds))


@cache
def calibration() -> Mapping[str, float]:
    """From support and verdict to log-odds that a sentence is truly carried."""
    return {name: float(weight) for name, weight, _ in vocabulary.rows("calibration.tsv")}


def calibrated(checks: Sequence[SentenceCheck]) -> float:
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


def _chance(check: SentenceCheck) -> float:
    if check.span is None:
        return 0.0
    known = calibration()
    verdict = known.get(check.verdict.value, 0.0)
    share = min(check.support, EVEN) if check.verdict is Verdict.CONTRADICTED else check.support
    return sigmoid(known[BASE] + known["support"] * log_odds(share) + verdict)
