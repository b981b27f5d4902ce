"""An emergency that a text tells of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Emergency:
    """What may be happening, and the words that come before everything else."""

    kinds: tuple[str, ...]
    language: Literal["en", "fr", "de"]
    text: str
    """The way to help."""
    words: tuple[str, ...] = ()
    """The words that tell of it; empty where only the sense of the whole does."""
