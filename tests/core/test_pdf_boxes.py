"""Every character of a PDF's text is placed where it is seen, whatever the page's crop box and rotation."""

from __future__ import annotations

import ctypes
import io
import unicodedata
from collections.abc import Callable
from itertools import pairwise

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from citewell.adapters.parsers.pdf import PdfParser
from citewell.types import Box, Document, ParseLimits, Source

WORDS = "Measure the temperature of every adult who feels unwell"


def drawn(draw: Callable[[Canvas], None]) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4)
    draw(canvas)
    canvas.save()
    return buffer.getvalue()


def parsed(data: bytes) -> Document:
    return PdfParser().parse(Source(data, "sample.pdf"), media_type="application/pdf", limits=ParseLimits())


def box_of(document: Document, word: str) -> Box:
    start = document.text.index(word)
    (box,) = document.layout.boxes(start, start + len(word))
    return box


def ink(data: bytes, box: Box) -> tuple[float, float]:
    """How many dark pixels the image of the page has inside the box, and in all."""
    document = pdfium.PdfDocument(data)
    page = document[box.page - 1]
    pixels = page.render(scale=2, grayscale=True).to_numpy() < 128
    page.close()
    document.close()
    inside = pixels[int(2 * box.top) : int(2 * box.bottom) + 1, int(2 * box.left) : int(2 * box.right) + 1]
    return float(inside.sum()), float(pixels.sum())


def test_a_word_stands_where_it_was_drawn() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 20)
        canvas.drawString(100, 500, "Fever")
        canvas.drawString(100, 460, "and chills")

    box = box_of(parsed(drawn(draw)), "Fever")
    assert box.page == 1
    assert box.left == pytest.approx(100, abs=2)
    assert box.right == pytest.approx(153, abs=3)
    baseline = A4[1] - 500
    assert baseline - 20 < box.top < baseline - 12
    assert baseline < box.bottom < baseline + 8


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (40, 60, 500, 800)])
def test_boxes_hold_the_ink_of_the_page_as_it_is_rendered(
    rotation: int, crop: tuple[int, int, int, int] | None
) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 14)
        canvas.drawString(100, 500, "Temperature")

    document = pdfium.PdfDocument(drawn(draw))
    page = document[0]
    page.set_rotation(rotation)
    if crop:
        page.set_cropbox(*crop)
    buffer = io.BytesIO()
    document.save(buffer)
    page.close()
    document.close()
    data = buffer.getvalue()
    read = parsed(data)
    inside, everywhere = ink(data, box_of(read, "Temperature"))
    assert inside == pytest.approx(everywhere, rel=0.02)
    assert everywhere > 100


def test_text_that_runs_up_the_page_is_read_and_placed_word_by_word() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 14)
        canvas.translate(200, 100)
        canvas.rotate(90)
        for number in range(3):
            canvas.drawString(0, -20 * number, f"{WORDS} number {number}")

    data = drawn(draw)
    document = parsed(data)
    assert document.text == " ".join(f"{WORDS} number {number}" for number in range(3))
    box = box_of(document, "Measure")
    assert box.bottom - box.top > 3 * (box.right - box.left)
    assert box.left == pytest.approx(190, abs=4)
    assert box.bottom == pytest.approx(A4[1] - 100, abs=2)


def test_lines_are_sorted_and_do_not_overlap_and_letters_stand_where_pdfium_sees_them() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(20):
            canvas.setFont("Times-Roman", 11)
            canvas.drawString(60, 760 - 16 * number, f"{WORDS}, {number} times a day, and note what was found")

    data = drawn(draw)
    document = parsed(data)
    lines = document.layout.lines
    assert all(first.end <= second.start for first, second in pairwise(lines))
    source = pdfium.PdfDocument(data)
    page = source[0]
    textpage = page.get_textpage()
    for line in lines:
        for offset in range(line.start, line.end):
            middle = (line.lefts[offset - line.start] + line.rights[offset - line.start]) / 2
            height = document.layout.pages[0].height - (line.top + line.bottom) / 2
            index = pdfium_c.FPDFText_GetCharIndexAtPos(textpage.raw, middle, height, 1.0, 4.0)
            if index >= 0 and not document.text[offset].isspace():
                seen = chr(pdfium_c.FPDFText_GetUnicode(textpage.raw, ctypes.c_int(index)))
                assert unicodedata.normalize("NFKC", seen) == document.text[offset]
    textpage.close()
    page.close()
    source.close()


def test_ligatures_are_opened_and_each_letter_has_its_part_of_the_box() -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    fonts = pytest.importorskip("reportlab").__path__[0] + "/fonts/Vera.ttf"
    pdfmetrics.registerFont(TTFont("Vera", fonts))

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Vera", 14)
        canvas.drawString(100, 500, "A speci\ufb01c\u00a0test of soft\u00adness")

    assert parsed(drawn(draw)).text == "A specific test of softness"
