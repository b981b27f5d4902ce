"""Gathers from the facts what answers a question: what it wants and names, told by the first wish that fits."""

from __future__ import annotations

from citewell.assistants.records.asked import Asked, Gathered, not_mentioned
from citewell.assistants.records.known import Known
from citewell.assistants.records.names import Names
from citewell.assistants.records.tell import TELLERS, of_named
from citewell.assistants.records.wishes import Wish, Wishes
from citewell.clinical import Lexicon

ASKING = frozenset(Wish) - {Wish.LATEST}
"""Wishes that show that the question is about the record."""


def gather(question: str, wanted: Wishes, known: Known, *, lexicon: Lexicon) -> Gathered | None:
    """What the facts say to a question; None where it is a matter for the documents."""
    names = Names.of(question, lexicon)
    named = names.among(known.facts)
    asked = Asked(
        wanted,
        known,
        named,
        unknown=tuple(names.unknown(known.facts)),
        about=() if named else names.about(named),
    )
    for wish, tell in TELLERS:
        if wish in wanted and (found := tell(asked)) is not None:
            return found
    if asked.named:
        return of_named(asked)
    return not_mentioned(asked) if asked.unknown and (wanted.all & ASKING or names.is_own) else None
