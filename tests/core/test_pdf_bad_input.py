"""A PDF that cannot be read is refused with an error that says what to do."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from citewell.adapters.parsers import pdf_scans
from citewell.adapters.parsers.pdf import PdfParser
from citewell.errors import DamagedFile, EmptyFile, EncryptedFile, InputError, TooLarge
from citewell.types import Document, ParseLimits, Source


def drawn(draw: Callable[[Canvas], None], encrypt: StandardEncryption | None = None) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, encrypt=encrypt)
    draw(canvas)
    canvas.save()
    return buffer.getvalue()


def words(canvas: Canvas) -> None:
    canvas.drawString(50, 700, "Some words of text, enough to be read.")


def parsed(data: bytes, limits: ParseLimits | None = None) -> Document:
    return PdfParser().parse(Source(data, "sample.pdf"), media_type="application/pdf", limits=limits or ParseLimits())


GOOD = drawn(words)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", EmptyFile),
        (b"\0" * 1000, EmptyFile),
        (b"%PDF-1.7\n" + bytes(range(256)) * 40, DamagedFile),
        (b"%PDF-1.7\n%%EOF\n", DamagedFile),
        (GOOD[: len(GOOD) // 2], DamagedFile),
        (GOOD[:-60], DamagedFile),
        (drawn(lambda canvas: canvas.showPage()), EmptyFile),
    ],
    ids=["empty", "zeros", "garbage", "nothing inside", "half", "cut near the end", "blank page"],
)
def test_a_file_without_anything_to_read_is_refused(data: bytes, error: type[InputError]) -> None:
    with pytest.raises(error) as caught:
        parsed(data)
    assert str(caught.value).endswith(("again.", "file."))


def test_a_password_is_asked_for() -> None:
    with pytest.raises(EncryptedFile, match="password"):
        parsed(drawn(words, StandardEncryption("secret", ownerPassword="owner", canPrint=0)))


def test_a_file_that_opens_without_a_password_is_read_though_it_is_encrypted() -> None:
    document = parsed(drawn(words, StandardEncryption("", ownerPassword="owner", canPrint=0)))
    assert document.text == "Some words of text, enough to be read."


def test_too_many_pages_are_refused_before_any_is_read() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(2_000):
            canvas.drawString(50, 700, f"Page {number}")
            canvas.showPage()

    with pytest.raises(TooLarge, match="2000 pages and the limit is 1500"):
        parsed(drawn(draw))


def test_too_many_characters_are_refused() -> None:
    with pytest.raises(TooLarge, match="character limit"):
        parsed(GOOD, ParseLimits(max_characters=20))


def test_bytes_after_the_end_do_no_harm() -> None:
    assert parsed(GOOD + b"\0" * 500).text == "Some words of text, enough to be read."


def test_pictures_of_text_need_the_ocr_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_scans, "is_installed", lambda: False)
    with pytest.raises(EmptyFile, match=r"pip install 'citewell\[ocr\]'"):
        parsed(drawn(picture))


def test_without_the_extra_a_scanned_page_among_others_is_noted_and_the_rest_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pdf_scans, "is_installed", lambda: False)

    def draw(canvas: Canvas) -> None:
        words(canvas)
        canvas.showPage()
        picture(canvas)
        canvas.showPage()
        words(canvas)

    document = parsed(drawn(draw))
    assert document.notes == (
        "Page 2 was not read: images of text, or a font without letters. To read them, pip install 'citewell[ocr]'.",
    )
    assert [page.number for page in document.layout.pages] == [1, 2, 3]


def picture(canvas: Canvas) -> None:
    """A page that is one picture."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    canvas.drawImage(ImageReader(Image.new("L", (60, 80), 200)), 0, 0, *A4)


def test_a_page_whose_font_hides_its_letters_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_scans, "is_installed", lambda: False)
    with pytest.raises(EmptyFile, match="ocr"):
        parsed(hidden_letters())


def hidden_letters() -> bytes:
    """A page of glyphs that are drawings with names that mean nothing."""
    glyph = b"500 0 0 0 400 400 d1 0 0 400 400 re f"
    text = b"BT /F1 12 Tf 50 700 Td <" + b"01" * 60 + b"> Tj ET"
    font = (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 500 500] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 1"
        b" /LastChar 1 /Widths [500] /Encoding << /Type /Encoding /Differences [1 /thing] >>"
        b" /CharProcs << /thing 6 0 R >> >>"
    )
    page = b"/MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >>"
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R %s >>" % page,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        font,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(glyph), glyph),
    ]
    data = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(bodies, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return data + end % (len(bodies) + 1, table, len(bodies) + 1, len(data))
