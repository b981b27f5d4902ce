"""The source sentences that a claim is held against: sentences of prose, and rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from citewell.answer.rows import Tabled, tabled
from citewell.answer.verify.read import form, is_empty
from citewell.types import Span
from citewell.words import sentences

_OPENING = re.compile(r"\W*(?:\d[\d.)]*\s+)?([^\W\d_]+)")

MAX_PART = 1_500
"""A source sentence of more characters is read in pieces."""


@lru_cache(maxsize=1024)
def _cut(span: Span, low: int = 0, high: int | None = None) -> tuple[Span, ...]:
    return tuple(
        Span(
            span.source_id,
            span.start + first,
            span.start + min(first + MAX_PART, end),
            span.text[first:end][:MAX_PART],
            span.titles,
        )
        for start, end in sentences(span.text, low, high)
        for first in range(start, end, MAX_PART)
    )


def parts_of(spans: Iterable[Span]) -> list[Span]:
    """The sentences of spans, each with its exact place; a row of a table is one, and what was cited twice comes once.

    >>> [(part.start, part.text) for part in parts_of([Span("a:0", 100, 115, "Rest. Drink up.")])]
    [(100, 'Rest.'), (106, 'Drink up.')]
    """
    spans = tuple(spans)
    tables = tabled(spans)
    lines: dict[str, list[Span]] = {}
    for line in sorted((*tables.rows, *tables.others), key=lambda line: line.start):
        lines.setdefault(line.source_id, []).append(line)
    cut = (part for span in spans for part in (_beside(span, lines.get(span.source_id, ()), tables)))
    return list({(part.source_id, part.start, part.end): part for part in cut}.values())


def _beside(span: Span, lines: Iterable[Span], tables: Tabled) -> Iterator[Span]:
    """The rows in a span, and the sentences between tables; a caption is read with the rows below it."""
    low = 0
    for line in lines:
        if span.start <= line.start and line.end <= span.end:
            yield from _cut(span, low, line.start - span.start)
            low = line.end - span.start
            if line in tables.rows:
                yield line
    yield from _cut(span, low)


def may_tell_one(part: Span, other: Span) -> bool:
    """Whether two sentences may say one thing together: both of one passage, and not each a rule of its own.

    >>> rules = ("Restart warfarin in the evening.", "Restart apixaban after 48 hours.", "The dose is 5 mg.")
    >>> one, two, three = (Span("a:0", 0, len(text), text) for text in rules)
    >>> may_tell_one(one, two), may_tell_one(one, three)
    (False, True)
    """
    if part.source_id != other.source_id:
        return False
    first, second = (_OPENING.match(text) for text in (part.text, other.text))
    if first is None or second is None:
        return True
    return is_empty(first.group(1)) or form(first.group(1)) != form(second.group(1))
