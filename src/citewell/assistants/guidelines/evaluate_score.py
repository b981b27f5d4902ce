"""Holds a score that a rule asks for against its parts in the words of the record."""

from __future__ import annotations

import re
from functools import cache

from citewell.assistants.guidelines.criteria import Threshold
from citewell.assistants.guidelines.criterion_state import CriterionState, JudgedCriterion
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.record_clauses import as_read
from citewell.assistants.guidelines.tables import rows
from citewell.clinical.assertion import read_context
from citewell.types.consult import Polarity

_COUNTS = (Polarity.PRESENT, Polarity.UNCLEAR)
_DENIED = re.compile(r"\b(?:no|not|never|nor|nil|without|denies)\b(?:\s+\w+){0,2}\s*$", re.IGNORECASE)


@cache
def _parts() -> dict[str, tuple[tuple[str, int, re.Pattern[str]], ...]]:
    """The parts of each score: name, points, and the words that say that it is there."""
    found: dict[str, list[tuple[str, int, re.Pattern[str]]]] = {}
    for test, part, points, words in rows("scores.tsv"):
        found.setdefault(test, []).append((part, int(points), re.compile(rf"\b(?:{words})\b", re.IGNORECASE)))
    return {test: tuple(parts) for test, parts in found.items()}


def judge_score(condition: Threshold, record: PatientRecord) -> JudgedCriterion | None:
    """A score by its parts in the words of one complaint: assumed where they are enough; None where they are not."""
    parts = _parts().get(condition.test, ())
    for complaint in record.patient.complaints if parts else ():
        text = as_read(complaint.text)
        there = [(part, points) for part, points, words in parts if _says(text, words)]
        total = sum(points for _, points in there)
        if total >= condition.value:
            counted = " + ".join(f"{part} {points}" for part, points in there)
            ask = f"Is the {condition.test} score {total} ({counted})?"
            return JudgedCriterion(
                condition.text, CriterionState.ASSUMED, f"{counted} = {total}", ask=ask, is_clinical=True
            )
    return None


def is_part_of_score(test: str, words: str) -> bool:
    """Whether words name a part of a score."""
    return any(pattern.search(words) for _, _, pattern in _parts().get(test, ()))


def _says(text: str, words: re.Pattern[str]) -> bool:
    """Whether a text says of something that it is there."""
    context = None
    for match in words.finditer(text):
        context = context or read_context(text)
        if _DENIED.search(text, 0, match.start()) is None and context.assertion(*match.span()).status in _COUNTS:
            return True
    return False


def said_part(test: str, item: str, record: PatientRecord) -> str | None:
    """The words of the record that name the part of a score that an item means; None where it is not known how."""
    words = set(re.findall(r"\w+", item.casefold()))
    shared = [(len(words & set(re.findall(r"\w+", part))), pattern) for part, _, pattern in _parts().get(test, ())]
    if not shared or not (best := max(shared, key=lambda one: one[0]))[0]:
        return None
    texts = (complaint.text for complaint in record.patient.complaints)
    return next((text for text in texts if _says(as_read(text), best[1])), None)
