"""Tables as rows that can be read on their own: every value carries the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_COLUMN_SPAN = 200
LEAST_CODE = 3
"""Digits of a number without a unit, and how many of them there must be, for a column of codes."""

_DIGITS = re.compile(r"[\d\s.,]+")
_COLUMN_NAME = re.compile(r"[^\W\d_](?:[^\W\d_A-Z]|[\s()/-]){1,60}")
"""Words without a number or a capital inside: “Audit target”, not “Ann Smith”."""

_NUMERIC = re.compile(r"[\d\s.,%±<>=≤≥()/–—-]*")


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One cell as written, with how many columns and rows it covers; two cells are never equal."""

    text: str
    columns: int = 1
    rows: int = 1


def table_lines(rows: Sequence[Sequence[Cell]], *, header_rows: int) -> list[str]:
    """One line per row, “Header: value; Header: value”; spans are resolved and header words never lost.

    >>> head = [Cell("Drug"), Cell("Dose", columns=2)]
    >>> names = [Cell(""), Cell("adult"), Cell("child")]
    >>> table_lines([head, names, [Cell("A"), Cell("5 mg"), Cell("1 mg")]], header_rows=2)
    ['Drug: A; Dose / adult: 5 mg; Dose / child: 1 mg']
    """
    rows = [row for row in rows if row]
    plain = [line for row in rows if (line := _join(cell.text for cell in row))]
    header_rows = min(header_rows, len(rows))
    area = len(rows) * max(map(len, rows), default=0)
    if max(_unfolded_cells(rows), area) > 20 * sum(map(len, rows)) + 10_000:
        return plain
    grid = _grid(rows)
    names = _column_names(grid[:header_rows])
    lines: list[str] = []
    # Repeating headers and spanned values must not let a small file grow without end.
    budget = 20 * sum(map(len, plain)) + 100_000
    for row in grid[header_rows:]:
        line = _line(row, names)
        budget -= len(line)
        if budget < 0:
            return plain
        if line:
            lines.append(line)
    return _unused_headers(rows[:header_rows], lines) + lines


def guess_header_rows(rows: Sequence[Sequence[Cell]]) -> int:
    """1 when an unmarked first row reads like column names, else 0.

    >>> guess_header_rows([[Cell("Drug"), Cell("Dose"), Cell("Route")], [Cell("A"), Cell("5"), Cell("oral")]] * 2)
    1
    >>> guess_header_rows([[Cell("Name"), Cell("A. Patient")], [Cell("Born"), Cell("1950")]])
    0
    """
    if len(rows) < 3 or len(rows[0]) < 2:
        return 0
    if len(rows[0]) == 2:
        return int(_are_pairs_under_names([[cell.text for cell in row] for row in rows]))
    first = [cell.text for cell in rows[0]]
    named = all(text and len(text) <= 80 and not _NUMERIC.fullmatch(text) for text in first[1:])
    return int(named and not _NUMERIC.fullmatch(first[0] or "x"))


def _are_pairs_under_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether two columns are a list of one kind of number under two names, and not fields with their values.

    >>> _are_pairs_under_names([["Area", "Audit target"], ["Theatre", "95%"], ["Ward", "90%"], ["Clinic", "85 %"]])
    True
    >>> _are_pairs_under_names([["Patient", "Ann Smith"], ["Number", "12345"], ["Bed", "7"], ["Ward", "3"]])
    False
    """
    if any(len(row) != 2 for row in rows):
        return False
    (first, second), *pairs = rows
    is_named = bool(_COLUMN_NAME.fullmatch(first) and _COLUMN_NAME.fullmatch(second))
    is_counted = all(_DIGITS.search(value) and not _DIGITS.search(of) for of, value in pairs)
    kinds = {_DIGITS.sub("", value) for _, value in pairs}
    # Numbers without a unit are of one kind where they are codes of one length, as extensions are.
    lengths = {len(value.strip()) for _, value in pairs}
    is_one_kind = len(kinds) == 1 and (kinds != {""} or (len(lengths) == 1 and min(*lengths, len(pairs)) >= LEAST_CODE))
    return is_named and is_counted and is_one_kind


def _unfolded_cells(rows: Sequence[Sequence[Cell]]) -> int:
    return sum(
        min(cell.columns, MAX_COLUMN_SPAN) * min(cell.rows, len(rows) - index)
        for index, row in enumerate(rows)
        for cell in row
    )


def _grid(rows: Sequence[Sequence[Cell]]) -> list[list[Cell | None]]:
    """The cells by column, each standing in every place that it covers."""
    grid: list[dict[int, Cell]] = [{} for _ in rows]
    for index, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in grid[index]:
                column += 1
            width = max(1, min(cell.columns, MAX_COLUMN_SPAN))
            height = max(1, min(cell.rows, len(rows) - index))
            for down in range(index, index + height):
                for right in range(column, column + width):
                    grid[down].setdefault(right, cell)
            column += width
    width = max((max(line, default=-1) + 1 for line in grid), default=0)
    return [[line.get(column) for column in range(width)] for line in grid]


def _column_names(header: Sequence[Sequence[Cell | None]]) -> list[str]:
    """The path of header texts above each column, a spanning one repeated."""
    names: list[list[str]] = [[] for _ in (header[0] if header else ())]
    for row in header:
        for column, cell in enumerate(row):
            text = cell.text.rstrip(" :") if cell else ""
            # A cell over all columns is a caption, not the name of a column.
            over_all = cell is not None and len(row) > 1 and all(other is cell for other in row)
            if text and not over_all and text not in names[column][-1:]:
                names[column].append(text)
    return [" / ".join(path) for path in names]


def _line(row: Sequence[Cell | None], names: Sequence[str]) -> str:
    seen: dict[int, tuple[Cell, list[int]]] = {}
    for column, cell in enumerate(row):
        if cell is not None and cell.text:
            seen.setdefault(id(cell), (cell, []))[1].append(column)
    if len(seen) == 1 and len(row) > 1:
        cell, columns = next(iter(seen.values()))
        if columns[0] == 0:
            # A lone first cell is a heading inside the table.
            return cell.text
    if not names and len(row) == 2 and len(seen) == 2:
        first, second = (cell.text for cell, _ in seen.values())
        return f"{first.rstrip(' :')}: {second}"
    parts = []
    for cell, columns in seen.values():
        labels = dict.fromkeys(names[column] for column in columns if column < len(names) and names[column])
        parts.append(f"{', '.join(labels)}: {cell.text}" if labels else cell.text)
    return "; ".join(parts)


def _unused_headers(header: Sequence[Sequence[Cell]], lines: Sequence[str]) -> list[str]:
    """The header rows themselves, when some of their words stand in no line."""
    texts = list(dict.fromkeys(text for row in header for cell in row if (text := cell.text)))
    # Long tables show every header in their first rows; looking further costs time and finds nothing.
    shown = "\n".join(lines[:50])
    return [] if all(text.rstrip(" :") in shown for text in texts) else [_join(texts)]


def _join(texts: Iterable[str]) -> str:
    return "; ".join(text for text in texts if text)
