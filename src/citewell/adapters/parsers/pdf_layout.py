"""Parts the pages of a PDF into tables, lines of text, and furniture that is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from citewell.adapters.parsers.pdf_furniture import without_furniture
from citewell.adapters.parsers.pdf_geometry import Rect, Turn
from citewell.adapters.parsers.pdf_grids import Cells, find_grids, outline
from citewell.adapters.parsers.pdf_lines import TextLine, reading_turn, text_lines
from citewell.adapters.parsers.pdf_read import Gap, Glyph, Sheet
from citewell.adapters.parsers.pdf_tables import Table, build_table


@dataclass(slots=True)
class LaidOut:
    """One page: its tables, and the lines outside them, in a frame where text runs to the right."""

    number: int
    paper: Rect
    lines: list[TextLine] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def laid_out(sheets: Sequence[Sheet]) -> list[LaidOut]:
    """The pages without what repeats from one to the next."""
    pages = [_page(sheet) for sheet in sheets]
    kept = without_furniture(
        [page.lines for page in pages],
        [page.paper for page in pages],
        [[table.box for table in page.tables] for page in pages],
    )
    for page, lines in zip(pages, kept, strict=True):
        page.lines = lines
    return pages


def _page(sheet: Sheet) -> LaidOut:
    reading = reading_turn(sheet)
    page = LaidOut(sheet.number, reading.rect(Rect(0, 0, sheet.width, sheet.height)))
    free = sheet.glyphs
    shades = [reading.rect(area) for area in sheet.shapes.fills]
    rules = [reading.rect(rule) for rule in sheet.shapes.rules]
    boxes = [reading.rect(glyph.box) for glyph in free if isinstance(glyph, Glyph)] if rules else []
    for cells in find_grids(rules, boxes):
        inside, outside = _parted(free, cells, reading)
        table = build_table(cells, inside, sheet, reading, shades)
        if table:
            page.tables.append(table)
            free = outside
    dots = [reading.rect(dot) for dot in sheet.shapes.dots]
    page.lines = [_bulleted(line, dots) for line in text_lines(replace(sheet, glyphs=free), reading)]
    return page


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
    glyphs: list[Glyph | Gap], cells: Cells, reading: Turn
) -> tuple[list[list[Glyph | Gap]], list[Glyph | Gap]]:
    """The glyphs in each cell, and those in none; white space stays with the glyph before it."""
    inside: list[list[Glyph | Gap]] = [[] for _ in cells]
    outside: list[Glyph | Gap] = []
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
