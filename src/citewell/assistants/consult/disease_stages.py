"""Tells where a heading is for another form of a disease than the diagnosis names, or for another line of treatment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from citewell.assistants.consult.tables import rows


@cache
def _stages() -> tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]:
    return tuple(
        (re.compile(own, re.IGNORECASE), re.compile(other, re.IGNORECASE), told)
        for own, other, told in rows("stages.tsv")
    )


def other_stage(condition: str, headings: Sequence[str]) -> str | None:
    """Why passages under these headings are not for this form of the disease; None where they may be.

    >>> other_stage("Severe dengue", ("4 Recommendations for patients with non-severe disease", "4.1 Drinking"))
    'for non-severe disease, not Severe dengue'
    >>> other_stage("Severe dengue", ("Care in severe and non-severe disease",)) is None
    True
    """
    for own, other, told in _stages():
        if own.search(condition) and any(other.search(title) and not own.search(title) for title in headings):
            return f"for {told}, not {condition}"
    return None


_SEVERE = re.compile(r"(?:for|in|with|of)\b[^.;:]{0,120}(?<!non-)(?<!non )(?<!not )\bsevere\b", re.IGNORECASE)
_MILD = re.compile(r"\b(?:non-?\s?severe|not severe|mild|uncomplicated|irrespective of severity)\b", re.IGNORECASE)


def is_other_stage(reason: str) -> bool:
    """Whether a line was left out only because it is for another stage of the same disease."""
    return "severe disease" in reason


def is_for_severe(text: str, condition: str) -> bool:
    """Whether words are for severe disease alone, and the diagnosis does not say that it is severe.

    >>> is_for_severe("Give artesunate to patients with severe malaria.", "Malaria")
    True
    """
    return bool(_SEVERE.search(text)) and not _MILD.search(text) and "severe" not in condition.casefold()


LATER_LINE = "for people already on treatment; the patient takes none"


@cache
def _lines(kind: str) -> re.Pattern[str]:
    return re.compile("|".join(words for line, words in rows("lines.tsv") if line == kind), re.IGNORECASE)


def line_of(headings: Sequence[str]) -> str | None:
    """“first” or “later”, where a heading says which line of treatment it is for; the nearest to the passage decides.

    >>> line_of(("1.4 Treating hypertension", "Step 4 treatment")), line_of(("Treatment",))
    ('later', None)
    """
    for title in reversed(headings):
        for kind in ("first", "later"):
            if _lines(kind).search(title):
                return kind
    return None
