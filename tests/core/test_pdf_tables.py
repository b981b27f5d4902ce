"""Tables in PDF files become one block per row, each value after the name of its column."""

from __future__ import annotations

import io
from collections.abc import Callable

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from citewell.adapters.parsers.pdf import PdfParser
from citewell.types import Document, ParseLimits, Source

GRID = [("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("FONT", (0, 0), (-1, 0), "Helvetica-Bold")]


def parsed(data: bytes) -> Document:
    return PdfParser().parse(Source(data, "sample.pdf"), media_type="application/pdf", limits=ParseLimits())


def rows(document: Document) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks if block.kind == "table_row"]


def built(*parts: object) -> bytes:
    buffer = io.BytesIO()
    SimpleDocTemplate(buffer, pagesize=A4).build(list(parts))
    return buffer.getvalue()


def drawn(draw: Callable[[Canvas], None]) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4)
    draw(canvas)
    canvas.save()
    return buffer.getvalue()


def cell(text: str) -> Paragraph:
    return Paragraph(text, getSampleStyleSheet()["BodyText"])


def test_each_row_names_its_columns_and_leaves_out_empty_cells() -> None:
    table = Table(
        [
            ["Symptom", "Possible cause", "What to do"],
            ["Cough", "Cold", cell("Wait for a week, then look at the chest and the throat")],
            ["Fever", "", "Measure"],
        ],
        colWidths=[100, 100, 150],
        style=TableStyle(GRID),
    )
    document = parsed(built(cell("Before the table."), table, cell("After the table.")))
    assert rows(document) == [
        "Symptom: Cough; Possible cause: Cold; What to do: Wait for a week, then look at the chest and the throat",
        "Symptom: Fever; What to do: Measure",
    ]
    assert document.text.count("Wait for a week") == 1
    assert [block.kind for block in document.blocks] == ["paragraph", "table_row", "table_row", "paragraph"]


def test_a_table_across_pages_repeats_its_header_in_every_row() -> None:
    body = [[f"Drug {number}", f"{number} mg"] for number in range(1, 81)]
    table = Table([["Name", "Dose"], *body], colWidths=[150, 150], style=TableStyle(GRID))
    document = parsed(built(table))
    assert rows(document) == [f"Name: Drug {number}; Dose: {number} mg" for number in range(1, 81)]
    assert {block.page for block in document.blocks} == {1, 2, 3}


def test_a_header_printed_again_on_the_next_page_is_not_a_row() -> None:
    body = [[f"Drug {number}", f"{number} mg", "daily"] for number in range(1, 61)]
    table = Table([["Name", "Dose", "How often"], *body], colWidths=[120] * 3, style=TableStyle(GRID), repeatRows=1)
    document = parsed(built(table))
    assert rows(document) == [f"Name: Drug {number}; Dose: {number} mg; How often: daily" for number in range(1, 61)]


def test_a_cell_across_all_columns_is_a_title_for_the_rows_below_it() -> None:
    style = TableStyle([*GRID, ("SPAN", (0, 1), (-1, 1)), ("SPAN", (0, 3), (-1, 3))])
    table = Table(
        [["Drug", "Dose"], ["Adults", ""], ["Aspirin", "300 mg"], ["Children", ""], ["Aspirin", "none"]],
        colWidths=[150, 150],
        style=style,
    )
    assert rows(parsed(built(table))) == ["Adults; Drug: Aspirin; Dose: 300 mg", "Children; Drug: Aspirin; Dose: none"]


def test_a_header_in_two_rows_names_both_and_a_tall_cell_is_repeated() -> None:
    style = TableStyle(
        [
            *GRID,
            ("FONT", (0, 1), (-1, 1), "Helvetica-Bold"),
            ("SPAN", (1, 0), (2, 0)),
            ("SPAN", (0, 0), (0, 1)),
            ("SPAN", (0, 2), (0, 3)),
        ]
    )
    table = Table(
        [["Group", "Dose", ""], ["", "Low", "High"], ["Adults", "1 mg", "2 mg"], ["", "3 mg", "4 mg"]],
        colWidths=[120] * 3,
        style=style,
    )
    assert rows(parsed(built(table))) == [
        "Group: Adults; Dose – Low: 1 mg; Dose – High: 2 mg",
        "Group: Adults; Dose – Low: 3 mg; Dose – High: 4 mg",
    ]


def test_two_columns_without_a_header_are_names_and_values() -> None:
    table = Table(
        [["Effect:", "The drug acts for longer."], ["Advice:", "Give half."]],
        colWidths=[80, 250],
        style=TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)]),
    )
    assert rows(parsed(built(table))) == ["Effect: The drug acts for longer.", "Advice: Give half."]


def test_a_table_with_only_a_coloured_header_is_found() -> None:
    def draw(canvas: Canvas) -> None:
        for left, title in ((50, "Outcome"), (200, "Result"), (350, "Certainty")):
            canvas.setFillColorRGB(0.3, 0.6, 0.6)
            canvas.rect(left, 700, 150, 20, stroke=0, fill=1)
            canvas.setFillColorRGB(1, 1, 1)
            canvas.setFont("Helvetica-Bold", 10)
            canvas.drawString(left + 5, 706, title)
        canvas.setFillColorRGB(0, 0, 0)
        canvas.setFont("Helvetica", 10)
        for top, cells in (
            (685, ("Deaths", "2 of 100", "low")),
            (673, ("", "in 3 trials", "")),
            (650, ("Falls", "none", "high")),
        ):
            for left, text in zip((55, 205, 355), cells, strict=True):
                canvas.drawString(left, top, text)
        canvas.drawString(
            50, 610, "A line of text under the table that passes over the edges of all of its columns, as text does."
        )

    assert rows(parsed(drawn(draw))) == [
        "Outcome: Deaths; Result: 2 of 100 in 3 trials; Certainty: low",
        "Outcome: Falls; Result: none; Certainty: high",
    ]


def test_a_frame_round_text_is_not_a_table() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.rect(40, 600, 400, 120)
        canvas.setFont("Helvetica", 10)
        canvas.drawString(50, 700, "A recommendation in a box.")

    document = parsed(drawn(draw))
    assert [(block.kind, document.text[block.start : block.end]) for block in document.blocks] == [
        ("paragraph", "A recommendation in a box.")
    ]


def test_the_words_of_a_header_have_a_place_once_and_are_only_repeated_after_that() -> None:
    table = Table(
        [["Name", "Dose"], ["Aspirin", "1 mg"], ["Codeine", "2 mg"]], style=TableStyle(GRID), colWidths=[100, 100]
    )
    document = parsed(built(table))
    starts = [place for place in range(len(document.text)) if document.text.startswith("Dose", place)]
    assert [len(document.layout.boxes(start, start + 4)) for start in starts] == [1, 0]


def test_values_set_under_one_another_in_a_cell_are_set_apart_and_a_wrapped_sentence_is_not() -> None:
    table = Table(
        [
            ["Test", "Result", "Advice"],
            ["Sodium\nPotassium", "141\n4.1", cell("Repeat the test within 2 weeks if the person feels unwell")],
        ],
        colWidths=[100, 60, 110],
        style=TableStyle(GRID),
    )
    assert rows(parsed(built(table))) == [
        "Test: Sodium Potassium; Result: 141, 4.1; Advice: Repeat the test within 2 weeks if the person feels unwell"
    ]


def test_a_table_with_level_lines_alone_is_found_by_where_their_pieces_meet() -> None:
    def draw(canvas: Canvas) -> None:
        for height in (700, 680, 640, 620):
            for left, right in ((50, 150), (150, 260), (260, 500)):
                canvas.line(left, height, right, height)
        rows_drawn = (
            (686, ("Topic", "Grade", "Advice"), "Helvetica-Bold"),
            (666, ("Iron", "low", "Give iron to adults who are short of"), "Helvetica"),
            (652, ("", "", "iron."), "Helvetica"),
            (626, ("Zinc", "high", "Give none."), "Helvetica"),
        )
        for height, cells, font in rows_drawn:
            canvas.setFont(font, 10)
            for left, text in zip((55, 155, 265), cells, strict=True):
                canvas.drawString(left, height, text)

    assert rows(parsed(drawn(draw))) == [
        "Topic: Iron; Grade: low; Advice: Give iron to adults who are short of iron.",
        "Topic: Zinc; Grade: high; Advice: Give none.",
    ]
