"""Lists of a document: what each of their items leans on, so that no passage parts it from that without need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.sentences import list_mark
from citewell.types import Block

MAX_LEAD_WORDS = 14
"""A longer line above a list that does not end in a colon says something of its own."""

Leads = tuple[int, ...]
"""Where what an item leans on begins: the lead-in of its list, and the item of the outermost level above it."""


def leads(text: str, blocks: Sequence[Block]) -> dict[int, Leads]:
    """By the place of an item that is not the first of its list: where its list and the item above it begin."""
    found: dict[int, Leads] = {}
    first = outer = -1
    outermost = ""
    for before, block in zip((None, *blocks), blocks, strict=False):
        mark = list_mark(text, block.start, block.end) if block.kind == "list_item" else ""
        if not mark:
            first = -1
            continue
        if first < 0:
            first, outer, outermost = block.start, block.start, mark
            if before is not None and _leads_in(text, before):
                first = before.start
        elif mark == outermost:
            outer = block.start
        if block.start != first:
            found[block.start] = (first,) if outer in (first, block.start) else (first, outer)
    return found


def captioned(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks; a caption and the rows below it are a section of their own, for it says whom they are for."""
    found: list[Block] = []
    title: str | None = None
    for block, following in zip(blocks, (*blocks[1:], None), strict=False):
        if block.kind == "caption" and following is not None and following.kind == "table_row":
            title = " ".join(text[block.start : block.end].split())
        elif block.kind != "table_row":
            title = None
        found.append(block if title is None else replace(block, section=(*block.section, title)))
    return tuple(found)


def _leads_in(text: str, block: Block) -> bool:
    """Whether a block leads in the list below it: it ends in a colon, or is a title."""
    words = text[block.start : block.end].rstrip()
    if block.kind == "heading" or words.endswith(":"):
        return True
    return len(words.split()) <= MAX_LEAD_WORDS and words[-1:] not in ".!?;,"
