"""What one question may ask for besides an answer; all else is as the library is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from citewell.errors import InputError

MAX_CHUNKS = 50


@dataclass(frozen=True, slots=True)
class Wishes:
    """Another model of the same server, and how many passages the answer may rest on; None leaves it as it is set."""

    model: str | None = None
    max_context_chunks: int | None = None

    def __post_init__(self) -> None:
        if self.model is not None and not self.model.strip():
            raise InputError("Name a model, or leave it out.")
        if self.max_context_chunks is not None and not 1 <= self.max_context_chunks <= MAX_CHUNKS:
            raise InputError(f"An answer rests on 1 to {MAX_CHUNKS} passages.")

    @classmethod
    def of(cls, told: Mapping[str, Any] | None) -> Wishes:
        """What was written down of a question; an older record holds none.

        >>> Wishes.of(Wishes("qwen3:8b", 3).told) == Wishes("qwen3:8b", 3), Wishes.of(None) == NONE
        (True, True)
        """
        return cls(**told) if told else cls()

    @property
    def told(self) -> dict[str, Any]:
        """The same, to be written down."""
        return asdict(self)


NONE = Wishes()
