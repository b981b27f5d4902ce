"""The writer without a model: whole rules, rows and definitions, word for word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from citewell.answer.generate import LocalWriter
from citewell.assistants.guidelines.retrieve import RetrievedEntry, limit, quality
from citewell.types import Context

CHARACTERS_PER_TOKEN = 4
MAX_QUOTED = 5


class Quoter(LocalWriter):
    """Quotes each passage whole: half a rule may say the opposite of all of it."""

    def count(self, text: str) -> int:
        """About as many tokens as a model would count."""
        return -(-len(text) // CHARACTERS_PER_TOKEN)

    def write(self, question: str, context: Context, *, rules: str, begun_at: float | None = None) -> Iterator[str]:  # noqa: ARG002
        """One piece for each passage, with its mark."""
        for evidence in context.evidence:
            yield f"{evidence.text} [{evidence.alias}]"


def whole(pieces: Iterable[str]) -> Iterable[str]:
    """A quoted passage is checked and shown as one."""
    return pieces


def worth_quoting(retrieved_entries: Sequence[RetrievedEntry]) -> list[RetrievedEntry]:
    """What answers: all that was named, or those that come near the best and are open to the person asked about.

    Where the best is weak itself, none is left out for being weaker.
    """
    named = [retrieved_entry for retrieved_entry in retrieved_entries if retrieved_entry.is_named]
    if named or not retrieved_entries:
        return named
    least = limit("further") * retrieved_entries[0].score if quality(retrieved_entries) == "sufficient" else 0.0
    near = [entry for entry in retrieved_entries if entry.score >= least]
    return [entry for entry in near if not entry.is_for_others][:MAX_QUOTED] or near[:1]
