"""Tells headings from other blocks and gives them levels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.adapters.parsers.pdf_blocks import Draft, Typography

MAX_HEADING_CHARACTERS = 220
_NUMBER = re.compile(r"^(?:(?:Part|Chapter|Section|Annex|Appendix)\s+)?(\d+(?:\.\d+)*)\.?\s+\S", re.IGNORECASE)
_UNNUMBERED_DEPTH = 9

Rank = tuple[float, int, int]


def mark_headings(drafts: Sequence[Draft], typography: Typography) -> None:
    """Turn paragraphs that are headings into headings, with levels that agree across the document."""
    ranks: dict[int, Rank] = {}
    for draft in drafts:
        if draft.kind in ("paragraph", "list_item") and _is_heading(draft, typography):
            ranks[id(draft)] = _rank(draft)
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks.values())), start=1)}
    for draft in drafts:
        if id(draft) in ranks:
            draft.kind = "heading"
            draft.level = levels[ranks[id(draft)]]
            draft.continues = False


def _is_heading(draft: Draft, typography: Typography) -> bool:
    text = draft.text.strip()
    lines = draft.lines
    if not any(character.isalpha() for character in text) or len(text) > MAX_HEADING_CHARACTERS or len(lines) > 4:
        return False
    if text.endswith((".", ";", ",")) or text[0] in "•▪–":
        return False
    if min(line.size for line in lines) >= 1.12 * typography.body_size:
        return True
    return all(line.bold for line in lines) and min(line.size for line in lines) >= 0.95 * typography.body_size


def _rank(draft: Draft) -> Rank:
    """Sorts headings from the outermost to the innermost."""
    text = draft.text.strip()
    size = max(line.size for line in draft.lines)
    number = _NUMBER.match(text)
    depth = number.group(1).count(".") + 1 if number else 0 if text.isupper() else _UNNUMBERED_DEPTH
    return -round(size), depth, int(not draft.lines[0].bold)
