"""The documents that an answer cites, as reference managers read them: RIS, BibTeX and CSL-JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from citewell.answer.audit import ERASED
from citewell.errors import NotFound
from citewell.types import LibraryEntry


@dataclass(frozen=True, slots=True)
class QuotedWords:
    """Words of a document that an answer rests on."""

    text: str
    page: int | None


@dataclass(frozen=True, slots=True)
class Reference:
    """One cited document; what it does not say of itself is empty."""

    document_id: str
    title: str
    version: int
    quotes: tuple[QuotedWords, ...]
    publisher: str | None = None
    published: date | None = None
    language: str | None = None
    url: str | None = None
    identifiers: tuple[tuple[str, str], ...] = ()
    said_since: tuple[str, ...] = ()
    """Its retraction, doubts and corrections."""

    @property
    def key(self) -> str:
        """The same for the same document version each time."""
        return f"citewell-{self.document_id[:8]}"

    def identifier(self, *kinds: str) -> str | None:
        """The first identifier of one of these kinds."""
        return next((value for kind, value in self.identifiers if kind.lower() in kinds), None)

    @property
    def is_article(self) -> bool:
        """Whether it was in a journal, as its identifiers tell."""
        return self.identifier("pmid", "pmcid", "pmc", "issn") is not None

    @property
    def is_book(self) -> bool:
        return not self.is_article and self.identifier("isbn") is not None

    @property
    def pages(self) -> tuple[int, ...]:
        """The pages that were quoted."""
        return tuple(sorted({quote.page for quote in self.quotes if quote.page is not None}))

    @property
    def note(self) -> str:
        """What was published about it since, and the quoted words, each with its page."""
        quotes = (
            f"“{_line(quote.text)}”" + (f" (page {quote.page})" if quote.page is not None else "")
            for quote in self.quotes
        )
        return " ".join((*(f"{told[0].upper()}{told[1:]}." for told in self.said_since), *quotes))


FindEntry = Callable[[str], LibraryEntry]
"""A document version by its id; NotFound where it is gone or may not be seen."""


def references(citations: Iterable[Mapping[str, Any]], find: FindEntry) -> tuple[Reference, ...]:
    """The documents of citations as `citation_json` writes them, in the order in which they are first cited.

    A document that is gone keeps what the answer said of it.
    """
    cited: dict[str, list[Mapping[str, Any]]] = {}
    for citation in citations:
        cited.setdefault(citation["document_id"], []).append(citation)
    return tuple(_reference(document_id, of, find) for document_id, of in cited.items())


def _reference(document_id: str, citations: list[Mapping[str, Any]], find: FindEntry) -> Reference:
    first = citations[0]
    quotes = tuple(
        dict.fromkeys(
            QuotedWords(citation["quote"], citation["page"])
            for citation in citations
            if citation["quote"] not in ("", ERASED)
        )
    )
    try:
        entry = find(document_id)
    except NotFound:
        published = date.fromisoformat(first["date"]) if first["date"] else None
        return Reference(document_id, first["document"], first["version"], quotes, published=published)
    return reference_of(entry, quotes)


def reference_of(entry: LibraryEntry, quotes: tuple[QuotedWords, ...] = ()) -> Reference:
    """A document of the library, with the words of it that were quoted."""
    about = entry.metadata
    return Reference(
        entry.id,
        entry.title,
        entry.version,
        quotes,
        publisher=about.publisher,
        published=about.published,
        language=about.language,
        url=about.source_url,
        identifiers=about.identifiers,
        said_since=entry.said_since,
    )


# ------------------------------------------------------------------------------------------------------------- formats


@dataclass(frozen=True, slots=True)
class ReferenceFormat:
    """A file of references: how its name ends, how it is sent, and how it is written."""

    extension: str
    media_type: str
    write: Callable[[Iterable[Reference]], str]


def ris(cited: Iterable[Reference]) -> str:
    return "\n".join(_ris_lines(reference) for reference in cited)


def _ris_lines(reference: Reference) -> str:
    kind = "JOUR" if reference.is_article else "BOOK" if reference.is_book else "RPRT" if reference.publisher else "GEN"
    published, pages = reference.published, reference.pages
    fields = (
        ("TY", kind),
        ("ID", reference.key),
        ("TI", reference.title),
        ("PB", reference.publisher),
        ("PY", str(published.year) if published else None),
        ("DA", f"{published:%Y/%m/%d}/" if published else None),
        ("DO", reference.identifier("doi")),
        ("AN", reference.identifier("pmid")),
        ("C2", reference.identifier("pmcid", "pmc")),
        ("SN", reference.identifier("issn", "isbn")),
        ("LA", reference.language),
        ("UR", reference.url),
        ("SP", ", ".join(map(str, pages)) if pages else None),
        ("N1", reference.note),
    )
    lines = [f"{tag}  - {_line(value)}" for tag, value in fields if value]
    return "\n".join([*lines, "ER  - ", ""])


BIBTEX_WRITTEN = {
    **{ord(letter): f"\\{letter}" for letter in "&%$#_{}"},
    ord("\\"): r"\textbackslash{}",
    ord("~"): r"\textasciitilde{}",
    ord("^"): r"\textasciicircum{}",
}
"""What BibTeX would read as a command; other letters stay as they are, in UTF-8."""
IN_ADDRESSES = {ord("{"): "%7B", ord("}"): "%7D"}
BIBTEX_VERBATIM = {"doi": IN_ADDRESSES, "url": IN_ADDRESSES}
"""Fields that are read letter by letter, and what may not stand in them."""


def bibtex(cited: Iterable[Reference]) -> str:
    r"""The references as BibTeX.

    >>> print(bibtex([Reference("d1e2f3a4", "Iron & folate", 1, (), publisher="NHS", published=date(2024, 5, 1))]))
    @techreport{citewell-d1e2f3a4,
      title = {{Iron \& folate}},
      institution = {NHS},
      year = {2024},
      month = {5}
    }
    <BLANKLINE>
    """
    return "\n".join(_bibtex_entry(reference) for reference in cited)


def _bibtex_entry(reference: Reference) -> str:
    is_report = bool(reference.publisher) and not (reference.is_article or reference.is_book)
    kind = "article" if reference.is_article else "book" if reference.is_book else "techreport" if is_report else "misc"
    published = reference.published
    fields = (
        ("title", reference.title),
        ("institution" if is_report else "publisher", reference.publisher),
        ("year", str(published.year) if published else None),
        ("month", str(published.month) if published else None),
        ("doi", reference.identifier("doi")),
        ("pmid", reference.identifier("pmid")),
        ("pmcid", reference.identifier("pmcid", "pmc")),
        ("issn", reference.identifier("issn")),
        ("isbn", reference.identifier("isbn")),
        ("language", reference.language),
        ("url", reference.url),
        ("pages", ", ".join(map(str, reference.pages))),
        ("note", reference.note),
    )
    lines = [f"  {name} = {_bibtex_value(name, value)}" for name, value in fields if value]
    return f"@{kind}{{{reference.key},\n" + ",\n".join(lines) + "\n}\n"


def _bibtex_value(name: str, value: str) -> str:
    written = _line(value).translate(BIBTEX_VERBATIM.get(name, BIBTEX_WRITTEN))
    return f"{{{{{written}}}}}" if name == "title" else f"{{{written}}}"  # a title keeps its capitals


def csl_json(cited: Iterable[Reference]) -> str:
    """The references as CSL-JSON, which citation processors read."""
    return json.dumps([_csl_item(reference) for reference in cited], ensure_ascii=False, indent=2) + "\n"


def _csl_item(reference: Reference) -> dict[str, Any]:
    kind = "article-journal" if reference.is_article else "book" if reference.is_book else None
    published = reference.published
    fields: dict[str, Any] = {
        "id": reference.key,
        "type": kind or ("report" if reference.publisher else "document"),
        "title": _line(reference.title),
        "publisher": reference.publisher,
        "issued": {"date-parts": [[published.year, published.month, published.day]]} if published else None,
        "DOI": reference.identifier("doi"),
        "PMID": reference.identifier("pmid"),
        "PMCID": reference.identifier("pmcid", "pmc"),
        "ISSN": reference.identifier("issn"),
        "ISBN": reference.identifier("isbn"),
        "language": reference.language,
        "URL": reference.url,
        "page": ", ".join(map(str, reference.pages)),
        "note": reference.note,
    }
    return {name: value for name, value in fields.items() if value}


def _line(text: str) -> str:
    """A text on one line, as all of these formats want their values."""
    return " ".join(text.split())


class ReferenceFormatName(StrEnum):
    """What a file of references may be."""

    RIS = "ris"
    BIBTEX = "bibtex"
    CSL_JSON = "csl-json"


REFERENCE_FORMATS = {
    ReferenceFormatName.RIS: ReferenceFormat("ris", "application/x-research-info-systems", ris),
    ReferenceFormatName.BIBTEX: ReferenceFormat("bib", "application/x-bibtex", bibtex),
    ReferenceFormatName.CSL_JSON: ReferenceFormat("json", "application/vnd.citationstyles.csl+json", csl_json),
}
