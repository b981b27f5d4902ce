"""Cuts a text into the pieces that the clinical reader reads at once, each with some context on either side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

WIDTH = 130
"""About how many tokens are read at once, context left out."""
LEFT, RIGHT = 40, 25
"""About how many tokens of context are read before and after."""
CHARACTERS = 5
"""Characters of a token, about."""
LONGEST_AT_ONCE = WIDTH * CHARACTERS
"""A text of so many characters is one piece."""

_END = re.compile(r"\n+|(?<=[.?!])\s+")


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text to be read, and the part of it whose tokens count."""

    start: int
    end: int
    own_start: int
    own_end: int

    @classmethod
    def around(cls, text: str, start: int, end: int, *, left: int, right: int) -> Window:
        """A part with whole words of context on either side."""
        low, high = max(0, start - left), min(len(text), end + right)
        while 0 < low < start and not text[low - 1].isspace():
            low += 1
        while end < high < len(text) and not text[high].isspace():
            high -= 1
        return cls(low, high, start, end)


def segments(text: str) -> list[tuple[int, int]]:
    """Lines and sentences, those that never end cut at a space.

    >>> segments("No fever. Cough\\nPMH: asthma")
    [(0, 10), (10, 16), (16, 27)]
    """
    edges = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    found: list[tuple[int, int]] = []
    for low, end in pairwise(edges):
        start = low
        while end - start > LONGEST_AT_ONCE:
            space = text.rfind(" ", start + 1, start + LONGEST_AT_ONCE)
            cut = space + 1 if space > 0 else start + LONGEST_AT_ONCE
            found.append((start, cut))
            start = cut
        if end > start:
            found.append((start, end))
    return found


def pieces(text: str) -> Iterator[Window]:
    """The pieces of a text, one after the other; a short text is one piece."""
    start = end = 0
    for low, high in segments(text):
        if high - start > LONGEST_AT_ONCE and end > start:
            yield Window.around(text, start, end, left=LEFT * CHARACTERS, right=RIGHT * CHARACTERS)
            start = low
        end = high
    if end > start:
        yield Window.around(text, start, end, left=LEFT * CHARACTERS, right=RIGHT * CHARACTERS)
