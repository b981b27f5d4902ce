"""Reads what is said of a complaint: since when, how long, how bad, where, of what kind, what changes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from citewell.assistants.consult.tables import rows
from citewell.clinical.quantities import Duration, durations
from citewell.types.consult import Category

_GRADUAL = re.compile(r"\b(?:start(?:ed|ing)|beg(?:an|un)|came on)\s+gradually\b", re.IGNORECASE)
_SUDDEN = re.compile(r"\b(?:suddenly|sudden onset|all of a sudden|out of the blue|abruptly)\b", re.IGNORECASE)
_SCORE = re.compile(r"\b(?P<score>\d{1,2})\s*(?:/|out of)\s*10\b", re.IGNORECASE)
_ENDED = re.compile(
    r"\b(?:stopped|quit|gave up|finished|ended|ceased|came off|resolved|settled|cleared|went|removed|died|retired)\b"
    r"[^.;,]{0,40}$",
    re.IGNORECASE,
)
"""Before “3 years ago”: what ended then, and began long before."""


@dataclass(frozen=True, slots=True)
class Detail:
    """Words that say more of a complaint."""

    start: int
    end: int
    category: Category
    name: str
    days: float | None = None
    value: float | None = None
    unit: str | None = None


@cache
def _table() -> tuple[tuple[Category, str, re.Pattern[str]], ...]:
    return tuple(
        (Category(category), name, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE))
        for category, name, words in rows("details.tsv")
    )


def find_details(sentence: str) -> list[Detail]:
    """Every detail, in order.

    >>> found = find_details("Sharp pain for 3 days, 8/10, worse on walking")
    >>> [(one.category.value, one.name) for one in found]
    [('character', 'sharp'), ('duration', 'for 3 days'), ('severity', '8/10'), ('aggravating', 'worse on walking')]
    """
    flat = sentence.replace("’", "'")
    details = [*_times(flat), *_worded(flat)]
    return sorted(details, key=lambda detail: detail.start)


def _times(sentence: str) -> Iterator[Detail]:
    for duration in durations(sentence):
        category = _category(sentence, duration)
        if category is not None:
            days = None if duration.sign in ("<=", "<") else duration.days
            yield Detail(duration.start, duration.end, category, duration.text, days)
    for pattern, name in ((_SUDDEN, "sudden"), (_GRADUAL, "gradual")):
        for match in pattern.finditer(sentence):
            yield Detail(*match.span(), Category.ONSET, name)
    for match in _SCORE.finditer(sentence):
        if int(match["score"]) <= 10:
            yield Detail(*match.span(), Category.SEVERITY, match.group(), value=float(match["score"]), unit="/10")


def _category(sentence: str, duration: Duration) -> Category | None:
    """What a time says of a complaint; None where it is told of something else."""
    if duration.kind == "lasting":
        return Category.ONSET if duration.value is None else Category.DURATION
    is_start = duration.kind == "onset" or (duration.kind == "ago" and not _ENDED.search(sentence[: duration.start]))
    return Category.ONSET if is_start else None


def _worded(sentence: str) -> Iterator[Detail]:
    for category, name, pattern in _table():
        for match in pattern.finditer(sentence):
            yield Detail(*match.span(), category, name or match.group().strip())
