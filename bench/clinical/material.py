"""The marked texts that the clinical reader learns from and is measured on: `No {fever|symptom absent}`.

A mark may say what its words mean: `{clothes hang off her|symptom present|weight loss}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TYPES = ("none", "symptom", "condition", "medicine", "allergen", "test", "procedure", "lifestyle")
STATUSES = ("present", "absent", "unclear", "past", "family", "other", "hypothetical", "intended")

ANY, SKIP = "any", "skip"
"""Marks whose type, or whose status, is not known: nothing is learned of it."""

NOTHING = "none"
"""What words mean that look like a complaint and are none."""

_DENIAL = re.compile(r"\b(?:no|not|nil|never|without|denie[sd]|none|free of)\b|n['’]t\b", re.IGNORECASE)
_WORDING = re.compile(r"\{([^{}|]*\w[^{}|]*)(\|other)?\}")
_MARK = re.compile(r"\{([^{}|]*)\|(\w+) (\w+)(?:\|([^{}|]+))?\}")


@dataclass(frozen=True, slots=True)
class Mark:
    """Words of a text that name something, of what type they are and how it holds."""

    start: int
    end: int
    type: str
    status: str
    name: str = ""
    """What the words mean, by the preferred name of the lexicon; empty where that is not told."""


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


def read_wordings(path: Path, kinds: Mapping[str, str]) -> list[Marked]:
    """Wordings of clinical things, of the types that are given: `weight loss<TAB>her {clothes are hanging off her}`.

    What stands beside them and is clinical too is marked `{sore throat|other}`: nothing is learned of it. Words that
    mean none of them are named `none`, and taken for no mention.
    """
    documents = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        name, _, wording = line.partition("\t")
        if name not in kinds and name != NOTHING:
            raise SystemExit(f"{path.name}, line {number}: no such name: {name}")
        text, marks, at = "", [], 0
        for match in _WORDING.finditer(wording):
            text += wording[at : match.start()]
            start, at = len(text), match.end()
            text += match[1]
            status = SKIP if name == NOTHING else "present"
            known = Mark(start, len(text), kinds.get(name, TYPES[0]), status, name)
            marks.append(Mark(start, len(text), ANY, SKIP) if match[2] else known)
        text += wording[at:]
        if not any(mark.name for mark in marks) or "{" in text or "}" in text:
            raise SystemExit(f"{path.name}, line {number}: {line}")
        if name == NOTHING and any(_DENIAL.search(text, mark.start, mark.end) for mark in marks):
            continue  # what is denied is named all the same
        documents.append(Marked("wording", text, tuple(marks)))
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
        words, kind, status, name = match.groups()
        if kind not in (*TYPES, ANY) or status not in (*STATUSES, SKIP) or not words.strip():
            raise ValueError(match.group())
        before = marked[at : match.start()]
        pieces += [before, words]
        start = length + len(before)
        length = start + len(words)
        marks.append(Mark(start, length, kind, status, name or ""))
        at = match.end()
    pieces.append(marked[at:])
    text = "".join(pieces)
    if "{" in text or "}" in text:
        raise ValueError("a brace without a type and a status")
    return Marked(style, text, tuple(marks))
