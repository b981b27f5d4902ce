"""The list of a bookshelf: which books there are, and which of them are wanted."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

from citewell.errors import InputError

_COLUMNS = {
    "path": ("file", "path"),
    "title": ("book title", "title"),
    "publisher": ("publisher",),
    "published": ("publication date", "published", "year"),
    "accession": ("accession id", "accession"),
    "updated": ("last updated", "updated"),
    "checksum": ("sha256", "md5", "checksum"),
}
_NEEDED = ("path", "title", "publisher", "accession")
_PATH = re.compile(r"(?!\.)[\w.-]+(?:/(?!\.)[\w.-]+)*\.tar\.gz", re.ASCII)
_ACCESSION = re.compile(r"[A-Za-z][A-Za-z0-9_-]{2,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BookEntry:
    """One line of the list."""

    path: str
    """Where its archive lies, from the folder of the list."""
    title: str
    publisher: str
    accession: str
    published: str = ""
    updated: str = ""
    checksum: str = ""
    """md5 or sha256 of the archive, where the list gives it."""


@dataclass(frozen=True, slots=True)
class BookFilter:
    """Which books to take."""

    publishers: tuple[str, ...] = ()
    """Short names of the table, or parts of a publisher's name; none: all."""
    topics: tuple[str, ...] = ()
    """Words of which a title must hold one; none: all."""
    clinical_only: bool = True


def catalogue(text: str) -> list[BookEntry]:
    r"""Read the list; a line that names no archive or no book is passed over.

    >>> listed = catalogue("File,Book Title,Publisher,Publication Date,Accession ID\n"
    ...     "ab/NBK1.tar.gz,Malaria,World Health Organization,2023,NBK1\n../x.tar.gz,T,P,2020,NBK2")
    >>> [(book.accession, book.publisher) for book in listed]
    [('NBK1', 'World Health Organization')]
    """
    lines = csv.reader(StringIO(text.removeprefix("\ufeff")))
    header = [name.strip().lower() for name in next(lines, [])]
    places = {
        field: place
        for field, names in _COLUMNS.items()
        if (place := next((at for at, name in enumerate(header) if name.startswith(names)), None)) is not None
    }
    if missing := [_COLUMNS[field][0] for field in _NEEDED if field not in places]:
        raise InputError(
            f"This is not a bookshelf list: column {', '.join(missing)} is missing. Check the address given with "
            "--from."
        )
    try:
        book_entries = [
            BookEntry(**{field: line[place].strip() for field, place in places.items() if place < len(line)})
            for line in lines
            if len(line) > max(places[field] for field in _NEEDED)
        ]
    except csv.Error as error:
        raise InputError(f"The bookshelf list could not be read: {error}.") from error
    return [book for book in book_entries if _PATH.fullmatch(book.path) and _ACCESSION.fullmatch(book.accession)]


def choose(books: Iterable[BookEntry], wanted: BookFilter) -> list[BookEntry]:
    """The books that are wanted, each accession once (the one updated last), in the order of the list."""
    kept: dict[str, BookEntry] = {}
    for book in books:
        if _is_wanted(book, wanted) and book.updated >= kept.get(book.accession, book).updated:
            kept[book.accession] = book
    return list(kept.values())


def _is_wanted(book: BookEntry, wanted: BookFilter) -> bool:
    return (
        _says(book.publisher, [_publisher(name) for name in wanted.publishers])
        and _says(book.title, [rf"\b{re.escape(word)}" for word in wanted.topics])
        and not (wanted.clinical_only and _says(book.title, _table("not_clinical.tsv")))
    )


def _says(text: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def _publisher(name: str) -> str:
    known = dict(line.split("\t") for line in _table("publishers.tsv"))
    return known.get(name.upper(), re.escape(name))


@cache
def _table(name: str) -> tuple[str, ...]:
    lines = (Path(__file__).parent / name).read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))
