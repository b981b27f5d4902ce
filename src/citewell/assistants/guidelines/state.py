"""The states of a condition, and one condition that was held against a record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What the record says of a condition."""

    MET = "met"
    ASSUMED = "assumed"
    NOT_MET = "not met"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judged:
    """One condition, its state, and the words of the record that decided."""

    text: str
    state: State
    fact: str | None
    ask: str | None = None
    """What to confirm or ask next."""
    is_clinical: bool = False
    """The fact is a symptom, finding or result that speaks for it."""
    is_fixed: bool = False
    """Nothing that could turn out otherwise: sex, or being a child."""
