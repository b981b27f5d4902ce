"""Looks up what the facts say to a question, and what papers say of the same, word for word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.assistants.records.fact_places import is_coded
from citewell.assistants.records.fact_query import GatheredFacts
from citewell.assistants.records.gather import gather
from citewell.assistants.records.intents import Intent
from citewell.assistants.records.known_facts import LONG_AGO, KnownFacts, when
from citewell.assistants.records.letters import letter
from citewell.assistants.records.named_facts import Names
from citewell.assistants.records.paper_mentions import Paper, PaperMention, mentions
from citewell.assistants.records.paper_values import critical_values
from citewell.assistants.records.papers import day_of
from citewell.types import Hit

if TYPE_CHECKING:
    from citewell.assistants.records.turn import RecordExchange

LISTED = frozenset(
    {Intent.CHANGES, Intent.MEDICINES, Intent.DIAGNOSES, Intent.ALLERGIES, Intent.VACCINATIONS, Intent.PROCEDURES}
)
"""Wishes for all of a kind, of which a newer paper may know more."""


def look_up(turn: RecordExchange, known: KnownFacts) -> tuple[GatheredFacts | None, list[Hit]]:
    """What the facts say, and what papers say of the same; or a letter that is asked for as such."""
    lexicon = turn.records.search.lexicon
    names = Names.of(turn.text, lexicon)
    if (asked_for := letter(names, turn.wanted, _uncoded(turn))) is not None:
        return GatheredFacts(asked_for.lead, is_letter=True), _quoted(asked_for.said, turn)
    gathered = gather(turn.text, turn.wanted, known, lexicon=lexicon, now=turn.records.now())
    paper_mentions = _said(turn, names, gathered, known)
    shown = {(fact.origin.document_id, fact.origin.start) for fact in (gathered.facts if gathered else ())}
    return gathered, _quoted(
        [mention for mention in paper_mentions if (mention.document_id, mention.start) not in shown], turn
    )


def _said(turn: RecordExchange, names: Names, gathered: GatheredFacts | None, known: KnownFacts) -> list[PaperMention]:
    """What papers say of the same, which no fact may have: nobody is told “no” before they were searched."""
    if Intent.PREPARE in turn.wanted:
        return [critical_value.place for critical_value in critical_values(_uncoded(turn), known)]
    if gathered is None or gathered.if_mentioned:
        return mentions(names, turn.wanted, turn.papers)
    if names.names_something:
        return mentions(names, turn.wanted, _uncoded(turn))
    return mentions(names, turn.wanted, _newer(turn, gathered))


def _newer(turn: RecordExchange, gathered: GatheredFacts) -> list[Paper]:
    """Of a list, the papers that may be newer than all of it."""
    if not turn.wanted.all & LISTED or not gathered.facts:
        return []
    newest = max(when(fact) or LONG_AGO for fact in gathered.facts)
    days = ((one, day_of(*one)) for one in _uncoded(turn))
    return [one for one, day in days if day is None or day > newest]


def _uncoded(turn: RecordExchange) -> list[Paper]:
    """The papers that are no export of codes."""
    return [paper for paper in turn.papers if not is_coded(paper[0])]


def _quoted(places: list[PaperMention] | tuple[PaperMention, ...], turn: RecordExchange) -> list[Hit]:
    return [turn.records.places.quote(place.document_id, place.start, place.end, turn.scope) for place in places]
