"""Photographs and scans of papers are read like any other paper, and known again."""

from __future__ import annotations

import io
import weakref

import pypdfium2
import pytest
from PIL import Image, ImageDraw, ImageFont, TiffImagePlugin

from citewell.adapters.parsers.ocr import is_installed
from citewell.adapters.records import photo_to_pdf as picture
from citewell.adapters.records.photo_to_pdf import as_pdf, is_picture, slant
from citewell.app import App
from citewell.errors import DamagedFile, TooLarge
from citewell.types import Source
from citewell.vaults.health_record import Record

pytestmark = pytest.mark.slow


def letter(kind: str, *, degrees: float = 0) -> Source:
    """A picture of two lines of text."""
    photo = Image.new("RGB", (1200, 500), "white")
    font = ImageFont.load_default(40)
    ImageDraw.Draw(photo).text((80, 100), "Please take warfarin 5 mg every evening.", font=font, fill="black")
    ImageDraw.Draw(photo).text((80, 260), "Your next blood test is on 12 May 2025.", font=font, fill="black")
    written = io.BytesIO()
    photo.rotate(degrees, fillcolor="white", expand=True).save(written, kind)
    return Source(written.getvalue(), f"photo.{kind.lower()}")


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="the OCR extra is not installed")
def test_a_photograph_at_an_angle_is_read_and_known_again(app: App) -> None:
    record = Record(app)
    source = letter("JPEG", degrees=4)
    first, again = record.import_source(source).added, record.import_source(source).added
    assert first is not None
    assert again is not None
    text = app.library.opened(first.entry.id, record.scope)[1].text
    assert "warfarin 5 mg every evening" in text
    assert "12 May 2025" in text
    assert (again.was_there, again.entry.id, first.entry.name) == (True, first.entry.id, "photo.jpeg.pdf")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF"])
def test_the_same_picture_makes_the_same_page(kind: str) -> None:
    source = letter(kind)
    assert is_picture(source)
    assert as_pdf(source) == as_pdf(source)
    assert as_pdf(source).data.startswith(b"%PDF-")


def test_where_and_when_it_was_taken_is_not_kept() -> None:
    photo, exif = Image.new("RGB", (60, 40)), Image.Exif()
    exif[0x010F] = "Secretcamera"
    exif[0x0112] = 6  # it lies on its side
    written = io.BytesIO()
    photo.save(written, "JPEG", exif=exif)
    assert b"Secretcamera" in written.getvalue()
    page = as_pdf(Source(written.getvalue(), "photo.jpg")).data
    assert b"Secretcamera" not in page
    assert b"/Width 40" in page  # it stands upright


def test_what_is_no_whole_picture_is_refused(app: App) -> None:
    record, whole = Record(app), letter("PNG").data
    for data in (whole[:200], whole[: len(whole) // 2], b"\xff\xd8\xff\xe0nothing"):
        with pytest.raises(DamagedFile, match="damaged or incomplete"):
            record.import_source(Source(data, "photo.png"))
    assert app.entries() == []


def test_a_picture_that_unfolds_to_too_much_is_refused() -> None:
    for size in ((10_000, 8_000), (20_000, 9_000)):
        written = io.BytesIO()
        Image.new("1", size).save(written, "PNG")
        with pytest.raises(TooLarge):
            as_pdf(Source(written.getvalue(), "bomb.png"))


def pages(*sizes: tuple[int, int]) -> Source:
    """A TIFF with a page of each size."""
    first, *others = (Image.new("1", size, 1) for size in sizes)
    written = io.BytesIO()
    first.save(written, "TIFF", compression="group4", save_all=True, append_images=others)
    return Source(written.getvalue(), "scan.tif")


def test_the_pages_of_a_scan_are_measured_one_and_all_before_any_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MAX_PIXELS_TOGETHER", 40_000)
    assert len(pypdfium2.PdfDocument(as_pdf(pages(*[(100, 100)] * 4)).data)) == 4
    monkeypatch.setattr(TiffImagePlugin.TiffImageFile, "load", lambda _file: pytest.fail("it was unpacked"))
    for sizes in ([(100, 100)] * 5, [(10, 10), (10_000, 6_001)], [(10, 10)] * 51):
        with pytest.raises(TooLarge):
            as_pdf(pages(*sizes))


def test_one_page_of_a_scan_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[weakref.ref[Image.Image]] = []
    page = picture._page

    def counted(scan: Image.Image, number: int) -> Image.Image:
        assert [one for one in held if one() is not None] == []
        made = page(scan, number)
        held.append(weakref.ref(made))
        return made

    monkeypatch.setattr(picture, "_page", counted)
    sizes = [(100, 40), (200, 40), (300, 40)]
    scan = pypdfium2.PdfDocument(as_pdf(pages(*sizes)).data)
    assert (len(held), [round(one.get_width() * 200 / 72) for one in scan]) == (3, [100, 200, 300])


def test_a_letter_is_no_picture() -> None:
    assert not is_picture(Source(b"Dear Ann", "letter.png"))


@pytest.mark.parametrize("degrees", [0, 3, -7, 12])
def test_a_scan_that_was_laid_askew_is_turned_back(degrees: int) -> None:
    page = Image.new("RGB", (900, 700), "white")
    for line in range(8):
        ImageDraw.Draw(page).rectangle((100, 80 + 70 * line, 500 + 30 * (line % 4), 100 + 70 * line), fill="black")
    turned = page.rotate(degrees, expand=True, fillcolor="white")
    assert slant(turned) == pytest.approx(degrees, abs=0.4)
