"""The policy of the consult as tables that a clinician can review: cues, questions, red flags, populations."""

from __future__ import annotations

from pathlib import Path

from citewell.clinical.tables import read_rows

FOLDER = Path(__file__).parent


def rows(name: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a table, without its comments.

    >>> rows("confidences.tsv")[0][0]
    'high'
    """
    return read_rows(FOLDER, name)
