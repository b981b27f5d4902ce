"""Facts and papers that speak of the same: what may be newer stands first, and the words that lead say so."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from citewell.assistants.records.fact_query import GatheredFacts
from citewell.assistants.records.known_facts import LONG_AGO, when
from citewell.types import Hit

PAPERS_FIRST = (
    "Your documents mention this too, and may be newer than your list of facts. The documents come first, then the "
    "list:"
)


def newer(
    gathered: GatheredFacts, hits: Sequence[Hit], said: Sequence[Hit], dated: Sequence[datetime | None]
) -> tuple[str, list[Hit]]:
    """The words that lead, and facts and papers in the order in which they are told.

    A “no” is followed by what papers say. A paper whose day is not known may be newer than any fact.
    """
    if gathered.if_mentioned:
        return (gathered.if_mentioned if said else gathered.lead), [*said, *hits]
    if not said or not gathered.facts:
        return gathered.lead, [*hits, *said]
    newest = max(when(fact) or LONG_AGO for fact in gathered.facts)
    if any(day is None or day > newest for day in dated):
        return gathered.with_papers or PAPERS_FIRST, [*said, *hits]
    return gathered.lead, [*hits, *said]
