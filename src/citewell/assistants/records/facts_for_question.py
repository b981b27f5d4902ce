"""What is fetched for each kind of question, and how much recency counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from citewell.assistants.records.question_kinds import QuestionKindRule
from citewell.assistants.records.tables import rows

Part = Literal["allergies", "medications", "labs", "diagnoses", "symptoms", "conversations"]
"""What can be fetched beside passages; what is fetched is also shown to the writer."""
PARTS: tuple[Part, ...] = get_args(Part)

LAB_WINDOW_DAYS, SYMPTOM_WINDOW_DAYS = 180, 30
"""Facts of this time come first; older ones follow them, and the latest of each test is never left out."""
RELEVANCE_FLOOR = 0.15
"""A passage below this is about something else, however recent it is."""
HALF_LIFE_DAYS = 365.0
"""After so long a passage counts half as recent."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How one kind of question is looked up."""

    top_k: int
    temporal_weight: float
    parts: frozenset[Part]
    lab_window_days: int = LAB_WINDOW_DAYS
    symptom_window_days: int = SYMPTOM_WINDOW_DAYS

    def score(self, relevance: float, *, age_days: float | None) -> float | None:
        """Relevance and recency as one number; None for what is about something else.

        >>> timeline = strategy(QuestionKindRule.TIMELINE)
        >>> timeline.score(0.9, age_days=365), timeline.score(0.2, age_days=0), timeline.score(0.1, age_days=0)
        (0.5, 1.0, None)
        """
        if not relevance >= RELEVANCE_FLOOR:
            return None
        return (1 - self.temporal_weight) * relevance + self.temporal_weight * recency(age_days)


def recency(age_days: float | None) -> float:
    """How recent something is, in [0, 1]; what bears no date is not recent, and a date to come is today's.

    >>> recency(0), recency(730), recency(None), recency(-3)
    (1.0, 0.25, 0.0, 1.0)
    """
    return 0.0 if age_days is None else float(0.5 ** (max(age_days, 0.0) / HALF_LIFE_DAYS))


@cache
def _strategies() -> dict[QuestionKindRule, Strategy]:
    return {
        QuestionKindRule(kind): Strategy(
            int(top_k), float(weight), frozenset(part for part in PARTS if part in parts.split())
        )
        for kind, top_k, weight, parts in rows("strategies.tsv")
    }


def strategy(kind: QuestionKindRule) -> Strategy:
    """The strategy for a kind of question.

    >>> strategy(QuestionKindRule.SYMPTOM).top_k, "allergies" in strategy(QuestionKindRule.SYMPTOM).parts
    (5, True)
    """
    return _strategies()[kind]
