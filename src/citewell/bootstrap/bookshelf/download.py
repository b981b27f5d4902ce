"""Fetch the books that are wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.adapters.bookshelf.catalogue import BookEntry, BookFilter, choose
from citewell.adapters.bookshelf.unpack import check, digest, unpack
from citewell.bootstrap.bookshelf.files import Done, put_in_place, read_json, told, write_whole
from citewell.errors import DamagedFile, InputError, Unavailable
from citewell.types import ParseLimits

if TYPE_CHECKING:
    from citewell.adapters.bookshelf.fetch import Bookshelf, Progress

SILENT_BOOKS = 3
"""After so many archives in a row that could not be fetched, it is the server and not the archive."""


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
        if (there := read_json(kept)) and there.get("updated") == book.updated:
            yield Done(book.accession, book.title, len(there["texts"]), was_there=True)
            continue
        progress = watch(book, number, len(books)) if watch else None
        try:
            yield _fetched(shelf, book, folder, limits=limits, progress=progress)
            silent = 0
        except (InputError, OSError) as error:
            yield Done(book.accession, book.title, error=told(error))
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
    write_whole(making / "book.json", json.dumps(kept, ensure_ascii=False, indent=1))
    put_in_place(making, folder / "books" / book.accession)
    archive.unlink()
    return Done(book.accession, book.title, len(texts))
