"""One text of a book: its bytes, and the document that is made of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.bootstrap.home import read_source
from citewell.ingest.parse import parse, safe_name
from citewell.types import Block, Document, Source

if TYPE_CHECKING:
    from citewell.bootstrap.app import App

LEFT_OUT = frozenset(
    "references|bibliography|acknowledgements|acknowledgments|acknowledgement|declaration of interests|"
    "conflicts of interest|competing interests|author contributions|funding".split("|")
)
"""Sections of a guideline that recommend nothing."""
BREAK = "\n\n"


def source_of(path: Path, app: App) -> Source:
    """The bytes of a text under a name that no other book has."""
    source = read_source(path, app.settings.limits.max_bytes)
    return Source(source.data, safe_name(f"{path.parent.name}-{path.name}"))


def document_of(source: Source, book: dict[str, Any], app: App) -> Document:
    """A text of a book, with what the list knows of it where it does not say so itself, and without its references."""
    document = parse(source, parsers=app.reader.parsers, limits=app.reader.limits)
    about = document.metadata
    known = replace(
        about,
        publisher=about.publisher or book["publisher"] or None,
        published=about.published or _day(book["published"]),
        source_url=about.source_url or f"https://www.ncbi.nlm.nih.gov/books/{book['accession']}/",
        identifiers=(*about.identifiers, ("accession", book["accession"])),
    )
    title = document.title if document.title == book["title"] else f"{book['title']}: {document.title}"
    return without(replace(document, title=title, metadata=known), LEFT_OUT)


def without(document: Document, titles: frozenset[str]) -> Document:
    """A document that has no pages, less the sections of these titles."""
    texts: list[str] = []
    blocks: list[Block] = []
    start = 0
    for block in document.blocks:
        if not any(title.strip(" .:").lower() in titles for title in block.section):
            text = document.text[block.start : block.end]
            blocks.append(replace(block, start=start, end=start + len(text)))
            texts.append(text)
            start += len(text) + len(BREAK)
    return replace(document, text=BREAK.join(texts), blocks=tuple(blocks))


def _day(said: str) -> date | None:
    """A day, month or year of a list as a date."""
    for form in ("%Y-%m-%d", "%Y/%m/%d", "%Y-%m", "%Y", "%b %Y", "%B %Y", "%d %b %Y", "%d %B %Y", "%Y %b"):
        try:
            return datetime.strptime(said.strip(), form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None
