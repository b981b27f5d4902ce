"""The states of a condition, and what became of one condition or of several."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CriterionState(StrEnum):
    """What the record says of a condition."""

    MET = "met"
    ASSUMED = "assumed"
    NOT_MET = "not met"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class JudgedCriterion:
    """One condition, its state, and the words of the record that decided."""

    text: str
    state: CriterionState
    fact: str | None
    ask: str | None = None
    """What to confirm or ask next."""
    is_clinical: bool = False
    """The fact is a symptom, finding or result that speaks for it."""
    is_fixed: bool = False
    """Nothing that could turn out otherwise: sex, or being a child."""


@dataclass(frozen=True, slots=True)
class CriteriaOutcome:
    """What became of a tree: its state, its conditions, and the ways in which it would be met."""

    state: CriterionState
    judged: tuple[JudgedCriterion, ...]
    ways: tuple[tuple[JudgedCriterion, ...], ...] = ((),)
    """What would have to change: the fewest conditions first, then others that may be so already."""
    is_relevant: bool = False
    """Something that the patient has speaks for it."""

    @property
    def missing(self) -> tuple[JudgedCriterion, ...]:
        """The fewest conditions that would have to change."""
        return self.ways[0]
