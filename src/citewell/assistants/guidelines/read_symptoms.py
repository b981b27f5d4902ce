"""Reads the index by symptom: tables whose rows name a symptom, a possible cancer and what is recommended."""

from __future__ import annotations

import re
from itertools import takewhile

from citewell.assistants.guidelines.guideline import SymptomRow
from citewell.types import Block, Document

REFERENCE = re.compile(r"(?<![\d.])(\d{1,2}\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
_CELL = re.compile(r"(?:^|; )(?P<header>[^:;]{3,60}): ")
_SYMPTOM = re.compile(r"\b(?:symptoms?|findings?|signs?|features)\b", re.IGNORECASE)
_CANCER = re.compile(r"\bpossible\b", re.IGNORECASE)
_ADVICE = re.compile(r"\brecommendations?\b", re.IGNORECASE)
_BRACKETED = re.compile(r"\[?(\d{1,2}\.\d{1,3}\.\d{1,3})\]|\[(\d{1,2}\.\d{1,3}\.\d{1,3})")
"""A reference stands in brackets; one of them may be missing."""


def read_symptoms(document: Document) -> tuple[SymptomRow, ...]:
    """Every row of such a table, with the rules it refers to."""
    blocks = [block for block in document.blocks if block.kind == "table_row"]
    found = [(block, cells) for block in blocks if (cells := _cells_of(document, block)) is not None]
    levels = zip(*(block.section for block, _ in found), strict=False)
    root = sum(1 for _ in takewhile(lambda titles: len(set(titles)) == 1, levels))
    return tuple(_row(document, block, cells, root) for block, cells in found)


def _cells_of(document: Document, block: Block) -> tuple[str, str, str] | None:
    """Symptom, possible cancer and advice; None for a row of another table."""
    cells = _cells(document.text[block.start : block.end])
    symptom = next((cell for header, cell in cells if _SYMPTOM.search(header) and not _ADVICE.search(header)), None)
    cancer = next((cell for header, cell in cells if _CANCER.search(header)), None)
    advice = next((cell for header, cell in cells if _ADVICE.search(header)), None)
    if symptom is None or cancer is None or advice is None:
        return None
    return symptom, cancer, advice


def _row(document: Document, block: Block, cells: tuple[str, str, str], root: int) -> SymptomRow:
    """The row, in the system and group that its headings name below those that all rows share."""
    symptom, cancer, advice = cells
    below = block.section[root:] or block.section[-1:] or ("",)
    system, group = below[0], below[-1]
    references = tuple(dict.fromkeys(one or other for one, other in _BRACKETED.findall(advice)))
    page = document.layout.page_at(block.start) or block.page or 0
    return SymptomRow(system, group, page, symptom, cancer, advice, references, block.start, block.end)


def _cells(text: str) -> list[tuple[str, str]]:
    """The cells of a row, each with the header of its column."""
    matches = list(_CELL.finditer(text))
    known = [
        match for match in matches if any(sign.search(match.group("header")) for sign in (_SYMPTOM, _CANCER, _ADVICE))
    ]
    ends = [*(match.start() for match in known[1:]), len(text)][: len(known)]
    return [(match.group("header"), text[match.end() : end].strip()) for match, end in zip(known, ends, strict=True)]
