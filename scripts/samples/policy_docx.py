"""Sets the fictional hospital policy as a DOCX file."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime

import docx
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm
from docx.styles.style import ParagraphStyle
from docx.text.paragraph import Paragraph

from samples.pieces import FICTION, Piece, pieces

WRITTEN = datetime(2025, 11, 18, 9, 0)  # noqa: DTZ001 - the file format has no time zone
ZIP_DATE = (2025, 11, 18, 9, 0, 0)


def policy_docx(source: str) -> bytes:
    """The bytes of the DOCX file, the same each time."""
    document = docx.Document()
    _drop_unused(document)
    section = document.sections[0]
    section.left_margin = section.right_margin = Cm(2.5)
    section.footer.paragraphs[0].text = FICTION
    previous: Piece | None = None
    for piece in pieces(source):
        _add(document, piece, starts_list=previous is None or previous.kind != piece.kind)
        previous = piece
        if piece.kind == "title":
            document.core_properties.title = piece.text
    properties = document.core_properties
    properties.author, properties.subject, properties.language = "Marrowby Hospitals (fictional)", FICTION, "en-GB"
    properties.comments = FICTION
    properties.created = properties.modified = WRITTEN
    out = io.BytesIO()
    document.save(out)
    return _repacked(out.getvalue())


def _drop_unused(document: Document) -> None:
    """Leave out the template's table styles and second style sheet: they are nine tenths of the file."""
    for style in list(document.styles):
        if style.type == WD_STYLE_TYPE.TABLE and style.name not in ("Normal Table", "Table Grid"):
            style.delete()
    for key, relation in list(document.part.rels.items()):
        if relation.reltype.endswith("/stylesWithEffects"):
            document.part.rels.pop(key)


def _add(document: Document, piece: Piece, *, starts_list: bool) -> None:
    match piece.kind:
        case "title":
            document.add_paragraph(piece.text, style="Title")
        case "subtitle":
            document.add_paragraph(piece.text, style="Subtitle")
        case "notice":
            document.add_paragraph(piece.text, style="Intense Quote")
        case "heading":
            document.add_heading(piece.text, level=piece.level)
        case "bullet":
            document.add_paragraph(piece.text, style="List Bullet")
        case "number":
            paragraph = document.add_paragraph(piece.text, style="List Number")
            if starts_list:
                _start_numbering(document)
            _number(document, paragraph)
        case "table":
            _add_table(document, piece)
        case _:
            document.add_paragraph(piece.text)


def _start_numbering(document: Document) -> None:
    """A new list that counts from 1, of the same look as the style “List Number”."""
    style = document.styles["List Number"]
    assert isinstance(style, ParagraphStyle)
    numbering = document.part.numbering_part.element
    look = numbering.num_having_numId(style.element.pPr.numPr.numId.val).abstractNumId.val
    restart = numbering.add_num(look).add_lvlOverride(ilvl=0)
    restart.add_startOverride(1)


def _number(document: Document, paragraph: Paragraph) -> None:
    """Put the paragraph into the newest list."""
    newest = document.part.numbering_part.element.num_lst[-1].numId
    properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
    properties.get_or_add_ilvl().val = 0
    properties.get_or_add_numId().val = newest


def _add_table(document: Document, piece: Piece) -> None:
    document.add_paragraph(piece.text, style="Caption")
    table = document.add_table(rows=0, cols=len(piece.rows[0]), style="Table Grid")
    for number, cells in enumerate(piece.rows):
        row = table.add_row()
        for cell, text, width in zip(row.cells, cells, piece.widths_cm, strict=True):
            cell.width = Cm(width)
            cell.paragraphs[0].add_run(text).bold = number == 0
        if number == 0:
            mark = OxmlElement("w:tblHeader")
            mark.set(qn("w:val"), "true")
            row._tr.get_or_add_trPr().append(mark)
    document.add_paragraph()


def _repacked(data: bytes) -> bytes:
    """The same members with fixed dates, stored: compressed bytes would vary with the machine's zlib."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as packed, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as repacked:
        for member in packed.infolist():
            repacked.writestr(zipfile.ZipInfo(member.filename, ZIP_DATE), packed.read(member))
    return out.getvalue()
