"""Tells which of two editions is the newer one."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime

FORMS = ("%d %B %Y", "%Y-%m-%d", "%B %Y", "%Y")


def dated(edition: str | None) -> date | None:
    """The day of an edition, as far as it says one.

    >>> dated("1 May 2025"), dated("spring")
    (datetime.date(2025, 5, 1), None)
    """
    for form in FORMS:
        with suppress(ValueError):
            return datetime.strptime((edition or "").strip(), form).date()  # noqa: DTZ007 - a day has no zone
    return None


def is_newer(one: str | None, other: str | None) -> bool:
    """Whether one edition is surely newer than another.

    >>> is_newer("1 May 2025", "2 October 2023"), is_newer(None, "1 May 2025")
    (True, False)
    """
    first, second = dated(one), dated(other)
    return first is not None and second is not None and first > second
