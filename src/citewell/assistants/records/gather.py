"""Gathers from the facts what answers a question: what it wants and names, told by the first wish that fits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from citewell.assistants.records.answer_facts import TELLERS, of_named
from citewell.assistants.records.fact_query import FactQuery, GatheredFacts, listed, not_mentioned
from citewell.assistants.records.intents import Intent, Intents
from citewell.assistants.records.known_facts import KnownFacts
from citewell.assistants.records.named_facts import Names
from citewell.clinical import Lexicon

ASK_FIRST = (
    "Whether to take, change or stop something is a question for your pharmacist or doctor: a record cannot answer it."
)
ASKING = frozenset(Intent) - {Intent.LATEST}
"""Wishes that show that the question is about the record."""


def gather(
    question: str, wanted: Intents, known: KnownFacts, *, lexicon: Lexicon, now: datetime | None = None
) -> GatheredFacts | None:
    """What the facts say to a question; None where it is a matter for the documents."""
    names = Names.of(question, lexicon)
    named = names.among(known.facts)
    asked = FactQuery(
        wanted,
        known,
        named,
        unknown=tuple(names.unknown(known.facts)),
        about=() if named else names.about(named),
        said=names.said,
        now=now or datetime.now(UTC),
    )
    if (gathered_facts := _told(asked, names)) is None:
        return None
    written = names.otherwise(fact for fact in gathered_facts.facts if fact in named)
    spelled = f"Your record spells this {listed([f'“{word}”' for word in written])}." if written else ""
    if not written and names.corrected:
        spelled = f"Showing results for {listed(list(names.corrected.values()))}."
    return replace(
        gathered_facts, after=_joined(spelled, gathered_facts.after, ASK_FIRST if Intent.MAY in wanted else "")
    )


def _told(asked: FactQuery, names: Names) -> GatheredFacts | None:
    """What is told by the first wish that the facts can tell something to, else of what is named."""
    for wish, tell in TELLERS:
        if wish in asked.wanted and (gathered_facts := tell(asked)) is not None:
            return gathered_facts
    if asked.named:
        return of_named(asked)
    return not_mentioned(asked) if asked.unknown and (asked.wanted.all & ASKING or names.is_own) else None


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
