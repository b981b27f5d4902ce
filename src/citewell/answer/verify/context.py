"""A source sentence as it reads where it stands: its titles say which plan it speaks of, and what “it” is."""

from __future__ import annotations

import re
from functools import lru_cache

from citewell.clinical.medicines import medicines
from citewell.clinical.quantities import Quantity, quantities
from citewell.types import Span

_LABELLED = frozenset(
    f"label {what}"
    for what in "type stage grade phase class step group category tier arm cohort plan protocol regimen option".split()
)
"""Labelled things of which a section may speak as a whole; a table or a day is none."""

_IT = re.compile(
    r"\W*(?:\d+[.)]\s*)?(?:(?:always|never|do\s+not|you\s+(?:should|must|can|may))\s+)?"
    r"(?:take|use|give|swallow|inject|store|keep|stop|start|restart|continue|avoid)\s+(?P<it>it|them)\b",
    re.IGNORECASE,
)
"""A sentence that opens with what to do with “it”: nothing else in it can be meant."""


@lru_cache(maxsize=4096)
def in_context(part: Span, claim: str) -> str:
    """The words of a sentence, with what its titles add of the plan, stage or medicine that a claim speaks of.

    >>> in_context(Span("d:0", 0, 19, "Take it once a day.", ("Taking warfarin safely",)), "Warfarin is taken daily.")
    'Take warfarin once a day.'
    """
    if not part.titles:
        return part.text
    text = _named(part, claim)
    if not _amounts(claim) & _amounts(text):  # only an amount of the claim's own is one of its plan
        return text
    here = {label.dimension for label in _labels(text)}
    wanted = {label.dimension for label in _labels(claim)} - here
    told = (
        [label.text for title in part.titles for label in _labels(title) if label.dimension in wanted] if wanted else []
    )
    return f"{text} ({told[-1]})" if told else text


def _labels(text: str) -> tuple[Quantity, ...]:
    return tuple(one for one in quantities(text) if one.dimension in _LABELLED)


def _amounts(text: str) -> frozenset[tuple[str, tuple[float, ...]]]:
    found = quantities(text)
    return frozenset((one.dimension, one.values) for one in found if not one.dimension.startswith("label"))


def _named(part: Span, claim: str) -> str:
    """With the one medicine of the titles for “it”, where the claim names it and the sentence names none."""
    found = _IT.match(part.text)
    if found is None or medicines(part.text):
        return part.text
    names = {drug.name for title in part.titles for drug in medicines(title)}
    if len(names) != 1 or names.isdisjoint(drug.name for drug in medicines(claim)):
        return part.text
    return part.text[: found.start("it")] + names.pop() + part.text[found.end("it") :]
