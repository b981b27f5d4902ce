"""Finds running headers, footers, page numbers and margin tabs: what repeats from page to page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from citewell.adapters.parsers.pdf_geometry import Rect
from citewell.adapters.parsers.pdf_lines import TextLine

MARGIN = 0.13
"""The share of the page, from each edge, in which furniture stands."""
DRIFT = 3.0
"""Points by which its place may differ from page to page."""
_ITEM = re.compile(r"\d+(?:\.\d+){2,}")
"""A numbered recommendation: it stands in the margin too, often at the same height, and is no page number."""
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)


def without_furniture(
    pages: Sequence[list[TextLine]], papers: Sequence[Rect], fixed: Sequence[list[Rect]]
) -> list[list[TextLine]]:
    """The lines of each page that are its own; `fixed` are the places of tables, beyond which furniture stands."""
    places: dict[tuple[str, int], set[int]] = defaultdict(set)
    slots: dict[tuple[int, float, str], list[str]] = defaultdict(list)
    for index, (lines, paper) in enumerate(zip(pages, papers, strict=True)):
        for line in lines:
            if _in_margin(line.box, paper):
                for down in _near(line.box.top):
                    places[folded(line.text), down].add(index)
                slots[_slot(line)].append(folded(line.text))
    enough = max(2, min(3, len(pages) // 2), round(0.04 * len(pages)))
    running = {slot for slot, texts in slots.items() if _is_running(texts, len(pages))}

    def is_furniture(line: TextLine, paper: Rect) -> bool:
        if not _in_margin(line.box, paper):
            return False
        repeated = max(len(places[folded(line.text), down]) for down in _near(line.box.top))
        level, *look = _slot(line)
        return repeated >= enough or (len(pages) > 4 and any((level + step, *look) in running for step in (-1, 0, 1)))

    return [
        _peeled(lines, {id(line) for line in lines if is_furniture(line, paper)}, tables)
        for lines, paper, tables in zip(pages, papers, fixed, strict=True)
    ]


def folded(text: str) -> str:
    """The text as it is compared: numbers, Arabic or Roman, are all alike; those of recommendations are not.

    >>> folded("Page 12 of 94") == folded("Page 3 of 94")
    True
    >>> folded("1.3.2") == folded("1.5.9")
    False
    """
    words = " ".join(text.split()).casefold()
    return words if _ITEM.fullmatch(words) else _NUMBER.sub("#", words)


def _peeled(lines: list[TextLine], suspects: set[int], tables: list[Rect]) -> list[TextLine]:
    """The lines without the suspects that have nothing but suspects between them and an edge of the page."""
    own = [line.box for line in lines if id(line) not in suspects] + tables
    if not own:
        return []
    body = own[0]
    for box in own:
        body = body.around(box)
    kept = []
    for line in lines:
        box = line.box
        beyond_rows = box.bottom <= body.top + 2 or box.top >= body.bottom - 2
        outside = beyond_rows or box.right <= body.left + 2 or box.left >= body.right - 2
        if id(line) not in suspects or not outside:
            kept.append(line)
    return kept


def _is_running(texts: list[str], page_count: int) -> bool:
    """Whether a place on the page holds running heads: on many pages, with few different texts."""
    return len(texts) >= max(3, 0.25 * page_count) and len(set(texts)) <= 0.5 * len(texts)


def _slot(line: TextLine) -> tuple[int, float, str]:
    return round(line.base / DRIFT), line.size, line.font


def _near(position: float) -> tuple[int, int]:
    """Two overlapping grids, so that a small drift never parts equal lines."""
    return round(position / DRIFT), -1 - round(position / DRIFT + 0.5)


def _in_margin(box: Rect, paper: Rect) -> bool:
    return (
        box.bottom <= MARGIN * paper.height
        or box.top >= (1 - MARGIN) * paper.height
        or box.right <= MARGIN * paper.width
        or box.left >= (1 - MARGIN) * paper.width
    )
