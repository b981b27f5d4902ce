"""The language of the assistant as tables that a clinician can review: cues, phrases, notices."""

from __future__ import annotations

from pathlib import Path

from citewell.clinical.tables import read_rows

FOLDER = Path(__file__).parent


def rows(name: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a table, without its comments.

    >>> rows("strategies.tsv")[0][:2]
    ('factual', '5')
    """
    return read_rows(FOLDER, name)
