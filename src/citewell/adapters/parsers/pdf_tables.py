"""Builds tables from the cells found on a page and the glyphs inside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from citewell.adapters.parsers.pdf_blocks import begins_entry, merged_rows
from citewell.adapters.parsers.pdf_cell_borders import distinct
from citewell.adapters.parsers.pdf_geometry import PageTurn, Rect
from citewell.adapters.parsers.pdf_glyphs import Glyph, GlyphGap, Sheet
from citewell.adapters.parsers.pdf_grids import Cells, outline
from citewell.adapters.parsers.pdf_lines import TextLine, text_lines

MAX_HEADER_CHARACTERS = 160
MAX_HEADER_ROWS = 3
_VALUE = re.compile(r"^(?:[<>≤≥±–−+-]?\s?\d(?:[\d.,%±()\s–−-]*[\d)%])?|NS|N/A)[*†‡§¶]*$")
"""A number with its sign, spread and mark."""
_NEAR = 3.0
"""Points by which edges that are meant to be one may differ."""


@dataclass(slots=True)
class PdfCell:
    """One cell: the columns and rows it covers, and its lines."""

    first_column: int
    last_column: int
    first_row: int
    last_row: int
    lines: list[TextLine] = field(default_factory=list)
    right: float = 0.0
    """Its right edge."""

    @property
    def entries(self) -> list[list[TextLine]]:
        """Its lines, parted where they are a list of values or of short entries rather than running text."""
        breaks = [begins_entry(last, line, self.right) for last, line in pairwise(self.lines)]
        if all(_VALUE.match(line.text) for line in self.lines):
            breaks = [True] * len(breaks)
        elif len(breaks) < 2 or sum(breaks) < 0.6 * len(breaks):
            return [self.lines]
        parted = [self.lines[:1]]
        for line, is_new in zip(self.lines[1:], breaks, strict=True):
            if is_new:
                parted.append([line])
            else:
                parted[-1].append(line)
        return parted

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def is_bold(self) -> bool:
        return bool(self.lines) and all(line.bold for line in self.lines)


@dataclass(slots=True)
class PdfTable:
    """A table, or the part of one that stands on a page."""

    box: Rect
    page: int
    edges: tuple[float, ...]
    """Where its columns begin and end."""
    cells: list[PdfCell]
    row_count: int
    header_rows: frozenset[int] = frozenset()
    order: int = 0
    text: str = "a table"
    """For the search for columns, which looks at the words of what it orders."""

    @property
    def column_count(self) -> int:
        return len(self.edges) - 1

    def row(self, index: int) -> list[PdfCell]:
        """The cells with text that stand in a row or reach into it from above, from left to right."""
        cells = [cell for cell in self.cells if cell.first_row <= index <= cell.last_row and cell.lines]
        # A cell across columns stands below the single ones, so it is read after them.
        return sorted(cells, key=lambda cell: (cell.last_column, -cell.first_column))

    def spans_all(self, cell: PdfCell) -> bool:
        """Whether a cell goes across the whole table."""
        return cell.first_column == 0 and cell.last_column == self.column_count - 1


def build_table(
    boxes: Cells, glyphs_of: Sequence[list[Glyph | GlyphGap]], sheet: Sheet, reading: PageTurn, shades: Sequence[Rect]
) -> PdfTable | None:
    """The table of these cells, or None where too few of them hold text for it to be one."""
    edges = distinct([side for box in boxes for side in (box.left, box.right)])
    levels = _row_tops(boxes, edges)
    cells: list[PdfCell] = []
    for box, glyphs in sorted(zip(boxes, glyphs_of, strict=True), key=lambda pair: (pair[0].left, pair[0].top)):
        lines = merged_rows(text_lines(replace(sheet, glyphs=glyphs), reading))
        cell = PdfCell(
            _index(edges, box.left),
            max(_index(edges, box.right) - 1, _index(edges, box.left)),
            _index(levels, box.top),
            max(_index(levels, box.bottom - 2 * _NEAR), _index(levels, box.top)),
            lines,
            box.right,
        )
        above = next((other for other in cells if _same_place(other, cell)), None)
        if above:
            above.lines += lines
            above.last_row = max(above.last_row, cell.last_row)
        else:
            cells.append(cell)
    filled = [cell for cell in cells if cell.lines]
    if len({cell.first_column for cell in filled}) < 2 or len(filled) < 0.3 * len(cells):
        return None
    order = min(line.order for cell in filled for line in cell.lines)
    table = PdfTable(outline(boxes), sheet.number, tuple(edges), cells, len(levels), order=order)
    table.header_rows = _header_rows(table, _shaded_rows(boxes, levels, shades))
    return table


def _header_rows(table: PdfTable, shaded: set[int]) -> frozenset[int]:
    """The rows that name the columns: bold above others that are not, or shaded above one that is not."""
    names: list[int] = []
    leading = next((index for index in range(table.row_count) if index not in shaded), table.row_count)
    shaded = set(range(leading)) if leading <= MAX_HEADER_ROWS else set()
    filled = [index for index in range(table.row_count) if any(cell.first_row == index for cell in table.row(index))]
    for index in filled[:-1]:
        cells = [cell for cell in table.row(index) if cell.first_row == index]
        if len(cells) == 1 and table.spans_all(cells[0]) and not names:
            continue
        is_short = all(len(cell.text) <= MAX_HEADER_CHARACTERS for cell in cells)
        mostly_bold = sum(cell.is_bold for cell in cells) >= 0.6 * len(cells)
        is_set_off = mostly_bold or index in shaded
        spans_all = any(table.spans_all(cell) for cell in cells)
        named = {column for cell in table.row(index) for column in range(cell.first_column, cell.last_column + 1)}
        if not (is_short and is_set_off) or spans_all or len(names) == MAX_HEADER_ROWS:
            break
        if len(named - {0}) < 0.5 * (table.column_count - 1) or (names and len(table.row(index)) == 1):
            break
        names.append(index)
    if not names and _first_row_names(table, filled):
        names = filled[:1]
    return frozenset(names)


def _first_row_names(table: PdfTable, filled: Sequence[int]) -> bool:
    """Whether a first row that looks like the others still reads as names: short, complete, above at least two rows."""
    if len(filled) < 3 or table.column_count < 3:
        return False
    cells = table.row(filled[0])
    return len(cells) == table.column_count and all(
        len(cell.text) <= 60 and any(letter.isalpha() for letter in cell.text) and not cell.text.endswith(".")
        for cell in cells
    )


def _shaded_rows(boxes: Cells, levels: Sequence[float], shades: Sequence[Rect]) -> set[int]:
    """Rows of which every cell has a ground of its own."""
    plain: set[int] = set()
    for box in boxes:
        x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        if not any(shade.holds(x, y) and shade.height <= box.height + 2 * _NEAR for shade in shades):
            plain.add(_index(levels, box.top))
    return set(range(len(levels))) - plain


def _row_tops(boxes: Cells, edges: Sequence[float]) -> list[float]:
    """Where rows begin: at levels where cells over at least half of the columns begin."""
    levels = distinct([box.top for box in boxes])
    begun = [0] * len(levels)
    for box in boxes:
        begun[_index(levels, box.top)] += max(1, _index(edges, box.right) - _index(edges, box.left))
    return [level for place, level in enumerate(levels) if place == 0 or begun[place] >= 0.5 * (len(edges) - 1)]


def _same_place(cell: PdfCell, other: PdfCell) -> bool:
    return (cell.first_column, cell.last_column, cell.first_row) == (
        other.first_column,
        other.last_column,
        other.first_row,
    )


def _index(edges: Sequence[float], value: float) -> int:
    """The last edge at or before a value."""
    return max((place for place, edge in enumerate(edges) if edge <= value + _NEAR), default=0)
