"""Finds the passage that a sentence without a mark rests on; whether it carries the sentence is checked afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.answer.cite import MARK
from citewell.sentences import terms
from citewell.types import Evidence

MIN_SHARE = 0.6
"""A passage that has a smaller share of a sentence's words is not what it rests on."""


def align(sentence: str, evidence: Sequence[Evidence]) -> str:
    """A sentence with the mark of the passage that has most of its words; as it is where it has marks, or none fits."""
    wanted = frozenset(terms(sentence))
    if not wanted or MARK.search(sentence):
        return sentence
    shares = [(len(wanted & frozenset(terms(other.text))) / len(wanted), -at) for at, other in enumerate(evidence)]
    share, place = max(shares, default=(0.0, 0))
    return f"{sentence} [{evidence[-place].alias}]" if share >= MIN_SHARE else sentence
