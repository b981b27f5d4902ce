"""What words mean that no table names: “trousers falling off him” is weight loss. A trained reader says so.

It is all-MiniLM-L6-v2, which is installed anyway, with an adapter (`meanings.npz`) that `bench/clinical` trained on the
names of the lexicon and on some eight thousand wordings.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from citewell.clinical.context import Context
from citewell.clinical.lexicon import Mention, id_of, ids_of, mentions, named_concept
from citewell.clinical.quantities import habits
from citewell.minilm.adapter import Adapter
from citewell.minilm.forward import hidden_states
from citewell.minilm.tokenizer import WordPiece

ADAPTER = Path(__file__).parent / "meanings.npz"
SHA256 = "20c9ff48e5a5fae806decede88491c3b6a448cb65a97437db21a10b3a0ce6bfe"
SURE_OF_SPAN, SURE_OF_MEANING = 0.7, 0.8
"""From which share on words are taken for a mention, and their meaning for the likeliest one."""
KINDS = frozenset({"symptom", "condition", "lifestyle"})
MOSTLY = 0.5
"""The share of a mention that the lexicon must name for its name to be the one that counts."""
_NORMAL = re.compile(
    r"\b(?:fine|normal|ok|okay|clear|nad|unremarkable|stable|steady|unchanged|good|well)\b", re.IGNORECASE
)
"""Words of a finding that is none: “voice is fine”."""
WEIGHT = frozenset({"weight loss", "weight gain"})
"""Changes that are often told as an amount alone: “8 kg down”."""
MOST_TOKENS = 24
REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Meaning:
    """The name of the lexicon that words stand for, and how sure the reader is; no name where they mean nothing."""

    name: str | None
    share: float


class MeaningReader:
    """Says which thing of the lexicon words stand for."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._names = (None, *adapter.labels["names"][1:])
        self._remembered: dict[str, Meaning] = {}

    @classmethod
    @cache
    def load(cls) -> MeaningReader:
        """The reader that ships with Citewell; read once."""
        return cls(Adapter.load(ADAPTER, SHA256, ("names",)))

    def meanings(self, phrases: Sequence[str]) -> list[Meaning]:
        """What each of some phrases means, read together."""
        remembered = self._remembered
        known = {phrase: found for phrase in phrases if (found := remembered.get(phrase)) is not None}
        new = [phrase for phrase in dict.fromkeys(phrases) if phrase not in known]
        if new:
            ids = WordPiece.load().ids([phrase.replace("\n", " ") for phrase in new], max_tokens=MOST_TOKENS)
            states = hidden_states(self._adapter.tensors, ids, layers=self._adapter.layers)
            means = np.array([one.mean(axis=0) for one in states])
            means /= np.linalg.norm(means, axis=1, keepdims=True)
            scores = means @ self._adapter.tensors["head"].T + self._adapter.tensors["bias"]
            raised = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares = raised / raised.sum(axis=1, keepdims=True)
            best = shares.argmax(axis=1)
            known |= {
                phrase: Meaning(self._names[number], float(row[number]))
                for phrase, number, row in zip(new, best, shares, strict=True)
            }
            if len(self._remembered) + len(new) > REMEMBERED:
                self._remembered = {}
            self._remembered.update((phrase, known[phrase]) for phrase in new)
        return [known[phrase] for phrase in phrases]


def meant(context: Context) -> list[Mention]:
    """The mentions that the reader sees where the lexicon knows no name, with what they mean.

    >>> from citewell.clinical.context import read_context
    >>> [one.name for one in meant(read_context("trousers are falling off him"))]
    ['weight loss']
    """
    named = [place for one in mentions(context.text) for place in one.places]
    known = _Places(named)
    changes = [
        _learned(one.start, one.end, one.what)
        for one in habits(context.text)
        if one.what in WEIGHT and not known.covered(one.start, one.end)
    ]
    known = _Places([*named, *((one.start, one.end) for one in changes)])
    spans = [
        span
        for span in context.spans
        if span.kind in KINDS
        and span.share >= SURE_OF_SPAN
        and not _NORMAL.search(context.text, span.start, span.end)
        and known.covered(span.start, span.end) < MOSTLY * (span.end - span.start)
    ]
    if not spans:
        return changes
    read = MeaningReader.load().meanings([context.text[span.start : span.end] for span in spans])
    return [
        *changes,
        *(
            _learned(span.start, span.end, meaning.name)
            for span, meaning in zip(spans, read, strict=True)
            if meaning.name is not None and meaning.share >= SURE_OF_MEANING
        ),
    ]


class _Places:
    """Where names of the lexicon stand."""

    def __init__(self, places: Iterable[tuple[int, int]]) -> None:
        self._places = sorted(places)
        self._starts = [start for start, _ in self._places]

    def covered(self, start: int, end: int) -> int:
        """How many characters have a name: of “trousers falling off him” only “falling off”."""
        first = max(0, bisect_right(self._starts, start) - 1)
        near = self._places[first : bisect_left(self._starts, end)]
        return sum(max(0, min(high, end) - max(low, start)) for low, high in near)


def _learned(start: int, end: int, name: str) -> Mention:
    concept = named_concept(name)
    return Mention(start, end, concept.name, id_of(concept), ids_of(concept), concept.kind, "learned")
