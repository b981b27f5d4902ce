"""Markdown, read by markdown-it: CommonMark with tables and a simple front matter."""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

from citewell.adapters.parsers.dates import read_date
from citewell.adapters.parsers.html import tree, write_blocks
from citewell.adapters.parsers.markup_flow import BULLETS, SectionedText
from citewell.adapters.parsers.markup_line import Inline
from citewell.adapters.parsers.table_rows import Cell, table_lines
from citewell.errors import DamagedFile
from citewell.ingest.decode import clean, decode
from citewell.types import BlockKind, Document, Metadata, ParseLimits, Source

MAX_NESTING = 60
MAX_INLINE_CHARACTERS = 50_000
"""A longer paragraph is taken as it is: looking for marks in it could take very long."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(\w[\w -]{0,40}):[ \t]*(.+)$", re.MULTILINE)
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*+)[^>]*>")


class MarkdownParser:
    """Reads Markdown files."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:  # noqa: ARG002
        text, note = decode(source.data)
        fields, text = _front_matter(clean(text.replace("\r\n", "\n").replace("\r", "\n")))
        flow = SectionedText()
        write_markdown(text, flow)
        first = next((block for block in flow.blocks if block.kind == "heading"), None)
        title = fields.get("title") or (flow.text[first.start : first.end] if first else "")
        return Document(
            title=title or PurePosixPath(source.name).stem,
            media_type=media_type,
            text=flow.text,
            blocks=tuple(flow.blocks),
            metadata=Metadata(
                language=fields.get("lang") or fields.get("language"),
                publisher=fields.get("publisher"),
                published=read_date(fields.get("date", "")),
                licence=fields.get("license") or fields.get("licence"),
            ),
            notes=(note,) if note else (),
        )


def write_markdown(text: str, flow: SectionedText) -> None:
    """Write a Markdown text as blocks."""
    _Writer(flow).write(text)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields between the opening rules, and the text after them."""
    match = _FRONT_MATTER.match(text)
    if not match or not _FIELD.search(match.group(1)):
        return {}, text
    fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(match.group(1))}
    return fields, text[match.end() :]


_RULES = re.compile(r"(?<=[.;:?!)\]])[ \t]*\n(?=\d{1,2}(?:\.\d{1,3}){1,4}\.?[ \t]+[A-Z])")
"""The end of a line before one that opens with the number of a rule, “3.2 A doctor …”: each is a paragraph."""


@cache  # what it takes to make them is more than what it takes to read a page
def _readers() -> tuple[MarkdownIt, MarkdownIt]:
    """One reads the blocks of a text, one the marks within a line."""
    return (
        MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table").disable("inline"),
        MarkdownIt("commonmark"),
    )


class _Writer:
    """Writes the tokens of a Markdown text as blocks."""

    def __init__(self, flow: SectionedText) -> None:
        self.flow = flow
        self._blocks, self._inlines = _readers()
        self._lists: list[int | None] = []
        self._marker = ""
        self._rows: list[list[Cell]] = []

    def write(self, text: str) -> None:
        tokens = self._blocks.parse(text)
        if any(token.level >= MAX_NESTING - 1 for token in tokens):
            raise DamagedFile("Lists or quotations are nested too deeply to read in full. Flatten them and try again.")
        for position, token in enumerate(tokens):
            self._write_token(token, tokens[position - 1] if position else token)

    def _write_token(self, token: Token, before: Token) -> None:
        match token.type:
            case "inline":
                self._write_inline(token, before)
            case "fence" | "code_block":
                self.flow.add("code", token.content.strip("\n"))
            case "html_block":
                self._write_html(token.content)
            case "bullet_list_open":
                self._lists.append(None)
            case "ordered_list_open":
                self._lists.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._marker = self._next_marker()
            case "table_open":
                self._rows = []
            case "tr_open":
                self._rows.append([])
            case "table_close":
                for line in table_lines(self._rows, header_rows=1):
                    self.flow.add("table_row", line)

    def _write_inline(self, token: Token, before: Token) -> None:
        if before.type == "heading_open":
            self.flow.heading(self._line(token.content), level=int(before.tag[1:]))
        elif before.type in ("th_open", "td_open"):
            self._rows[-1].append(Cell(self._line(token.content)))
        else:
            kind: BlockKind = "list_item" if self._lists else "paragraph"
            first, *others = (self._line(rule) for rule in _RULES.split(token.content))
            self.flow.add(kind, f"{self._marker} {first}" if self._marker else first)
            self._marker = ""
            for rule in others:
                self.flow.add("paragraph", rule)

    def _next_marker(self) -> str:
        number = self._lists[-1]
        if number is None:
            return BULLETS[(len(self._lists) - 1) % len(BULLETS)]
        self._lists[-1] = number + 1
        return f"{number}."

    def _write_html(self, content: str) -> None:
        if _without_comments(content).strip():
            write_blocks(tree(content), self.flow)

    def _line(self, content: str) -> str:
        """The words of a paragraph without their marks."""
        if len(content) > MAX_INLINE_CHARACTERS or _is_mostly_marks(content):
            return " ".join(content.split())
        inlines = [Inline()]
        for token in self._inlines.parseInline(content)[0].children or ():
            if token.type in ("softbreak", "hardbreak"):
                inlines[-1].space()
            elif token.type == "html_inline":
                _apply_tag(token.content, inlines)
            else:
                inlines[-1].write(token.content)
        while len(inlines) > 1:
            inlines[-2].write(inlines.pop().take())
        return inlines[0].take()


def _is_mostly_marks(content: str) -> bool:
    """Whether a paragraph is made to keep the search for marks busy."""
    marks = sum(map(content.count, "[]*_`<&!"))
    return marks > 200 and marks > 0.2 * len(content)


def _apply_tag(tag: str, inlines: list[Inline]) -> None:
    """HTML inside a paragraph: scripts are spelled out, breaks become spaces, other tags go."""
    match = _TAG.match(tag)
    name = match.group(2).lower() if match else ""
    if name == "br":
        inlines[-1].space()
    elif match and name in ("sup", "sub"):
        if not match.group(1):
            inlines.append(Inline())
        elif len(inlines) > 1:
            text = inlines.pop().take()
            if name == "sup":
                inlines[-1].superscript(text, following="")
            else:
                inlines[-1].subscript(text)


def _without_comments(content: str) -> str:
    """HTML without its comments; one that is never closed reaches to the end.

    >>> _without_comments("a<!-- b -->c<!-- d")
    'ac'
    """
    kept, position = [], 0
    while (start := content.find("<!--", position)) >= 0:
        kept.append(content[position:start])
        end = content.find("-->", start)
        if end < 0:
            return "".join(kept)
        position = end + 3
    return "".join([*kept, content[position:]])
