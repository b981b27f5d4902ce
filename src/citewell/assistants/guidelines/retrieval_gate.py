"""The gate before an answer: is what was found enough?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

from citewell.assistants.guidelines.retrieve import RetrievedEntry
from citewell.assistants.guidelines.tables import rows

Quality = Literal["none", "weak", "sufficient"]


@cache
def limit(name: str) -> float:
    """A number of the table."""
    return next(float(value) for key, value in rows("chat_gates.tsv") if key == name)


def quality(retrieved_entries: Sequence[RetrievedEntry]) -> Quality:
    """Whether the pieces carry an answer; what was asked for by its number or term always does."""
    if any(entry.is_named for entry in retrieved_entries):
        return "sufficient"
    best = max((entry.score for entry in retrieved_entries), default=0.0)
    if best >= limit("sufficient from"):
        return "sufficient"
    return "weak" if best >= limit("weak from") else "none"
