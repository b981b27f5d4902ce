"""The days that a text names, in the ways in which files write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date

from citewell.vocabulary.months import MONTH, month_number

_FORMS = (
    re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<mark>[-/.]?)(?P<month>\d\d)(?P=mark)(?P<day>\d\d)(?!\d)"),
    re.compile(r"(?<![\d/.-])(?P<month>\d{1,2})(?P<mark>[-/.])(?P<day>\d{1,2})(?P=mark)(?P<year>(?:19|20)?\d\d)(?!\d)"),
    re.compile(r"(?<![\d/.-])(?P<day>\d{1,2})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<year>(?:19|20)?\d\d)(?!\d)"),
    re.compile(rf"(?<!\d)(?P<day>\d{{1,2}})[ -](?P<month>{MONTH})\.?[ ,-]*(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
    re.compile(rf"\b(?P<month>{MONTH})\.? (?P<day>\d{{1,2}}),? ?(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
)


def written_days(text: str) -> Iterator[date]:
    """Every day that a text names; of numbers that can be read in two ways, both.

    >>> [day.isoformat() for day in written_days("seen 03 Feb 2014, again Sept 6 2014 and 20120820; 9/25/12")]
    ['2012-08-20', '2012-09-25', '2014-02-03', '2014-09-06']
    """
    for form in _FORMS:
        for match in form.finditer(text):
            year, month = match["year"], month_number(match["month"]) or int(match["month"])
            with suppress(ValueError):
                yield date(int(year if len(year) > 2 else f"20{year}"), month, int(match["day"]))
