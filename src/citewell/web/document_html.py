"""The text of a document as HTML: headings, lists and tables from its blocks, with spans marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from citewell.types import Block, Document
from citewell.web.text_marks import Layer, marked

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Grid:
    """Column names, and for each row the span of each value; None where a row has no such value."""

    names: tuple[str, ...]
    rows: tuple[tuple[Span | None, ...], ...]


def grid(text: str, rows: Sequence[Block]) -> Grid | None:
    """The rows by columns, or None when they do not share their columns.

    >>> text = "Drug: A; Dose: 5 mg\\nDrug: B; Dose: 2 mg; Note: slow"
    >>> rows = [Block("table_row", 0, 19), Block("table_row", 20, len(text))]
    >>> found = grid(text, rows)
    >>> found.names, [[span and text[slice(*span)] for span in row] for row in found.rows]
    (('Drug', 'Dose', 'Note'), [['A', '5 mg', None], ['B', '2 mg', 'slow']])
    """
    shared = _shared_names(text, rows)
    cells = [_named(text, row, shared) for row in rows]
    if any(not row for row in cells):
        return None
    names = max((tuple(name for name, _ in row) for row in cells), key=len)
    if len(names) < 2 or len(set(names)) != len(names):
        return None
    placed = [_placed(row, names) for row in cells]
    rows_placed = [row for row in placed if row is not None]
    return Grid(names, tuple(rows_placed)) if len(rows_placed) == len(placed) else None


MAX_NAME_CHARACTERS = 300
MAX_COLONS = 4
"""A column's name is short: looking further would cost time and find values."""


def _shared_names(text: str, rows: Sequence[Block]) -> set[str]:
    """What at least half of the rows may call a column; a name may hold a colon itself."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update({name for piece in text[row.start : row.end].split("; ") for name in _names(piece)})
    return {name for name, count in counts.items() if 2 * count >= len(rows)}


def _names(piece: str) -> list[str]:
    """All that could be the name in “name: value”, shortest first.

    >>> _names("Plan B: total (ml): 300")
    ['Plan B', 'Plan B: total (ml)']
    """
    parts = piece[:MAX_NAME_CHARACTERS].split(": ", MAX_COLONS)
    return [": ".join(parts[:count]) for count in range(1, len(parts))]


def _named(text: str, row: Block, shared: set[str]) -> list[tuple[str, Span]]:
    """The values of a row by name; a piece without a name belongs to the value before it."""
    found: list[tuple[str, Span]] = []
    position = row.start
    for piece in text[row.start : row.end].split("; "):
        end = position + len(piece)
        name = next((name for name in reversed(_names(piece)) if name in shared), None)
        if name is not None:
            found.append((name, (position + len(name) + 2, end)))
        elif not found:
            return []
        else:
            last, (start, _) = found[-1]
            found[-1] = (last, (start, end))
        position = end + 2
    return found


def _placed(row: Sequence[tuple[str, Span]], names: Sequence[str]) -> tuple[Span | None, ...] | None:
    """The row's values under the names, or None when it has others or another order."""
    places = [names.index(name) if name in names else -1 for name, _ in row]
    if -1 in places or places != sorted(set(places)):
        return None
    values: list[Span | None] = [None] * len(names)
    for place, (_, span) in zip(places, row, strict=True):
        values[place] = span
    return tuple(values)


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
