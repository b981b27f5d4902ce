"""From the list of a bookshelf to guidelines in the library, in three steps that can be looked at and gone on with.

folder/books/NBK1/          book.json and its texts     download
folder/passages/NBK1.jsonl  one line per passage        parse
the library                                             embed
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.adapters.bookshelf.catalogue import BookEntry, BookFilter, choose
from citewell.adapters.bookshelf.unpack import check, digest, unpack
from citewell.errors import CitewellError, DamagedFile, InputError, LibraryError, Unavailable
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.file_bytes import read_source, size_of
from citewell.ingest.library_changes import AddedDocument, Work, check_embedder, in_turn, refiled, unwatched
from citewell.ingest.parse import parse, safe_name
from citewell.ingest.parse_cut_embed import FileReader, Step
from citewell.ingest.passage_metadata import describe
from citewell.types import Block, Document, Filing, ParseLimits, Source

if TYPE_CHECKING:
    from citewell.adapters.bookshelf.fetch import Bookshelf, Progress
    from citewell.app import App

SILENT_BOOKS = 3
"""After so many archives in a row that could not be fetched, it is the server and not the archive."""
LAYOUT = 1
"""Raised when passages are cut or described otherwise, so that `parse` does them again."""
LEFT_OUT = frozenset(
    "references|bibliography|acknowledgements|acknowledgments|acknowledgement|declaration of interests|"
    "conflicts of interest|competing interests|author contributions|funding".split("|")
)
"""Sections of a guideline that recommend nothing."""
BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one book: how many texts or passages, what was passed over and why, or what went wrong."""

    accession: str
    title: str
    count: int = 0
    was_there: bool = False
    passed_over: tuple[tuple[str, str], ...] = ()
    """(file, reason)."""
    error: CitewellError | None = None


# ------------------------------------------------------------------------------------------------------------- download


def download(
    shelf: Bookshelf,
    folder: Path,
    *,
    wanted: BookFilter,
    limits: ParseLimits,
    watch: Callable[[BookEntry, int, int], Progress] | None = None,
) -> Iterator[Done]:
    """Fetch and unpack the books that are wanted and not here yet; one that cannot be read does not stop the others."""
    books = choose(shelf.catalogue(folder), wanted)
    silent = 0
    for number, book in enumerate(books, 1):
        kept = folder / "books" / book.accession / "book.json"
        if (there := _read_json(kept)) and there.get("updated") == book.updated:
            yield Done(book.accession, book.title, len(there["texts"]), was_there=True)
            continue
        progress = watch(book, number, len(books)) if watch else None
        try:
            yield _fetched(shelf, book, folder, limits=limits, progress=progress)
            silent = 0
        except (InputError, OSError) as error:
            yield Done(book.accession, book.title, error=_as_error(error))
        except Unavailable as error:
            silent += 1
            if silent >= SILENT_BOOKS:
                raise
            yield Done(book.accession, book.title, error=error)


def _fetched(
    shelf: Bookshelf, book: BookEntry, folder: Path, *, limits: ParseLimits, progress: Progress | None, tries: int = 2
) -> Done:
    archive = shelf.archive(book, folder / "archives", progress=progress)
    try:
        check(archive, book.checksum)
        sha256, size = digest(archive), archive.stat().st_size
        making = folder / "books" / f"{book.accession}.new"
        texts = unpack(archive, making, limits=limits)
    except DamagedFile:
        archive.unlink(missing_ok=True)
        if tries > 1:
            return _fetched(shelf, book, folder, limits=limits, progress=progress, tries=tries - 1)
        raise
    kept = {
        **asdict(book),
        "archive": {"sha256": sha256, "bytes": size},
        "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "texts": {text.name: digest(text) for text in texts},
    }
    _write_whole(making / "book.json", json.dumps(kept, ensure_ascii=False, indent=1))
    _put_in_place(making, folder / "books" / book.accession)
    archive.unlink()
    return Done(book.accession, book.title, len(texts))


# ---------------------------------------------------------------------------------------------------------------- parse


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
        for kept in _books_in(self.folder):
            book = _read_json(kept / "book.json")
            if book is None:
                continue
            try:
                yield self._parsed(kept, book)
            except (CitewellError, OSError) as error:
                yield Done(kept.name, book["title"], error=_as_error(error))

    def _parsed(self, kept: Path, book: dict[str, Any]) -> Done:
        summary = self.folder / "passages" / f"{kept.name}.json"
        made_of = {
            "layout": LAYOUT,
            "texts": book["texts"],
            "languages": sorted(self.languages),
            "limits": asdict(self.app.settings.limits),
        }
        if (there := _read_json(summary)) and there["made_of"] == made_of:
            self.seen.update({mark: f"{kept.name}/{name}" for name, mark in there["kept"].items()})
            passed = tuple((name, reason) for name, reason in there["passed_over"].items())
            return Done(kept.name, book["title"], there["passages"], was_there=True, passed_over=passed)
        lines: list[str] = []
        taken: dict[str, str] = {}
        passed_over: dict[str, str] = {}
        for name in sorted(book["texts"]):
            document = self._document(kept / name, book, passed_over)
            if document is not None:
                taken[name] = _hash_of(document.text)
                lines.extend(json.dumps(line, ensure_ascii=False) for line in self._lines(name, document, kept.name))
        _write_whole(summary.with_suffix(".jsonl"), "".join(f"{line}\n" for line in lines))
        written = {"made_of": made_of, "kept": taken, "passed_over": passed_over, "passages": len(lines)}
        _write_whole(summary, json.dumps(written, ensure_ascii=False, indent=1))
        return Done(kept.name, book["title"], len(lines), passed_over=tuple(passed_over.items()))

    def _document(self, path: Path, book: dict[str, Any], passed_over: dict[str, str]) -> Document | None:
        """A text that is wanted; else why not is noted."""
        try:
            document = _document_of(_source_of(path, self.app), book, self.app)
        except InputError as error:
            passed_over[path.name] = str(error)
            return None
        language = (document.metadata.language or "")[:2].lower()
        mark = _hash_of(document.text)
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
                "hash": _hash_of(passage.passage),
            }


# ---------------------------------------------------------------------------------------------------------------- embed


def embed(
    app: App, folder: Path, *, filing: Filing, watch: Callable[[str, Step], None] | None = None
) -> Generator[Done]:
    """Make the parsed texts current in the library; what is there by its content is not embedded again."""
    check_embedder(app.library, app.reader.embedder.fingerprint)
    works = [
        (kept / name, book)
        for kept in _books_in(folder)
        if (book := _read_json(kept / "book.json"))
        and (parsed := _read_json(folder / "passages" / f"{kept.name}.json"))
        for name in parsed["kept"]
    ]
    if not works:
        raise InputError("Nothing to add yet. Run `citewell guidelines parse` on this folder first.")
    texts = (
        Work(size_of(path), partial(_prepared, app, path, book, filing=filing, watch=watch)) for path, book in works
    )
    with closing(in_turn(app.reader, texts)) as reading:
        for (path, book), ready in zip(works, reading, strict=True):
            name = _name_of(path)
            try:
                added = ready.result()()
                yield Done(name, book["title"], added.entry.chunk_count, was_there=added.was_there)
            except InputError as error:
                yield Done(name, book["title"], error=error)


def _prepared(
    app: App,
    path: Path,
    book: dict[str, Any],
    reader: FileReader,
    *,
    filing: Filing,
    watch: Callable[[str, Step], None] | None,
) -> Callable[[], AddedDocument]:
    """Read and embed one text; what is returned makes it current."""
    source = _source_of(path, app)
    scope = app.scope_of_owner()
    if (entry := app.library.same(source, subject=filing.subject, scope=scope)) is not None:
        return partial(refiled, entry, filing=filing, scope=scope, library=app.library)
    tell = partial(watch, _name_of(path)) if watch else unwatched
    tell(Step("reading"))
    with reader.parsing:
        document = _document_of(source, book, app)
    reading = reader.embedded(document, chunking=None, watch=tell)

    def store() -> AddedDocument:
        tell(Step("storing"))
        return AddedDocument(app.library.add(source, reading, filing=filing, scope=scope), was_there=False)

    return store


def _name_of(path: Path) -> str:
    """What a text is called where it is told of: its book and its file."""
    return f"{path.parent.name}/{path.name}"


# -------------------------------------------------------------------------------------------------- the texts of a book


def _source_of(path: Path, app: App) -> Source:
    """The bytes of a text under a name that no other book has."""
    source = read_source(path, app.settings.limits.max_bytes)
    return Source(source.data, safe_name(f"{path.parent.name}-{path.name}"))


def _document_of(source: Source, book: dict[str, Any], app: App) -> Document:
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
    return _without(replace(document, title=title, metadata=known), LEFT_OUT)


def _without(document: Document, titles: frozenset[str]) -> Document:
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


def _day(written: str) -> date | None:
    """A day, month or year of a list as a date."""
    for form in ("%Y-%m-%d", "%Y/%m/%d", "%Y-%m", "%Y", "%b %Y", "%B %Y", "%d %b %Y", "%d %B %Y", "%Y %b"):
        try:
            return datetime.strptime(written.strip(), form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None


# ---------------------------------------------------------------------------------- what the steps leave for each other


def _books_in(folder: Path) -> list[Path]:
    """The folders of the books that were downloaded."""
    books = folder / "books"
    if not books.is_dir():
        raise InputError(f"There are no books in {folder}. Run `citewell guidelines download` into it first.")
    return sorted(
        path for path in books.iterdir() if path.is_dir() and not path.name.endswith((".new", ".part", ".old"))
    )


def _read_json(path: Path) -> dict[str, Any] | None:
    """A file that a step wrote, or None where it is not there or was cut."""
    try:
        read = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return read if isinstance(read, dict) else None


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    making = path.with_name(path.name + ".part")
    with making.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    making.replace(path)


def _put_in_place(making: Path, folder: Path) -> None:
    """Let a new folder stand in the place of an old one."""
    old = folder.with_name(folder.name + ".old")
    _remove(old)
    if folder.exists():
        folder.replace(old)
    making.replace(folder)
    _remove(old)


def _remove(folder: Path) -> None:
    if folder.is_dir():
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _as_error(error: Exception) -> CitewellError:
    if isinstance(error, CitewellError):
        return error
    return LibraryError(
        f"The folder could not be written to: {getattr(error, 'strerror', None) or type(error).__name__}."
    )
