"""What a question asks for: one of sixteen kinds, by a trained head, and narrower cues by its words.

`bench/clinical/questions.py` trained the head (`questions.npz`) on runs of words and on the embedding of a question.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.clinical.tables import rows
from citewell.errors import ModelFilesMissing

Array = NDArray[np.float32]

WEIGHTS = Path(__file__).parent / "questions.npz"
SHA256 = "1a584524547681d1ccc044fc7d5d66e0b2be94c04834ee31aa0a6a1a0a7fbcac"
READ = 400
"""Characters of a question that are read, half from its start and half from its end."""
LONGEST_RUN = 3
"""Words that stand together in a run."""


class QuestionKind(StrEnum):
    """What a question asks for."""

    DOSE = "dose"
    """How much of a medicine."""
    FREQUENCY = "frequency"
    """How often."""
    DURATION = "duration"
    """How long."""
    TIMING = "timing"
    """When, how soon, before or after what."""
    VALUE = "value"
    """A threshold, target, range, rate, age or other number."""
    TREATMENT = "treatment"
    """Which medicine or other treatment, and what to do about something."""
    TEST = "test"
    """Which test, how something is diagnosed or monitored."""
    CRITERIA = "criteria"
    """Which people, who does it, when somebody is referred or should seek help."""
    DEFINITION = "definition"
    """What something is or means."""
    FEATURES = "features"
    """Signs, symptoms, risk factors, types, course and outlook."""
    REASON = "reason"
    """Why, from what cause, how it works, what it is for."""
    HARM = "harm"
    """Side effects, interactions, contraindications, what to avoid."""
    PROCEDURE = "procedure"
    """How something is done, step by step."""
    PERMISSION = "permission"
    """Yes or no: may I, is it safe, should they."""
    RECORD = "record"
    """What the record of a person says."""
    CHAT = "chat"
    """A greeting, thanks, the tool itself, or no matter of health."""


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """The likeliest kind of a question, and the share of each."""

    kind: QuestionKind
    shares: Mapping[QuestionKind, float]

    @property
    def share(self) -> float:
        """How sure the reading is."""
        return self.shares[self.kind]


def question_kind(question: str, vector: Array) -> QuestionReading:
    """The kind of a question, by its words and its vector of all-MiniLM-L6-v2."""
    return _QuestionHead.load().read(question, vector)


def question_cues(question: str) -> frozenset[str]:
    """What a question sounds like by its words, by the names in `question_cues.tsv`; it may sound like several.

    >>> sorted(question_cues("How much ORS for a 12 kg child?"))
    ['dose', 'question']
    """
    names = {name for name, pattern in _cues() if pattern.search(question)}
    return frozenset(names - {"what"} if "which" in names else names)


@cache
def _cues() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in rows("question_cues.tsv"))


_WORD = re.compile(r"[a-z]+|0|\?")
_NUMBER = re.compile(r"[0-9]+")


def runs(question: str) -> frozenset[str]:
    """The words of a question and those that stand together, with its start and end; all numbers are one.

    >>> sorted(runs("How long"))
    ['$', '^', '^ how', '^ how long', 'how', 'how long', 'how long $', 'long', 'long $']
    """
    text = question if len(question) <= READ else f"{question[: READ // 2]} {question[-READ // 2 :]}"
    words = ["^", *_WORD.findall(_NUMBER.sub("0", text.lower())), "$"]
    sizes = range(1, LONGEST_RUN + 1)
    return frozenset(" ".join(words[at : at + size]) for size in sizes for at in range(len(words) - size + 1))


@dataclass(frozen=True, slots=True, eq=False)
class _QuestionHead:
    """The weights of the numbers of a vector, of the runs of words, and of the kinds as such."""

    kinds: tuple[QuestionKind, ...]
    places: Mapping[str, int]
    of_vector: Array
    of_runs: Array
    of_kinds: Array

    @classmethod
    @cache
    def load(cls) -> _QuestionHead:
        """The head that ships with Citewell; read once."""
        digest = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
        if digest != SHA256:
            raise ModelFilesMissing(
                f"The weights for kinds of question are not those expected: sha256 {digest[:8]}… instead of "
                f"{SHA256[:8]}…. Reinstall Citewell."
            )
        with np.load(WEIGHTS, allow_pickle=False) as file:
            kinds = tuple(QuestionKind(str(name)) for name in file["kinds"])
            places = {str(run): place for place, run in enumerate(file["runs"])}
            weights = file["weights"].astype(np.float32)
        dimensions = len(weights) - len(places) - 1
        return cls(kinds, places, weights[:dimensions], weights[dimensions:-1], weights[-1])

    def read(self, question: str, vector: Array) -> QuestionReading:
        """The shares of the kinds."""
        if vector.shape != self.of_vector.shape[:1]:
            raise ValueError(f"A question's vector has {len(self.of_vector)} numbers; this one has {vector.size}.")
        known = sorted(place for run in runs(question) if (place := self.places.get(run)) is not None)
        by_words = self.of_runs[known].sum(axis=0) / np.sqrt(np.float32(max(1, len(known))))
        scores = vector @ self.of_vector + by_words + self.of_kinds
        raised = np.exp(scores - scores.max())
        shares = dict(zip(self.kinds, map(float, raised / raised.sum()), strict=True))
        return QuestionReading(max(shares, key=shares.__getitem__), shares)
