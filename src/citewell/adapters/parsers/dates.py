"""Dates as documents write them."""

from __future__ import annotations

import re
from datetime import date


def read_date(text: str) -> date | None:
    """The day in an ISO-like date; the first of the month or year when no more is said.

    >>> read_date("2024-05-17T10:00:00Z"), read_date("2024/05"), read_date("soon")
    (datetime.date(2024, 5, 17), datetime.date(2024, 5, 1), None)
    """
    match = re.match(r"\s*(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?!\d)", text)
    if not match:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        return date(year, month, day)
    except ValueError:
        return None
