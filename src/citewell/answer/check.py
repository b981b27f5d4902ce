"""Checks any text, sentence by sentence: against the library, one document, or words that are given with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from citewell.answer.finish import Verify
from citewell.errors import InputError
from citewell.types import Check, Span
from citewell.words import sentences

MAX_CHARACTERS = 50_000

Find = Callable[[str], Sequence[Span]]
"""The words that a sentence should be held against."""


def check(text: str, *, find: Find, verify: Verify) -> list[tuple[str, Check]]:
    """Every sentence of a text with its verdict."""
    if not text.strip():
        raise InputError("There is nothing to check: give a sentence or a paragraph.")
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"A text of up to {MAX_CHARACTERS:,} characters can be checked at once; this one is longer.")
    parts = [text[start:end] for start, end in sentences(text)]
    return [(part, verify(part, find(part))) for part in parts]
