"""The text of a document as HTML: headings, lists and tables from its blocks, with spans marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from citewell.types import Block, Document
from citewell.web.marks import Layer, marked
from citewell.web.tables import grid

PART_CHARACTERS = 24_000
"""A long document is shown in parts of about this size, so that every one opens at once."""

TOP_HEADING = 3
"""The page's title is the first level, the source's the second."""

ELEMENTS = {"paragraph": "p", "caption": "p", "footnote": "p", "box": "div", "code": "pre"}
ANCHOR = Markup(' id="marked"')


def parts(document: Document) -> list[Sequence[Block]]:
    """The blocks of a document in parts that can be shown one at a time."""
    blockses: list[list[Block]] = []
    for block in document.blocks:
        if not blockses or block.end - blockses[-1][0].start > PART_CHARACTERS:
            blockses.append([])
        blockses[-1].append(block)
    return list(blockses) or [()]


def part_at(shown: Sequence[Sequence[Block]], offset: int) -> int:
    """Which part, from 0, holds the character at `offset`."""
    return next((at for at, blocks in enumerate(shown) if blocks and blocks[-1].end > offset), len(shown) - 1)


def rendered(text: str, blocks: Iterable[Block], *layers: Layer, anchor: int | None = None) -> Markup:
    """Blocks as HTML; the one that holds the character at `anchor` can be jumped to."""
    return Markup("\n").join(_groups(text, blocks, layers, anchor))


def _groups(text: str, blocks: Iterable[Block], layers: Sequence[Layer], anchor: int | None) -> Iterator[Markup]:
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        members = list(group)
        if kind == "table_row":
            yield _table(text, members, layers, anchor)
        elif kind == "list_item":
            items = Markup("").join(_element("li", text, block, layers, anchor) for block in members)
            yield Markup("<ul>{}</ul>").format(items)
        elif kind == "heading":
            for block in members:
                level = min(6, TOP_HEADING - 1 + max(1, len(block.section)))
                yield _element(f"h{level}", text, block, layers, anchor)
        else:
            for block in members:
                yield _element(ELEMENTS[kind], text, block, layers, anchor, name=kind)


def _element(
    tag: str, text: str, block: Block, layers: Sequence[Layer], anchor: int | None, *, name: str = ""
) -> Markup:
    inside = marked(text, *layers, start=block.start, end=block.end)
    named = Markup(' class="{}"').format(name) if name not in ("", "paragraph") else Markup("")
    return Markup("<{0}{1}{2}>{3}</{0}>").format(tag, named, _anchor(block, anchor), inside)


def _anchor(block: Block, anchor: int | None) -> Markup:
    return ANCHOR if anchor is not None and block.start <= anchor < block.end else Markup("")


def _table(text: str, rows: Sequence[Block], layers: Sequence[Layer], anchor: int | None) -> Markup:
    """The rows as a table, or line by line where they have no columns in common."""
    found = grid(text, rows)
    if found is None:
        lines = Markup("").join(_element("p", text, row, layers, anchor, name="row") for row in rows)
        return Markup('<div class="rows">{}</div>').format(lines)
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in found.names)
    body = Markup("").join(
        Markup("<tr{}>{}</tr>").format(
            _anchor(row, anchor),
            Markup("").join(
                Markup("<td>{}</td>").format(marked(text, *layers, start=span[0], end=span[1]) if span else "")
                for span in cells
            ),
        )
        for row, cells in zip(rows, found.rows, strict=True)
    )
    return Markup(
        '<div class="scroll" tabindex="0"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(head, body)
