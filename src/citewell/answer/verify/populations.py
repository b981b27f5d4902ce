"""Whether a source sentence stands under a heading of other people than those of whom a claim speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.headings import is_heading
from citewell.clinical.populations import age_groups, ages_in
from citewell.clinical.quantities import quantities
from citewell.types import Span


def of_others(claim: str, part: Span, parts: Sequence[Span]) -> Iterator[Finding]:
    """An adult's dose for a child: the sentence names no people, and the nearest heading that does names others."""
    ours = age_groups(claim)
    if not ours or age_groups(part.text):
        return
    heading = _above(part, tuple(parts))
    is_same_age = any(one.meets(other) for one in ages_in(claim) for other in ages_in(heading))
    if heading and ours.isdisjoint(age_groups(heading)) and not is_same_age:
        yield Finding(Grade.AGAINST, "opposite", f"the source says it under “{heading}”", 0, len(claim))


@lru_cache(maxsize=1024)
def _above(part: Span, parts: tuple[Span, ...]) -> str:
    """The nearest heading above a part that names people, in its passage or among its titles; nothing without one."""
    before = [one for one in parts if one.source_id == part.source_id and one.start < part.start]
    headings = [one.text for one in sorted(before, key=lambda one: -one.start) if _is_heading(one.text)]
    return next((one for one in (*headings, *reversed(part.titles)) if age_groups(one)), "")


def _is_heading(text: str) -> bool:
    """Whether a part only names what follows; ages are a part of such a name: “Children under 12 years”."""
    if text.endswith(":") or is_heading(text):
        return True
    named = quantities(text)
    return bool(named) and len(ages_in(text)) == len(named) and is_heading(_without(text))


def _without(text: str) -> str:
    for amount in reversed(quantities(text)):
        text = f"{text[: amount.start]}{text[amount.end :]}"
    return text
