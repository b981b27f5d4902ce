"""Reads a PDF's pages with pdfium: glyphs with their boxes and styles, and what is drawn round them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from citewell.adapters.parsers.pdf_geometry import Direction, PageFrame, Rect
from citewell.adapters.parsers.pdf_image import PDFIUM_LOCK
from citewell.errors import DamagedFile, TooLarge

RULE_THICKNESS = 3.0
"""Points: what is thinner is a line, what is thicker an area."""
SHORTEST_RULE = 4.0
SMALLEST_DOT, LARGEST_DOT = 1.5, 7.0
MAX_PATHS = 20_000
"""A page with more drawn paths than this is a map or a chart, not a table."""
MAX_OBJECTS = 200_000
"""Forms may hold forms many times over: a small file can ask for any number of objects."""
MAX_DEPTH = 8

Matrix = tuple[float, float, float, float, float, float]
Point = tuple[float, float]


@dataclass(slots=True)
class PageDrawings:
    """What is drawn on a page, as it is seen."""

    rules: list[Rect] = field(default_factory=list)
    """Thin lines: strokes, edges of stroked rectangles, narrow filled areas."""
    fills: list[Rect] = field(default_factory=list)
    """Filled areas that are neither thin nor the whole page."""
    pictures: list[Rect] = field(default_factory=list)
    dots: list[Rect] = field(default_factory=list)
    """Small round or square shapes, such as the bullets that some writers draw instead of setting."""


def read_shapes(page: pdfium.PdfPage, frame: PageFrame, paper: Rect) -> PageDrawings:
    """The rules, areas and pictures of a page; the caller holds PDFIUM_LOCK."""
    shapes = PageDrawings()
    paths = 0
    for shape, kind, matrix in _objects(page):
        if kind == pdfium_c.FPDF_PAGEOBJ_IMAGE:
            area = _clipped(_bounds([(0, 0), (1, 0), (0, 1), (1, 1)], matrix, frame), paper)
            if area:
                shapes.pictures.append(area)
            continue
        paths += 1
        if paths > MAX_PATHS:
            return PageDrawings(pictures=shapes.pictures)
        _note_path(shape, matrix, frame, paper, shapes)
    return shapes


def _objects(page: pdfium.PdfPage) -> Iterator[tuple[Any, int, Matrix]]:
    """Paths and pictures with their matrix, those inside form objects included."""
    plain: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    stack: list[tuple[Any, Any, Any, Matrix, int]] = [
        (page.raw, pdfium_c.FPDFPage_CountObjects, pdfium_c.FPDFPage_GetObject, plain, 0)
    ]
    budget = MAX_OBJECTS
    while stack and budget > 0:
        container, count_in, object_at, outer, depth = stack.pop()
        count = min(count_in(container), budget)
        budget -= count
        for position in range(count):
            shape = object_at(container, position)
            kind = pdfium_c.FPDFPageObj_GetType(shape)
            if kind == pdfium_c.FPDF_PAGEOBJ_FORM and depth < MAX_DEPTH:
                inner = _times(_matrix(shape), outer)
                stack.append(
                    (shape, pdfium_c.FPDFFormObj_CountObjects, pdfium_c.FPDFFormObj_GetObject, inner, depth + 1)
                )
            elif kind in (pdfium_c.FPDF_PAGEOBJ_IMAGE, pdfium_c.FPDF_PAGEOBJ_PATH):
                yield shape, kind, _times(_matrix(shape), outer)


def _note_path(shape: Any, matrix: Matrix, frame: PageFrame, paper: Rect, shapes: PageDrawings) -> None:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDFPath_GetDrawMode(shape, fill, stroke)
    if not fill.value and not stroke.value:
        return
    for points, curved in _outlines(shape):
        area = _clipped(_bounds(points, matrix, frame), paper)
        if area is None:
            continue
        if _is_dot(area):
            shapes.dots.append(area)
        elif min(area.width, area.height) <= RULE_THICKNESS:
            if max(area.width, area.height) >= SHORTEST_RULE:
                shapes.rules.append(area)
        elif fill.value and area.width * area.height < 0.9 * paper.width * paper.height:
            shapes.fills.append(area)
        elif stroke.value and not curved:
            shapes.rules.extend(_edges(points, matrix, frame))


def _is_dot(area: Rect) -> bool:
    short, long = sorted((area.width, area.height))
    return short >= SMALLEST_DOT and long <= LARGEST_DOT and long <= 1.4 * short


def _outlines(shape: Any) -> Iterator[tuple[list[Point], bool]]:
    """The separate outlines of a path, each with whether it has curves."""
    points: list[Point] = []
    curved = False
    x, y = ctypes.c_float(), ctypes.c_float()
    for position in range(pdfium_c.FPDFPath_CountSegments(shape)):
        segment = pdfium_c.FPDFPath_GetPathSegment(shape, position)
        kind = pdfium_c.FPDFPathSegment_GetType(segment)
        if kind == pdfium_c.FPDF_SEGMENT_MOVETO and points:
            yield points, curved
            points, curved = [], False
        pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
        points.append((x.value, y.value))
        curved = curved or kind == pdfium_c.FPDF_SEGMENT_BEZIERTO
        if pdfium_c.FPDFPathSegment_GetClose(segment):
            points.append(points[0])
    if len(points) > 1:
        yield points, curved


def _edges(points: list[Point], matrix: Matrix, frame: PageFrame) -> Iterator[Rect]:
    """The level and upright sides of an outline."""
    for first, second in pairwise(points):
        side = _bounds([first, second], matrix, frame)
        if min(side.width, side.height) <= 1.0 and max(side.width, side.height) >= SHORTEST_RULE:
            yield side


def _bounds(points: list[Point], matrix: Matrix, frame: PageFrame) -> Rect:
    a, b, c, d, e, f = matrix
    seen = [frame.point(a * x + c * y + e, b * x + d * y + f) for x, y in points]
    across, down = [x for x, _ in seen], [y for _, y in seen]
    return Rect(min(across), min(down), max(across), max(down))


def _clipped(area: Rect, paper: Rect) -> Rect | None:
    """The part that lies on the paper."""
    left, right = max(area.left, paper.left), min(area.right, paper.right)
    top, bottom = max(area.top, paper.top), min(area.bottom, paper.bottom)
    return Rect(left, top, right, bottom) if left <= right and top <= bottom else None


def _matrix(shape: Any) -> Matrix:
    matrix = pdfium_c.FS_MATRIX()
    pdfium_c.FPDFPageObj_GetMatrix(shape, matrix)
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _times(first: Matrix, then: Matrix) -> Matrix:
    a, b, c, d, e, f = first
    p, q, r, s, t, u = then
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u


class GlyphStyle(NamedTuple):
    """How a run of glyphs is set."""

    font: str
    size: float
    bold: bool
    italic: bool
    direction: Direction


class Glyph(NamedTuple):
    """One character as pdfium reports it, at its place on the page as it is seen."""

    text: str
    box: Rect
    base: float
    """Where its base line is: down the page, or across it for text that runs up or down."""
    style: GlyphStyle


class GlyphGap(NamedTuple):
    """White space between two glyphs."""

    generated: bool
    """pdfium saw a distance; the file itself has no space here."""


@dataclass(slots=True)
class Sheet:
    """One page as it is seen: what stands on it, in the order of the file."""

    number: int
    width: float
    height: float
    label: str | None
    glyphs: list[Glyph | GlyphGap] = field(default_factory=list)
    shapes: PageDrawings = field(default_factory=PageDrawings)
    unmapped: int = 0
    """Glyphs whose font does not say which characters they are."""


MAX_PAGE_CHARACTERS = 150_000
"""A dense page of small type has ten thousand."""
SMALLEST_TYPE, LARGEST_TYPE = 0.1, 5_000.0
"""Points: sizes outside come from damaged files."""
_WHITE = frozenset({0x20, 0x09, 0x0A, 0x0D, 0xA0, 0x2002, 0x2003, 0x2009, 0x200A, 0x202F, 0x3000})
_LINE_END_HYPHEN = 0x02
"""What pdfium reports for a hyphen that it takes for a division at the end of a line."""
_BOLD = ("bold", "black", "heavy", "demi")
_ITALIC = ("italic", "oblique")


def read_sheet(document: pdfium.PdfDocument, index: int, *, max_characters: int) -> Sheet:
    """Everything that stands on the page at `index`."""
    with PDFIUM_LOCK:
        try:
            page = document[index]
            try:
                return _read_page(document, page, index, max_characters)
            finally:
                page.close()
        except pdfium.PdfiumError:
            raise DamagedFile(f"Page {index + 1} of the PDF is damaged. Download or export the file again.") from None


def _read_page(document: pdfium.PdfDocument, page: pdfium.PdfPage, index: int, max_characters: int) -> Sheet:
    width, height = page.get_size()
    sheet = Sheet(index + 1, width, height, _label(document, index))
    if width > 0 and height > 0:
        frame = PageFrame.of(page.get_bbox(), page.get_rotation())
        _read_glyphs(page, frame, sheet, max_characters)
        sheet.shapes = read_shapes(page, frame, Rect(0, 0, width, height))
    return sheet


def _label(document: pdfium.PdfDocument, index: int) -> str | None:
    try:
        return document.get_page_label(index) or None
    except UnicodeDecodeError:
        return None


def _read_glyphs(page: pdfium.PdfPage, frame: PageFrame, sheet: Sheet, max_characters: int) -> None:
    textpage = page.get_textpage()
    try:
        count = textpage.count_chars()
        if count > min(max_characters, MAX_PAGE_CHARACTERS):
            raise TooLarge(
                f"The PDF is over the character limit from page {sheet.number} on. Split the file and add the parts."
            )
        _collect_glyphs(textpage.raw, count, frame, sheet)
    finally:
        textpage.close()


def _collect_glyphs(raw: pdfium_c.FPDF_TEXTPAGE, count: int, frame: PageFrame, sheet: Sheet) -> None:
    """Note every glyph that stands on the paper.

    Style, base line and mapping are asked once per text object, whose glyphs share them: each call costs a microsecond.
    """
    runs: dict[int, tuple[GlyphStyle, float, bool]] = {}
    area = pdfium_c.FS_RECTF()
    glyphs, width, height = sheet.glyphs, sheet.width, sheet.height
    last_key = 0
    for index in range(count):
        code = pdfium_c.FPDFText_GetUnicode(raw, index)
        if code in _WHITE:
            if glyphs and type(glyphs[-1]) is not GlyphGap:
                glyphs.append(GlyphGap(generated=pdfium_c.FPDFText_IsGenerated(raw, index) == 1))
            continue
        owner = pdfium_c.FPDFText_GetTextObject(raw, index)
        key = ctypes.addressof(owner.contents) if owner else -1
        run = runs.get(key)
        if run is None:
            run = runs[key] = _run(raw, index, frame)
        style, base, unmapped = run
        pdfium_c.FPDFText_GetLooseCharBox(raw, index, area)
        box = frame.rect(area.left, area.bottom, area.right, area.top)
        if not (-1 < box.left + box.right < 2 * width + 1 and -1 < box.top + box.bottom < 2 * height + 1):
            continue
        sheet.unmapped += unmapped
        last = glyphs[-1] if glyphs else None
        if isinstance(last, Glyph) and last.box == box and key == last_key:
            # A ligature: pdfium gives each of its letters the box of the whole.
            glyphs[-1] = last._replace(text=last.text + _character(code))
        else:
            glyphs.append(Glyph(_character(code), box, base, style))
        last_key = key


def _character(code: int) -> str:
    if code == _LINE_END_HYPHEN:
        return "-"
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _run(raw: pdfium_c.FPDF_TEXTPAGE, index: int, frame: PageFrame) -> tuple[GlyphStyle, float, bool]:
    """What the glyphs of a text object share: style, base line, and whether the font hides its characters."""
    matrix, flags, name = pdfium_c.FS_MATRIX(), ctypes.c_int(), ctypes.create_string_buffer(256)
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDFText_GetMatrix(raw, index, matrix)
    pdfium_c.FPDFText_GetFontInfo(raw, index, name, 256, flags)
    pdfium_c.FPDFText_GetCharOrigin(raw, index, x, y)
    size = pdfium_c.FPDFText_GetFontSize(raw, index) * math.hypot(matrix.c, matrix.d)
    font = name.value.decode("utf-8", "replace")
    folded = font.lower()
    bold = any(word in folded for word in _BOLD)
    italic = any(word in folded for word in _ITALIC)
    size = round(size, 1) if SMALLEST_TYPE < size < LARGEST_TYPE else SMALLEST_TYPE
    style = GlyphStyle(font, size, bold, italic, frame.direction(matrix.a, matrix.b))
    across, down = frame.point(x.value, y.value) if math.isfinite(x.value + y.value) else (0.0, 0.0)
    unmapped = pdfium_c.FPDFText_HasUnicodeMapError(raw, index) == 1
    return style, down if style.direction in ("right", "left") else across, unmapped
