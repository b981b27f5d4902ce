"""PDF files become one text: reading order, headings, lists, joined words, dropped furniture."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from citewell.adapters.parsers.pdf import PdfParser
from citewell.types import Document, ParseLimits, Source


def drawn(draw: Callable[[Canvas], None]) -> bytes:
    """A PDF with what `draw` puts on it."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4)
    draw(canvas)
    canvas.save()
    return buffer.getvalue()


def parsed(data: bytes) -> Document:
    return PdfParser().parse(Source(data, "sample.pdf"), media_type="application/pdf", limits=ParseLimits())


def kinds(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def write(canvas: Canvas, x: float, y: float, lines: list[str], *, font: str = "Helvetica", size: float = 10) -> None:
    canvas.setFont(font, size)
    for line in lines:
        canvas.drawString(x, y, line)
        y -= 1.3 * size


def test_headings_paragraphs_and_lists_are_told_apart() -> None:
    def draw(canvas: Canvas) -> None:
        write(canvas, 50, 780, ["1 Care of adults"], font="Helvetica-Bold", size=18)
        write(canvas, 50, 750, ["1.1 Fever"], font="Helvetica-Bold", size=14)
        write(
            canvas, 50, 720, ["Measure the temperature of every adult who feels unwell, and write it down", "at once."]
        )
        write(canvas, 60, 680, ["• under the tongue"])
        write(canvas, 60, 660, ["• in the ear, when the person cannot hold the thermometer between the lips"])
        write(canvas, 70, 647, ["or is confused"])
        write(canvas, 50, 610, ["1.2 Cough"], font="Helvetica-Bold", size=14)
        write(canvas, 50, 580, ["Ask how long it has lasted."])

    document = parsed(drawn(draw))
    assert kinds(document) == [
        ("heading", "1 Care of adults"),
        ("heading", "1.1 Fever"),
        ("paragraph", "Measure the temperature of every adult who feels unwell, and write it down at once."),
        ("list_item", "• under the tongue"),
        ("list_item", "• in the ear, when the person cannot hold the thermometer between the lips or is confused"),
        ("heading", "1.2 Cough"),
        ("paragraph", "Ask how long it has lasted."),
    ]
    assert document.blocks[-1].section == ("1 Care of adults", "1.2 Cough")


def test_a_numbered_recommendation_opens_its_own_block_and_its_items_follow() -> None:
    def draw(canvas: Canvas) -> None:
        write(canvas, 50, 760, ["1.1.1"], size=9)
        write(
            canvas,
            95,
            760,
            ["Refer adults using an urgent pathway for a shadow on the chest if", "they have:"],
            size=11,
        )
        write(canvas, 105, 722, ["• a cough for three weeks or"], size=11)
        write(canvas, 105, 702, ["• blood in the sputum. [2019, amended 2024]"], size=11)
        write(canvas, 50, 676, ["1.1.2"], size=9)
        write(canvas, 95, 676, ["Offer a chest X-ray to adults of 40 and over. [2019]"], size=11)

    assert kinds(parsed(drawn(draw))) == [
        ("paragraph", "1.1.1 Refer adults using an urgent pathway for a shadow on the chest if they have:"),
        ("list_item", "• a cough for three weeks or"),
        ("list_item", "• blood in the sputum. [2019, amended 2024]"),
        ("paragraph", "1.1.2 Offer a chest X-ray to adults of 40 and over. [2019]"),
    ]


def test_two_columns_are_read_one_after_the_other_below_a_title_across_the_page() -> None:
    left = [f"Left column line {number} goes on about one and the same thing" for number in range(1, 9)]
    right = [f"right column line {number} ends what the left column began" for number in range(1, 9)]

    def draw(canvas: Canvas) -> None:
        write(canvas, 50, 790, ["A title that goes across the whole page of two columns"], size=16)
        for number in range(8):
            # Drawn line by line across the page, as some writers do: only the places tell the columns.
            write(canvas, 50, 750 - 12 * number, [left[number]], size=9)
            write(canvas, 310, 750 - 12 * number, [right[number]], size=9)

    assert kinds(parsed(drawn(draw))) == [
        ("heading", "A title that goes across the whole page of two columns"),
        ("paragraph", " ".join(left + right)),
    ]


def test_running_heads_and_page_numbers_are_dropped_and_sentences_run_on() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(1, 5):
            write(canvas, 50, 815, ["A guideline about something"], size=8)
            write(canvas, 280, 20, [f"Page {number} of 4"], size=8)
            write(canvas, 50, 700, [f"This is what page {number} says, in a sentence that does not end but goes"])
            if number < 4:
                write(canvas, 50, 687, ["over to the next one, where it is continued after the break and so on and"])
            canvas.showPage()

    document = parsed(drawn(draw))
    assert "Page" not in document.text
    assert "guideline about" not in document.text
    assert [page.number for page in document.layout.pages] == [1, 2, 3, 4]
    spans = [(page.start, page.end) for page in document.layout.pages]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(document.text)
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert [document.text[start : start + 22] for start, _ in spans] == [
        "This is what page " + f"{n} sa" for n in range(1, 5)
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["The recom-", "mendation stands."], "The recommendation stands."),
        (["An evidence-", "based rule. It is based on evidence."], "An evidence-based rule. It is based on evidence."),
        (["A non-urgent case. A non-", "urgent case."], "A non-urgent case. A non-urgent case."),
        (["Vitamin B-", "12 is low."], "Vitamin B-12 is low."),
        (["Give 2–", "3 tablets and/", "or water."], "Give 2–3 tablets and/or water."),
        (["A pause -", "then more."], "A pause - then more."),
    ],
)
def test_words_divided_at_the_end_of_a_line_are_joined_and_real_hyphens_kept(lines: list[str], expected: str) -> None:
    filler = "This line is long enough to show where the right edge of the column is, or nearly so"
    document = parsed(drawn(lambda canvas: write(canvas, 50, 700, [filler, *lines])))
    assert document.text == f"{filler} {expected}"


def test_raised_figures_stay_apart_from_the_number_before_them() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 12)
        canvas.drawString(50, 700, "A count of 2 × 10")
        canvas.setFont("Helvetica", 7)
        canvas.drawString(50 + canvas.stringWidth("A count of 2 × 10", "Helvetica", 12), 705, "9")
        canvas.setFont("Helvetica", 12)
        canvas.drawString(50 + canvas.stringWidth("A count of 2 × 10", "Helvetica", 12) + 4, 700, "/L is low.")

    assert parsed(drawn(draw)).text == "A count of 2 × 10⁹/L is low."


def test_a_bullet_that_is_drawn_counts_as_one_that_is_set() -> None:
    def draw(canvas: Canvas) -> None:
        write(canvas, 50, 700, ["Offer:"])
        for y, text in ((680, "water"), (660, "rest")):
            canvas.circle(54, y + 3, 2, stroke=0, fill=1)
            write(canvas, 64, y, [text])

    assert kinds(parsed(drawn(draw))) == [("paragraph", "Offer:"), ("list_item", "• water"), ("list_item", "• rest")]


def test_the_file_says_what_it_is() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setTitle("Fever in adults")
        canvas.setAuthor("The Fictional Institute")
        write(canvas, 50, 700, ["Text."])

    document = parsed(drawn(draw))
    assert document.title == "Fever in adults"
    assert document.metadata.publisher == "The Fictional Institute"
    assert document.metadata.published is not None
    assert document.metadata.published >= date(2000, 1, 1)


def test_without_a_sensible_title_the_largest_type_of_the_first_page_is_taken() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setTitle("Microsoft Word - final2.docx")
        write(canvas, 50, 780, ["A small line over the title"])
        write(canvas, 50, 700, ["Fever in adults"], size=24)
        write(canvas, 50, 600, ["Some words of text under it."])

    assert parsed(drawn(draw)).title == "Fever in adults"


def test_bookmarks_name_headings_that_look_like_text() -> None:
    def draw(canvas: Canvas) -> None:
        for number, title in enumerate(("Care", "Dose", "Time")):
            canvas.bookmarkPage(title)
            canvas.addOutlineEntry(title, title, level=min(number, 1))
            write(canvas, 50, 750 - 80 * number, [title])
            write(canvas, 50, 725 - 80 * number, [f"What is to be said about {title.lower()}."])

    document = parsed(drawn(draw))
    assert [block.section for block in document.blocks if block.kind == "heading"] == [
        ("Care",),
        ("Care", "Dose"),
        ("Care", "Time"),
    ]


def test_words_of_two_styles_that_touch_are_parted_and_a_bold_letter_in_a_word_is_not() -> None:
    def draw(canvas: Canvas) -> None:
        x = 50.0
        for text, font in (
            ("A lump", "Helvetica-Bold"),
            ("consistent with Self ", "Helvetica"),
            ("m", "Helvetica-Bold"),
        ):
            canvas.setFont(font, 12)
            canvas.drawString(x, 700, text)
            x += canvas.stringWidth(text, font, 12)
        canvas.setFont("Helvetica", 12)
        canvas.drawString(x, 700, "onitoring")

    assert parsed(drawn(draw)).text == "A lump consistent with Self monitoring"
