"""Tables of HTML, JATS, C-CDA and CALS, from their elements to lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from lxml import etree

from citewell.adapters.parsers.markup_flow import children_named, has_own_text, local_name
from citewell.adapters.parsers.table_rows import Cell, guess_header_rows, table_lines

SECTIONS = frozenset("thead tbody tfoot tgroup".split())
ROWS = frozenset({"tr", "row"})
CELLS = frozenset({"td", "th", "entry"})
SILENT = frozenset(["", *"col colgroup colspec hr script style template".split()])
"""Elements of a table that hold no words; comments have no name."""
TO_THE_END = 10**9


def is_regular(table: etree._Element) -> bool:
    """Whether all words of a table stand in its captions and in cells of its rows, so that none is lost as lines.

    >>> is_regular(etree.fromstring("<table><tr><td>a</td></tr></table>"))
    True
    >>> is_regular(etree.fromstring("<table><tr>a<td>b</td></tr></table>"))
    False
    """
    return not has_own_text(table) and all(
        local_name(part) in SILENT or (local_name(part) in ROWS and _is_regular_row(part)) for part in _rows(table)
    )


def _is_regular_row(row: etree._Element) -> bool:
    return not has_own_text(row) and all(local_name(cell) in CELLS | SILENT for cell in row)


def markup_lines(table: etree._Element, line: Callable[[etree._Element], str]) -> list[str]:
    """One line per row of a regular table whose cells are read by `line`."""
    header: list[list[Cell]] = []
    body: list[list[Cell]] = []
    columns: dict[str | None, int] = {}
    for row in _rows(table):
        if local_name(row) == "colspec":
            columns[row.get("colname")] = len(columns)
        if local_name(row) not in ROWS:
            continue
        cells = children_named(row, *CELLS)
        parent = row.getparent()
        in_head = parent is not None and local_name(parent) == "thead"
        # Leading rows made of header cells alone are headers even outside a thead.
        all_headers = not body and len(cells) > 1 and all(local_name(cell) == "th" for cell in cells)
        (header if in_head or all_headers else body).append([_cell(cell, columns, line(cell)) for cell in cells])
    return table_lines(header + body, header_rows=len(header) or guess_header_rows(body))


def _rows(table: etree._Element) -> list[etree._Element]:
    """The rows of a table in document order, and whatever else stands beside them; captions are read elsewhere."""
    elements: list[etree._Element] = []
    waiting = list(reversed(table))
    while waiting:
        part = waiting.pop()
        if local_name(part) in SECTIONS and not has_own_text(part):
            waiting.extend(reversed(part))
        elif local_name(part) != "caption" or part.getparent() is not table:
            elements.append(part)
    return elements


def _cell(element: etree._Element, columns: dict[str | None, int], text: str) -> Cell:
    first, last = columns.get(element.get("namest")), columns.get(element.get("nameend"))
    width = last - first + 1 if first is not None and last is not None else _count(element.get("colspan")) or 1
    if element.get("morerows"):
        return Cell(text, columns=width, rows=_count(element.get("morerows")) + 1)
    # A row span of 0 means “to the end of the table”.
    return Cell(text, columns=width, rows=_count(element.get("rowspan")) or TO_THE_END)


def _count(value: str | None) -> int:
    return int(value) if value and re.fullmatch(r"\s*[0-9]{1,9}\s*", value) else 1
