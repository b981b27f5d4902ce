"""Reads what the first pages of a document say of its date, numbers and licence."""

from __future__ import annotations

import re
from datetime import date

DATE_CUES = ("last updated", "updated", "revised", "last reviewed", "publication date", "published", "date of issue")
"""In order of weight: the day from which the text in hand is valid comes before the day of its first edition."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
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
            month = int(match["number"]) if match["number"] else _MONTHS.index(match["month"][:3].lower()) + 1
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
