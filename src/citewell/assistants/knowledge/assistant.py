"""A tenant's knowledge base: every sentence cited and checked, or the question goes to the person who knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from citewell.answer.assistant import LibraryAssistant
from citewell.prompts import Template
from citewell.types import Scope

FOLDER = Path(__file__).parent
RULES = Template.read(FOLDER / "rules.txt")
RATING = Template.read(FOLDER / "rating.txt")


@dataclass(frozen=True, slots=True)
class Knowledge(LibraryAssistant):
    """The assistant for what a tenant's documents say."""

    rules: ClassVar[Template] = RULES
    refused: ClassVar[str] = (
        "This reads like an instruction to the assistant, not a question. Ask about what the documents say."
    )

    checkers: Mapping[str, str] = field(default_factory=dict)
    """The models that have a say in the check of a sentence, by their part in it."""

    def nothing(self, _scope: Scope) -> str:
        """Why no answer can be given where nothing was found."""
        return "No relevant documents found"

    def built(self) -> Mapping[str, Any]:
        """Its prompts, and the models that have a say in the check."""
        return {"prompts": {"rules": RULES.hash, "rating": RATING.hash}, **self.checkers}
