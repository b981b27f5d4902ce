"""Pages are drawn as PNG."""

from __future__ import annotations

import io
import threading

import numpy as np
import pytest
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from citewell.adapters.parsers.pdf_image import png, render_page
from citewell.errors import NotFound


def black_square() -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4)
    canvas.rect(0, A4[1] - 100, 100, 100, stroke=0, fill=1)
    canvas.save()
    return buffer.getvalue()


def test_a_page_is_drawn_as_wide_as_asked() -> None:
    image = Image.open(io.BytesIO(render_page(black_square(), 1, width_px=595)))
    assert (image.width, image.format) == (595, "PNG")
    assert image.getpixel((50, 50)) == (0, 0, 0)
    assert image.getpixel((300, 300)) == (255, 255, 255)


def test_a_page_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(NotFound, match="There is no page 2"):
        render_page(black_square(), 2, width_px=100)


def test_the_image_keeps_every_pixel() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png(pixels)))), pixels)


def test_several_threads_may_draw_at_once() -> None:
    data, drawn = black_square(), []
    threads = [threading.Thread(target=lambda: drawn.append(render_page(data, 1, width_px=80))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drawn == [drawn[0]] * 8
