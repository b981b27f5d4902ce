"""An immutable part of the index: the vectors and words of some document versions, in rows sorted by generation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.errors import EmbedderMismatch, LibraryError
from citewell.ingest.postings import unpack
from citewell.ports import Stored, Vectors

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segment:
    """Chunk `c` of `generations[o]` is row `first_rows[o] + c`.

    A pair is a term in a generation. Pairs are sorted by term key, then generation, and their postings follow in the
    same order: pair `p` has the postings `starts[p]` to `starts[p + 1]`.
    """

    generations: Integers
    """Sorted; the place of a generation here is its ordinal."""
    first_rows: Integers
    """One more than generations: the last is the number of rows."""
    matrix: Vectors
    lengths: NDArray[np.int32]
    pair_keys: NDArray[np.uint64]
    pair_ordinals: NDArray[np.int32]
    starts: Integers
    chunks: NDArray[np.int32]
    frequencies: NDArray[np.uint8]

    @property
    def rows(self) -> int:
        return len(self.matrix)

    @property
    def bytes(self) -> int:
        """Memory held by the arrays."""
        return sum(getattr(self, name).nbytes for name in self.__slots__)

    def pairs(self, key: int) -> tuple[int, int]:
        """The first pair of a term, and the one after its last."""
        wanted = np.uint64(key)
        return int(self.pair_keys.searchsorted(wanted)), int(self.pair_keys.searchsorted(wanted, side="right"))


@dataclass(frozen=True, slots=True)
class Piece:
    """What a segment is built from: rows and postings of some generations, pairs in any order."""

    generations: Integers
    counts: Integers
    """Rows of each generation."""
    matrix: Vectors
    lengths: NDArray[np.int32]
    pair_keys: NDArray[np.uint64]
    pair_generations: Integers
    pair_counts: Integers
    """Postings of each pair."""
    chunks: NDArray[np.int32]
    frequencies: NDArray[np.uint8]


def read(stored: Stored) -> Piece:
    """One document version as the library keeps it."""
    postings = unpack(stored.postings)
    if len(postings.lengths) != len(stored.vectors):
        raise LibraryError(
            "A document's vectors and search words do not agree. Run `citewell verify` to find it and "
            "`citewell reindex` to write them again."
        )
    return Piece(
        np.array([stored.generation], dtype=np.int64),
        np.array([len(stored.vectors)], dtype=np.int64),
        np.asarray(stored.vectors, dtype=np.float32),
        postings.lengths,
        postings.keys,
        np.full(len(postings.keys), stored.generation, dtype=np.int64),
        np.diff(postings.starts),
        postings.chunks,
        postings.frequencies,
    )


def kept(segment: Segment, alive: NDArray[np.bool_]) -> Piece:
    """The living part of a segment, to be merged into another."""
    counts = np.diff(segment.first_rows)
    rows = np.repeat(alive, counts)
    pairs = alive[segment.pair_ordinals]
    pair_counts = np.diff(segment.starts)
    postings = np.repeat(pairs, pair_counts)
    return Piece(
        segment.generations[alive],
        counts[alive],
        segment.matrix if alive.all() else segment.matrix[rows],
        segment.lengths[rows],
        segment.pair_keys[pairs],
        segment.generations[segment.pair_ordinals[pairs]],
        pair_counts[pairs],
        segment.chunks[postings],
        segment.frequencies[postings],
    )


def build(pieces: Iterable[Piece]) -> Segment:
    """Join pieces into one segment."""
    pieces = [piece for piece in pieces if len(piece.matrix)]
    dimensions = {piece.matrix.shape[1] for piece in pieces}
    if len(dimensions) > 1:
        raise EmbedderMismatch(
            f"The library holds vectors of {' and '.join(map(str, sorted(dimensions)))} dimensions, from more than one "
            "embedder. Run `citewell reindex` to embed every document with the one in the settings."
        )
    if not pieces:
        return _empty()
    generations = np.concatenate([piece.generations for piece in pieces])
    counts = np.concatenate([piece.counts for piece in pieces])
    order = np.argsort(generations, kind="stable")
    rows = expand(_starts(counts)[:-1][order], counts[order])
    pair_keys = np.concatenate([piece.pair_keys for piece in pieces])
    pair_ordinals = np.searchsorted(
        generations[order], np.concatenate([piece.pair_generations for piece in pieces])
    ).astype(np.int32)
    pair_counts = np.concatenate([piece.pair_counts for piece in pieces])
    by_key = np.lexsort((pair_ordinals, pair_keys))
    postings = expand(_starts(pair_counts)[:-1][by_key], pair_counts[by_key])
    return Segment(
        generations[order],
        _starts(counts[order]),
        _finite(np.concatenate([piece.matrix for piece in pieces])[rows]),
        np.concatenate([piece.lengths for piece in pieces])[rows],
        pair_keys[by_key],
        pair_ordinals[by_key],
        _starts(pair_counts[by_key]),
        np.concatenate([piece.chunks for piece in pieces])[postings],
        np.concatenate([piece.frequencies for piece in pieces])[postings],
    )


def expand(starts: Integers, counts: Integers) -> Integers:
    """The numbers `start`, `start + 1`, … of every run, one run after another.

    >>> expand(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = _starts(counts)
    return np.repeat(starts - before[:-1], counts) + np.arange(before[-1])


def _starts(counts: Sequence[int] | Integers) -> Integers:
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _finite(matrix: Vectors) -> Vectors:
    """Rows that are not numbers are near nothing: they count as zero, so that every order is total."""
    broken = ~np.isfinite(matrix.sum(axis=1))
    if broken.any():
        matrix[broken] = 0.0
    return matrix


def _empty() -> Segment:
    none = np.zeros(0, dtype=np.int64)
    return Segment(
        none,
        np.zeros(1, dtype=np.int64),
        np.zeros((0, 0), dtype=np.float32),
        none.astype(np.int32),
        none.astype(np.uint64),
        none.astype(np.int32),
        np.zeros(1, dtype=np.int64),
        none.astype(np.int32),
        none.astype(np.uint8),
    )
