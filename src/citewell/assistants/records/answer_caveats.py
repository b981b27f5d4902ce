"""What an answer from facts must add: papers that were searched or hold no facts, and how old the record is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from citewell.assistants.records.fact_query import GatheredFacts
from citewell.assistants.records.intents import Intent, Intents
from citewell.assistants.records.known_facts import KnownFacts, when
from citewell.types import LibraryEntry
from citewell.types.facts import RecordOwner
from citewell.types.facts_line import shown

NAMED = 3
"""Papers that are named; of more, how many there are."""
OLD = timedelta(days=365)
AS_OF_NOW = frozenset({Intent.MEDICINES, Intent.PRESCRIBER, Intent.DIAGNOSES, Intent.PREPARE, Intent.ALLERGIES})
"""Wishes that are about how things are now."""


def searched_too(number: int) -> str:
    """That nobody was told “no” before the papers were searched."""
    return "Your document was searched too." if number == 1 else f"Your {number} documents were searched too."


def not_read(papers: Sequence[LibraryEntry]) -> str:
    """Which papers no fact was read from; empty where there is none.

    >>> not_read([])
    ''
    """
    if not papers:
        return ""
    more = f" and {len(papers) - NAMED} more" if len(papers) > NAMED else ""
    names = ", ".join(f"“{paper.title}”" for paper in papers[:NAMED]) + more
    whose = (
        "One document has no facts taken from it"
        if len(papers) == 1
        else f"{len(papers)} documents have no facts taken from them"
    )
    return f"{whose} ({names}), so anything found only there is missing from this list."


def how_old(known: KnownFacts, *, now: datetime) -> str:
    """Of when the newest entry is, where that is long ago, and that the person has died."""
    died = next((owner.died for owner in known.of(RecordOwner) if owner.died), None)
    if died is not None:
        return f"The person in this record died on {shown(died)}. “Now” in this answer means that date."
    newest = max((day for fact in known.facts if (day := when(fact)) is not None and day <= now), default=None)
    if newest is None or now - newest < OLD:
        return ""
    return f"The latest entry in your record is from {newest.day} {newest:%B %Y}. “Now” in this answer means that date."


def notes(
    gathered: GatheredFacts,
    known: KnownFacts,
    wanted: Intents,
    *,
    unread: Sequence[LibraryEntry],
    searched: int,
    is_quoted: bool = False,
    now: datetime,
) -> list[str]:
    """All that is added, what the answer itself says last comes first."""
    found = ["" if is_quoted else gathered.if_silent, gathered.after]
    if gathered.if_mentioned and searched:
        found.append(searched_too(searched))
    else:
        found.append(not_read(unread))
    if gathered.facts and wanted.all & AS_OF_NOW:
        found.append(how_old(known, now=now))
    return [one for one in found if one]
