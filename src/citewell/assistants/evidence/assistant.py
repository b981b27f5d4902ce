"""Literature by care journey: what is for everyone and for this journey answers, each sentence cited, or nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from citewell.answer.assistant import LibraryAssistant
from citewell.prompts import Template
from citewell.types import Context, Evidence, Scope


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


NAME = "evidence"
RULES = Template.read(Path(__file__).parent / "rules.txt")
NOTHING = "No relevant literature found for this care journey"
NOTHING_UNIVERSAL = (
    "No relevant literature found. Only general literature was searched, because no care journey was chosen"
)


@dataclass(frozen=True, slots=True)
class Literature(LibraryAssistant):
    """The assistant for a care journey; the journey is a part of the scope, so nothing else is ever ranked."""

    rules: ClassVar[Template] = RULES
    refused: ClassVar[str] = (
        "This looks like an instruction to the assistant, not a question. Ask about what the literature says."
    )

    def nothing(self, scope: Scope) -> str:
        """Why no answer can be given where nothing was found."""
        return NOTHING_UNIVERSAL if scope.journey is None else NOTHING

    def built(self) -> Mapping[str, Any]:
        """Its name, and its prompts."""
        return {"assistant": NAME, "prompts": {"rules": RULES.hash}}

    def notes(self, scope: Scope) -> Mapping[str, Any]:
        """The journey that was asked in."""
        return {"journey": scope.journey}

    def shaped(self, context: Context) -> Context:
        """Evidence in numbered blocks."""
        return numbered(context)
