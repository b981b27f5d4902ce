"""Finds the cells of tables from the lines drawn on a page, with pdfplumber's way of joining lines into cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from citewell.adapters.parsers.pdf_geometry import Rect

SNAP = 3.0
"""Points: lines nearer than this are one line."""
MAX_EDGES = 600
"""Joining lines takes time that grows with the square of their number; a page with more is a drawing."""

Cells = list[Rect]


def find_grids(rules: Sequence[Rect], glyphs: Sequence[Rect]) -> list[Cells]:
    """The cells of each ruled table, in a frame where text runs to the right; tables in one column are left out."""
    edges = [_edge(rule) for rule in (*rules, *_implied_verticals(rules, glyphs))]
    if len(edges) < 4:
        return []
    # Here and not above: reading a PDF without a single drawn line needs no table finder.
    from pdfplumber.table import cells_to_tables, edges_to_intersections, intersections_to_cells, merge_edges

    edges = merge_edges(edges, SNAP, SNAP, SNAP, SNAP)
    if len(edges) > MAX_EDGES:
        return []
    cells = intersections_to_cells(edges_to_intersections(edges, SNAP, SNAP))
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


def _implied_verticals(rules: Sequence[Rect], glyphs: Sequence[Rect]) -> Iterator[Rect]:
    """Upright lines that nobody drew: where level lines are drawn cell by cell, their ends show the columns."""
    for stack in _stacks(rules):
        for above, below in pairwise(stack):
            top, bottom = above[0].top, below[0].bottom
            between = [glyph for glyph in glyphs if top < (glyph.top + glyph.bottom) / 2 < bottom]
            inner = [
                piece.left
                for piece in above[1:]
                if any(abs(piece.left - other.left) < SNAP for other in below[1:])
                and not any(glyph.left + 1 < piece.left < glyph.right - 1 for glyph in between)
            ]
            for place in (above[0].left, *inner, above[-1].right) if inner else ():
                yield Rect(place, top, place, bottom)


def _stacks(rules: Sequence[Rect]) -> list[list[list[Rect]]]:
    """Levels of lines that begin and end at the same places, at least one of them drawn in pieces that touch."""
    levels: dict[int, list[Rect]] = defaultdict(list)
    for rule in rules:
        if rule.width > rule.height:
            levels[round(rule.top)].append(rule)
    stacks: list[list[list[Rect]]] = []
    for key in sorted(levels):
        for chain in _chains(levels[key]):
            for stack in stacks:
                above = stack[-1]
                same_ends = abs(above[0].left - chain[0].left) < SNAP and abs(above[-1].right - chain[-1].right) < SNAP
                if same_ends:
                    if chain[0].top - above[0].top > SNAP:
                        stack.append(chain)
                    break
            else:
                stacks.append([chain])
    return [stack for stack in stacks if len(stack) > 1 and any(len(level) > 1 for level in stack)]


def _chains(level: Sequence[Rect]) -> list[list[Rect]]:
    """Pieces of one level that touch end to end."""
    chains: list[list[Rect]] = []
    for piece in sorted(level):
        if chains and abs(piece.left - chains[-1][-1].right) < SNAP:
            chains[-1].append(piece)
        elif not (chains and piece.left < chains[-1][-1].right - SNAP):
            chains.append([piece])
    return chains
