"""What ingest makes of a file: Source, Document and its parts, Chunk."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import date
from typing import Literal


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes to read, with the name a person knows them by."""

    data: bytes
    name: str


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """How much one file may ask of the machine."""

    max_bytes: int = 100 * 1024 * 1024
    max_pages: int = 1_500
    max_characters: int = 20_000_000
    max_unpacked_bytes: int = 400 * 1024 * 1024


BlockKind = Literal["heading", "paragraph", "list_item", "table_row", "caption", "box", "footnote", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph-like piece of the canonical text."""

    kind: BlockKind
    start: int
    end: int
    section: tuple[str, ...] = ()
    """Titles of the sections round it, outermost first; a heading's own title is the last one."""
    page: int | None = None
    """1-based page on which it starts; None where the format has no pages."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its part of the canonical text and its size in points."""

    number: int
    start: int
    end: int
    width: float
    height: float
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page, in points from the top left corner."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class PageLine:
    """A run of characters set on one line of a page: character `start + i` spans `lefts[i]` to `rights[i]`."""

    start: int
    page: int
    top: float
    bottom: float
    lefts: array[float]
    rights: array[float]

    @property
    def end(self) -> int:
        return self.start + len(self.lefts)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each character of a paged document stands; lines are sorted by `start` and do not overlap."""

    pages: tuple[Page, ...] = ()
    lines: tuple[PageLine, ...] = ()
    left_out: tuple[tuple[int, str], ...] = ()
    """Running heads and page numbers, with their page, which are not part of the text."""

    def boxes(self, start: int, end: int) -> list[Box]:
        """One box per line touched by the span; characters that stand nowhere on the page have none."""
        found = []
        first = max(0, bisect_right(self.lines, start, key=lambda line: line.start) - 1)
        for line in self.lines[first:]:
            if line.start >= end:
                break
            low, high = max(start - line.start, 0), min(end, line.end) - line.start
            if low < high:
                left, right = min(line.lefts[low:high]), max(line.rights[low:high])
                found.append(Box(line.page, left, line.top, right, line.bottom))
        return found

    def page_at(self, offset: int) -> int | None:
        """The page that holds the character at `offset`, or None without pages."""
        position = bisect_right(self.pages, offset, key=lambda page: page.start) - 1
        return self.pages[position].number if position >= 0 else None


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a document says about itself; unknown is None."""

    language: str | None = None
    publisher: str | None = None
    published: date | None = None
    licence: str | None = None
    source_url: str | None = None
    identifiers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: one canonical text, and what every part of it is."""

    title: str
    media_type: str
    text: str
    blocks: tuple[Block, ...]
    layout: Layout = field(default_factory=Layout)
    metadata: Metadata = field(default_factory=Metadata)
    notes: tuple[str, ...] = ()
    """What the reader should know of how it was read, such as “pages 3–4 were read by OCR”."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that is ranked as one: `text` is exactly `document.text[start:end]`."""

    index: int
    start: int
    end: int
    text: str
    section: tuple[str, ...]
    page: int | None
    tokens: int
    """Tokens of `passage`, what is embedded: section path, overlap and text."""
    sentences: tuple[tuple[int, int], ...]
    """Offsets of its sentences in the canonical text, overlap included."""

    @property
    def passage(self) -> str:
        """The text that is embedded: the section path, then the words."""
        return f"{' > '.join(self.section)}\n{self.text}" if self.section else self.text
