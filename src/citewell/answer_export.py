"""An answer as a file to take along: Markdown, Word or PDF, its sources as numbered references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from typing import Any

from citewell.errors import DoesNotFit, MissingExtra
from citewell.history import AuditRecord


class AnswerFormat(StrEnum):
    """What a file of an answer may be."""

    MARKDOWN = "md"
    WORD = "docx"
    PDF = "pdf"


MEDIA_TYPES = {
    AnswerFormat.MARKDOWN: "text/markdown; charset=utf-8",
    AnswerFormat.WORD: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    AnswerFormat.PDF: "application/pdf",
}


@dataclass(frozen=True, slots=True)
class AnswerSheet:
    """An answer as it is printed."""

    question: str
    sentences: tuple[str, ...]
    """Each with the numbers of its references."""
    reservation: str
    references: tuple[str, ...]
    asked: str

    @classmethod
    def of(cls, record: AuditRecord) -> AnswerSheet:
        """The sheet of an answer on record; one that shows no sentences cannot be exported."""
        answer = record.words.get("answer")
        if not answer or not answer["sentences"]:
            raise DoesNotFit("There is no answer to export. Only answers with sources can be exported.")
        emergency = [answer["emergency"]["text"]] if answer.get("emergency") else []
        sentences = [f"{one['text']} {_numbers(one['citations'])}".strip() for one in answer["sentences"]]
        reservation = f"Note: {answer['reason']}." if answer["action"] == "QUALIFY" else ""
        references = tuple(_reference(citation) for citation in answer["citations"])
        asked = f"Asked on {record.entry.made_at:%d %b %Y}. Answer {record.entry.answer_id}."
        return cls(record.words["question"], (*emergency, *sentences), reservation, references, asked)


def _numbers(citations: list[int]) -> str:
    return "".join(f"[{number}]" for number in citations)


def _reference(citation: Mapping[str, Any]) -> str:
    place = ", ".join(
        part
        for part in (
            citation["document"],
            f"version {citation['version']}",
            (citation["section"] or "").rpartition(" > ")[2],
            f"page {citation['page']}" if citation["page"] else "",
        )
        if part
    )
    return f"[{citation['n']}] {place}: “{' '.join(citation['quote'].split())}”"


def exported(record: AuditRecord, kind: AnswerFormat) -> bytes:
    """An answer on record as a file."""
    sheet = AnswerSheet.of(record)
    if kind is AnswerFormat.WORD:
        return _word(sheet)
    if kind is AnswerFormat.PDF:
        from citewell.adapters.printing.pdf import print_note

        text = [
            sheet.question,
            "",
            *sheet.sentences,
            "",
            sheet.reservation,
            "REFERENCES",
            *sheet.references,
            "",
            sheet.asked,
        ]
        return print_note("\n".join(text), title="Answer")
    parts = [f"# {sheet.question}", *map(_markdown, sheet.sentences), _markdown(sheet.reservation), "## References"]
    return (
        "\n\n".join(part for part in [*parts, *map(_markdown, sheet.references), sheet.asked] if part) + "\n"
    ).encode()


_MARKUP = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_<>#|"})


def _markdown(text: str) -> str:
    """A line that Markdown shows as it is.

    >>> print(_markdown("Give <b>*5 mg*</b> [1]"))
    Give \\<b\\>\\*5 mg\\*\\</b\\> [1]
    """
    return text.translate(_MARKUP)


def _word(sheet: AnswerSheet) -> bytes:
    try:
        from docx import Document
    except ImportError as error:
        raise MissingExtra("Word export needs python-docx: `pip install citewell[word]`, or export as .md.") from error
    document = Document()
    document.add_heading(sheet.question, 1)
    for sentence in sheet.sentences:
        document.add_paragraph(sentence)
    if sheet.reservation:
        document.add_paragraph(sheet.reservation)
    document.add_heading("References", 2)
    for reference in sheet.references:
        document.add_paragraph(reference)
    document.add_paragraph(sheet.asked)
    out = BytesIO()
    document.save(out)
    return out.getvalue()
