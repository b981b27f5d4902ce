"""The policy of the consult as tables that a clinician can review: cues, questions, red flags, populations."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def rows(name: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a table, without its comments.

    >>> rows("confidences.tsv")[0][0]
    'high'
    """
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return tuple(tuple(line.split("\t")) for line in lines if line and not line.startswith("#"))
