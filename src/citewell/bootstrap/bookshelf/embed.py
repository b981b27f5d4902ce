"""Make the texts that were parsed current in the library."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.bootstrap.bookshelf.files import Done, books_in, read_json
from citewell.bootstrap.bookshelf.text import document_of, source_of
from citewell.bootstrap.home import size_of
from citewell.errors import InputError
from citewell.ingest.library_changes import AddedDocument, Work, check_embedder, in_turn, refiled, unwatched
from citewell.ingest.read_file import FileReader, Step
from citewell.types import Filing

if TYPE_CHECKING:
    from citewell.bootstrap.app import App


def embed(
    app: App, folder: Path, *, filing: Filing, watch: Callable[[str, Step], None] | None = None
) -> Generator[Done]:
    """Make the parsed texts current in the library; what is there by its content is not embedded again."""
    check_embedder(app.library, app.reader.embedder.fingerprint)
    works = [
        (kept / name, book)
        for kept in books_in(folder)
        if (book := read_json(kept / "book.json")) and (parsed := read_json(folder / "passages" / f"{kept.name}.json"))
        for name in parsed["kept"]
    ]
    if not works:
        raise InputError("Nothing to add yet. Run `citewell guidelines parse` on this folder first.")
    texts = (
        Work(size_of(path), partial(_prepared, app, path, book, filing=filing, watch=watch)) for path, book in works
    )
    with closing(in_turn(app.reader, texts)) as reading:
        for (path, book), ready in zip(works, reading, strict=True):
            name = name_of(path)
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
    source = source_of(path, app)
    scope = app.scope_of_owner()
    if (entry := app.library.same(source, subject=filing.subject, scope=scope)) is not None:
        return partial(refiled, entry, filing=filing, scope=scope, library=app.library)
    tell = partial(watch, name_of(path)) if watch else unwatched
    tell(Step("reading"))
    with reader.parsing:
        document = document_of(source, book, app)
    reading = reader.embedded(document, chunking=None, watch=tell)

    def store() -> AddedDocument:
        tell(Step("storing"))
        return AddedDocument(app.library.add(source, reading, filing=filing, scope=scope), was_there=False)

    return store


def name_of(path: Path) -> str:
    """What a text is called where it is told of: its book and its file."""
    return f"{path.parent.name}/{path.name}"
