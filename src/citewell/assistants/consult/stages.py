"""Tells where a heading is for another form of a disease than the diagnosis names: severe or not, acute or chronic."""

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
    'for non-severe disease; the diagnosis is Severe dengue'
    >>> other_stage("Severe dengue", ("Care in severe and non-severe disease",)) is None
    True
    """
    for own, other, told in _stages():
        if own.search(condition) and any(other.search(title) and not own.search(title) for title in headings):
            return f"for {told}; the diagnosis is {condition}"
    return None
