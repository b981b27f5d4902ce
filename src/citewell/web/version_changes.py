"""What changed between two versions of a document, sentence by sentence and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from citewell.sentences import sentences
from citewell.web.display_words import counted

MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that stayed, came or went."""

    op: str
    text: str


@dataclass(frozen=True, slots=True)
class SentenceChange:
    """A sentence that was added, removed or reworded."""

    kind: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """What changed, and how many sentences did not."""

    changes: tuple[SentenceChange, ...]
    unchanged: int

    @property
    def summary(self) -> str:
        """The numbers in words.

        >>> changes_between("Give 5 mg. Rest.", "Give 10 mg. Rest. Drink.").summary
        '1 sentence reworded, 1 sentence added; 1 sentence unchanged.'
        """
        kinds = [change.kind for change in self.changes]
        told = [
            f"{counted(kinds.count(kind), 'sentence')} {kind}"
            for kind in ("reworded", "added", "removed")
            if kind in kinds
        ]
        return f"{', '.join(told) or 'No sentence changed'}; {counted(self.unchanged, 'sentence')} unchanged."


def changes_between(old: str, new: str) -> VersionChanges:
    """The sentences of two texts held beside each other; blanks and line ends do not count."""
    before, now = _sentences(old), _sentences(new)
    changes: list[SentenceChange] = []
    unchanged = 0
    for op, left, left_end, right, right_end in SequenceMatcher(a=before, b=now, autojunk=False).get_opcodes():
        if op == "equal":
            unchanged += left_end - left
        else:
            changes += _changed(before[left:left_end], now[right:right_end])
    return VersionChanges(tuple(changes), unchanged)


def _sentences(text: str) -> list[str]:
    return [words for span in sentences(text) if (words := " ".join(text[span[0] : span[1]].split()))]


def _changed(before: Sequence[str], now: Sequence[str]) -> Iterator[SentenceChange]:
    """Sentences in one place: in pairs as far as they are alike, the rest added or removed."""
    for old, new in zip(before, now, strict=False):
        matcher = SequenceMatcher(a=old.split(), b=new.split(), autojunk=False)
        if matcher.ratio() < ALIKE:
            yield SentenceChange("removed", (Piece("removed", old),))
            yield SentenceChange("added", (Piece("added", new),))
        else:
            yield SentenceChange("reworded", tuple(_pieces(matcher, old.split(), new.split())))
    yield from (SentenceChange("removed", (Piece("removed", old),)) for old in before[len(now) :])
    yield from (SentenceChange("added", (Piece("added", new),)) for new in now[len(before) :])


ALIKE = 0.5
"""From which part of their words two sentences are one that was reworded."""


def _pieces(matcher: SequenceMatcher[str], old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    for op, left, left_end, right, right_end in matcher.get_opcodes():
        if op == "equal":
            yield Piece("same", " ".join(new[right:right_end]))
            continue
        if left_end > left:
            yield Piece("removed", " ".join(old[left:left_end]))
        if right_end > right:
            yield Piece("added", " ".join(new[right:right_end]))
