"""Finds the columns of a page and the order in which they are read."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Protocol, TypeVar

from citewell.adapters.parsers.pdf_geometry import Rect

MIN_GUTTER = 7.0
"""Points: nothing narrower separates two columns."""
MAX_ITEMS = 1_500
"""A page in more pieces is a map or a chart; to look for columns in it would take minutes."""
MAX_EDGES = 40
MIN_LINES = 3
"""A column has at least so many lines."""
_MARKER = re.compile(r"^\W?$|^[(\[]?(?:\d+(?:\.\d+)*|[a-z]|[ivx]+)[.)\]:]?$", re.IGNORECASE)


class PlacedBlock(Protocol):
    """Something that stands on a page: a piece of a line, or a table."""

    @property
    def box(self) -> Rect: ...
    @property
    def order(self) -> int: ...
    @property
    def text(self) -> str: ...


Item = TypeVar("Item", bound=PlacedBlock)


def columns(items: Sequence[Item]) -> list[list[Item]]:
    """The items in groups that are read one after the other; each group is one column, or a part across the page."""
    gutter = _gutter(items) if 2 * MIN_LINES <= len(items) <= MAX_ITEMS else None
    if gutter is None:
        return [list(items)] if items else []
    groups: list[list[Item]] = []
    across: list[Item] = []
    left: list[Item] = []
    right: list[Item] = []

    def flush_columns() -> None:
        nonlocal left, right
        if left and right:
            flush_across()
            groups.extend(columns(left) + columns(right))
        else:
            across.extend(left or right)
        left, right = [], []

    def flush_across() -> None:
        nonlocal across
        if across:
            groups.append(across)
        across = []

    for item in sorted(items, key=lambda item: item.box.top):
        if item.box.right <= gutter:
            left.append(item)
        elif item.box.left >= gutter:
            right.append(item)
        else:
            flush_columns()
            across.append(item)
    flush_columns()
    flush_across()
    return groups


def _gutter(items: Sequence[Item]) -> float | None:
    """The middle of the white strip that best divides the items into columns, or None."""
    bounds = items[0].box
    for item in items:
        bounds = bounds.around(item.box)
    best, best_score = None, 0.0
    inner = bounds.left + 0.1 * bounds.width
    begun = Counter(round(item.box.left, 1) for item in items if item.box.left > inner)
    for edge, _ in begun.most_common(MAX_EDGES):
        lefts = [item for item in items if item.box.right <= edge - MIN_GUTTER]
        rights = [item for item in items if item.box.left >= edge - 0.5]
        if len(lefts) < MIN_LINES or len(rights) < MIN_LINES:
            continue
        crossing = len(items) - len(lefts) - len(rights)
        score = min(len(lefts), len(rights)) - 0.5 * crossing
        if score > best_score and _are_columns(lefts, rights, bounds, crossing):
            best, best_score = (max(item.box.right for item in lefts) + edge) / 2, score
    return best


def _are_columns(lefts: Sequence[Item], rights: Sequence[Item], bounds: Rect, crossing: int) -> bool:
    """Whether both sides are running text rather than the cells, markers or labels of one another."""
    if sum(bool(_MARKER.match(item.text)) for item in lefts) > 0.4 * len(lefts):
        return False
    top, bottom = max(_top(lefts), _top(rights)), min(_bottom(lefts), _bottom(rights))
    beside_left = [item for item in lefts if top <= item.box.bottom and item.box.top <= bottom]
    beside_right = [item for item in rights if top <= item.box.bottom and item.box.top <= bottom]
    if len(beside_left) < MIN_LINES or len(beside_right) < MIN_LINES or crossing > 2 * len(lefts) + 2 * len(rights):
        return False
    turns = _turns(beside_left, beside_right)
    if turns <= max(2, 0.15 * (len(beside_left) + len(beside_right))):
        # The file itself goes down one side before the other: columns, unless one side is only labels.
        return min(_extent(beside_left), _extent(beside_right)) >= 0.12 * bounds.width
    narrowest = min(_typical_width(beside_left), _typical_width(beside_right))
    return narrowest >= 0.33 * bounds.width and min(len(beside_left), len(beside_right)) >= 5


def _turns(lefts: Sequence[Item], rights: Sequence[Item]) -> int:
    """How often the order of the file changes from one side to the other."""
    sides = [side for _, side in sorted([(item.order, 0) for item in lefts] + [(item.order, 1) for item in rights])]
    return sum(first != second for first, second in itertools.pairwise(sides))


def _typical_width(items: Sequence[Item]) -> float:
    return median(item.box.width for item in items)


def _extent(items: Sequence[Item]) -> float:
    return max(item.box.right for item in items) - min(item.box.left for item in items)


def _top(items: Sequence[Item]) -> float:
    return min(item.box.top for item in items)


def _bottom(items: Sequence[Item]) -> float:
    return max(item.box.bottom for item in items)
