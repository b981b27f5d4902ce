"""Makes a PDF of a photograph or scan, so that it is read and shown like any other paper."""

from __future__ import annotations

import io
import time

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from citewell.errors import DamagedFile, TooLarge
from citewell.types import Source

SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
"""PNG, JPEG, TIFF."""
DOTS_PER_INCH = 200
MAX_PIXELS = 60_000_000
MAX_PIXELS_TOGETHER = 240_000_000
"""Of all pages of a TIFF: some sixty as 200 dots per inch make of a sheet of A4, or some twenty-five of 300."""
MAX_FRAMES = 50
MOST_DEGREES, LEAST_DEGREES = 15, 0.5
"""A page that lies farther askew, or on its side, has to be turned by hand; less than the least disturbs nobody."""
LOOKED_AT_PX = 700
MOST_INK = 127
"""What is mostly dark is no page."""
CLEARLY = 1.3
"""How much sharper the lines must get before a page is turned: a photograph of no text has none."""
TOO_LARGE = "The picture is too large to read. Save it smaller, or as several pictures, and add that."
NO_TIME = time.gmtime(0)
"""The same picture makes the same PDF, so that it is known again; nothing of where and when it was taken is kept."""


def is_picture(source: Source) -> bool:
    """Whether a file is a picture that can be read."""
    return source.data.startswith(SIGNATURES)


def as_pdf(source: Source) -> Source:
    """The picture on a page of its own, upright; of a TIFF every page."""
    try:
        with Image.open(io.BytesIO(source.data), formats=("PNG", "JPEG", "TIFF")) as picture:
            data = _written(picture, _measured(picture))
    except Image.DecompressionBombError as error:
        raise TooLarge(TOO_LARGE) from error
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError) as error:
        raise DamagedFile("The picture is damaged or incomplete. Take or save it again, and add that.") from error
    return Source(data, f"{source.name}.pdf")


def _measured(picture: Image.Image) -> int:
    """How many pages it has, once all of them are known to be small enough; none is unpacked for that."""
    together = 0
    for number in range(MAX_FRAMES + 1):
        try:
            picture.seek(number)
        except EOFError:
            return number
        pixels = picture.width * picture.height
        together += pixels
        if pixels > MAX_PIXELS or together > MAX_PIXELS_TOGETHER:
            raise TooLarge(TOO_LARGE)
        if picture.format != "TIFF":
            return 1
    raise TooLarge(TOO_LARGE)


def _written(picture: Image.Image, count: int) -> bytes:
    """Its pages as a PDF, each unpacked once the one before is written: only one is ever held."""
    written = io.BytesIO()
    for number in range(count):
        _page(picture, number).save(
            written,
            "PDF",
            resolution=DOTS_PER_INCH,
            quality=92,
            append=number > 0,
            creationDate=NO_TIME,
            modDate=NO_TIME,
        )
    return written.getvalue()


def _page(picture: Image.Image, number: int) -> Image.Image:
    """One frame, turned upright and straight, on white where it is see-through."""
    picture.seek(number)
    upright = ImageOps.exif_transpose(picture)
    if upright.mode not in ("RGBA", "LA", "PA", "P"):
        return _straight(upright.convert("RGB"))
    clear = upright.convert("RGBA")
    page = Image.new("RGB", clear.size, "white")
    page.paste(clear, mask=clear.getchannel("A"))
    return _straight(page)


def _straight(page: Image.Image) -> Image.Image:
    """A page whose lines run level: one that was laid askew on the glass is turned back, any other stays as it is."""
    angle = slant(page)
    if abs(angle) < LEAST_DEGREES:
        return page
    return page.rotate(-angle, Image.Resampling.BICUBIC, expand=True, fillcolor="white")


def slant(page: Image.Image) -> float:
    """How many degrees the lines of a page rise from left to right: level ink differs most from the gaps."""
    small = ImageOps.invert(ImageOps.autocontrast(page.convert("L")))
    small.thumbnail((LOOKED_AT_PX, LOOKED_AT_PX))
    if np.median(np.asarray(small)) > MOST_INK:
        return 0.0

    def sharpness(angle: float) -> float:
        turned = np.asarray(small.rotate(-angle, Image.Resampling.BILINEAR, fillcolor=0), dtype=np.float64)
        return float(np.square(np.diff(turned.sum(axis=1))).sum())

    level = sharpness(0.0)
    coarse = max(np.arange(-MOST_DEGREES, MOST_DEGREES + 1, 1.0).tolist(), key=sharpness)
    fine = max(np.arange(coarse - 0.8, coarse + 0.9, 0.2).tolist(), key=sharpness)
    return fine if sharpness(fine) > CLEARLY * level else 0.0
