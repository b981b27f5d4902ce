"""The tables that a clinician can review: one file a decision, with a header that says what it decides."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def read_rows(folder: Path, name: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a table in a folder, without its comments."""
    lines = (folder / name).read_text("utf-8").splitlines()
    return tuple(tuple(line.split("\t")) for line in lines if line and not line.startswith("#"))


def rows(name: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a table of this folder."""
    return read_rows(FOLDER, name)
