"""Finds the cells of tables from the lines drawn on a page, with pdfplumber's way of joining lines into cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from citewell.adapters.parsers.pdf_cell_borders import SNAP, distinct, implied_edges
from citewell.adapters.parsers.pdf_geometry import Rect

MAX_RULES, MAX_EDGES, MAX_CROSSINGS = 4_000, 600, 2_500
"""Joining lines takes time that grows with the square of their number; a page with more is a drawing."""

Cells = list[Rect]


def find_grids(rules: Sequence[Rect], fills: Sequence[Rect], words: Callable[[], Sequence[Rect]]) -> list[Cells]:
    """The cells of each ruled table, in a frame where text runs to the right; tables in one column are left out.

    `words` says where the words stand; it is asked only where the lines leave a doubt.
    """
    if len(rules) > MAX_RULES:
        return []
    edges = [_edge(rule) for rule in (*rules, *implied_edges(rules, fills, words), *_closing_levels(rules))]
    if len(edges) < 4:
        return []
    # Here and not above: reading a PDF without a single drawn line needs no table finder.
    from pdfplumber.table import cells_to_tables, edges_to_intersections, intersections_to_cells, merge_edges

    edges = merge_edges(edges, SNAP, SNAP, SNAP, SNAP)
    if len(edges) > MAX_EDGES:
        return []
    crossings = edges_to_intersections(edges, SNAP, SNAP)
    if len(crossings) > MAX_CROSSINGS:
        return []
    cells = intersections_to_cells(crossings)
    grids = [[Rect(*cell) for cell in grid] for grid in cells_to_tables(cells)]
    grids = [grid for grid in grids if len({round(cell.left) for cell in grid}) > 1]
    return [grid for grid in grids if not any(_lies_in(grid, other) for other in grids if other is not grid)]


def _lies_in(grid: Cells, other: Cells) -> bool:
    """Whether a grid is a drawing inside one cell of another."""
    box = outline(grid)
    return any(
        cell.left - 1 <= box.left
        and cell.top - 1 <= box.top
        and box.right <= cell.right + 1
        and box.bottom <= cell.bottom + 1
        for cell in other
    )


def outline(cells: Iterable[Rect]) -> Rect:
    """The smallest rectangle round all cells."""
    first, *rest = cells
    for cell in rest:
        first = first.around(cell)
    return first


def _edge(rule: Rect) -> dict[str, Any]:
    """A thin area as the line through its middle, in pdfplumber's words."""
    if rule.width >= rule.height:
        middle = (rule.top + rule.bottom) / 2
        box = Rect(rule.left, middle, rule.right, middle)
        orientation = "h"
    else:
        middle = (rule.left + rule.right) / 2
        box = Rect(middle, rule.top, middle, rule.bottom)
        orientation = "v"
    return {
        "x0": box.left, "x1": box.right, "top": box.top, "bottom": box.bottom,
        "width": box.width, "height": box.height, "orientation": orientation, "object_type": "line",
    }  # fmt: skip


def _closing_levels(rules: Sequence[Rect]) -> Iterator[Rect]:
    """Level lines that nobody drew: where a page cuts a table, its upright lines end together in the open."""
    uprights = [rule for rule in rules if rule.height > rule.width and rule.height > 2 * SNAP]
    levels = [rule for rule in rules if rule.width > rule.height]
    for side in ("top", "bottom"):
        ends: dict[int, list[Rect]] = defaultdict(list)
        for upright in uprights:
            ends[round(getattr(upright, side) / SNAP)].append(upright)
        for group in ends.values():
            places = distinct(upright.left for upright in group)
            if len(places) < 3:
                continue
            height = getattr(group[0], side)
            left, right = places[0], places[-1]
            if not any(
                abs(level.top - height) < 2 * SNAP and level.left < right and level.right > left for level in levels
            ):
                yield Rect(left, height, right, height)
