"""Writes tables as rows: each value after the name of its column, and each row after the group it stands in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from citewell.adapters.parsers.pdf_blocks import Draft, LineBlock
from citewell.adapters.parsers.pdf_tables import PdfCell, PdfTable

MAX_GROUP_CHARACTERS = 300
MAX_REPEATED_CHARACTERS = 240
_SAME_EDGE = 6.0
_ENDS = (".", ",", ";", ":", "?", "!")

Parts = list[LineBlock | str]


@dataclass(slots=True)
class TableState:
    """What holds for the rows below: names of columns, the group, and the first cell of a row cut by the page."""

    table: PdfTable
    headers: list[PdfCell] = field(default_factory=list)
    group: PdfCell | None = None
    label: PdfCell | None = None
    printed: set[int] = field(default_factory=set)
    """Cells whose place on the page is already noted; from then on their words are only repeated."""

    def write(self, cell: PdfCell) -> Parts:
        """The words of a cell, with their places the first time; its entries are set apart by commas."""
        is_first = id(cell) not in self.printed
        self.printed.add(id(cell))
        parts: Parts = []
        for entry in cell.entries:
            if parts:
                parts.append(" " if _text(parts[-1]).endswith(_ENDS) else ", ")
            parts.append(LineBlock(entry, placed=is_first))
        return parts


def table_rows(table: PdfTable, before: TableState | None) -> tuple[list[Draft], TableState]:
    """One block per row, and what holds for the part on the next page; `before` is that of the page before."""
    if before is not None and same_columns(before.table, table):
        running = replace(before, table=table)
    else:
        running = TableState(table)
    own_headers = [cell for cell in table.cells if cell.first_row in table.header_rows and cell.lines]
    if own_headers:
        running.headers = own_headers
    drafts: list[Draft] = []
    last: list[PdfCell] = []
    for index in range(table.row_count):
        cells = table.row(index)
        if index in table.header_rows or not any(cell.first_row == index for cell in cells):
            continue
        if _is_group(table, cells, index):
            drafts += _unwritten_group(running)
            running.group = cells[0]
            continue
        if len(cells) == 1 and table.spans_all(cells[0]):
            running.group = None
        drafts.append(_draft(table, _row_parts(cells, running)))
        last = cells
    drafts += _unwritten_group(running)
    _place_unused(drafts, [cell for cell in own_headers if id(cell) not in running.printed], table)
    if last:
        running.label = last[0] if last[0].first_column == 0 else running.label
    return drafts, running


def _unwritten_group(running: TableState) -> list[Draft]:
    """A title without rows below it is a row of its own."""
    group = running.group
    if group is None or id(group) in running.printed:
        return []
    return [_draft(running.table, running.write(group))]


def _place_unused(drafts: list[Draft], unused: list[PdfCell], table: PdfTable) -> None:
    """Keep names over columns that are empty throughout with the first row, so that no word is lost."""
    if unused and drafts:
        drafts[0].parts[:0] = [part for cell in unused for part in (LineBlock(cell.lines), "; ")]
    elif unused:
        drafts.append(_draft(table, _separated([[LineBlock(cell.lines)] for cell in unused])))


def same_columns(before: PdfTable, table: PdfTable) -> bool:
    """Whether two tables have columns of the same widths; left and right pages may have different margins."""
    shift = table.edges[0] - before.edges[0]
    return before.column_count == table.column_count and all(
        abs(first + shift - second) <= _SAME_EDGE for first, second in zip(before.edges, table.edges, strict=True)
    )


def _row_parts(cells: list[PdfCell], running: TableState) -> Parts:
    values: list[Parts] = []
    table = running.table
    if running.group:
        values.append(running.write(running.group))
    if cells[0].first_column > 0 and running.label is not None and len(cells) < table.column_count:
        # The first cell of a row that was cut by the end of the page stands there.
        cells = [running.label, *cells]
    elif cells[0].first_column == 0:
        running.label = None
    key_value = not running.headers and table.column_count == 2 and len(cells) == 2
    for cell in cells:
        if id(cell) in running.printed and len(cell.text) > MAX_REPEATED_CHARACTERS:
            continue
        value = running.write(cell)
        if key_value and cell is cells[0]:
            values.append([*value, " " if cell.text.endswith(":") else ": "])
            continue
        names = _names(cell, running)
        if names:
            value = [*names, " " if _ends_in_colon(names) else ": ", *value]
        if key_value:
            values[-1] += value
        else:
            values.append(value)
    return _separated(values)


def _names(cell: PdfCell, running: TableState) -> Parts:
    """The names of the columns that a cell covers, from the widest to the narrowest."""
    if running.table.spans_all(cell):
        return []
    if running.group and cell.first_column == 0 and running.group.last_column == 0:
        # A title in the first column takes the place of that column's name.
        return []
    over = [
        name
        for name in running.headers
        if name.first_column <= cell.last_column and name.last_column >= cell.first_column
    ]
    whole = [name for name in over if name.first_column <= cell.first_column and name.last_column >= cell.last_column]
    parts: Parts = []
    for name in sorted(whole or over, key=lambda name: (name.first_row, name.first_column)):
        if parts:
            parts.append(", " if not whole else " – ")
        parts += running.write(name)
    return parts


def _is_group(table: PdfTable, cells: list[PdfCell], index: int) -> bool:
    """Whether a row is a title over the rows below it."""
    if len(cells) != 1 or cells[0].first_row != index or len(cells[0].text) > MAX_GROUP_CHARACTERS:
        return False
    return table.spans_all(cells[0]) or (cells[0].first_column == 0 and cells[0].is_bold)


def _draft(table: PdfTable, parts: Parts) -> Draft:
    return Draft("table_row", table.page, parts)


def _separated(values: list[Parts]) -> Parts:
    """Values one after the other, each ended by a semicolon unless it ends a sentence itself."""
    parts: Parts = []
    for value in values:
        if parts:
            parts.append(" " if _text(parts[-1]).endswith(_ENDS) else "; ")
        parts += value
    return parts


def _ends_in_colon(parts: Parts) -> bool:
    return _text(parts[-1]).endswith(":")


def _text(part: LineBlock | str) -> str:
    return part if isinstance(part, str) else part.text
