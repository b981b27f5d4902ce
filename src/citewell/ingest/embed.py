"""Gives every passage and every sentence of a document its vector."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.ports import Embedder, Progress, Vectors
from citewell.types import Chunk, Document


def embed(
    document: Document, chunks: Sequence[Chunk], *, embedder: Embedder, progress: Progress | None = None
) -> tuple[Vectors, Vectors]:
    """One vector per chunk, and one per sentence of each chunk; a sentence in two chunks is computed once."""
    passages = [chunk.passage for chunk in chunks]
    sentences = [document.text[start:end] for chunk in chunks for start, end in chunk.sentences]
    vectors = embedder.embed([*passages, *sentences], progress=progress)
    return vectors[: len(passages)], vectors[len(passages) :]
