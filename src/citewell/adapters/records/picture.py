"""Makes a one-page PDF of a photograph or scan, so that it is read and shown like any other paper."""

from __future__ import annotations

import io
import time

from PIL import Image, ImageOps, UnidentifiedImageError

from citewell.errors import DamagedFile, TooLarge
from citewell.types import Source

SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
"""PNG, JPEG, TIFF."""
DOTS_PER_INCH = 200
MAX_PIXELS = 60_000_000
MAX_FRAMES = 50
NO_TIME = time.gmtime(0)
"""The same picture makes the same PDF, so that it is known again; nothing of where and when it was taken is kept."""


def is_picture(source: Source) -> bool:
    """Whether a file is a picture that can be read."""
    return source.data.startswith(SIGNATURES)


def as_pdf(source: Source) -> Source:
    """The picture on a page of its own, upright; of a TIFF every page."""
    try:
        with Image.open(io.BytesIO(source.data), formats=("PNG", "JPEG", "TIFF")) as picture:
            count = getattr(picture, "n_frames", 1)
            if picture.width * picture.height > MAX_PIXELS or count > MAX_FRAMES:
                raise TooLarge("The picture is too large to be read. Save it smaller, or as several, and add that.")
            pages = [_page(picture, number) for number in range(count)]
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError) as error:
        raise DamagedFile("The picture is damaged or cut short. Take or save it again, and add that.") from error
    written = io.BytesIO()
    pages[0].save(
        written,
        "PDF",
        resolution=DOTS_PER_INCH,
        quality=92,
        save_all=True,
        append_images=pages[1:],
        creationDate=NO_TIME,
        modDate=NO_TIME,
    )
    return Source(written.getvalue(), f"{source.name}.pdf")


def _page(picture: Image.Image, number: int) -> Image.Image:
    """One frame, turned upright, on white where it is see-through."""
    picture.seek(number)
    upright = ImageOps.exif_transpose(picture)
    if upright.mode not in ("RGBA", "LA", "PA", "P"):
        return upright.convert("RGB")
    clear = upright.convert("RGBA")
    page = Image.new("RGB", clear.size, "white")
    page.paste(clear, mask=clear.getchannel("A"))
    return page
