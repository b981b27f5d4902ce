"""Files of reference managers as articles: RIS, BibTeX, CSL-JSON and the library file of Zotero."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import groupby, pairwise
from typing import Any

from citewell.adapters.literature.records import day_of
from citewell.adapters.remote import vendor_package
from citewell.errors import DamagedFile, InputError, UnsupportedFile
from citewell.ingest.decode import decode
from citewell.types import Source
from citewell.types.literature import Article, ArticleId

NOT_REFERENCES = (
    "This is no file of references. Export them as RIS, BibTeX or CSL-JSON, or give a Zotero library (zotero.sqlite)."
)
UNREADABLE = "Reference {number} could not be read. Export it again."
NO_TITLE = "Reference {number} has no title."
BROKEN_ZOTERO = "The Zotero library could not be read. Close Zotero, copy zotero.sqlite, and give the copy."
SQLITE = b"SQLite format 3\0"
NO_LOG_BESIDE = b"\1\1"
"""Says in the head of an SQLite file that its changes are all in it."""
LONGEST_S, STEPS = 60.0, 100_000
"""How long a library may take to be read, and how often that is looked at."""

Found = tuple[int, Article | InputError]
"""The number of a reference in its file, and what it says or why it cannot be read."""
Fields = Mapping[str, Any]
Names = Mapping[str, tuple[str, ...]]
"""What the fields of an article are called in a format."""


def references_in(source: Source) -> Iterator[Found]:
    """Each reference of a file; one that cannot be read does not stop the others."""
    if source.data.startswith(SQLITE):
        yield from _numbered(_zotero_file(source.data), _of_zotero)
        return
    text = decode(source.data)[0].lstrip("\ufeff \t\r\n")
    if text.startswith(("[", "{")):
        yield from csl_references(text)
    elif text.startswith(("@", "%")):
        yield from _of_bibtex_file(text)
    elif any(line.startswith("TY  -") for line in text.splitlines()):
        yield from _of_ris_file(text)
    else:
        raise UnsupportedFile(NOT_REFERENCES)


def _numbered(items: Iterable[Any], read: Any) -> Iterator[Found]:
    """What is said of each item, or why it cannot be read."""
    for number, item in enumerate(items, 1):
        try:
            article: Article | InputError = read(item)
        except (InputError, ValueError, TypeError, AttributeError, KeyError, IndexError):
            article = DamagedFile(UNREADABLE.format(number=number))
        if isinstance(article, Article) and not article.title:
            article = InputError(NO_TITLE.format(number=number))
        yield number, article


# ----------------------------------------------------------------------------------------------------------------- RIS


def _of_ris_file(text: str) -> Iterator[Found]:
    rispy = vendor_package("rispy", "rispy, which reads RIS,", extra="literature")
    records: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("TY  -"):
            records.append([])
        if records and line.strip():
            records[-1].append(line)

    def read(lines: Sequence[str]) -> Article:
        ended = lines if lines[-1].startswith("ER  -") else [*lines, "ER  - "]
        (fields,) = rispy.loads("\n".join((*ended, "")), skip_unknown_tags=True)
        return _of_ris(fields)

    yield from _numbered(records, read)


RIS: Names = {
    "title": ("title", "primary_title"),
    "journal": ("journal_name", "secondary_title", "alternate_title3", "alternate_title2"),
    "volume": ("volume",),
    "issue": ("number",),
    "pages": ("pages",),
    "abstract": ("abstract", "notes_abstract"),
    "language": ("language",),
    "publisher": ("publisher",),
    "url": ("urls",),
    "isbn": ("isbn",),
    "pmid": ("pmid",),
    "pmcid": ("custom2",),
    "doi": ("doi",),
}


def _of_ris(fields: Fields) -> Article:
    is_pubmed = "pubmed" in _first(fields, "name_of_database", "database_provider").lower()
    is_book = fields.get("type_of_reference") in ("BOOK", "CHAP", "EBOOK")
    told = {
        **fields,
        "pages": "-".join(filter(None, (_first(fields, "start_page"), _first(fields, "end_page")))),
        "isbn": _first(fields, "issn") if is_book else "",
        "pmid": _first(fields, "accession_number") if is_pubmed else "",
    }
    authors = [_turned(name) for name in fields.get("authors") or fields.get("first_authors") or ()]
    day = _first(fields, "date", "year", "publication_year").replace("-", "/").split("/")
    return _article(told, RIS, authors=authors, day=day)


# -------------------------------------------------------------------------------------------------------------- BibTeX


def _of_bibtex_file(text: str) -> Iterator[Found]:
    bibtexparser = vendor_package("bibtexparser", "bibtexparser, which reads BibTeX,", extra="literature")
    decoding = bibtexparser.middlewares.LatexDecodingMiddleware()
    library = bibtexparser.parse_string(text, append_middleware=[decoding])
    blocks = sorted([*library.entries, *library.failed_blocks], key=lambda block: block.start_line or 0)

    def read(block: Any) -> Article:
        return _of_bibtex({name.lower(): str(field.value) for name, field in block.fields_dict.items()})

    yield from _numbered(blocks, read)


BIBTEX: Names = {
    "title": ("title",),
    "journal": ("journal", "journaltitle", "booktitle"),
    "volume": ("volume",),
    "issue": ("number", "issue"),
    "pages": ("pages",),
    "abstract": ("abstract",),
    "language": ("language", "langid"),
    "publisher": ("publisher", "institution"),
    "url": ("url",),
    "isbn": ("isbn",),
    "pmid": ("pmid",),
    "pmcid": ("pmcid", "pmc"),
    "doi": ("doi",),
}


def _of_bibtex(fields: Fields) -> Article:
    authors = [_turned(name) for name in _first(fields, "author").split(" and ") if name.strip()]
    day = _first(fields, "date").split("-") if "date" in fields else [_first(fields, "year"), _first(fields, "month")]
    return _article(fields, BIBTEX, authors=authors, day=day)


# ------------------------------------------------------------------------------------------------------------ CSL-JSON


def csl_references(text: str) -> Iterator[Found]:
    """The items of a CSL-JSON file, or of a page of Zotero's web API."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFile("The CSL-JSON is incomplete or malformed. Export it again.") from error
    items = read.get("items") if isinstance(read, dict) else read
    if not isinstance(items, list):
        raise UnsupportedFile(NOT_REFERENCES)
    yield from _numbered(items, _of_csl)


CSL: Names = {
    "title": ("title",),
    "journal": ("container-title",),
    "volume": ("volume",),
    "issue": ("issue",),
    "pages": ("page",),
    "abstract": ("abstract",),
    "language": ("language",),
    "publisher": ("publisher",),
    "url": ("URL",),
    "isbn": ("ISBN",),
    "pmid": ("PMID", "pmid"),
    "pmcid": ("PMCID", "pmcid"),
    "doi": ("DOI", "doi"),
}


def _of_csl(item: Fields) -> Article:
    authors = [
        _first(one, "literal") or _named(_first(one, "given"), _first(one, "family"))
        for one in item.get("author") or ()
    ]
    day = ((item.get("issued") or {}).get("date-parts") or [[]])[0]
    return _article({**_labelled(_first(item, "note")), **item}, CSL, authors=authors, day=[str(part) for part in day])


# -------------------------------------------------------------------------------------------------------------- Zotero


ITEMS = """
    SELECT items.itemID, fields.fieldName, itemDataValues.value FROM items
    JOIN itemTypes USING (itemTypeID) JOIN itemData USING (itemID) JOIN fields USING (fieldID)
    JOIN itemDataValues USING (valueID)
    WHERE items.itemID NOT IN (SELECT itemID FROM deletedItems)
      AND itemTypes.typeName NOT IN ('attachment', 'note', 'annotation')
    ORDER BY items.itemID
"""
CREATORS = """
    SELECT itemCreators.itemID, creators.firstName, creators.lastName FROM itemCreators
    JOIN creators USING (creatorID) JOIN creatorTypes USING (creatorTypeID)
    WHERE creatorTypes.creatorType = 'author' ORDER BY itemCreators.itemID, itemCreators.orderIndex
"""


def _zotero_file(data: bytes) -> list[Fields]:
    """The items of a Zotero library, read in memory: nothing is ever written to it."""
    until = time.monotonic() + LONGEST_S
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(data[:18] + NO_LOG_BESIDE + data[20:])
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
            names: dict[int, list[str]] = {}
            for item, first, last in connection.execute(CREATORS):
                names.setdefault(item, []).append(_named(str(first or ""), str(last or "")))
            rows = connection.execute(ITEMS).fetchall()
    except sqlite3.Error as error:
        raise DamagedFile(BROKEN_ZOTERO) from error
    grouped = groupby(rows, key=lambda row: row[0])
    return [{"authors": names.get(item, []), **{row[1]: row[2] for row in of}} for item, of in grouped]


ZOTERO: Names = {**CSL, "journal": ("publicationTitle", "bookTitle"), "pages": ("pages",), "url": ("url",)} | {
    "abstract": ("abstractNote",)
}


def _of_zotero(item: Fields) -> Article:
    day = _first(item, "date").split(" ")[0].split("-")
    return _article({**_labelled(_first(item, "extra")), **item}, ZOTERO, authors=item["authors"], day=day)


# --------------------------------------------------------------------------------------------------------------- values


def _first(fields: Fields, *names: str) -> str:
    """The first of these fields that says something, on one line."""
    for name in names:
        value = fields.get(name)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str | int) and (text := " ".join(str(value).split())):
            return text
    return ""


def _named(given: str, family: str) -> str:
    return " ".join(filter(None, (given.strip(), family.strip())))


def _turned(name: str) -> str:
    """A name in the order in which it is said.

    >>> _turned("Ångström, Ada B."), _turned("Gum Study Group")
    ('Ada B. Ångström', 'Gum Study Group')
    """
    family, _, given = name.partition(",")
    return _named(given, family)


def _language(text: str) -> str | None:
    """A language as a code of two letters; what is written otherwise is not guessed."""
    code = text[:2].lower()
    return code if code.isalpha() and (len(text) == 2 or text[2:3] == "-") else None


def _labelled(note: str) -> dict[str, str]:
    """The IDs in a note, one to a line, as Zotero keeps what it has no field for.

    >>> _labelled("PMID: 12 PMCID: PMC3 read twice")
    {'pmid': '12', 'pmcid': 'PMC3'}
    """
    words = note.split()
    return {
        label: value
        for name, value in pairwise(words)
        if (label := name.rstrip(":").lower()) in ("pmid", "pmcid", "doi") and name.endswith(":")
    }


def _article(fields: Fields, names: Names, *, authors: Sequence[str], day: Sequence[str]) -> Article:
    """An article from the fields of a format; a malformed ID is as good as none, since the text comes from the file."""
    said = {ours: _first(fields, *theirs) for ours, theirs in names.items()}
    ids: dict[str, str] = {}
    for kind in ("pmid", "pmcid", "doi"):
        with suppress(InputError):
            one = ArticleId.parse(said[kind])
            ids[one.kind] = one.value
    return Article(
        title=said["title"],
        authors=tuple(authors),
        journal=said["journal"],
        volume=said["volume"],
        issue=said["issue"],
        pages=said["pages"].replace("--", "-"),
        published=day_of(*[*day, "", "", ""][:3]),
        abstract=(("", said["abstract"]),) if said["abstract"] else (),
        language=_language(said["language"]),
        publisher=said["publisher"],
        url=said["url"],
        isbn=said["isbn"],
        pmid=ids.get("pmid"),
        pmcid=ids.get("pmcid"),
        doi=ids.get("doi"),
    )
