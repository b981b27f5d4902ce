"""The tables of clinical words: spelling, abbreviations and names written by hand, and an extract of the HPO."""

from __future__ import annotations

import gzip
from pathlib import Path

HPO_VERSION = "2025-01-16"
ATTRIBUTION = (
    f"This product uses the Human Phenotype Ontology (version {HPO_VERSION}). "
    "Find out more at http://www.human-phenotype-ontology.org."
)
"""What the licence of the ontology asks a product to display; NOTICE says what was taken."""

ICD_10_CM_EDITION = "April-1-2026"
"""As the file of the table is named."""

FOLDER = Path(__file__).parent


def rows(name: str) -> list[list[str]]:
    """The rows of a readable table, without its comments.

    >>> rows("spelling.tsv")[0]
    ['haem', 'hem', 'part', 'to us']
    """
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def packed_lines(name: str) -> list[str]:
    """The lines of a compressed table, without its comments."""
    lines = gzip.decompress((FOLDER / name).read_bytes()).decode("utf-8").split("\n")
    first = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    return lines[first:]
