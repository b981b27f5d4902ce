"""The words of a document's chunks, packed for the index: which term stands in which chunk, and how often."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from citewell.errors import LibraryError
from citewell.words import term_key

MAGIC = b"CWPO"
VERSION = 1
MAX_FREQUENCY = 255
"""BM25 is flat long before this: a frequency needs no more than a byte."""

_HEADER = struct.Struct("<4sHHIIII")
"""Magic, version, bytes per chunk index, terms, postings, chunks, CRC-32 of what follows."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Term `keys[i]` stands in the chunks `chunks[starts[i]:starts[i + 1]]`, as often as `frequencies` says there."""

    keys: NDArray[np.uint64]
    """Sorted and unique."""
    starts: NDArray[np.int64]
    chunks: NDArray[np.int32]
    """Rising within a term."""
    frequencies: NDArray[np.uint8]
    lengths: NDArray[np.int32]
    """Index terms of each chunk."""


def pack(passages: Sequence[Sequence[str]]) -> bytes:
    """Pack the index terms of each chunk.

    >>> packed = unpack(pack([["dose", "adult"], [], ["dose", "dose"]]))
    >>> dose = packed.keys.tolist().index(term_key("dose"))
    >>> places = slice(packed.starts[dose], packed.starts[dose + 1])
    >>> packed.chunks[places].tolist(), packed.frequencies[places].tolist(), packed.lengths.tolist()
    ([0, 2], [1, 2], [2, 0, 2])
    """
    lengths = np.fromiter(map(len, passages), dtype="<u4", count=len(passages))
    terms = list(chain.from_iterable(passages))
    number = {term: place for place, term in enumerate(dict.fromkeys(terms))}
    keys, place_of = np.unique(np.fromiter(map(term_key, number), dtype="<u8", count=len(number)), return_inverse=True)
    numbers = np.fromiter(map(number.__getitem__, terms), dtype=np.int64, count=len(terms))
    span = max(len(passages), 1)
    chunk_of = np.repeat(np.arange(len(passages), dtype=np.int64), lengths)
    pairs, frequencies = np.unique(place_of[numbers] * span + chunk_of, return_counts=True)
    counts = np.bincount(pairs // span, minlength=len(keys))
    width = 2 if span <= 1 << 16 else 4
    body = b"".join(
        (
            keys.tobytes(),
            counts.astype("<u4").tobytes(),
            lengths.tobytes(),
            (pairs % span).astype(f"<u{width}").tobytes(),
            np.minimum(frequencies, MAX_FREQUENCY).astype("<u1").tobytes(),
        )
    )
    return _HEADER.pack(MAGIC, VERSION, width, len(keys), len(pairs), len(passages), zlib.crc32(body)) + body


def unpack(data: bytes) -> Postings:
    """Read what `pack` wrote.

    >>> unpack(b"something else")
    Traceback (most recent call last):
    citewell.errors.LibraryError: A document's search words cannot be read. Run `citewell reindex` to write them again.
    """
    if len(data) < _HEADER.size:
        raise _damaged()
    magic, version, width, term_count, posting_count, chunk_count, checksum = _HEADER.unpack_from(data)
    sizes = (8 * term_count, 4 * term_count, 4 * chunk_count, width * posting_count, posting_count)
    if magic != MAGIC or version != VERSION or width not in (2, 4) or len(data) != _HEADER.size + sum(sizes):
        raise _damaged()
    if zlib.crc32(memoryview(data)[_HEADER.size :]) != checksum:
        raise _damaged()
    keys, counts, lengths, chunks, frequencies = (
        np.frombuffer(data, dtype, count=size // np.dtype(dtype).itemsize, offset=offset)
        for dtype, size, offset in zip(("<u8", "<u4", "<u4", f"<u{width}", "u1"), sizes, _offsets(sizes), strict=True)
    )
    starts = np.zeros(term_count + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    if starts[-1] != posting_count or (posting_count and int(chunks.max()) >= chunk_count):
        raise _damaged()
    return Postings(keys, starts, chunks.astype(np.int32), frequencies, lengths.astype(np.int32))


def _offsets(sizes: Sequence[int]) -> list[int]:
    """Where each part starts."""
    return [_HEADER.size + sum(sizes[:place]) for place in range(len(sizes))]


def _damaged() -> LibraryError:
    return LibraryError("A document's search words cannot be read. Run `citewell reindex` to write them again.")
