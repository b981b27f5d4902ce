"""Sets table rows, stored as “Column: value; Column: value” lines, as a table again; every value keeps its offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.types import Block

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
