"""Reads what is drawn on a PDF page besides text: ruling lines, filled areas and pictures."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from citewell.adapters.parsers.pdf_geometry import PageFrame, Rect

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
    """One matrix that does `first` and `then` the other."""
    a, b, c, d, e, f = first
    p, q, r, s, t, u = then
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u
