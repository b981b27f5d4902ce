"""Finds tables that have no lines, only a coloured header: its tiles give the columns, the text gives the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from citewell.adapters.parsers.pdf_cell_borders import MIN_PADDING, distinct
from citewell.adapters.parsers.pdf_geometry import Rect
from citewell.adapters.parsers.pdf_grids import Cells, outline

TOUCH = 2.0
"""Points: tiles nearer than this are side by side."""
MIN_TILES = 3
MAX_FILLS = 1_500
"""A page with more coloured areas is a picture."""
LARGEST_GAP = 40.0
"""Points without a word: the table has ended."""


@dataclass(frozen=True, slots=True)
class Banner:
    """The coloured header of a table."""

    tiles: Cells
    edges: list[float]

    @property
    def box(self) -> Rect:
        return outline(self.tiles)

    def at(self, top: float) -> Banner:
        """The same columns under an unseen header, for the part of a table on the next page."""
        return Banner([Rect(self.edges[0], top, self.edges[-1], top)], self.edges)


def find_banners(fills: Sequence[Rect], words: Callable[[], Sequence[Rect]]) -> list[Banner]:
    """Rows of at least three coloured tiles that touch and hold words, with the tiles below them."""
    if len(fills) > MAX_FILLS:
        return []
    whole = [fill for fill in fills if not any(other != fill and _holds(other, fill) for other in fills)]
    banners: list[Banner] = []
    for chain in _chains(whole):
        if len(chain) < MIN_TILES:
            continue
        area = outline(chain)
        tiles = [fill for fill in whole if _holds(area, fill)]
        filled = sum(any(tile.holds(*word.middle) for word in words()) for tile in tiles)
        is_new = not any(_holds(banner.box, area) for banner in banners)
        if filled >= 0.6 * len(tiles) and is_new:
            banners.append(Banner(tiles, distinct(side for tile in tiles for side in (tile.left, tile.right))))
    return banners


def cells_below(banner: Banner, fills: Sequence[Rect], words: Sequence[Rect], floor: float) -> Cells:
    """The cells of the table under a header, down to `floor` or to the first line of running text."""
    head = banner.box
    below = sorted(
        (word for word in words if head.bottom - TOUCH < word.top < floor and _is_within(word, head)),
        key=lambda word: word.bottom,
    )
    bridges = [
        fill
        for fill in fills
        if fill.top > head.bottom - TOUCH and _is_within(fill, head) and _columns_under(banner.edges, fill) > 1
    ]
    bridges = [fill for fill in bridges if not any(other != fill and _holds(other, fill) for other in bridges)]
    body: list[list[Rect]] = []
    for line in _lines(below):
        above = body[-1][0].bottom if body else head.bottom
        if line[0].top - above > LARGEST_GAP or _is_running_text(line, banner.edges, bridges):
            break
        body.append(line)
    if not body:
        return []
    bottom = max(word.bottom for line in body for word in line) + 1
    tops = _row_tops(body, banner.edges, bridges, head.bottom)
    cells = [tile for tile in banner.tiles if tile.height > 0]
    for top, end in pairwise([*tops, max([bottom, *(fill.bottom for fill in bridges if fill.top < bottom)])]):
        cells += _row_cells(top, end, banner.edges, bridges)
    return cells


def _row_cells(top: float, end: float, edges: Sequence[float], bridges: Sequence[Rect]) -> Iterator[Rect]:
    """The cells of one row; a coloured area across columns is a cell of its own below theirs."""
    inside = [fill for fill in bridges if top - TOUCH < fill.top and fill.bottom < end + TOUCH]
    yield from inside
    for left, right in pairwise(edges):
        starts = [fill.top for fill in inside if fill.left < (left + right) / 2 < fill.right]
        yield Rect(left, top, right, min([end, *starts]))


def _row_tops(body: list[list[Rect]], edges: Sequence[float], bridges: Sequence[Rect], head: float) -> list[float]:
    """Where rows begin: below each coloured area across columns, else where the first column begins anew."""
    ends = sorted(fill.bottom for fill in bridges)
    bottom = body[-1][0].bottom
    if ends:
        return [head, *(end for end in distinct(ends) if head + TOUCH < end < bottom - 2 * TOUCH)]
    tops = [head]
    labels = [line for line in body if any(word.left < edges[1] - TOUCH for word in line)]
    for above, line in pairwise(labels):
        height = line[0].height
        if line[0].top - above[0].bottom > 0.6 * height:
            tops.append(min(word.top for word in line) - 1)
    return tops


def _is_running_text(line: list[Rect], edges: Sequence[float], bridges: Sequence[Rect]) -> bool:
    """Whether the words of a line pass over the edge of a column as a sentence does."""
    for first, second in pairwise(sorted(line)):
        crossed = [edge for edge in edges[1:-1] if first.right - 1 < edge < second.left + 1]
        if crossed and second.left - first.right < MIN_PADDING and not _bridged(first, bridges):
            return True
    return any(
        word.left + TOUCH < edge < word.right - TOUCH and not _bridged(word, bridges)
        for word in line
        for edge in edges[1:-1]
    )


def _bridged(word: Rect, bridges: Sequence[Rect]) -> bool:
    return any(fill.holds(*word.middle) for fill in bridges)


def _lines(words: Sequence[Rect]) -> list[list[Rect]]:
    """Words that stand side by side."""
    lines: list[list[Rect]] = []
    for word in words:
        if lines and word.bottom - lines[-1][0].bottom < 0.4 * word.height:
            lines[-1].append(word)
        else:
            lines.append([word])
    return lines


def _chains(fills: Sequence[Rect]) -> list[list[Rect]]:
    """Tiles that begin at one height and touch side by side."""
    chains: list[list[Rect]] = []
    for fill in sorted(fills, key=lambda fill: (round(fill.top), fill.left)):
        last = chains[-1][-1] if chains else None
        if last and abs(last.top - fill.top) < TOUCH and abs(last.right - fill.left) < TOUCH:
            chains[-1].append(fill)
        else:
            chains.append([fill])
    return chains


def _columns_under(edges: Sequence[float], area: Rect) -> int:
    return sum(area.left < (left + right) / 2 < area.right for left, right in pairwise(edges))


def _holds(outer: Rect, inner: Rect) -> bool:
    return (
        outer.left - TOUCH <= inner.left
        and outer.top - TOUCH <= inner.top
        and inner.right <= outer.right + TOUCH
        and inner.bottom <= outer.bottom + TOUCH
    )


def _is_within(area: Rect, head: Rect) -> bool:
    return area.left > head.left - TOUCH and area.right < head.right + TOUCH
