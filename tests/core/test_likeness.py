"""Vectors of a source are made once, and forgotten when there are too many."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pytest

from citewell.adapters.embedding.remembered import Likeness, Passage
from citewell.answer.verify_parts import parts_of
from citewell.bootstrap import App
from citewell.ports import Progress, Vector, Vectors
from citewell.types import Source, Span


class Counting:
    """A unit vector per text that tells the words “yes” from all others, and which texts were asked for."""

    fingerprint, dimensions = "counting", 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.asked += texts
        return np.array([[1.0, 0.0] if "yes" in text else [0.0, 1.0] for text in texts], np.float32)


def nothing(_passages: Collection[Passage]) -> dict[Passage, dict[tuple[int, int], Vector]]:
    return {}


def spans(*texts: str) -> list[Span]:
    return [Span("a:0", 0, len(text), text) for text in texts]


def test_the_words_of_a_source_are_embedded_once() -> None:
    embedder = Counting()
    likeness = Likeness(embedder, nothing)
    assert likeness("yes", spans("yes it is", "no")) == [1.0, 0.0]
    assert likeness("nothing", spans("no", "yes it is", "no")) == [1.0, 0.0, 1.0]
    assert sorted(embedder.asked) == ["no", "nothing", "yes", "yes it is"]


def test_the_oldest_are_forgotten() -> None:
    embedder = Counting()
    likeness = Likeness(embedder, nothing, max_texts=2)
    likeness("a", spans("b"))
    likeness("c", spans("b"))
    likeness("a", spans("b"))
    assert sorted(embedder.asked) == ["a", "a", "b", "c"]


@pytest.mark.parametrize("parts", [[], ["no"]])
def test_there_is_one_cosine_per_part(parts: list[str]) -> None:
    assert likeness_of(parts) == [0.0] * len(parts)


def likeness_of(parts: list[str]) -> list[float]:
    return Likeness(Counting(), nothing)("yes", spans(*parts))


def test_what_the_library_holds_a_vector_of_is_not_embedded() -> None:
    embedder = Counting()

    def stored(passages: Collection[Passage]) -> dict[Passage, dict[tuple[int, int], Vector]]:
        assert list(passages) == [("a", 0)]
        return {("a", 0): {(0, 2): np.array([1.0, 0.0], np.float32)}}

    assert Likeness(embedder, stored)("yes", spans("no", "none")) == [1.0, 0.0]
    assert sorted(embedder.asked) == ["none", "yes"]


def test_a_library_gives_the_vectors_of_the_sentences_of_many_passages_at_once(app: App) -> None:
    for name, text in {
        "feet.md": "Check both feet daily for any wound. Wear shoes that fit well.",
        "iron.md": "Give ferrous sulfate once daily with food.",
    }.items():
        app.add_source(Source(text.encode(), name))
    hits = app.search("wounds of the feet, or iron", limit=2).hits
    parts = parts_of([Span(hit.source_id, hit.start, hit.end, hit.text) for hit in hits])
    passages = [(hit.document_id, hit.chunk_index) for hit in hits]
    found = app.library.sentence_vectors([*passages, ("no such document", 0), (passages[0][0], 99)])
    assert len(parts) == 3
    assert found.pop((passages[0][0], 99)) == {}
    assert {(f"{document}:{index}", *offsets) for (document, index), told in found.items() for offsets in told} == {
        (part.source_id, part.start, part.end) for part in parts
    }
    for part in parts:
        document_id, _, index = part.source_id.rpartition(":")
        vector = found[document_id, int(index)][part.start, part.end]
        assert float(vector @ app.embedder.embed([part.text])[0]) > 0.999
    assert app.library.sentence_vectors([]) == {}
