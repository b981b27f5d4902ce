"""Finds the cells of tables from the lines drawn on a page, with pdfplumber's way of joining lines into cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from citewell.adapters.parsers.pdf_geometry import Rect

SNAP = 3.0
"""Points: lines nearer than this are one line."""
MIN_PADDING = 4.0
"""Points: words nearer than this across the edge of a column are running text, not two cells."""
MAX_RULES, MAX_EDGES, MAX_CROSSINGS = 4_000, 600, 2_500
"""Joining lines takes time that grows with the square of their number; a page with more is a drawing."""

Cells = list[Rect]


def find_grids(rules: Sequence[Rect], words: Callable[[], Sequence[Rect]]) -> list[Cells]:
    """The cells of each ruled table, in a frame where text runs to the right; tables in one column are left out.

    `words` says where the words stand; it is asked only where the lines leave a doubt.
    """
    if len(rules) > MAX_RULES:
        return []
    edges = [_edge(rule) for rule in (*rules, *_implied_edges(rules, words), *_closing_levels(rules))]
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


def distinct(values: Iterable[float]) -> list[float]:
    """The values in order, those nearer than SNAP as one.

    >>> distinct([10.0, 40.0, 11.5])
    [10.0, 40.0]
    """
    places: list[float] = []
    for value in sorted(values):
        if not places or value - places[-1] > SNAP:
            places.append(value)
    return places


def _implied_edges(rules: Sequence[Rect], words: Callable[[], Sequence[Rect]]) -> Iterator[Rect]:
    """Edges that nobody drew: where level lines are drawn cell by cell, their ends show the columns."""
    uprights = [rule for rule in rules if rule.height > rule.width]
    for stack in _stacks(rules):
        left, right = stack[0][0].left, stack[0][-1].right
        meant = _meant_places(stack, uprights)
        implied = False
        for above, below in pairwise(stack):
            top, bottom = above[0].top, below[0].bottom
            between = [word for word in words() if top < (word.top + word.bottom) / 2 < bottom]
            inner = [
                place
                for place in _shared_joints(above, below, left)
                if round(place / SNAP) not in meant and not _runs_across(place, between)
            ]
            implied = implied or bool(inner)
            for place in (left, *inner, right) if inner else ():
                yield Rect(place, top, place, bottom)
        last = stack[-1]
        if implied and last[0].left - left > SNAP:
            # The page cut a cell that goes down along several rows.
            yield Rect(left, last[0].top, last[0].left, last[0].top)


def _runs_across(place: float, words: Sequence[Rect]) -> bool:
    """Whether a line of text passes over a place without the gap that parts two cells."""
    left = [word for word in words if word.left < place - 1 and word.right > place - MIN_PADDING]
    right = [word for word in words if word.right > place + 1 and word.left < place + MIN_PADDING]
    return any(
        first is second or (abs(first.bottom - second.bottom) < 2 and second.left - first.right < MIN_PADDING)
        for first in left
        for second in right
    )


def _shared_joints(above: list[Rect], below: list[Rect], left: float) -> list[float]:
    """Where both of two levels pass from one piece to the next, or begin inside the table."""
    inner = [piece.left for piece in above if piece.left - left > SNAP]
    return [place for place in inner if any(abs(place - other.left) < SNAP for other in below)]


def _meant_places(stack: list[list[Rect]], uprights: Sequence[Rect]) -> set[int]:
    """Places where upright lines are drawn in most rows: there, a missing piece is a cell across columns."""
    rows: Counter[int] = Counter()
    drawn: Counter[int] = Counter()
    for above, below in pairwise(stack):
        middle = (above[0].top + below[0].bottom) / 2
        for place in _shared_joints(above, below, stack[0][0].left):
            rows[round(place / SNAP)] += 1
            drawn[round(place / SNAP)] += any(
                abs(upright.left - place) < SNAP and upright.top < middle < upright.bottom for upright in uprights
            )
    return {place for place, count in rows.items() if drawn[place] >= 0.5 * count}


def _stacks(rules: Sequence[Rect]) -> list[list[list[Rect]]]:
    """Levels of lines that begin and end at the same places, at least one of them drawn in pieces that touch."""
    levels: dict[int, list[Rect]] = defaultdict(list)
    for rule in rules:
        if rule.width > rule.height:
            levels[round(rule.top)].append(rule)
    stacks: list[list[list[Rect]]] = []
    for key in sorted(levels):
        for chain in _chains(levels[key]):
            stack = next((stack for stack in stacks if _belongs(chain, stack)), None)
            if stack is None:
                stacks.append([chain])
            elif chain[0].top - stack[-1][0].top > SNAP:
                stack.append(chain)
    return [stack for stack in stacks if len(stack) > 1 and any(len(level) > 1 for level in stack)]


def _belongs(chain: list[Rect], stack: list[list[Rect]]) -> bool:
    """Whether a level ends where the stack ends, and begins where it begins or at one of its columns."""
    above = stack[-1]
    places = [stack[0][0].left, *(piece.left for piece in (*stack[0], *above))] if len(chain) > 1 else [above[0].left]
    begins = any(abs(place - chain[0].left) < SNAP for place in places)
    return begins and abs(stack[0][-1].right - chain[-1].right) < SNAP


def _chains(level: Sequence[Rect]) -> list[list[Rect]]:
    """Pieces of one level that touch end to end."""
    chains: list[list[Rect]] = []
    for piece in sorted(level):
        if chains and abs(piece.left - chains[-1][-1].right) < SNAP:
            chains[-1].append(piece)
        elif not (chains and piece.left < chains[-1][-1].right - SNAP):
            chains.append([piece])
    return chains
