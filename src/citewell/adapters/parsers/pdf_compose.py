"""Writes blocks into the canonical text and notes where each character stands."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from citewell.adapters.parsers.pdf_blocks import Draft, LineBlock
from citewell.adapters.parsers.pdf_geometry import Rect
from citewell.adapters.parsers.pdf_lines import TextLine
from citewell.ingest.canonical import Canonical
from citewell.types import PageLine

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_COMPOUND = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?:-[^\W\d_]++)+")
_TAIL = re.compile(r"(?<![^\W\d_])([^\W\d_]+)[-\xad]$")
_HEAD = re.compile(r"^[^\W\d_]+")
SOFT_HYPHEN = "\xad"
_LEADERS = re.compile(r"(?:\s?[.…_·]){4,}\s*")
_NO_SPACE = re.compile(r"(?:[^\s]/|\d[–−-]|https?://\S{1,400}[-./_=&?%])$")


class Vocabulary:
    """The words of a document, to tell a hyphen that divides a word from one that belongs to it."""

    def __init__(self, lines: Iterable[TextLine]) -> None:
        self.words: Counter[str] = Counter()
        self.compounds: Counter[str] = Counter()
        for line in lines:
            folded = line.text.casefold()
            self.words.update(_WORD.findall(folded.rstrip("-\xad") if folded.endswith(("-", "\xad")) else folded))
            self.compounds.update(_COMPOUND.findall(folded))
            if tail := _TAIL.search(folded):
                self.words[tail.group(1)] -= 1

    def keeps_hyphen(self, head: str, tail: str) -> bool:
        """Whether “head-” at the end of a line and “tail” on the next are a compound.

        A word that stands undivided elsewhere in the document was divided; a compound that stands elsewhere was not.
        Without either, two words that both stand alone elsewhere make a compound.
        """
        head, tail = head.casefold(), tail.casefold()
        whole, compound = self.words[head + tail], self.compounds[f"{head}-{tail}"]
        if whole or compound:
            return compound >= whole
        return self.words[head] > 0 and self.words[tail] > 0


class Composer:
    """Collects blocks as text, lines and the place where each page begins."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.canonical = Canonical()
        self.lines: list[PageLine] = []
        self.page_starts: dict[int, int] = {}
        self._vocabulary = vocabulary

    def add(self, draft: Draft) -> None:
        """Write one block."""
        text, lines = self._written(draft.parts)
        if draft.kind == "heading":
            span = self.canonical.heading(text, level=draft.level or 1, page=draft.page)
        else:
            span = self.canonical.add(draft.kind, text, page=draft.page)
        if span is None:
            return
        self.page_starts.setdefault(draft.page, span[0])
        for start, row in lines:
            for line in _placed(row, span[0] + start):
                self.lines.append(line)
                self.page_starts.setdefault(line.page, line.start)

    def _written(self, parts: Sequence[LineBlock | str]) -> tuple[str, list[tuple[int, TextLine]]]:
        """The block's text, and each line of the page with its place in it."""
        written: list[str] = []
        lines: list[tuple[int, TextLine]] = []
        length = 0
        for part in parts:
            if isinstance(part, str):
                written.append(part)
                length += len(part)
                continue
            rows = part.lines
            for position, row in enumerate(rows):
                piece, glue = self._joint(row, rows[position + 1] if position + 1 < len(rows) else None)
                if not piece.text:
                    continue
                if part.placed:
                    lines.append((length, piece))
                written += [piece.text, glue]
                length += len(piece.text) + len(glue)
        return "".join(written), lines

    def _joint(self, row: TextLine, following: TextLine | None) -> tuple[TextLine, str]:
        """The line as it is kept and what stands between it and the next."""
        row = cleaned(row)
        if row.text.endswith(SOFT_HYPHEN):
            return picked(row, range(len(row.text) - 1)), ""
        if following is None:
            return row, ""
        tail, head = _TAIL.search(row.text), _HEAD.match(following.text)
        if tail and head:
            if head.group()[0].islower() and not self._vocabulary.keeps_hyphen(tail.group(1), head.group()):
                return picked(row, range(len(row.text) - 1)), ""
            return row, ""
        if row.text.endswith("-") and not row.text.endswith(" -") and following.text[:1].isalnum():
            return row, ""
        return row, "" if _NO_SPACE.search(row.text) else " "


def cleaned(row: TextLine) -> TextLine:
    """The line with one space for a row of dots, and without soft hyphens before its end."""
    if SOFT_HYPHEN not in row.text and not _LEADERS.search(row.text):
        return row
    text = list(row.text)
    for match in _LEADERS.finditer(row.text):
        text[match.start() : match.end()] = [" "] + [""] * (match.end() - match.start() - 1)
    kept: list[int] = []
    for place, character in enumerate(text):
        is_soft = character == SOFT_HYPHEN and place < len(text) - 1
        doubles = character == " " and (not kept or text[kept[-1]] == " ")
        if character and not is_soft and not doubles:
            kept.append(place)
    while kept and text[kept[-1]] == " ":
        kept.pop()
    return replace(picked(row, kept), text="".join(text[place] for place in kept))


def picked(row: TextLine, places: Sequence[int]) -> TextLine:
    """The line with only the characters at these places."""
    return replace(
        row,
        text="".join(row.text[place] for place in places),
        lefts=tuple(row.lefts[place] for place in places),
        rights=tuple(row.rights[place] for place in places),
    )


def _placed(row: TextLine, start: int) -> Iterable[PageLine]:
    """The line on the page as it is seen; text that does not run to the right is placed word by word."""
    if row.turn.direction == "right":
        yield PageLine(start, row.page, row.top, row.bottom, array("d", row.lefts), array("d", row.rights))
        return
    for match in re.finditer(r"\S+", row.text):
        first, last = match.span()
        own = Rect(min(row.lefts[first:last]), row.top, max(row.rights[first:last]), row.bottom)
        seen = row.turn.back(own)
        size = last - first
        yield PageLine(
            start + first,
            row.page,
            seen.top,
            seen.bottom,
            array("d", [seen.left] * size),
            array("d", [seen.right] * size),
        )
