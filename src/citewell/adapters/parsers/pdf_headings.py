"""Tells headings from other blocks and gives them levels."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.adapters.parsers.pdf_blocks import DATE_TAG, Draft, LineBlock, Typography, folded_title

MAX_HEADING_CHARACTERS = 220
_NUMBER = re.compile(r"^(?:(?:Part|Chapter|Section|Annex|Appendix)\s+)?(\d+(?:\.\d+)*)\.?\s+\S", re.IGNORECASE)
_UNNUMBERED_DEPTH = 9
_ENTRY = re.compile(r"\S\s+(?:\d{1,4}|[ivxlc]{1,6})$", re.IGNORECASE)
_LONE_NUMBER = re.compile(r"\d{1,2}")
MIN_ENTRIES = 6
_TRUSTED_SHARE = 0.6
"""Of an outline's entries, so many must stand on the pages they point at before its levels are believed."""

Rank = tuple[float, int, int]


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline that a PDF carries."""

    title: str
    page: int
    level: int


def mark_contents(drafts: Sequence[Draft]) -> None:
    """The entries of a table of contents, on one page, are items of a list; they look like headings but are none."""
    entries = [draft for draft in drafts if draft.kind in ("paragraph", "list_item") and _ENTRY.search(draft.text)]
    if len(entries) >= MIN_ENTRIES and len(entries) >= 0.5 * len(drafts):
        for draft in entries:
            draft.kind, draft.in_contents = "list_item", True


def with_chapter_numbers(drafts: Sequence[Draft], typography: Typography) -> list[Draft]:
    """The drafts with large numbers that stand alone set before the title that follows them."""
    joined: list[Draft] = []
    for draft in drafts:
        number = joined[-1] if joined else None
        is_title = draft.kind == "paragraph" and draft.lines[0].size >= 1.12 * typography.body_size
        if number and is_title and number.page == draft.page and _is_chapter_number(number, typography):
            joined[-1] = replace(draft, parts=[LineBlock([*number.lines, *draft.lines])])
        else:
            joined.append(draft)
    return joined


def _is_chapter_number(draft: Draft, typography: Typography) -> bool:
    return bool(_LONE_NUMBER.fullmatch(draft.text)) and draft.lines[0].size >= 1.5 * typography.body_size


def mark_headings(drafts: Sequence[Draft], typography: Typography, outline: Sequence[Bookmark], title: str) -> None:
    """Turn paragraphs that are headings into headings, with levels that agree across the document."""
    named = _named(drafts, outline)
    headings = [draft for draft in drafts if id(draft) in named or _is_heading(draft, typography)]
    ranks = {id(draft): _rank(draft) for draft in headings}
    by_rank: dict[Rank, Counter[int]] = defaultdict(Counter)
    for draft in headings:
        if id(draft) in named:
            by_rank[ranks[id(draft)]][named[id(draft)]] += 1
    ordered = sorted(set(ranks.values()))
    deepest = max(named.values(), default=0)
    for draft in headings:
        rank = ranks[id(draft)]
        draft.kind = "heading"
        if id(draft) in named:
            draft.level = named[id(draft)]
        elif by_rank[rank] and _tells_level(rank, typography):
            draft.level = by_rank[rank].most_common(1)[0][0]
        else:
            draft.level = deepest + 1 + ordered.index(rank)
    _set_beside_the_number_before(headings)
    _set_title_beside_its_parts(headings, title)


def _set_beside_the_number_before(headings: Sequence[Draft]) -> None:
    """Let “3” stand beside “2”, not inside it, whatever their sizes or the outline say."""
    latest: dict[tuple[str, ...], tuple[int, int]] = {}
    for draft in headings:
        number = _NUMBER.match(draft.text.strip())
        if number is None:
            continue
        *above, last = number.group(1).split(".")
        before, level = latest.get(tuple(above), (-1, 0))
        if int(last) == before + 1 and (draft.level or 1) > level:
            draft.level = level
        latest[tuple(above)] = int(last), draft.level or 1


def _set_title_beside_its_parts(headings: Sequence[Draft], title: str) -> None:
    """Let the title of the whole end where the first part begins: named over every part, it would tell nothing."""
    if len(headings) < 2:
        return
    first, *rest = headings
    second = min(draft.level or 1 for draft in rest)
    larger = first.lines[0].size >= 1.25 * max(line.size for draft in rest for line in draft.lines)
    is_title = folded_title(first.text) == folded_title(title) or (larger and not _NUMBER.match(first.text))
    if is_title and (first.level or 1) < second:
        first.level = second


def _tells_level(rank: Rank, typography: Typography) -> bool:
    """Whether headings of this look are of one level: those no larger than the text and without a number are of any."""
    return -rank[0] > 1.05 * typography.body_size or rank[1] != _UNNUMBERED_DEPTH


def _named(drafts: Sequence[Draft], outline: Sequence[Bookmark]) -> dict[int, int]:
    """Blocks that the outline names, with their level from 1; none where the outline does not fit the pages."""
    waiting: dict[tuple[int, str], list[int]] = defaultdict(list)
    for bookmark in outline:
        if key := folded_title(bookmark.title):
            waiting[bookmark.page, key].append(bookmark.level)
    total = sum(len(levels) for levels in waiting.values())
    found: dict[int, int] = {}
    for draft in drafts:
        if draft.kind in ("paragraph", "list_item") and len(draft.text) <= MAX_HEADING_CHARACTERS:
            levels = waiting.get((draft.page, folded_title(draft.text)))
            if levels:
                found[id(draft)] = levels.pop(0) + 1
    return found if total and len(found) >= _TRUSTED_SHARE * total else {}


def _is_heading(draft: Draft, typography: Typography) -> bool:
    if draft.kind not in ("paragraph", "list_item") or draft.in_contents:
        return False
    text = draft.text.strip()
    lines = draft.lines[1:] if _LONE_NUMBER.fullmatch(draft.lines[0].text) else draft.lines
    if not any(letter.isalpha() for letter in text) or len(text) > MAX_HEADING_CHARACTERS or len(lines) > 4:
        return False
    if text.endswith((".", ";", ",")) or text[0] in "•▪–◦" or DATE_TAG.fullmatch(text):
        return False
    smallest = min(line.size for line in lines)
    if smallest >= 1.12 * typography.body_size:
        return True
    return all(line.bold for line in lines) and smallest >= 0.95 * typography.body_size


def _rank(draft: Draft) -> Rank:
    """Sorts headings from the outermost to the innermost: by size, then by numbering, then by weight."""
    text = draft.text.strip()
    number = _NUMBER.match(text)
    unnumbered = 1 if text.isupper() else _UNNUMBERED_DEPTH
    depth = number.group(1).count(".") + 1 if number else unnumbered
    return -round(max(line.size for line in draft.lines[-1:])), depth, int(not draft.lines[-1].bold)
