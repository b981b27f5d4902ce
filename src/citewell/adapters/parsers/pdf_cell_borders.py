"""Completes tables whose lines are drawn cell by cell: where level lines meet and coloured cells end, columns are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from citewell.adapters.parsers.pdf_geometry import Rect

SNAP = 3.0
"""Points: lines nearer than this are one line."""
MIN_PADDING = 4.0
"""Points: words nearer than this across the edge of a column are running text, not two cells."""
HEADER_REACH = 160.0
"""Points above its first line in which a table may have a coloured header."""
LOWEST_TITLE, HIGHEST_TITLE = 8.0, 30.0
"""Points: a row without columns whose height lies between these is a title inside the table."""

Level = list[Rect]
"""Pieces of one level line that touch end to end, from left to right."""
Stack = list[Level]
"""The levels of one table, from the top down."""


def implied_edges(rules: Sequence[Rect], fills: Sequence[Rect], words: Callable[[], Sequence[Rect]]) -> Iterator[Rect]:
    """The edges of cells that nobody drew."""
    coloured = list(_coloured_levels(_stacks(rules), fills))
    yield from coloured
    uprights = [rule for rule in rules if rule.height > rule.width]
    for stack in _stacks([*rules, *coloured]):
        yield from _stack_edges(stack, uprights, words)


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


def _stack_edges(stack: Stack, uprights: Sequence[Rect], words: Callable[[], Sequence[Rect]]) -> Iterator[Rect]:
    left, right = _ends(stack)
    meant = _meant_places(stack, uprights)
    rows: list[tuple[float, float, list[float], bool]] = []
    for above, below in pairwise(stack):
        top, bottom = above[0].top, below[0].bottom
        between = [word for word in words() if top < (word.top + word.bottom) / 2 < bottom]
        shared = _shared_joints(above, below, left, right)
        inner = [place for place in shared if round(place / SNAP) not in meant and not _runs_across(place, between)]
        is_drawn = any(_is_drawn(place, (top + bottom) / 2, uprights) for place in shared)
        rows.append((top, bottom, inner, is_drawn))
    if not any(inner or is_drawn for _, _, inner, is_drawn in rows):
        return
    for top, bottom, inner, is_drawn in rows:
        if inner or is_drawn or LOWEST_TITLE <= bottom - top <= HIGHEST_TITLE:
            for place in (left, *inner, right):
                yield Rect(place, top, place, bottom)
    last = stack[-1]
    # The page may cut a cell that goes down along several rows.
    if last[0].left - left > SNAP:
        yield Rect(left, last[0].top, last[0].left, last[0].top)
    if right - last[-1].right > SNAP:
        yield Rect(last[-1].right, last[0].top, right, last[0].top)


def _is_drawn(place: float, height: float, uprights: Sequence[Rect]) -> bool:
    """Whether an upright line passes a place at this height."""
    return any(abs(upright.left - place) < SNAP and upright.top < height < upright.bottom for upright in uprights)


def _coloured_levels(stacks: Sequence[Stack], fills: Sequence[Rect]) -> Iterator[Rect]:
    """The upper and lower sides of coloured cells that fit the columns of a table."""
    for stack in stacks:
        places = distinct(side for level in stack for piece in level for side in (piece.left, piece.right))
        top, bottom = stack[0][0].top - HEADER_REACH, stack[-1][0].bottom + SNAP
        for fill in fills:
            if top < fill.top and fill.bottom < bottom and _is_at(fill.left, places) and _is_at(fill.right, places):
                yield Rect(fill.left, fill.top, fill.right, fill.top)
                yield Rect(fill.left, fill.bottom, fill.right, fill.bottom)


def _runs_across(place: float, words: Sequence[Rect]) -> bool:
    """Whether a line of text passes over a place without the gap that parts two cells."""
    left = [word for word in words if word.left < place - 1 and word.right > place - MIN_PADDING]
    right = [word for word in words if word.right > place + 1 and word.left < place + MIN_PADDING]
    return any(
        first is second or (abs(first.bottom - second.bottom) < 2 and second.left - first.right < MIN_PADDING)
        for first in left
        for second in right
    )


def _shared_joints(above: Level, below: Level, left: float, right: float) -> list[float]:
    """Places inside the table where both of two levels pass from one piece to the next, begin or end."""
    return [place for place in _joints(above, left, right) if _is_at(place, _joints(below, left, right))]


def _joints(level: Level, left: float, right: float) -> list[float]:
    sides = distinct(side for piece in level for side in (piece.left, piece.right))
    return [side for side in sides if left + SNAP < side < right - SNAP]


def _meant_places(stack: Stack, uprights: Sequence[Rect]) -> set[int]:
    """Places where upright lines are drawn in nearly all rows: there, a missing piece is a cell across columns."""
    left, right = _ends(stack)
    rows: Counter[int] = Counter()
    drawn: Counter[int] = Counter()
    for above, below in pairwise(stack):
        middle = (above[0].top + below[0].bottom) / 2
        for place in _shared_joints(above, below, left, right):
            rows[round(place / SNAP)] += 1
            drawn[round(place / SNAP)] += _is_drawn(place, middle, uprights)
    return {place for place, count in rows.items() if drawn[place] >= max(2, 0.6 * count)}


def _stacks(rules: Sequence[Rect]) -> list[Stack]:
    """Levels that begin and end at the same places, at least one of them drawn in pieces."""
    stacks: list[Stack] = []
    for chain in _levels(rules):
        stack = next((stack for stack in stacks if _belongs(chain, stack)), None)
        if stack is None:
            stacks.append([chain])
        elif chain[0].top - stack[-1][0].top > SNAP:
            stack.append(chain)
        elif len(chain) > len(stack[-1]):
            stack[-1] = chain
    return [stack for stack in stacks if len(stack) > 1 and any(len(level) > 1 for level in stack)]


def _belongs(chain: Level, stack: Stack) -> bool:
    """Whether a level begins and ends where the table does; one in pieces may do so at its columns."""
    left, right = _ends(stack)
    if len(chain) == 1:
        return abs(chain[0].left - left) < SNAP and abs(chain[0].right - right) < SNAP
    places = [side for piece in (*stack[0], *stack[-1]) for side in (piece.left, piece.right)]
    return _is_at(chain[0].left, places) and _is_at(chain[-1].right, places)


def _ends(stack: Stack) -> tuple[float, float]:
    return min(level[0].left for level in stack), max(level[-1].right for level in stack)


def _is_at(value: float, places: Iterable[float]) -> bool:
    return any(abs(value - place) < SNAP for place in places)


def _levels(rules: Sequence[Rect]) -> Iterator[Level]:
    """Level lines from the top down, each as the longest chain of pieces that touch."""
    level: list[Rect] = []
    for rule in sorted((rule for rule in rules if rule.width > rule.height), key=lambda rule: rule.top):
        if level and rule.top - level[0].top > SNAP / 2:
            yield from _chains(level)
            level = []
        level.append(rule)
    yield from _chains(level)


def _chains(level: Sequence[Rect]) -> list[Level]:
    """Pieces of one level that touch end to end; a longer piece drawn over shorter ones is left out."""
    chains: list[Level] = []
    for piece in sorted(level, key=lambda piece: (round(piece.left), piece.width)):
        if chains and abs(piece.left - chains[-1][-1].right) < SNAP:
            chains[-1].append(piece)
        elif not (chains and piece.left < chains[-1][-1].right - SNAP):
            chains.append([piece])
    return chains
