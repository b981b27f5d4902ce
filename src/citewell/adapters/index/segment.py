"""An immutable part of the index: the vectors and words of some document versions."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.helper_threads import core_count
from citewell.errors import EmbedderMismatch, LibraryError
from citewell.ingest.postings import unpack
from citewell.ports import IndexedVersion, Vector, Vectors

BLOCK = 128
"""Numbers that share one scale: fewer would lose less, but take twice as long on a processor with AVX-512."""

MAX_ROWS = 6_000_000
"""A model that holds more than 2 GB cannot be written."""

_ROWS_AT_A_TIME = 512
"""What stays in the processor's cache while it is rounded."""

_SLACK = 1e-4
"""More than the additions in float32 can be off by."""

Bounds = NDArray[np.float32]


class ScoreBounds:
    """Bounds on the products of a matrix with a vector.

    Each row is rounded to 4 bits, and the length of what rounding took from it is kept: by Cauchy and Schwarz a
    product is off by that much at most. The rounded product is onnxruntime's MatMulNBits, written for language models.
    """

    def __init__(self, matrix: Vectors) -> None:
        self._rows, self._width = len(matrix), int(matrix.shape[1])
        codes, scales, losses, self._longest = _rounded(matrix)
        self._session = _session(codes, scales, losses)
        probe = np.ones(self._width, dtype=np.float32) / np.float32(np.sqrt(self._width))
        self.is_sound = bool((self.bounds(probe) >= matrix @ probe).all())
        """Whether the processor's kernel keeps the promise; one that does not is not to be used."""

    @property
    def bytes(self) -> int:
        """Memory held."""
        return self._rows * (self._width // 2 + 4 * self._width // BLOCK + 4)

    def bounds(self, vector: Vector) -> Bounds:
        """For each row, a number that its product with the vector, of length one or less, does not exceed."""
        # The kernel rounds the vector as well, to 8 bits a block; twice that error allows for other ways of rounding.
        off = 2 * self._longest * np.sqrt(self._width) * float(np.abs(vector).max()) / 254 + _SLACK
        found: Bounds = self._session.run(None, {"vector": vector[np.newaxis]})[0][0]
        found += np.float32(off)
        return found


class LazyScoreBounds:
    """A rough copy that is made when a matrix is searched for the second time: one search does not pay for it."""

    def __init__(self, matrix: Vectors) -> None:
        self._matrix = matrix
        self._searches = 0
        self._rough: ScoreBounds | None = None
        self._making = threading.Lock()

    @property
    def bytes(self) -> int:
        """Memory held."""
        return self._rough.bytes if self._rough else 0

    def get(self) -> ScoreBounds | None:
        """The rough copy, or None until it has been built; a search meanwhile does without it."""
        if self._searches < 2 and self._making.acquire(blocking=False):
            try:
                self._searches += 1
                if self._searches == 2:
                    self._rough = _made(self._matrix)
            finally:
                self._making.release()
        return self._rough


def _made(matrix: Vectors) -> ScoreBounds | None:
    """A rough copy, or None where this machine has no kernel for it: one pass then does the work of two."""
    try:
        rough = ScoreBounds(matrix)
    except Exception:  # onnxruntime's errors have no base of their own
        return None
    return rough if rough.is_sound else None


def _rounded(matrix: Vectors) -> tuple[NDArray[np.uint8], Vectors, Bounds, float]:
    """The rows in 4 bits, the scale of each block, the length that each row lost, and the greatest length of a row."""
    rows, width = matrix.shape
    codes = np.empty((rows, width // BLOCK, BLOCK // 2), dtype=np.uint8)
    scales = np.empty((rows, width // BLOCK), dtype=np.float32)
    losses = np.empty(rows, dtype=np.float32)
    longest = 0.0
    for start in range(0, rows, _ROWS_AT_A_TIME):
        part = slice(start, start + _ROWS_AT_A_TIME)
        blocks = matrix[part].reshape(-1, width // BLOCK, BLOCK)
        high, low = blocks.max(axis=2), blocks.min(axis=2)
        scale = np.where(high > -low, high, low) / np.float32(-8)
        scale[scale == 0] = 1
        whole = np.rint(blocks / scale[..., np.newaxis])
        np.minimum(whole, 7, out=whole)
        lost = whole * scale[..., np.newaxis] - blocks
        losses[part] = np.sqrt(np.einsum("ijk,ijk->i", lost, lost))
        longest = max(longest, float(np.einsum("ijk,ijk->i", blocks, blocks).max()) ** 0.5)
        digits = (whole + 8).astype(np.uint8)
        codes[part] = digits[..., 0::2] | digits[..., 1::2] << 4
        scales[part] = scale
    return codes, scales, losses, longest + float(losses.max())


def _session(codes: NDArray[np.uint8], scales: Vectors, losses: Bounds) -> Any:
    """An inference session of one operator: the product of the rounded rows with a vector, and what they lost added."""
    import onnx.helper as make
    import onnxruntime
    from onnx import TensorProto

    rows, blocks, _ = codes.shape
    product = make.make_node(
        "MatMulNBits",
        ["vector", "codes", "scales", "", "", "losses"],
        ["products"],
        domain="com.microsoft",
        K=blocks * BLOCK,
        N=rows,
        bits=4,
        block_size=BLOCK,
        accuracy_level=4,
    )
    graph = make.make_graph(
        [product],
        "rough",
        [make.make_tensor_value_info("vector", TensorProto.FLOAT, [1, blocks * BLOCK])],
        [make.make_tensor_value_info("products", TensorProto.FLOAT, [1, rows])],
        [
            make.make_tensor("codes", TensorProto.UINT8, codes.shape, codes.tobytes(), raw=True),
            make.make_tensor("scales", TensorProto.FLOAT, [scales.size], scales.tobytes(), raw=True),
            make.make_tensor("losses", TensorProto.FLOAT, [rows], losses.tobytes(), raw=True),
        ],
    )
    imports = [make.make_opsetid("", 17), make.make_opsetid("com.microsoft", 1)]
    model = make.make_model(graph, opset_imports=imports, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = core_count()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


Integers = NDArray[np.int64]

MAX_LENGTH = 0xFFFF
"""A chunk of more terms counts as this long."""

ROUGH_ROWS = 20_000
"""From this many rows on, two passes take less time than one."""

_BLOCK_PAIRS = 1 << 17
"""Postings are put in order this many pairs at a time, so that memory on the way is small and used again."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Chunk `c` of `generations[o]` is row `first_rows[o] + c`; `o` is the generation's ordinal.

    A pair is a term in a generation. Term `t` has the pairs `term_pairs[t]` to `term_pairs[t + 1]`, by ordinal, and
    pair `p` the postings `pair_postings[p]` to `pair_postings[p + 1]`, by row: the postings of a term lie together.
    """

    generations: Integers
    first_rows: Integers
    """One more than generations: the last is the number of rows."""
    first_terms: Integers
    """Index terms before each generation; one more than generations."""
    matrix: Vectors
    lengths: NDArray[np.uint16]
    """Index terms of each row."""
    term_keys: NDArray[np.uint64]
    term_pairs: Integers
    pair_ordinals: NDArray[np.int32]
    pair_postings: NDArray[np.integer]
    posting_rows: NDArray[np.int32]
    posting_kinds: NDArray[np.unsignedinteger]
    """What BM25 sees of a posting: the length of the row, and in the last bits how often the term stands in it."""
    frequency_bits: int
    max_kind: int
    rough: LazyScoreBounds | None
    """A first pass over the matrix, where that is large enough to gain by it."""

    @property
    def rows(self) -> int:
        return len(self.matrix)

    @property
    def bytes(self) -> int:
        """Memory held."""
        arrays = (getattr(self, name) for name in self.__slots__)
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) + (
            self.rough.bytes if self.rough else 0
        )

    def pairs(self, keys: NDArray[np.uint64]) -> tuple[Integers, Integers]:
        """For each term, its first pair and the one after its last."""
        return lookup(self.term_keys, self.term_pairs, keys)

    def where(self, rows: Integers) -> tuple[Integers, Integers]:
        """The generation and the chunk index of each of these rows."""
        ordinals = self.first_rows.searchsorted(rows, side="right") - 1
        return self.generations[ordinals], rows - self.first_rows[ordinals]

    def read_kinds(self, kinds: NDArray[np.integer]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How often the term stands in the row of each posting, and the length of that row."""
        frequencies = kinds & ((1 << self.frequency_bits) - 1)
        return frequencies.astype(np.float64), (kinds >> self.frequency_bits).astype(np.float64)


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """What a segment is built from: generations, their rows one after another, and pairs in any order."""

    generations: Integers
    row_counts: Integers
    matrix: Vectors
    lengths: NDArray[np.uint16]
    pair_keys: NDArray[np.uint64]
    pair_ordinals: NDArray[np.int32]
    pair_counts: NDArray[np.integer]
    posting_rows: NDArray[np.int32]
    frequencies: NDArray[np.uint8]


def read(stored: Iterable[IndexedVersion]) -> SegmentPart:
    """Document versions as the library keeps them."""
    generations: list[int] = []
    counts: list[int] = []
    packed: list[bytes] = []
    matrix = np.zeros((0, 0), dtype=np.float32)
    row = 0
    for version in stored:
        vectors = version.vectors
        if len(vectors):
            matrix = _with_room(matrix, row + len(vectors), vectors.shape[1])
            matrix[row : row + len(vectors)] = vectors
        generations.append(version.generation)
        counts.append(len(vectors))
        packed.append(version.postings)
        row += len(vectors)
    matrix.resize((row, matrix.shape[1]), refcheck=False)
    postings = unpack(*packed)
    row_counts = np.array(counts, dtype=np.int64)
    if not np.array_equal(postings.chunk_counts, row_counts):
        raise LibraryError(
            "A document's vectors and search words do not match. Run `citewell verify` to find it and `citewell "
            "reindex` to rebuild them."
        )
    ordinals = np.repeat(np.arange(len(counts), dtype=np.int32), postings.term_counts)
    first_rows = np.repeat(starts(row_counts)[ordinals].astype(np.int32), postings.counts)
    return SegmentPart(
        np.array(generations, dtype=np.int64),
        row_counts,
        matrix,
        np.minimum(postings.lengths, MAX_LENGTH).astype(np.uint16),
        postings.keys,
        ordinals,
        postings.counts,
        np.add(first_rows, postings.chunks, out=first_rows, casting="unsafe"),
        postings.frequencies,
    )


def keep(segment: Segment, alive: NDArray[np.bool_]) -> SegmentPart:
    """The living part of a segment, to be merged with others."""
    row_counts = np.diff(segment.first_rows)
    rows = np.repeat(alive, row_counts)
    pairs = alive[segment.pair_ordinals]
    pair_counts = np.diff(segment.pair_postings)
    postings = np.repeat(pairs, pair_counts)
    keys = np.repeat(segment.term_keys, np.diff(segment.term_pairs))
    new_rows = np.cumsum(rows, dtype=np.int32) - np.int32(1)
    new_ordinals = np.cumsum(alive, dtype=np.int32) - np.int32(1)
    return SegmentPart(
        segment.generations[alive],
        row_counts[alive],
        segment.matrix if alive.all() else segment.matrix[rows],
        segment.lengths[rows],
        keys[pairs],
        new_ordinals[segment.pair_ordinals[pairs]],
        pair_counts[pairs],
        new_rows[segment.posting_rows[postings]],
        (segment.posting_kinds[postings] & ((1 << segment.frequency_bits) - 1)).astype(np.uint8),
    )


def join(pieces: Sequence[SegmentPart]) -> SegmentPart:
    """Pieces laid one after another."""
    filled = [piece for piece in pieces if len(piece.matrix)] or list(pieces[:1])
    widths = {piece.matrix.shape[1] for piece in filled}
    if len(widths) > 1:
        raise mixed_embedders(widths)
    if len(filled) == 1:
        return filled[0]
    rows = starts([len(piece.matrix) for piece in filled])
    ordinals = starts([len(piece.generations) for piece in filled])
    return SegmentPart(
        np.concatenate([piece.generations for piece in filled]),
        np.concatenate([piece.row_counts for piece in filled]),
        np.concatenate([piece.matrix for piece in filled]),
        np.concatenate([piece.lengths for piece in filled]),
        np.concatenate([piece.pair_keys for piece in filled]),
        np.concatenate([piece.pair_ordinals + np.int32(first) for piece, first in zip(filled, ordinals, strict=False)]),
        np.concatenate([piece.pair_counts for piece in filled]),
        np.concatenate([piece.posting_rows + np.int32(first) for piece, first in zip(filled, rows, strict=False)]),
        np.concatenate([piece.frequencies for piece in filled]),
    )


def build(piece: SegmentPart) -> Segment:
    """Put the words of a piece in the order in which they are searched."""
    order = sorting(piece.pair_keys)
    keys = piece.pair_keys[order]
    opens = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.zeros(0, np.int64)
    pair_counts = piece.pair_counts[order]
    frequency_bits = int(piece.frequencies.max(initial=1)).bit_length()
    max_kind = (int(piece.lengths.max(initial=0)) + 1 << frequency_bits) - 1
    posting_rows = np.empty_like(piece.posting_rows)
    posting_kinds: NDArray[np.unsignedinteger] = np.empty(
        len(posting_rows), dtype=np.uint16 if max_kind <= 0xFFFF else np.uint32
    )
    lengths = piece.lengths.astype(posting_kinds.dtype) << frequency_bits
    old, new = starts(piece.pair_counts), starts(pair_counts)
    for first in range(0, len(order), _BLOCK_PAIRS):
        block = slice(first, min(first + _BLOCK_PAIRS, len(order)))
        places = expand(old[order[block]], pair_counts[block])
        out = slice(new[block.start], new[block.stop])
        rows = posting_rows[out] = piece.posting_rows.take(places)
        np.bitwise_or(lengths.take(rows), piece.frequencies.take(places), out=posting_kinds[out])
    first_rows = starts(piece.row_counts)
    matrix = _finite(piece.matrix)
    return Segment(
        piece.generations,
        first_rows,
        starts(piece.lengths)[first_rows],
        matrix,
        piece.lengths,
        keys[opens],
        np.append(opens, len(keys)),
        piece.pair_ordinals[order],
        new.astype(np.int32) if len(posting_rows) <= np.iinfo(np.int32).max else new,
        posting_rows,
        posting_kinds,
        frequency_bits,
        max_kind,
        LazyScoreBounds(matrix) if ROUGH_ROWS <= len(matrix) <= MAX_ROWS and matrix.shape[1] % BLOCK == 0 else None,
    )


def sorting(keys: NDArray[np.uint64]) -> Integers:
    """The stable order of the keys: the first bits of each are sorted with its place, much faster than by argsort.

    >>> sorting(np.array([1 << 63, 5, 1 << 63, 4], dtype=np.uint64)).tolist()
    [3, 1, 0, 2]
    """
    place_bits = np.uint64(max(len(keys) - 1, 1).bit_length())
    tagged = keys >> place_bits << place_bits
    tagged |= np.arange(len(keys), dtype=np.uint64)
    tagged.sort()
    order = (tagged & np.uint64((1 << int(place_bits)) - 1)).astype(np.int64)
    prefixes = tagged >> place_bits
    ordered = keys[order]
    # Two terms may share their first bits: such a stretch is sorted again, by the whole key.
    for prefix in np.unique(prefixes[1:][ordered[1:] < ordered[:-1]]):
        stretch = slice(*np.searchsorted(prefixes, (prefix, prefix + np.uint64(1))))
        order[stretch] = order[stretch][np.argsort(ordered[stretch], kind="stable")]
    return order


def lookup(keys: NDArray[np.uint64], firsts: Integers, wanted: NDArray[np.uint64]) -> tuple[Integers, Integers]:
    """Where the run of each wanted key starts and ends; a key that is not there has an empty one.

    >>> keys = np.array([3, 7], dtype=np.uint64)
    >>> [ends.tolist() for ends in lookup(keys, np.array([0, 2, 5]), np.array([7, 4], dtype=np.uint64))]
    [[2, 0], [5, 0]]
    """
    if not len(keys):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    places = keys.searchsorted(wanted)
    known = keys.take(places, mode="clip") == wanted
    places *= known
    return firsts.take(places), firsts.take(places + known)


def expand(firsts: NDArray[np.integer], counts: NDArray[np.integer]) -> Integers:
    """The numbers `first`, `first + 1`, … of every run, one run after another.

    >>> expand(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = starts(counts)
    return np.repeat(firsts - before[:-1], counts) + np.arange(before[-1])


def starts(counts: Sequence[int] | NDArray[np.integer]) -> Integers:
    """Where runs of these sizes start, and where the last one ends."""
    found = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, dtype=np.int64, out=found[1:])
    return found


def mixed_embedders(widths: Iterable[int]) -> EmbedderMismatch:
    """The library holds vectors that cannot be compared."""
    return EmbedderMismatch(
        f"The library has vectors of {' and '.join(map(str, sorted(widths)))} dimensions, from more than one "
        "embedding model. Run `citewell evidence reingest` to index every document with the model in the settings."
    )


def _with_room(matrix: Vectors, rows: int, width: int) -> Vectors:
    """The matrix with place for so many rows: it grows in place, so that no second copy is ever held."""
    if not len(matrix):
        return np.empty((max(rows, 1024), width), dtype=np.float32)
    if matrix.shape[1] != width:
        raise mixed_embedders({matrix.shape[1], width})
    if rows > len(matrix):
        matrix.resize((max(rows, len(matrix) * 3 // 2), width), refcheck=False)
    return matrix


def _finite(matrix: Vectors) -> Vectors:
    """Rows that are not numbers are near nothing: they count as zero, so that every order is total."""
    if not np.isfinite(matrix.sum(dtype=np.float64)):
        matrix[~np.isfinite(matrix).all(axis=1)] = 0.0
    return matrix
