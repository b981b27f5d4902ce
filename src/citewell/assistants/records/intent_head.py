"""What a question most likely asks for, told from its meaning where no cue tells: fitted to examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from citewell.assistants.records.intents import OUTSIDE_FACTS, Intent, Intents
from citewell.ports import Vector, Vectors

FILE = Path(__file__).parent / "intent_head.npz"
ALONE, BESIDE = 0.4, 0.6
"""From which probability on a wish is believed: where no cue tells any, and beside other wishes
(bench/notes/answering.md)."""
OTHER = "other"
HOW = frozenset(
    {
        Intent.LATEST,
        Intent.PAST,
        Intent.MAY,
        Intent.WHERE,
        Intent.HIGHEST,
        Intent.LOWEST,
        Intent.LONG,
        Intent.ABNORMAL,
        Intent.SAID,
    }
)
"""What tells how something is asked for, but not what."""

Embed = Callable[[list[str]], Vectors]


@dataclass(frozen=True, slots=True)
class IntentHead:
    """The weights of each wish."""

    wishes: tuple[str, ...]
    weights: Vectors

    @classmethod
    @cache
    def load(cls) -> IntentHead:
        """As it was fitted."""
        with np.load(FILE) as stored:
            return cls(tuple(str(wish) for wish in stored["wishes"]), stored["weights"].astype(np.float32))

    def read(self, vector: Vector) -> tuple[frozenset[Intent], float]:
        """The most likely wishes, with their probability; none for what is no question to a record."""
        scores = np.vecdot(self.weights[:, :-1], vector) + self.weights[:, -1]
        odds = np.exp(scores - scores.max())
        best = int(odds.argmax())
        wishes = self.wishes[best]
        told = frozenset[Intent]() if wishes == OTHER else frozenset(map(Intent, wishes.split("+")))
        return told, float(odds[best] / odds.sum())


def with_likely(wanted: Intents, text: str, embed: Embed) -> Intents:
    """What cues tell, with what is most likely where they tell nothing; and what stands outside facts.

    The words are those of the question as it is meant.
    """
    likely, probability = IntentHead.load().read(embed([text])[0])
    is_silent = not wanted.all - HOW
    if (is_silent and probability >= ALONE) or (likely <= OUTSIDE_FACTS and probability >= BESIDE):
        return replace(wanted, all=wanted.all | likely, likely=likely - wanted.all)
    return wanted
