"""Cut the texts of books into passages that can be looked at, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.bootstrap.bookshelf.files import Done, books_in, hash_of, read_json, told, write_whole
from citewell.bootstrap.bookshelf.text import document_of, source_of
from citewell.errors import CitewellError, InputError
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.passage_metadata import describe
from citewell.types import Document

if TYPE_CHECKING:
    from citewell.bootstrap.app import App

LAYOUT = 1
"""Raised when passages are cut or described otherwise, so that `parse` does them again."""


@dataclass(slots=True)
class Parsing:
    """Reads the texts of all books into lines that can be looked at, and tells what it passes over."""

    app: App
    folder: Path
    languages: frozenset[str] = frozenset({"en"})
    """Two letters each; empty: all."""
    seen: dict[str, str] = field(default_factory=dict)
    """Text by its hash, so that a chapter that stands in two books is taken once."""

    def run(self) -> Iterator[Done]:
        """Parse each book that was not parsed so before."""
        for kept in books_in(self.folder):
            book = read_json(kept / "book.json")
            if book is None:
                continue
            try:
                yield self._parsed(kept, book)
            except (CitewellError, OSError) as error:
                yield Done(kept.name, book["title"], error=told(error))

    def _parsed(self, kept: Path, book: dict[str, Any]) -> Done:
        summary = self.folder / "passages" / f"{kept.name}.json"
        made_of = {
            "layout": LAYOUT,
            "texts": book["texts"],
            "languages": sorted(self.languages),
            "limits": asdict(self.app.settings.limits),
        }
        if (there := read_json(summary)) and there["made_of"] == made_of:
            self.seen.update({mark: f"{kept.name}/{name}" for name, mark in there["kept"].items()})
            passed = tuple((name, reason) for name, reason in there["passed_over"].items())
            return Done(kept.name, book["title"], there["passages"], was_there=True, passed_over=passed)
        lines: list[str] = []
        taken: dict[str, str] = {}
        passed_over: dict[str, str] = {}
        for name in sorted(book["texts"]):
            document = self._document(kept / name, book, passed_over)
            if document is not None:
                taken[name] = hash_of(document.text)
                lines.extend(json.dumps(line, ensure_ascii=False) for line in self._lines(name, document, kept.name))
        write_whole(summary.with_suffix(".jsonl"), "".join(f"{line}\n" for line in lines))
        found = {"made_of": made_of, "kept": taken, "passed_over": passed_over, "passages": len(lines)}
        write_whole(summary, json.dumps(found, ensure_ascii=False, indent=1))
        return Done(kept.name, book["title"], len(lines), passed_over=tuple(passed_over.items()))

    def _document(self, path: Path, book: dict[str, Any], passed_over: dict[str, str]) -> Document | None:
        """A text that is wanted; else why not is noted."""
        try:
            document = document_of(source_of(path, self.app), book, self.app)
        except InputError as error:
            passed_over[path.name] = str(error)
            return None
        language = (document.metadata.language or "")[:2].lower()
        mark = hash_of(document.text)
        first = self.seen.setdefault(mark, f"{path.parent.name}/{path.name}")
        if document.media_type != "application/jats+xml":
            passed_over[path.name] = "not an article or a book chapter"
        elif self.languages and language and language not in self.languages:
            passed_over[path.name] = f"language is {language}"
        elif first != f"{path.parent.name}/{path.name}":
            passed_over[path.name] = f"same text as {first}"
        elif not document.blocks:
            passed_over[path.name] = "contains only references and acknowledgements"
        else:
            return document
        return None

    def _lines(self, name: str, document: Document, accession: str) -> Iterator[dict[str, Any]]:
        how = default_chunking(document.media_type)
        about = document.metadata
        for passage in chunk(document, chunking=how, tokenizer=self.app.reader.tokenizer):
            stated = describe(passage.text, section=passage.section)
            yield {
                "source": f"{accession}/{name}",
                "title": document.title,
                "publisher": about.publisher,
                "published": about.published.isoformat() if about.published else None,
                "language": about.language,
                "licence": about.licence,
                "url": about.source_url,
                "section": " > ".join(passage.section),
                "content": passage.text,
                "start": passage.start,
                "end": passage.end,
                "tokens": passage.tokens,
                "populations": list(stated.populations),
                "settings": list(stated.settings),
                "strength": stated.strength,
                "certainty": stated.certainty,
                "hash": hash_of(passage.passage),
            }
