"""A small guideline written for tests, as the parser would give it."""

from __future__ import annotations

from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.read_guideline import read
from citewell.types import Block, BlockKind, Document, Layout, Page

LETTERS_PER_PAGE = 1_000


def document(*lines: tuple[BlockKind, str], title: str = "Green spots: recognition") -> Document:
    """Blocks in order, under the headings before them; a heading is “# title” or “## title”."""
    text, blocks, path = "", [], list[str]()
    for kind, line in lines:
        words = line.lstrip("# ") if kind == "heading" else line
        if kind == "heading":
            depth = len(line) - len(line.lstrip("#"))
            path = [*path[: depth - 1], words]
        blocks.append(Block(kind, len(text), len(text) + len(words), tuple(path), 1))
        text += words + "\n"
    pages = tuple(
        Page(number + 1, start, min(start + LETTERS_PER_PAGE, len(text)), 600, 800)
        for number, start in enumerate(range(0, len(text), LETTERS_PER_PAGE))
    )
    return Document(title, "application/pdf", text, tuple(blocks), Layout(pages))


def rules(*texts: str, heading: str = "Spot cancer") -> Guideline:
    """A guideline of these rules, numbered 1.1.1, 1.1.2, …; a line that opens with a mark is a list item."""
    lines: list[tuple[BlockKind, str]] = [("heading", "# 1.1 Spots"), ("heading", f"## {heading}")]
    for number, text in enumerate(texts, 1):
        first, *items = text.splitlines()
        lines.append(("paragraph", f"1.1.{number} {first}" + ("" if items else " [2020]")))
        for at, item in enumerate(items):
            lines.append(("list_item", item + (" [2020]" if at == len(items) - 1 else "")))
    return read(document(*lines))
