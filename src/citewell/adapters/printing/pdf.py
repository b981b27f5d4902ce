"""Prints a note as PDF with reportlab: one typeface that is inside the package, page numbers, nothing else."""

from __future__ import annotations

from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape

from citewell.errors import MissingExtra

MARGIN = 56
SIZE = 9.5
FACES = {"Note": "Vera.ttf", "Note-Bold": "VeraBd.ttf"}
SPOKEN = str.maketrans(
    {"›": ">", "−": "-", "–": "-", "—": "-", "×": "x", "÷": "/", "“": '"', "”": '"', "≥": ">=", "≤": "<="}
)
"""What the typeface lacks is written with what it has."""


def print_note(text: str, *, title: str) -> bytes:
    """The note as PDF; lines in capitals are headings, indented lines stay indented."""
    try:
        from reportlab.lib.pagesizes import A4
        from reportlab.lib.styles import ParagraphStyle
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFont
        from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer
    except ImportError as error:
        raise MissingExtra("PDF export needs reportlab: `pip install citewell[pdf]`, or export as .txt.") from error
    for name, file in FACES.items():
        pdfmetrics.registerFont(TTFont(name, file))
    body = ParagraphStyle("body", fontName="Note", fontSize=SIZE, leading=SIZE * 1.4)
    heading = ParagraphStyle("heading", parent=body, fontName="Note-Bold", spaceBefore=8, spaceAfter=3)
    flow: list[Any] = []
    for line in text.splitlines():
        written = _printable(line.strip(), pdfmetrics.getFont("Note"))
        if not written:
            flow.append(Spacer(1, SIZE * 0.6))
            continue
        style = heading if line.isupper() or line.startswith("CONSULT ") else body
        indent = (len(line) - len(line.lstrip())) * SIZE * 0.45
        made = ParagraphStyle(f"{style.name}{indent:.0f}", parent=style, leftIndent=indent)
        flow.append(Paragraph(escape(written), made))
    out = BytesIO()
    pages = SimpleDocTemplate(
        out, pagesize=A4, title=title, leftMargin=MARGIN, rightMargin=MARGIN, topMargin=MARGIN, bottomMargin=MARGIN
    )
    pages.build(flow, onFirstPage=_numbered, onLaterPages=_numbered)
    return out.getvalue()


def _numbered(canvas: Any, document: Any) -> None:
    canvas.setFont("Note", SIZE * 0.8)
    canvas.drawRightString(document.pagesize[0] - MARGIN, MARGIN * 0.6, f"{document.title}, page {document.page}")


def _printable(line: str, face: Any) -> str:
    """The line in characters that the typeface has."""
    known = face.face.charToGlyph
    return "".join(char if ord(char) in known else char.translate(SPOKEN) for char in line)
