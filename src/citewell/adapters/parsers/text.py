"""Plain text: paragraphs by blank lines, lists by their marks, and only the headings that are beyond doubt."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from citewell.adapters.parsers.markdown import write_markdown
from citewell.adapters.parsers.markup_flow import SectionedText
from citewell.adapters.parsers.pdf_blocks import BINDING, TERMINAL
from citewell.ingest.decode import clean, decode
from citewell.sentences import list_mark
from citewell.types import Document, ParseLimits, Source

MAX_HEADING_CHARACTERS = 80
MAX_TITLE_WORDS, MAX_LABEL_WORDS = 14, 3
FULL = 0.9
"""Part of the longest line from which a line has no room for another word."""
CONNECTING = frozenset(("or", "and"))
"""Lines that join the items of a list."""

_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_UNDERLINE = re.compile(r"[ \t]*(=+|-+|~+|_+)[ \t]*\Z")
_MARKDOWN = re.compile(r"\||#{1,6} \S")
"""A line of a table or a heading as Markdown writes them, which plain texts do too."""
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){1,5}\.?|\d{1,2})[ \t]+([A-Z][^\n]*)\Z")


class TextParser:
    """Reads plain text files."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:  # noqa: ARG002
        text, note = decode(source.data)
        canonical = SectionedText()
        write_text(text, canonical)
        return Document(
            title=_title(canonical) or PurePosixPath(source.name).stem,
            media_type=media_type,
            text=canonical.text,
            blocks=tuple(canonical.blocks),
            notes=(note,) if note else (),
        )


def write_text(text: str, canonical: SectionedText) -> None:
    """Write a plain text as blocks."""
    text = clean(re.sub(r"\r\n?|[\f\v\u0085\u2028]", "\n", text).replace("\u2029", "\n\n"))
    paragraphs = [
        [line.rstrip() for line in paragraph.strip("\n").split("\n") if line.strip()]
        for paragraph in _BLANK.split(text)
    ]
    width = max((len(line) for lines in paragraphs for line in lines if not _MARKDOWN.match(line)), default=0)
    for lines in filter(None, paragraphs):
        if all(map(_MARKDOWN.match, lines)):
            write_markdown("\n".join(lines), canonical)
        else:
            _write_paragraph(lines, canonical, width)


def _write_paragraph(lines: list[str], canonical: SectionedText, width: int) -> None:
    if len(lines) >= 2 and _is_underlined(lines):
        canonical.heading(lines[0], level=1 if lines[1].strip()[0] == "=" else 2)
        lines = lines[2:]
    elif level := heading_level(lines[0], alone=len(lines) == 1):
        canonical.heading(lines[0].rstrip(":"), level=level)
        lines = lines[1:]
    block: list[str] = []
    for position, line in enumerate(lines):
        before, after = lines[position - 1 : position], lines[position + 1 : position + 2]
        own = not before or _is_ended(before[0], line, width)
        if list_mark(line) or (own and (_is_item(block) or _is_title(line, after, width))):
            _write_lines(block, canonical)
            block = []
        block.append(line)
        if own and not _is_item(block) and len(block) == 1 and _is_title(line, after, width):
            _write_lines(block, canonical)
            block = []
    _write_lines(block, canonical)


def _write_lines(lines: list[str], canonical: SectionedText) -> None:
    if lines:
        canonical.add("list_item" if _is_item(lines) else "paragraph", "\n".join(line.strip() for line in lines))


def _is_item(lines: list[str]) -> bool:
    return bool(lines) and list_mark(lines[0]) != ""


def _is_ended(line: str, after: str, width: int) -> bool:
    """Whether a line was ended where it is, and not because the next word had no room: “or” goes on with the list."""
    words, last = after.split(), line.rsplit(maxsplit=1)[-1]
    goes_on = words[0][0].islower() or words[0][0] in "([" or after.strip(" :").casefold() in CONNECTING
    if goes_on or last in BINDING or line[-1] == "," or line.count("(") > line.count(")"):
        return False
    return line[-1] in TERMINAL or len(words) <= MAX_LABEL_WORDS or len(line) + 1 + len(words[0]) <= FULL * width


def _is_title(line: str, after: list[str], width: int) -> bool:
    """Whether a line names what follows it: a few words above a list, or one to three above a text."""
    words = line.split()
    if not after or not _is_ended(line, after[0], width) or line[-1] in ".,;?!" or not line.strip()[0].isupper():
        return False
    return len(words) <= (MAX_TITLE_WORDS if list_mark(after[0]) else MAX_LABEL_WORDS)


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


def _title(canonical: SectionedText) -> str:
    """The first heading when the text opens with it, or a short first line that reads like a title."""
    if not canonical.blocks:
        return ""
    first = canonical.blocks[0]
    text = canonical.text[first.start : first.end]
    is_title = first.kind == "heading" or ("\n" not in text and len(text) <= 120 and text[-1] not in ".,;:?!")
    return text if is_title and first.kind != "list_item" else ""
