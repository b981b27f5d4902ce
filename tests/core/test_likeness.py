"""Vectors of a source are made once, and forgotten when there are too many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from citewell.adapters.embedding.vector_cache import Likeness
from citewell.ports import Progress, Vectors
from citewell.types import EvidenceSpan


class Counting:
    """A unit vector per text that tells the words “yes” from all others, and which texts were asked for."""

    fingerprint, dimensions = "counting", 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.asked += texts
        return np.array([[1.0, 0.0] if "yes" in text else [0.0, 1.0] for text in texts], np.float32)


def spans(*texts: str) -> list[EvidenceSpan]:
    return [EvidenceSpan("a:0", 0, len(text), text) for text in texts]


def test_the_words_of_a_source_are_embedded_once() -> None:
    embedder = Counting()
    likeness = Likeness(embedder)
    assert likeness("yes", spans("yes it is", "no")) == [1.0, 0.0]
    assert likeness("nothing", spans("no", "yes it is", "no")) == [1.0, 0.0, 1.0]
    assert sorted(embedder.asked) == ["no", "nothing", "yes", "yes it is"]


def test_the_oldest_are_forgotten() -> None:
    embedder = Counting()
    likeness = Likeness(embedder, max_texts=2)
    likeness("a", spans("b"))
    likeness("c", spans("b"))
    likeness("a", spans("b"))
    assert sorted(embedder.asked) == ["a", "a", "b", "c"]


@pytest.mark.parametrize("parts", [[], ["no"]])
def test_there_is_one_cosine_per_part(parts: list[str]) -> None:
    assert likeness_of(parts) == [0.0] * len(parts)


def likeness_of(parts: list[str]) -> list[float]:
    return Likeness(Counting())("yes", spans(*parts))
