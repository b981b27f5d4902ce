"""The months in English, as texts write them."""

from __future__ import annotations

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTH_STARTS = tuple(name[:3] for name in MONTHS)
MONTH = "|".join(["may", *(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS if name != "may"), "sept"])
"""A pattern of their names, whole or cut to three letters."""


def month_number(name: str) -> int | None:
    """Which month a name begins like.

    >>> month_number("Sept"), month_number("dec."), month_number("Ostern")
    (9, 12, None)
    """
    start = name[:3].casefold()
    return MONTH_STARTS.index(start) + 1 if start in MONTH_STARTS else None
