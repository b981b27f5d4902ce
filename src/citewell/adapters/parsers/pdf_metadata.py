"""Reads what a PDF says about itself: title, language, dates, outline."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from citewell.adapters.parsers.pdf_blocks import Draft
from citewell.adapters.parsers.pdf_headings import Bookmark
from citewell.adapters.parsers.pdf_image import PDFIUM_LOCK
from citewell.types import Metadata
from citewell.vocabulary.months import MONTH_STARTS, month_number

DATE_CUES = ("last updated", "updated", "revised", "last reviewed", "publication date", "published", "date of issue")
"""In order of weight: the day from which the text in hand is valid comes before the day of its first edition."""

_MONTH = rf"(?:{'|'.join(MONTH_STARTS)})[a-z]*\.?"
_WHEN = rf"(?:(?P<day>\d{{1,2}})\s+)?(?P<month>{_MONTH}),?\s+(?P<year>\d{{4}})|(?P<number>\d{{1,2}})/(?P<short>\d{{4}})"
_ISBN = re.compile(r"\bISBN[:\s]*((?:97[89][-\s]?)?\d[\d\-\s]{7,12}[\dXx])\b")
_DOI = re.compile(r"\b(10\.\d{4,9}/[^\s\"<>)\],;]+[^\s\"<>)\],;.])")
_LICENCE = re.compile(r"\bCC[ -]BY(?:-NC)?(?:-(?:SA|ND))?(?:[ -]\d\.\d)?(?: IGO)?")


def stated_date(text: str) -> date | None:
    """The date that the text gives for itself.

    >>> stated_date("Published: 23 June 2015. Last updated: 1 May 2025")
    datetime.date(2025, 5, 1)
    >>> stated_date("Revised: 8/2022"), stated_date("In May 2020 we met.")
    (datetime.date(2022, 8, 1), None)
    """
    for cue in DATE_CUES:
        match = re.search(rf"\b{cue}\b[:\s]*(?:on\s+|in\s+)?(?:{_WHEN})", text, re.IGNORECASE)
        if match:
            year = int(match["year"] or match["short"])
            month = int(match["number"]) if match["number"] else month_number(match["month"]) or 0
            try:
                return date(year, month, int(match["day"] or 1))
            except ValueError:
                continue
    return None


def stated_identifiers(text: str) -> tuple[tuple[str, str], ...]:
    """The numbers that the text gives for itself.

    >>> stated_identifiers("ISBN 978-0-00-000000-2 (electronic) https://doi.org/10.2471/B0123.")
    (('isbn', '9780000000002'), ('doi', '10.2471/B0123'))
    """
    isbn, doi = _ISBN.search(text), _DOI.search(text)
    found = []
    if isbn:
        found.append(("isbn", re.sub(r"[-\s]", "", isbn[1]).upper()))
    if doi:
        found.append(("doi", doi[1]))
    return tuple(found)


def stated_licence(text: str) -> str | None:
    """The Creative Commons licence that the text names.

    >>> stated_licence("(CC BY-NC-SA 3.0 IGO; https://example.org)")
    'CC BY-NC-SA 3.0 IGO'
    """
    match = _LICENCE.search(text)
    return match[0] if match else None


MAX_BOOKMARKS = 5_000
MAX_TITLE_CHARACTERS = 200
_DATE = re.compile(r"^(?:D:)?(\d{4})(\d{2})?(\d{2})?")
_ORGANISATION = re.compile(
    r"\b(?:organi[sz]ation|institut\w*|agency|ministry|universit\w*|department|association|society|cent(?:re|er)|council"
    r"|federation|college|foundation|hospital|press|service|group|committee|network|inc|ltd|gmbh|nhs|who|nice|fda|cdc)\b",
    re.IGNORECASE,
)
"""Words that tell a publisher from the person who typed the file."""
_WEB_PRINT = re.compile(r"wkhtmltopdf|skia|chrom|webkit|quartz|qt \d|print to pdf", re.IGNORECASE)
"""Makers of prints of web pages: their date is the day of the print."""
IMPRINT_PAGES = 4
_LANGUAGE = re.compile(r"^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$")
_NOT_A_TITLE = re.compile(
    r"^(?:untitled|microsoft word\b.*|powerpoint presentation|document\d*|slide \d+|.*\.\w{2,5})$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PdfMetadata:
    """What the file says about itself."""

    title: str
    metadata: Metadata
    outline: tuple[Bookmark, ...]


def read_facts(document: pdfium.PdfDocument) -> PdfMetadata:
    """The file's own account of itself, as far as it is sensible."""
    with PDFIUM_LOCK:
        values = {key: _value(document, key) for key in ("Title", "Author", "CreationDate", "Producer")}
        language = _language(document)
        outline = _outline(document)
    author = _clean(values["Author"])
    metadata = Metadata(
        language=language,
        publisher=author if _ORGANISATION.search(author) else None,
        published=None if _WEB_PRINT.search(values["Producer"]) else _date(values["CreationDate"]),
    )
    return PdfMetadata(_title(values["Title"]), metadata, outline)


def with_imprint(metadata: Metadata, drafts: Sequence[Draft]) -> Metadata:
    """The file's account of itself, completed by what its first pages say."""
    text = "\n".join(draft.text for draft in drafts if draft.page <= IMPRINT_PAGES)
    return replace(
        metadata,
        published=stated_date(text) or metadata.published,
        identifiers=stated_identifiers(text),
        licence=stated_licence(text),
    )


def chosen_title(facts: PdfMetadata, drafts: Sequence[Draft], name: str) -> str:
    """The file's title, else the largest type on the first page with text, else the file's name."""
    if facts.title:
        return facts.title
    first = next((draft.page for draft in drafts if draft.lines), None)
    candidates = [draft for draft in drafts if draft.page == first and draft.kind in ("heading", "paragraph")]
    letters = [draft for draft in candidates if sum(letter.isalpha() for letter in draft.text) >= 4]
    if not letters:
        return name
    place = max(range(len(letters)), key=lambda place: (max(line.size for line in letters[place].lines), -place))
    title = letters[place].text
    if title.endswith(":") and place + 1 < len(letters):
        title = f"{title} {letters[place + 1].text}"
    return _clean(title)[:MAX_TITLE_CHARACTERS]


def _title(text: str) -> str:
    cleaned = _clean(text)
    return "" if len(cleaned) > MAX_TITLE_CHARACTERS or _NOT_A_TITLE.match(cleaned) else cleaned


def _clean(text: str) -> str:
    """
    >>> _clean(" Two\\xa0 words\\x00 ")
    'Two words'
    """
    return " ".join("".join(letter if letter.isprintable() or letter.isspace() else " " for letter in text).split())


def _date(text: str) -> date | None:
    """
    >>> _date("D:20250501000000Z")
    datetime.date(2025, 5, 1)
    """
    match = _DATE.match(text.strip())
    if not match:
        return None
    year, month, day = (int(part) if part else 1 for part in match.groups())
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _value(document: pdfium.PdfDocument, key: str) -> str:
    try:
        return str(document.get_metadata_value(key))
    except UnicodeDecodeError:
        return ""


def _language(document: pdfium.PdfDocument) -> str | None:
    buffer = (ctypes.c_ushort * 64)()
    size = pdfium_c.FPDFCatalog_GetLanguage(document.raw, buffer, ctypes.sizeof(buffer))
    text = bytes(buffer)[: max(0, min(size, ctypes.sizeof(buffer)) - 2)].decode("utf-16-le", "ignore")
    return text if _LANGUAGE.match(text) else None


def _outline(document: pdfium.PdfDocument) -> tuple[Bookmark, ...]:
    bookmarks: list[Bookmark] = []
    try:
        for entry in document.get_toc(max_depth=8):
            target = entry.get_dest()
            index = target.get_index() if target else None
            if index is not None:
                bookmarks.append(Bookmark(entry.get_title(), index + 1, entry.level))
            if len(bookmarks) >= MAX_BOOKMARKS:
                break
    except (pdfium.PdfiumError, UnicodeDecodeError):
        return ()
    return tuple(bookmarks)
