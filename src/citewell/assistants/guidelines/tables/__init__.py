"""The clinical policy of the assistant as tables that a clinician can review."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from citewell.clinical import tables as names
from citewell.clinical.tables import read_rows

FOLDER = Path(__file__).parent


def rows(name: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a table, without its comments.

    >>> rows("levels.tsv")[0]
    ('Urgent Referral', 'referral', 'do', 'suspected cancer pathway')
    """
    return read_rows(FOLDER, name)


def rows_of(name: str, kind: str) -> tuple[tuple[str, ...], ...]:
    """The rows of one kind, which the first column tells, without that column."""
    return tuple(row[1:] for row in rows(name) if row[0] == kind)


@cache
def fingerprint() -> str:
    """One hash for all tables: it tells later whether policy was the same."""
    found = hashlib.sha256()
    for path in (*sorted(FOLDER.glob("*.tsv")), *sorted(names.FOLDER.glob("*.tsv"))):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()
