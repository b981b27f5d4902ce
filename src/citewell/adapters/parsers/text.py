"""Plain text: paragraphs by blank lines, lists by their marks, and only the headings that are beyond doubt."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from citewell.ingest.canonical import Canonical
from citewell.ingest.decode import clean, decode
from citewell.types import Document, Limits, Source

MAX_HEADING_CHARACTERS = 80

_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_LIST_MARK = re.compile(r"[ \t]*(?:[-•*▪◦–‣·+]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]+\S")
_UNDERLINE = re.compile(r"[ \t]*(=+|-+|~+|_+)[ \t]*\Z")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){1,5}\.?|\d{1,2})[ \t]+([A-Z][^\n]*)\Z")


class TextParser:
    """Reads plain text files."""

    def parse(self, source: Source, *, media_type: str, limits: Limits) -> Document:  # noqa: ARG002
        text, note = decode(source.data)
        canonical = Canonical()
        write_text(text, canonical)
        return Document(
            title=_title(canonical) or PurePosixPath(source.name).stem,
            media_type=media_type,
            text=canonical.text,
            blocks=tuple(canonical.blocks),
            notes=(note,) if note else (),
        )


def write_text(text: str, canonical: Canonical) -> None:
    """Write a plain text as blocks."""
    text = clean(re.sub(r"\r\n?|[\f\v\u0085\u2028]", "\n", text).replace("\u2029", "\n\n"))
    for paragraph in _BLANK.split(text):
        lines = [line.rstrip() for line in paragraph.strip("\n").split("\n")]
        if any(lines):
            _write_paragraph([line for line in lines if line], canonical)


def _write_paragraph(lines: list[str], canonical: Canonical) -> None:
    if len(lines) >= 2 and _is_underlined(lines):
        canonical.heading(lines[0], level=1 if lines[1].strip()[0] == "=" else 2)
        lines = lines[2:]
    elif level := heading_level(lines[0], alone=len(lines) == 1):
        canonical.heading(lines[0].rstrip(":"), level=level)
        lines = lines[1:]
    block: list[str] = []
    in_item = False
    for line in lines:
        if _LIST_MARK.match(line):
            _write_lines(block, canonical, is_item=in_item)
            block, in_item = [], True
        block.append(line)
    _write_lines(block, canonical, is_item=in_item)


def _write_lines(lines: list[str], canonical: Canonical, *, is_item: bool) -> None:
    if lines:
        canonical.add("list_item" if is_item else "paragraph", "\n".join(line.strip() for line in lines))


def _is_underlined(lines: list[str]) -> bool:
    """Whether the second line is a rule about as long as the first."""
    rule = _UNDERLINE.match(lines[1])
    title = lines[0].strip()
    return bool(
        rule and 3 <= len(title) <= MAX_HEADING_CHARACTERS * 1.5 and len(rule.group(1)) >= max(3, 0.6 * len(title))
    )


def heading_level(line: str, *, alone: bool) -> int:
    """The level of a line that can only be a heading, else 0.

    >>> heading_level("1.2 Dose in children", alone=True), heading_level("ASSESSMENT AND PLAN:", alone=False)
    (2, 1)
    >>> heading_level("1. Take one tablet.", alone=True), heading_level("BP 120/80", alone=True)
    (0, 0)
    """
    line = line.strip()
    if not 3 <= len(line) <= MAX_HEADING_CHARACTERS or line[-1] in ".,;?!":
        return 0
    numbered = _NUMBERED.match(line)
    if alone and numbered and not re.search(r"\d", numbered.group(2)):
        return numbered.group(1).rstrip(".").count(".") + 1
    letters = [letter for letter in line if letter.isalpha()]
    is_capitals = len(letters) >= 5 and line.isupper() and len(letters) >= 0.7 * len(line.replace(" ", ""))
    return int(is_capitals and line[0].isalpha())


def _title(canonical: Canonical) -> str:
    """The first heading when the text opens with it, or a short first line that reads like a title."""
    if not canonical.blocks:
        return ""
    first = canonical.blocks[0]
    text = canonical.text[first.start : first.end]
    is_title = first.kind == "heading" or ("\n" not in text and len(text) <= 120 and text[-1] not in ".,;:?!")
    return text if is_title and first.kind != "list_item" else ""
