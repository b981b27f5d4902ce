"""Whether a source sentence stands under a heading of other people than those of whom a claim speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from citewell.answer.verify_findings import Finding, Grade
from citewell.answer.verify_headings import is_heading
from citewell.answer.verify_opposites import values_of
from citewell.types import Span

AXIS = "age group"
"""The axis of the table of antonyms that tells people apart by age."""


def of_others(claim: str, part: Span, parts: Sequence[Span]) -> Iterator[Finding]:
    """An adult's dose for a child: the sentence names no people itself, and the heading above it names others."""
    ours = values_of(claim, AXIS)
    if not ours or values_of(part.text, AXIS):
        return
    heading = _above(part, tuple(parts))
    theirs = values_of(heading, AXIS)
    if theirs and ours.isdisjoint(theirs):
        yield Finding(Grade.AGAINST, "opposite", f"the source says it under “{heading}”", 0, len(claim))


@lru_cache(maxsize=1024)
def _above(part: Span, parts: tuple[Span, ...]) -> str:
    """The heading next above a part, in its passage or among its titles; nothing where none names people."""
    before = [one for one in parts if one.source_id == part.source_id and one.start < part.start]
    for one in sorted(before, key=lambda one: -one.start):
        if one.text.endswith(":") or is_heading(one.text):
            return one.text
    return part.titles[-1] if part.titles else ""
