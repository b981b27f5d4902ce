"""What a search and an addition of several files come to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewell.answer.expand import Expansion
    from citewell.errors import CitewellError
    from citewell.ingest.library_changes import AddedDocument
    from citewell.types import Hit


@dataclass(frozen=True, slots=True)
class Results:
    """What a search found, and how."""

    question: str
    hits: tuple[Hit, ...]
    expansions: tuple[Expansion, ...]
    took_ms: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file of several: added, or an error that says what to do."""

    path: Path
    added: AddedDocument | None
    error: CitewellError | None
