"""Evidence as this assistant's prompt shows it: blocks that are named by their number alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from citewell.types import Context, Evidence


@dataclass(frozen=True, slots=True)
class NumberedPassage(Evidence):
    """A passage whose name in the prompt is its number: the model cites [1], and so does the answer."""

    @property
    def alias(self) -> str:
        return str(self.number)


def numbered(context: Context) -> Context:
    """The same context with its evidence as numbered blocks."""
    blocks = (
        NumberedPassage(evidence.number, evidence.hit, evidence.start, evidence.end, evidence.is_suspicious)
        for evidence in context.evidence
    )
    return replace(context, evidence=tuple(blocks))
