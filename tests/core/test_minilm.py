"""The default embedder and its tokenizer."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.adapters.embedding.minilm import MiniLM


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> MiniLM:
    return MiniLM(tmp_path_factory.mktemp("cache"))


def test_the_reference_sentence_gets_the_published_vector(embedder: MiniLM) -> None:
    (vector,) = embedder.embed(["This is an example sentence"])
    assert np.allclose(vector[:4], [0.067657, 0.063496, 0.048713, 0.079305], atol=5e-3)
