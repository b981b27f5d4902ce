"""The words of a document's chunks, packed for the index: which term stands in which chunk, and how often."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

import numpy as np
from numpy.typing import NDArray

from citewell.errors import LibraryError
from citewell.sentences import term_key

MAGIC = b"CWPO"
VERSION = 2
MAX_FREQUENCY = 255
"""BM25 is flat long before this: a frequency needs no more than a byte."""

_HEADER = struct.Struct("<4sHHIIII")
"""Magic, version, bytes per chunk index, terms, postings, chunks, CRC-32 of what follows."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The words of documents laid one after another; a posting is a chunk that holds a term."""

    term_counts: NDArray[np.int64]
    """Distinct terms of each document."""
    chunk_counts: NDArray[np.int64]
    """Chunks of each document."""
    keys: NDArray[np.uint64]
    """The terms of each document by `words.term_key`, rising within it."""
    counts: NDArray[np.uint32]
    """In how many chunks each of them stands."""
    chunks: NDArray[np.uint16] | NDArray[np.uint32]
    """Those chunks, by their index in the document, rising within a term."""
    frequencies: NDArray[np.uint8]
    """How often the term stands in that chunk."""
    lengths: NDArray[np.uint32]
    """Index terms of each chunk."""


def pack(passages: Sequence[Sequence[str]]) -> bytes:
    """Pack the index terms of each chunk of a document.

    >>> postings = unpack(pack([["dose", "dose"], [], ["dose"]]))
    >>> postings.keys.tolist() == [term_key("dose")]
    True
    >>> postings.chunks.tolist(), postings.frequencies.tolist(), postings.lengths.tolist()
    ([0, 2], [2, 1], [2, 0, 1])
    """
    lengths = np.fromiter(map(len, passages), dtype="<u4", count=len(passages))
    terms = list(chain.from_iterable(passages))
    number = {term: place for place, term in enumerate(dict.fromkeys(terms))}
    keys, place_of = np.unique(np.fromiter(map(term_key, number), dtype="<u8", count=len(number)), return_inverse=True)
    numbers = np.fromiter(map(number.__getitem__, terms), dtype=np.int64, count=len(terms))
    span = max(len(passages), 1)
    chunk_of = np.repeat(np.arange(len(passages), dtype=np.int64), lengths)
    pairs, frequencies = np.unique(place_of[numbers] * span + chunk_of, return_counts=True)
    width = 2 if span <= 1 << 16 else 4
    body = b"".join(
        (
            keys.tobytes(),
            np.bincount(pairs // span, minlength=len(keys)).astype("<u4").tobytes(),
            (pairs % span).astype(f"<u{width}").tobytes(),
            np.minimum(frequencies, MAX_FREQUENCY).astype("u1").tobytes(),
            lengths.tobytes(),
        )
    )
    return _HEADER.pack(MAGIC, VERSION, width, len(keys), len(pairs), len(passages), zlib.crc32(body)) + body


def unpack(*packed: bytes) -> Postings:
    """Read what `pack` wrote, of one document or of many.

    >>> unpack(b"something else")
    Traceback (most recent call last):
    citewell.errors.LibraryError: A document's search words cannot be read. Run `citewell reindex` to write them again.
    """
    term_counts, chunk_counts = (np.zeros(len(packed), dtype=np.int64) for _ in range(2))
    columns: tuple[list[memoryview], ...] = ([], [], [], [], [])
    widest = max((_checked_width(data) for data in packed), default=2)
    for place, data in enumerate(packed):
        _, _, width, terms, postings, chunks, _ = _HEADER.unpack_from(data)
        term_counts[place], chunk_counts[place] = terms, chunks
        view = memoryview(data)
        ends = accumulate((8 * terms, 4 * terms, width * postings, postings, 4 * chunks), initial=_HEADER.size)
        for column, (start, end) in zip(columns, pairwise(ends), strict=True):
            column.append(view[start:end])
        if width < widest:
            columns[2][-1] = memoryview(np.frombuffer(columns[2][-1], "<u2").astype("<u4").tobytes())
    keys, counts, chunk_indexes, frequencies, lengths = (
        np.frombuffer(b"".join(column), dtype)
        for column, dtype in zip(columns, ("<u8", "<u4", f"<u{widest}", "u1", "<u4"), strict=True)
    )
    if counts.sum(dtype=np.int64) != len(frequencies):
        raise _damaged()
    return Postings(term_counts, chunk_counts, keys, counts, chunk_indexes, frequencies, lengths)


def _checked_width(data: bytes) -> int:
    """The bytes per chunk index of a blob that is whole."""
    if len(data) < _HEADER.size:
        raise _damaged()
    magic, version, width, terms, postings, chunks, checksum = _HEADER.unpack_from(data)
    size = _HEADER.size + 12 * terms + (width + 1) * postings + 4 * chunks
    if (magic, version, len(data)) != (MAGIC, VERSION, size) or width not in (2, 4):
        raise _damaged()
    if zlib.crc32(memoryview(data)[_HEADER.size :]) != checksum:
        raise _damaged()
    return int(width)


def _damaged() -> LibraryError:
    return LibraryError("A document's search words could not be read. Run `citewell reindex` to rebuild them.")
