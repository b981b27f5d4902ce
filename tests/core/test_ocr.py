"""Pages that are pictures of text are read by OCR."""

from __future__ import annotations

import io
import re

import pypdfium2 as pdfium
import pytest
from reportlab.lib.pagesizes import A5
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from citewell.adapters.parsers.ocr import is_installed
from citewell.adapters.parsers.pdf import PdfParser
from citewell.types import ParseLimits, Source

LINES = ["Haemoglobin 93 g/L is low", "Potassium 4.1 mmol/L is normal"]


def scan() -> bytes:
    """A page of text as a picture."""
    text = io.BytesIO()
    canvas = Canvas(text, pagesize=A5)
    canvas.setFont("Helvetica", 16)
    canvas.drawString(60, 400, LINES[0])
    canvas.drawString(60, 300, LINES[1])
    canvas.save()
    document = pdfium.PdfDocument(text.getvalue())
    page = document[0]
    image = page.render(scale=200 / 72).to_pil()
    page.close()
    document.close()
    picture = io.BytesIO()
    canvas = Canvas(picture, pagesize=A5)
    canvas.drawImage(ImageReader(image), 0, 0, *A5)
    canvas.save()
    return picture.getvalue()


@pytest.mark.slow
def test_a_scanned_page_is_read_with_the_place_of_every_word() -> None:
    if not is_installed():
        pytest.skip("the OCR extra is not installed")
    document = PdfParser().parse(Source(scan(), "scan.pdf"), media_type="application/pdf", limits=ParseLimits())
    assert document.text == "\n\n".join(LINES)
    (note,) = document.notes
    assert re.fullmatch(
        r"Page 1 was read by OCR \((?:[5-9]\d|100)% confidence\)\. Check numbers against the page\.", note
    )
    start = document.text.index("Potassium")
    (box,) = document.layout.boxes(start, start + len("Potassium"))
    assert box.left == pytest.approx(60, abs=6)
    assert box.top < A5[1] - 300 < box.bottom
