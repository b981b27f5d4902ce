"""Reads the plain text from which the guideline and the policy are made: headings, paragraphs, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

FICTION = "Fictional sample written for Citewell. Not for clinical use."

Kind = Literal["heading", "paragraph", "bullet", "number", "table", "page", "columns", "title", "subtitle", "notice"]

_NUMBERED = re.compile(r"(\d+(?:\.\d+)*\.?) (.+)")
_SIGNS: dict[str, Kind] = {"- ": "bullet", "= ": "title", "~ ": "subtitle", "> ": "notice"}


@dataclass(frozen=True)
class Piece:
    """One heading, paragraph, list item or table of a source text."""

    kind: Kind
    text: str = ""
    label: str = ""
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = ()
    widths_cm: tuple[float, ...] = ()


def pieces(source: str) -> Iterator[Piece]:
    """The pieces of a source text, in order; each stands on one line, a table on a line per row."""
    lines = iter(source.splitlines())
    for line in lines:
        if line.startswith("!table "):
            yield _table(line, lines)
        elif line.startswith("!page"):
            yield Piece("page", text=line.removeprefix("!page").strip())
        elif line.startswith("!columns"):
            yield Piece("columns")
        elif line.startswith("#"):
            marks, title = line.split(" ", 1)
            yield Piece("heading", text=title, level=len(marks))
        elif line[:2] in _SIGNS:
            yield Piece(_SIGNS[line[:2]], text=line[2:])
        elif numbered := _NUMBERED.fullmatch(line):
            yield Piece("number", text=numbered.group(2), label=numbered.group(1))
        elif line:
            yield Piece("paragraph", text=line)


def _table(opening: str, lines: Iterator[str]) -> Piece:
    """The table that starts here: a caption and widths, then rows up to an empty line."""
    caption, widths = opening.removeprefix("!table ").split(" | ")
    rows = []
    for line in lines:
        if not line:
            break
        rows.append(tuple(line.split(" | ")))
    return Piece("table", text=caption, rows=tuple(rows), widths_cm=tuple(float(width) for width in widths.split()))
