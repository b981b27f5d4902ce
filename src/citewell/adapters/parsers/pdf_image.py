"""Opens PDF files with pdfium, one thread at a time, and draws their pages as PNG."""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from citewell.adapters.parsers.pdf_forms import refuse_endless
from citewell.errors import DamagedFile, EmptyFile, EncryptedFile, NotFound

PDFIUM_LOCK = threading.RLock()
"""pdfium is not thread-safe: whoever calls it, in any file, holds this lock."""

MAX_SIDE_PX = 8_000
"""A page of odd proportions must not ask for gigabytes of pixels."""

Pixels = NDArray[np.uint8]
"""Rows, columns, red-green-blue."""


@contextmanager
def opened(data: bytes) -> Iterator[pdfium.PdfDocument]:
    """A PDF held open, or an InputError; whoever calls the document holds PDFIUM_LOCK."""
    if not data.strip(b"\0 \t\r\n"):
        raise EmptyFile("The file is empty. Export or download it again.")
    with PDFIUM_LOCK:
        try:
            document = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            if error.err_code == pdfium_c.FPDF_ERR_PASSWORD:
                raise EncryptedFile(
                    "The PDF is password-protected. Save a copy without a password and add that."
                ) from None
            if error.err_code == pdfium_c.FPDF_ERR_SECURITY:
                raise EncryptedFile(
                    "The PDF is locked in a way that cannot be opened. Save an unlocked copy and add that."
                ) from None
            raise DamagedFile(
                "The PDF could not be opened because it is incomplete or damaged. Download or export it again."
            ) from None
    try:
        yield document
    finally:
        with PDFIUM_LOCK:
            document.close()


def render_page(data: bytes, number: int, *, width_px: int) -> bytes:
    """Page `number` (from 1) as a PNG image of that width."""
    refuse_endless(data, page=max(1, number))
    with opened(data) as document, PDFIUM_LOCK:
        if not 1 <= number <= len(document):
            raise NotFound(f"There is no page {number}. The document has {len(document)} pages.")
        page = document[number - 1]
        try:
            width = page.get_width()
            if not width or not page.get_height():
                raise NotFound(f"Page {number} has no size, so it cannot be shown.")
            return png(page_pixels(page, scale=width_px / width))
        finally:
            page.close()


def page_pixels(page: pdfium.PdfPage, *, scale: float) -> Pixels:
    """The page as it is seen, at `scale` pixels per point; the caller holds PDFIUM_LOCK."""
    longest = max(page.get_size())
    bitmap = page.render(scale=min(scale, MAX_SIDE_PX / longest), rev_byteorder=True)
    try:
        pixels: Pixels = bitmap.to_numpy()
        if pixels.ndim == 2:
            pixels = np.repeat(pixels[:, :, None], 3, axis=2)
        return np.ascontiguousarray(pixels[:, :, :3])
    finally:
        bitmap.close()


def png(pixels: Pixels) -> bytes:
    """The pixels as a PNG file.

    >>> png(np.zeros((1, 1, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width, _ = pixels.shape
    # Each row is preceded by its filter: 2 (“up”) packs pages of text well and costs one subtraction.
    above = np.vstack([np.zeros((1, width * 3), np.uint8), pixels.reshape(height, width * 3)[:-1]])
    rows = np.empty((height, width * 3 + 1), np.uint8)
    rows[:, 0] = 2
    np.subtract(pixels.reshape(height, width * 3), above, out=rows[:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 6)
    parts = _png_chunk(b"IHDR", header), _png_chunk(b"IDAT", body), _png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
