"""How much of what a question speaks of a piece holds: rare things weigh more, and what no piece has counts too."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from citewell.assistants.guidelines.concept_match import Unit, is_clinical, units
from citewell.assistants.guidelines.search_entries import SearchEntry
from citewell.assistants.guidelines.tables import rows
from citewell.clinical import broader, fold

UNKNOWN_WORD = 0.5
"""What a plain word that no piece has weighs beside a clinical one that no piece has."""


@cache
def question_words() -> frozenset[str]:
    """Words that are there to ask."""
    return frozenset(fold(word) for (line,) in rows("chat_stop.tsv") for word in line.split())


def focus(question: str) -> tuple[Unit, ...]:
    """What a question is about: its clinical things and the words that are not there to ask.

    >>> len(focus("Which people should be referred?"))
    0
    """
    wanted = {frozenset(one for one in unit if one not in question_words()) for unit in units(question)}
    found = {unit for unit in wanted if unit}
    return tuple(sorted(found | {frozenset({one}) for one in numbered(question)}, key=sorted))


_NUMBERED = re.compile(r"(?<!\w)(step|stage|type|table|grade)s? (\d{1,2})(?!\w|\.\d)", re.IGNORECASE)


def numbered(text: str) -> set[str]:
    """Things that only their number tells apart.

    >>> sorted(numbered("Step 1 or step 2 treatment"))
    ['step 1', 'step 2']
    """
    return {f"{name.lower()} {number}" for name, number in _NUMBERED.findall(text)}


@dataclass(frozen=True)
class SharedTerms:
    """The things that each searched piece speaks of, and how rare they are among all of them."""

    held: tuple[frozenset[str], ...]
    counts: Counter[str]

    @classmethod
    def of(cls, searched: tuple[SearchEntry, ...]) -> SharedTerms:
        """Read once for each guideline version."""
        held = tuple(_names(piece) for piece in searched)
        return cls(held, Counter(name for names in held for name in names))

    def weight(self, unit: Unit) -> float:
        """How much a thing tells pieces apart; one that none has weighs as much as the rarest."""
        count = max((self.counts[one] for one in unit), default=0)
        if count:
            return math.log(1 + len(self.held) / count)
        return math.log(1 + len(self.held)) * (1.0 if is_clinical(unit) else UNKNOWN_WORD)

    def shares(self, question: str) -> list[float]:
        """For each piece, the share of the question's weight that it holds."""
        wanted = [(unit | broader(unit), self.weight(unit)) for unit in focus(question)]
        total = sum(weight for _, weight in wanted)
        if not total:
            return [0.0] * len(self.held)
        return [sum(weight for unit, weight in wanted if unit & names) / total for names in self.held]


def _names(piece: SearchEntry) -> frozenset[str]:
    found = units(piece.matched)
    return frozenset(one for unit in found for one in unit | broader(unit)) | numbered(piece.matched)
