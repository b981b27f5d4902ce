"""An embedder that keeps the vectors of names: the same vectors, each name computed once, nothing longer kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from citewell.adapters.embedding.vector_cache import CachedNames
from citewell.ports import Progress, Vectors


class Counting:
    """An embedder that tells what it was asked for."""

    fingerprint, dimensions = "counting", 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        if progress is not None:
            progress(len(texts), len(texts))
        self.asked += texts
        return np.array([[len(text), 1.0] for text in texts], np.float32).reshape(-1, 2)


def test_a_name_is_computed_once_and_a_story_every_time() -> None:
    behind = Counting()
    kept = CachedNames(behind, max_names=2)
    story = "woman aged 28 with fever and headache"
    for _ in range(2):
        assert kept.embed(["Gout", story, "Heart failure", "Gout"]).tolist() == [[4, 1], [37, 1], [13, 1], [4, 1]]
    assert behind.asked == ["Gout", story, "Heart failure", story]
    kept.embed(["Asthma"])
    kept.embed(["Gout"])
    assert behind.asked[-2:] == ["Asthma", "Gout"], "the oldest goes"
    assert kept.embed([]).shape == (0, 2)
    assert (kept.fingerprint, kept.dimensions) == ("counting", 2)
