"""The gate before an answer: is what was found enough? Cosines without boosts, and a look at the words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

from citewell.assistants.guidelines.concept_match import is_clinical
from citewell.assistants.guidelines.retrieve import RetrievedEntry
from citewell.assistants.guidelines.shared_terms import focus
from citewell.assistants.guidelines.tables import rows

Quality = Literal["none", "weak", "sufficient"]
STEPS: tuple[Quality, ...] = ("none", "weak", "sufficient")


@cache
def limit(name: str) -> float:
    """A number of the table."""
    return next(float(value) for key, value in rows("chat_gates.tsv") if key == name)


def quality(question: str, retrieved_entries: Sequence[RetrievedEntry]) -> Quality:
    """Whether the pieces carry an answer; what was asked for by its number or term always does."""
    if any(retrieved_entry.is_named for retrieved_entry in retrieved_entries):
        return "sufficient"
    return _by_words(
        by_scores([retrieved_entry.score for retrieved_entry in retrieved_entries]), question, retrieved_entries
    )


def by_scores(scores: Sequence[float]) -> Quality:
    """The verdict of cosines alone, without any boost.

    >>> by_scores([0.24, 0.2]), by_scores([0.36]), by_scores([0.45, 0.41]), by_scores([0.51])
    ('none', 'weak', 'weak', 'sufficient')
    """
    best = max(scores, default=0.0)
    good = sum(score > limit("good above") for score in scores)
    if best < limit("nothing below") or (not good and best < limit("weak from")):
        return "none"
    if not good or (good <= limit("few") and best < limit("sure from")):
        return "weak"
    return "sufficient"


def _by_words(verdict: Quality, question: str, retrieved_entries: Sequence[RetrievedEntry]) -> Quality:
    """One step lower where no piece holds enough of what is asked for; nothing where none holds any clinical thing."""
    wanted = focus(question)
    if not wanted:
        return verdict
    best = max((retrieved_entry.share for retrieved_entry in retrieved_entries), default=0.0)
    if best == 0.0 and any(is_clinical(unit) for unit in wanted):
        return "none"
    if best < limit("share"):
        return STEPS[max(0, STEPS.index(verdict) - 1)]
    return verdict
