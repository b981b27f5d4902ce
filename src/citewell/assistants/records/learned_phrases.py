"""Whether a sentence advises, diagnoses or alarms by words that no phrase of the tables has: learned from sentences.

`bench/safety` holds the sentences and the training.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from citewell.assistants.records.screening import plain_letters
from citewell.assistants.records.tables import FOLDER
from citewell.clinical.languages import spelled

Category = Literal["alarming", "prescriptive", "diagnostic"]
CATEGORIES: tuple[Category, ...] = ("alarming", "prescriptive", "diagnostic")
FEATURES = 1 << 14
LEAST_LETTERS = 5
"""Words with fewer letters are taken whole alone; of others the parts count too, which endings leave alone."""
PART = 4
WEIGHTS = FOLDER / "learned_phrases.npz"
_TOKEN = re.compile(r"[^\W_]+|[?]")
_NUMBER = re.compile(r"\d+")


def features(sentence: str) -> frozenset[int]:
    """The words of a sentence, each with the one or two that follow, and the parts of long ones, as numbers.

    >>> len(features("Stop it.")), features("Take 5 mg.") == features("take 20 mg")
    (9, True)
    """
    plain = _NUMBER.sub("0", plain_letters(spelled(sentence)))
    tokens = ["<s>", *_TOKEN.findall(plain), "</s>"]
    return frozenset(zlib.crc32(part.encode()) % FEATURES for part in _parts(tokens))


def _parts(tokens: list[str]) -> Iterable[str]:
    for place, token in enumerate(tokens):
        yield token
        yield from (" ".join(tokens[place : place + count]) for count in (2, 3) if place + count <= len(tokens))
        if len(token) >= LEAST_LETTERS:
            whole = f"^{token}$"
            yield from (f"#{whole[start : start + PART]}" for start in range(len(whole) - PART + 1))


@dataclass(frozen=True, slots=True)
class Head:
    """What each feature weighs: for a sentence that may not be said, and for each category of them."""

    weights: npt.NDArray[np.float32]
    """One row for “may not be said”, one for each category."""
    bias: npt.NDArray[np.float32]
    threshold: float

    @classmethod
    def load(cls, path: Path) -> Head:
        """The trained weights, which are stored as small whole numbers with a scale."""
        with np.load(path) as held:
            weights = held["weights"].astype(np.float32) * held["scale"][:, None]
            return cls(weights, held["bias"], float(held["threshold"]))

    def read(self, sentence: str) -> Category | None:
        """What a sentence does that it must not; None where it does nothing of the kind."""
        told = sorted(features(sentence))
        scores = self.weights[:, told].sum(axis=1) / np.sqrt(len(told)) + self.bias
        return CATEGORIES[int(scores[1:].argmax())] if scores[0] > self.threshold else None


@cache
def _head() -> Head:
    return Head.load(WEIGHTS)


def learned_category(sentence: str) -> Category | None:
    """What a sentence does that it must not, by what was learned.

    >>> learned_category("Disregard the hospital's advice.")
    'prescriptive'
    >>> learned_category("Here is what your letters say about the scan.")
    """
    return _head().read(sentence)
