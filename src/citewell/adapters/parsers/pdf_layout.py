"""Parts the pages of a PDF into tables, lines of text, and furniture that is left out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import pairwise

from citewell.adapters.parsers.pdf_blocks import DATE_TAG, TERMINAL
from citewell.adapters.parsers.pdf_geometry import PageTurn, Rect
from citewell.adapters.parsers.pdf_glyphs import Glyph, GlyphGap, Sheet
from citewell.adapters.parsers.pdf_grids import Cells, find_grids, outline
from citewell.adapters.parsers.pdf_header_tables import Banner, cells_below, find_banners
from citewell.adapters.parsers.pdf_lines import TextLine, reading_turn, text_lines, word_boxes
from citewell.adapters.parsers.pdf_tables import PdfTable, build_table

MARGIN = 0.13
"""The share of the page, from each edge, in which furniture stands."""
LEADING = 1.8
"""Lines of one paragraph are no further apart than this, in sizes of their type."""
DRIFT = 3.0
"""Points by which its place may differ from page to page."""
_ITEM = re.compile(r"\d+(?:\.\d+){2,}")
"""A numbered recommendation: it stands in the margin too, often at the same height, and is no page number."""
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)


def without_furniture(
    pages: Sequence[list[TextLine]], papers: Sequence[Rect], fixed: Sequence[list[Rect]]
) -> list[list[TextLine]]:
    """The lines of each page that are its own; `fixed` are the places of tables, beyond which furniture stands."""
    places: dict[tuple[str, int], set[int]] = defaultdict(set)
    slots: dict[tuple[int, float, str], list[str]] = defaultdict(list)
    for index, (lines, paper) in enumerate(zip(pages, papers, strict=True)):
        for line in lines:
            if _in_margin(line.box, paper):
                for down in _near(line.box.top):
                    places[folded(line.text), down].add(index)
                slots[_slot(line)].append(folded(line.text))
    enough = max(2, min(3, len(pages) // 2), round(0.04 * len(pages)))
    running = {slot for slot, texts in slots.items() if _is_running(texts, len(pages))}

    def is_furniture(line: TextLine, paper: Rect) -> bool:
        if not _in_margin(line.box, paper):
            return False
        repeated = max(len(places[folded(line.text), down]) for down in _near(line.box.top))
        level, *look = _slot(line)
        return repeated >= enough or (len(pages) > 4 and any((level + step, *look) in running for step in (-1, 0, 1)))

    suspects = [
        {id(line) for line in lines if is_furniture(line, paper)} for lines, paper in zip(pages, papers, strict=True)
    ]
    return [
        _peeled(lines, found - _read_on(lines, found), tables)
        for lines, found, tables in zip(pages, suspects, fixed, strict=True)
    ]


def _read_on(lines: Sequence[TextLine], suspects: set[int]) -> set[int]:
    """The suspects that are part of a sentence of the page, which other pages say at the same place too."""
    own = [line for line in lines if id(line) not in suspects]
    found: set[int] = set()
    for line in sorted((line for line in lines if id(line) in suspects), key=lambda line: -line.base):
        is_date = line.text.startswith("[") and DATE_TAG.fullmatch(line.text)
        if is_date or any(_is_sentence(line, other) or _is_sentence(other, line) for other in own):
            found.add(id(line))
            own.append(line)
    return found


def _is_sentence(above: TextLine, below: TextLine) -> bool:
    """Whether one line goes on with the sentence of the line above it, in the same type."""
    step = below.base - above.base
    is_near = 0.8 * below.size < step < LEADING * below.size and below.left < above.right and above.left < below.right
    is_alike = above.size == below.size and above.font == below.font
    is_open = not above.text.endswith(TERMINAL) and " " in above.text
    return is_near and is_alike and is_open and below.text[:1].islower()


def folded(text: str) -> str:
    """The text as it is compared: numbers, Arabic or Roman, are all alike; those of recommendations are not.

    >>> folded("Page 12 of 94") == folded("Page 3 of 94")
    True
    >>> folded("1.3.2") == folded("1.5.9")
    False
    """
    words = " ".join(text.split()).casefold()
    return words if _ITEM.fullmatch(words) else _NUMBER.sub("#", words)


def _peeled(lines: list[TextLine], suspects: set[int], tables: list[Rect]) -> list[TextLine]:
    """The lines without the suspects that have nothing but suspects between them and an edge of the page."""
    own = [line.box for line in lines if id(line) not in suspects] + tables
    if not own:
        return []
    body = own[0]
    for box in own:
        body = body.around(box)
    kept = []
    for line in lines:
        box = line.box
        beyond_rows = box.bottom <= body.top + 2 or box.top >= body.bottom - 2
        outside = beyond_rows or box.right <= body.left + 2 or box.left >= body.right - 2
        if id(line) not in suspects or not outside:
            kept.append(line)
    return kept


def _is_running(texts: list[str], page_count: int) -> bool:
    """Whether a place on the page holds running heads: on many pages, with few different texts."""
    return len(texts) >= max(3, 0.25 * page_count) and len(set(texts)) <= 0.5 * len(texts)


def _slot(line: TextLine) -> tuple[int, float, str]:
    return round(line.base / DRIFT), line.size, line.font


def _near(position: float) -> tuple[int, int]:
    """Two overlapping grids, so that a small drift never parts equal lines."""
    return round(position / DRIFT), -1 - round(position / DRIFT + 0.5)


def _in_margin(box: Rect, paper: Rect) -> bool:
    return (
        box.bottom <= MARGIN * paper.height
        or box.top >= (1 - MARGIN) * paper.height
        or box.right <= MARGIN * paper.width
        or box.left >= (1 - MARGIN) * paper.width
    )


OVERHANG = 5.0
"""Points: lines that go further beyond the paper belong to a drawing of which the page shows a part."""


@dataclass(slots=True)
class PageLayout:
    """One page: its tables, and the lines outside them, in a frame where text runs to the right."""

    number: int
    paper: Rect
    reading: PageTurn
    free: list[Glyph | GlyphGap]
    """Glyphs outside tables."""
    lines: list[TextLine] = field(default_factory=list)
    tables: list[PdfTable] = field(default_factory=list)
    banners: list[Banner] = field(default_factory=list)
    """Coloured headers whose table is still to be built."""
    left_out: tuple[str, ...] = ()
    """Running heads and page numbers."""


def laid_out(sheets: Sequence[Sheet]) -> list[PageLayout]:
    """The pages without what repeats from one to the next."""
    pages = [_page(sheet) for sheet in sheets]
    kept = without_furniture(
        [page.lines for page in pages],
        [page.paper for page in pages],
        [[*(table.box for table in page.tables), *(banner.box for banner in page.banners)] for page in pages],
    )
    if not any(kept) and not any(page.tables for page in pages):
        # A file in which every line repeats has no running heads: it has repeated text.
        kept = [page.lines for page in pages]
    cut: Banner | None = None
    for page, sheet, lines in zip(pages, sheets, kept, strict=True):
        furniture = [line.box for line in page.lines if not any(line is other for other in lines)]
        page.left_out = tuple(line.text for line in page.lines if not any(line is other for other in lines))
        page.lines = lines
        if cut and page.lines:
            page.banners.insert(0, cut.at(min(line.box.top for line in page.lines) - 1))
        cut = _lay_banner_tables(page, sheet, furniture) if page.banners else None
    for page, following in pairwise(pages):
        _drop_repeated_line(page, following)
    return pages


def _drop_repeated_line(page: PageLayout, following: PageLayout) -> None:
    """Drop the last line of a page where the next begins with it: some writers set a line on the cut twice."""
    if not page.lines or not following.lines:
        return
    last = max(page.lines, key=lambda line: line.box.bottom)
    first = min(following.lines, key=lambda line: line.box.top)
    at_cut = last.box.bottom > 0.93 * page.paper.height and first.box.top < 0.07 * following.paper.height
    is_same_place = last.size == first.size and abs(last.left - first.left) < 3 and len(last.text) > 20
    # A raised or lowered character may have stayed on one side of the cut, so the words need not be quite the same.
    if at_cut and is_same_place and SequenceMatcher(None, last.text, first.text).ratio() > 0.93:
        page.lines.remove(last)


def _page(sheet: Sheet) -> PageLayout:
    """The page with its ruled tables; headers of tables without lines are noted for later."""
    reading = reading_turn(sheet)
    page = PageLayout(sheet.number, reading.rect(Rect(0, 0, sheet.width, sheet.height)), reading, sheet.glyphs)
    shades = [reading.rect(area) for area in sheet.shapes.fills]
    rules = [reading.rect(rule) for rule in sheet.shapes.rules]
    words = cache(partial(word_boxes, sheet, reading))
    for cells in find_grids(rules, shades, words):
        _lay_table(page, sheet, cells, shades)
    taken = [table.box for table in page.tables]
    open_shades = [shade for shade in shades if not any(box.holds(*shade.middle) for box in taken)]
    page.banners = find_banners(open_shades, words)
    _lay_lines(page, sheet)
    return page


def _lay_table(page: PageLayout, sheet: Sheet, cells: Cells, shades: Sequence[Rect]) -> PdfTable | None:
    """Take the glyphs in the cells out of the page and make them a table, if they are one."""
    if outline(cells).right > page.paper.right + OVERHANG:
        return None
    inside, outside = _parted(page.free, cells, page.reading)
    table = build_table(cells, inside, sheet, page.reading, shades)
    if table:
        page.tables.append(table)
        page.free = outside
    return table


def _lay_lines(page: PageLayout, sheet: Sheet) -> None:
    """Set the glyphs outside tables into lines; those of table headers wait for their table."""
    dots = [page.reading.rect(dot) for dot in sheet.shapes.dots]
    heads = [banner.box for banner in page.banners]
    lines = text_lines(replace(sheet, glyphs=page.free), page.reading)
    page.lines = [_bulleted(line, dots) for line in lines if not any(box.holds(*line.box.middle) for box in heads)]


def _lay_banner_tables(page: PageLayout, sheet: Sheet, furniture: Sequence[Rect]) -> Banner | None:
    """Build the tables under coloured headers, now that furniture is known; the last one, if the page may cut it."""
    words = [word for word in word_boxes(sheet, page.reading) if not any(box.holds(*word.middle) for box in furniture)]
    shades = [page.reading.rect(area) for area in sheet.shapes.fills]
    tops = sorted([banner.box.top for banner in page.banners] + [table.box.top for table in page.tables])
    lowest: tuple[Banner, PdfTable] | None = None
    for banner in page.banners:
        floor = next((top for top in tops if top > banner.box.bottom), page.paper.bottom)
        cells = cells_below(banner, shades, words, floor)
        if cells and (table := _lay_table(page, sheet, cells, [banner.box, *banner.tiles])):
            lowest = banner, table
    page.banners = []
    _lay_lines(page, sheet)
    page.lines = [line for line in page.lines if not any(box.holds(*line.box.middle) for box in furniture)]
    if lowest and not any(line.box.top > lowest[1].box.bottom for line in page.lines):
        return lowest[0]
    return None


def _bulleted(line: TextLine, dots: Sequence[Rect]) -> TextLine:
    """The line with the bullet that is drawn before it, if one is."""
    if line.turn.direction != "right":
        return line
    for dot in dots:
        before = 0.1 * line.size < line.left - dot.right < 1.8 * line.size
        if before and line.top < (dot.top + dot.bottom) / 2 < line.bottom:
            return replace(
                line,
                text=f"• {line.text}",
                lefts=(dot.left, dot.right, *line.lefts),
                rights=(dot.right, line.left, *line.rights),
                box=line.box.around(dot),
            )
    return line


def _parted(
    glyphs: list[Glyph | GlyphGap], cells: Cells, reading: PageTurn
) -> tuple[list[list[Glyph | GlyphGap]], list[Glyph | GlyphGap]]:
    """The glyphs in each cell, and those in none; white space stays with the glyph before it."""
    inside: list[list[Glyph | GlyphGap]] = [[] for _ in cells]
    outside: list[Glyph | GlyphGap] = []
    area = outline(cells)
    target = outside
    for entry in glyphs:
        if isinstance(entry, Glyph):
            box = reading.rect(entry.box)
            x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
            target = outside
            if area.holds(x, y):
                target = next((own for own, cell in zip(inside, cells, strict=True) if cell.holds(x, y)), outside)
        target.append(entry)
    return inside, outside
