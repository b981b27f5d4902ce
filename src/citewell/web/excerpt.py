"""Chooses the part of a passage that a list of results shows."""

from __future__ import annotations

from citewell.types import Hit
from citewell.words import sentences

MAX_CHARACTERS = 360
"""About five lines: enough to judge a result, short enough to see the next one."""
MIN_LAST_CHARACTERS = 25


def best_within(hit: Hit) -> tuple[int, int] | None:
    """The best sentence as offsets into the hit's own text; None when it lies outside, in the overlap."""
    if hit.why.best_sentence is None:
        return None
    start, end = hit.why.best_sentence
    start, end = max(start, hit.start) - hit.start, min(end, hit.end) - hit.start
    return (start, end) if start < end else None


def excerpt(text: str, centre: tuple[int, int] | None, *, limit: int = MAX_CHARACTERS) -> tuple[int, int]:
    """Offsets of whole sentences round `centre`, about `limit` characters of them.

    >>> text = "One is first. Two is next. Three is last."
    >>> start, end = excerpt(text, (14, 26), limit=30)
    >>> text[start:end]
    'Two is next. Three is last.'
    """
    if len(text) <= limit:
        return 0, len(text)
    spans = sentences(text)
    if not spans:
        return 0, limit
    middle = 0 if centre is None else next((at for at, span in enumerate(spans) if span[1] > centre[0]), 0)
    first = last = middle
    # What follows explains a sentence more often than what stands before it, so it is taken first.
    while True:
        if last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= limit:
            last += 1
        elif (
            first > 0
            and spans[last][1] - spans[first - 1][0] <= limit
            and _leads_in(text, *spans[first - 1 : first + 1])
        ):
            first -= 1
        else:
            break
    # A heading or a list mark that ends the excerpt says nothing without what it opens.
    while last > middle and last + 1 < len(spans) and spans[last][1] - spans[last][0] < MIN_LAST_CHARACTERS:
        last -= 1
    return spans[first][0], _cut(text, spans[first][0], spans[last][1], 2 * limit)


def _leads_in(text: str, before: tuple[int, int], sentence: tuple[int, int]) -> bool:
    """Whether a sentence belongs to the next one: in the same paragraph, or as the line that opens a list."""
    return "\n\n" not in text[before[1] : sentence[0]] or text[before[1] - 1] == ":"


def _cut(text: str, start: int, end: int, limit: int) -> int:
    """The end, or the last gap between words before the limit where one sentence is very long."""
    if end - start <= limit:
        return end
    gap = text.rfind(" ", start, start + limit)
    return gap if gap > start else start + limit
