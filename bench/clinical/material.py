"""The marked texts that the clinical reader learns from and is measured on: `No {fever|symptom absent}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TYPES = ("none", "symptom", "condition", "medicine", "allergen", "test", "procedure", "lifestyle")
STATUSES = ("present", "absent", "unclear", "past", "family", "other", "hypothetical", "intended")

ANY, SKIP = "any", "skip"
"""Marks whose type, or whose status, is not known: nothing is learned of it."""

_MARK = re.compile(r"\{([^{}|]*)\|(\w+) (\w+)\}")


@dataclass(frozen=True, slots=True)
class Mark:
    """Words of a text that name something, of what type they are and how it holds."""

    start: int
    end: int
    type: str
    status: str


@dataclass(frozen=True, slots=True)
class Marked:
    """A text and its marks."""

    style: str
    text: str
    marks: tuple[Mark, ...]


def read_marked(path: Path) -> list[Marked]:
    """The documents of a file; one with a broken mark is an error that names its line."""
    documents = []
    for number, block in enumerate(re.split(r"^---\s*$", path.read_text("utf-8"), flags=re.MULTILINE), 1):
        style, _, body = block.strip("\n").partition("\n") if block.lstrip().startswith("#") else ("", "", block)
        if body.strip():
            try:
                documents.append(parse(style.removeprefix("#style:").strip(), body.strip()))
            except ValueError as error:
                raise SystemExit(f"{path.name}, document {number}: {error}") from error
    return documents


def parse(style: str, marked: str) -> Marked:
    """A marked text as plain text with the places of its marks.

    >>> parse("", "No {fever|symptom absent}.").text
    'No fever.'
    """
    pieces: list[str] = []
    marks: list[Mark] = []
    at = length = 0
    for match in _MARK.finditer(marked):
        words, kind, status = match.groups()
        if kind not in (*TYPES, ANY) or status not in (*STATUSES, SKIP) or not words.strip():
            raise ValueError(match.group())
        before = marked[at : match.start()]
        pieces += [before, words]
        start = length + len(before)
        length = start + len(words)
        marks.append(Mark(start, length, kind, status))
        at = match.end()
    pieces.append(marked[at:])
    text = "".join(pieces)
    if "{" in text or "}" in text:
        raise ValueError("a brace without a type and a status")
    return Marked(style, text, tuple(marks))
