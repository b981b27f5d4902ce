"""Sets the fictional guideline as a PDF: cover, contents, running header and footer, tables, a page in two columns."""

from __future__ import annotations

import html
import io
import os
import re
from datetime import UTC, datetime
from typing import Any

from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import cm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    FrameBreak,
    KeepTogether,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.tableofcontents import TableOfContents

from samples.pieces import FICTION, Piece, pieces

TITLE = "Suspected serious causes of breathlessness and cough in adults"
BODY = "Northvale Institute for Care Standards"
CODE = "NV14"
DATES = ("Published: 14 March 2024", "Last amended: 9 January 2026")
AMENDED = datetime(2026, 1, 9, tzinfo=UTC)

WIDTH, HEIGHT = A4
MARGIN = 2.4 * cm
MEASURE = WIDTH - 2 * MARGIN
GUTTER = 0.8 * cm
INK, RULE, SHADE = colors.HexColor("#17324d"), colors.HexColor("#8aa0b4"), colors.HexColor("#e8eef4")
WARNING = colors.HexColor("#9c2b1f")

PLAIN = ParagraphStyle("plain", fontName="Helvetica", fontSize=10, leading=14, spaceAfter=6)
STYLES = {
    "plain": PLAIN,
    "title": ParagraphStyle("title", PLAIN, fontName="Helvetica-Bold", fontSize=27, leading=33, textColor=INK),
    "cover": ParagraphStyle("cover", PLAIN, fontSize=13, leading=19),
    "notice": ParagraphStyle(
        "notice", PLAIN, fontName="Helvetica-Bold", fontSize=12, leading=17, textColor=WARNING,
        borderColor=WARNING, borderWidth=1.2, borderPadding=9, alignment=TA_CENTER, leftIndent=10, rightIndent=10,
    ),
    "heading1": ParagraphStyle(
        "heading1", PLAIN, fontName="Helvetica-Bold", fontSize=18, leading=23, spaceBefore=14, spaceAfter=10,
        textColor=INK, keepWithNext=1,
    ),
    "heading2": ParagraphStyle(
        "heading2", PLAIN, fontName="Helvetica-Bold", fontSize=13, leading=17, spaceBefore=9, spaceAfter=5,
        textColor=INK, keepWithNext=1,
    ),
    "number": ParagraphStyle("number", PLAIN, leftIndent=1.35 * cm, bulletFontName="Helvetica-Bold"),
    "bullet": ParagraphStyle("bullet", PLAIN, leftIndent=1.85 * cm, bulletIndent=1.35 * cm, spaceAfter=2),
    "loose": ParagraphStyle("loose", PLAIN, leftIndent=0.5 * cm, spaceAfter=2),
    "caption": ParagraphStyle(
        "caption", PLAIN, fontName="Helvetica-Bold", fontSize=10, spaceBefore=4, spaceAfter=5
    ),
    "cell": ParagraphStyle("cell", PLAIN, fontSize=9, leading=11.5, spaceAfter=0),
    "head": ParagraphStyle("head", PLAIN, fontName="Helvetica-Bold", fontSize=9, leading=11.5, spaceAfter=0),
}  # fmt: skip
RULED = TableStyle([
    ("GRID", (0, 0), (-1, -1), 0.6, RULE),
    ("BACKGROUND", (0, 0), (-1, 0), SHADE),
    ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ("TOPPADDING", (0, 0), (-1, -1), 3.5),
    ("BOTTOMPADDING", (0, 0), (-1, -1), 4.5),
])  # fmt: skip


class _Guideline(BaseDocTemplate):
    """Tells the contents page and the outline of each heading as it is set."""

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 - named by reportlab
        level = {"heading1": 0, "heading2": 1}.get(getattr(getattr(flowable, "style", None), "name", ""))
        if level is None:
            return
        key = f"heading-{self.seq.nextf('heading')}"
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(flowable.getPlainText(), key, level, closed=True)
        if level == 0 or flowable.getPlainText()[0].isdigit():
            self.notify("TOCEntry", (level, flowable.getPlainText(), self.page, key))


def guideline_pdf(source: str) -> bytes:
    """The bytes of the PDF, the same each time: no clock, no compression that varies with the machine."""
    os.environ["SOURCE_DATE_EPOCH"] = str(int(AMENDED.timestamp()))  # The date that reportlab writes into the file.
    out = io.BytesIO()
    document = _Guideline(
        out, pagesize=A4, title=TITLE, author=f"{BODY} (fictional)", subject=FICTION, lang="en-GB",
        invariant=1, pageCompression=0, initialFontName="Helvetica",
    )  # fmt: skip
    document.addPageTemplates([
        PageTemplate("cover", [_frame(0, MEASURE, HEIGHT - 6 * cm)], onPage=_footer),
        PageTemplate("one", [_frame(0, MEASURE, HEIGHT - 5 * cm)], onPage=_running),
        PageTemplate("columns", _columns(), onPage=_running),
    ])  # fmt: skip
    document.multiBuild(_cover() + _contents() + _body(source), maxPasses=3)
    return out.getvalue()


def _frame(left: float, width: float, height: float, *, bottom: float = 2.4 * cm) -> Frame:
    return Frame(MARGIN + left, bottom, width, height, leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0)


def _columns() -> list[Frame]:
    """A strip for the heading over two columns."""
    width, strip = (MEASURE - GUTTER) / 2, 1.4 * cm
    height = HEIGHT - 5 * cm - strip
    return [
        _frame(0, MEASURE, strip, bottom=2.4 * cm + height),
        _frame(0, width, height),
        _frame(width + GUTTER, width, height),
    ]


def _footer(canvas: Canvas, document: BaseDocTemplate) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.setFillColor(colors.HexColor("#444444"))
    canvas.drawString(MARGIN, 1.4 * cm, FICTION)
    canvas.drawRightString(WIDTH - MARGIN, 1.4 * cm, f"Page {document.page}")


def _running(canvas: Canvas, document: BaseDocTemplate) -> None:
    _footer(canvas, document)
    canvas.drawString(MARGIN, HEIGHT - 1.5 * cm, f"{TITLE} ({CODE})")
    canvas.drawRightString(WIDTH - MARGIN, HEIGHT - 1.5 * cm, BODY)
    canvas.setStrokeColor(RULE)
    canvas.line(MARGIN, HEIGHT - 1.75 * cm, WIDTH - MARGIN, HEIGHT - 1.75 * cm)


def _cover() -> list[Flowable]:
    return [
        Paragraph(BODY, STYLES["cover"]),
        Spacer(1, 3.2 * cm),
        Paragraph(TITLE, STYLES["title"]),
        Spacer(1, 0.8 * cm),
        Paragraph(f"Clinical guideline {CODE}", STYLES["cover"]),
        *(Paragraph(line, STYLES["cover"]) for line in DATES),
        Spacer(1, 2.5 * cm),
        Paragraph(f"{FICTION} The institute, its committee and its evidence are invented.", STYLES["notice"]),
        NextPageTemplate("one"),
        PageBreak(),
    ]


def _contents() -> list[Flowable]:
    contents = TableOfContents(dotsMinLevel=0)
    contents.levelStyles = [
        ParagraphStyle("contents1", PLAIN, fontName="Helvetica-Bold", spaceBefore=5, spaceAfter=0),
        ParagraphStyle("contents2", PLAIN, leftIndent=0.7 * cm, spaceAfter=0),
    ]
    title = ParagraphStyle("contents", STYLES["heading1"])
    return [Paragraph("Contents", title), contents, PageBreak()]


def _body(source: str) -> list[Flowable]:
    """The flowables of the text; an item of a list stays with the recommendation that opens it."""
    flow: list[Flowable] = []
    previous: Piece | None = None
    for piece in pieces(source):
        if piece.kind == "page":
            flow += [NextPageTemplate(piece.text or "one"), PageBreak()]
        elif piece.kind == "columns":
            flow.append(FrameBreak())
        elif piece.kind == "table":
            flow += _table(piece)
        elif piece.kind == "heading":
            flow.append(Paragraph(_rich(piece.text), STYLES[f"heading{piece.level}"]))
        elif piece.kind == "number":
            flow += [CondPageBreak(1.8 * cm), Paragraph(_rich(piece.text), STYLES["number"], bulletText=piece.label)]
        elif piece.kind == "bullet":
            nested = previous is not None and (
                previous.kind == "number" or getattr(flow[-1], "style", None) is STYLES["bullet"]
            )
            flow.append(Paragraph(_rich(piece.text), STYLES["bullet" if nested else "loose"], bulletText="•"))
        else:
            flow.append(Paragraph(_rich(piece.text), PLAIN))
        if previous is not None and previous.kind == "bullet" and piece.kind not in ("bullet", "page"):
            flow.insert(-2 if piece.kind == "number" else -1, Spacer(1, 4))
        previous = piece
    return flow


def _table(piece: Piece) -> list[Flowable]:
    """A caption and a ruled table whose head is repeated on each page; a short one is kept on one page."""
    cells = [
        [Paragraph(_rich(cell), STYLES["cell" if row else "head"]) for cell in cells]
        for row, cells in enumerate(piece.rows)
    ]
    table = Table(cells, [width * cm for width in piece.widths_cm], repeatRows=1, style=RULED, hAlign="LEFT")
    parts: list[Any] = [Paragraph(_rich(piece.text), STYLES["caption"]), table, Spacer(1, 8)]
    return [KeepTogether(parts)] if len(piece.rows) < 12 else parts


def _rich(text: str) -> str:
    """Marks for reportlab: *bold*, a_2 and a^2."""
    text = html.escape(text, quote=False)
    text = re.sub(r"\*([^*]+)\*", r"<b>\1</b>", text)
    text = re.sub(r"_(\d+)", r'<sub size="7" rise="2">\1</sub>', text)
    return re.sub(r"\^(\d+)", r'<super size="7" rise="4">\1</super>', text)
