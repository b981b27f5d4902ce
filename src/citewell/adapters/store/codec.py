"""Compact bytes for what a table column cannot hold: structure, layout, vectors, sentence offsets."""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.errors import LibraryError
from citewell.ports import Sentences, Vectors
from citewell.types import Block, Layout, Page, PageLine

DAMAGED = "A stored document is damaged. Run `citewell verify` to see which, then add the file again."


def pack_blocks(blocks: Sequence[Block]) -> bytes:
    """Blocks as compressed JSON, each section path once."""
    sections: dict[tuple[str, ...], int] = {}
    rows = [[b.kind, b.start, b.end, sections.setdefault(b.section, len(sections)), b.page] for b in blocks]
    return zlib.compress(json.dumps({"sections": list(sections), "blocks": rows}).encode())


def unpack_blocks(data: bytes) -> tuple[Block, ...]:
    """The blocks that `pack_blocks` wrote."""
    stored = json.loads(_inflate(data))
    sections = [tuple(path) for path in stored["sections"]]
    return tuple(Block(kind, start, end, sections[path], page) for kind, start, end, path, page in stored["blocks"])


def pack_layout(layout: Layout) -> bytes:
    """Pages and character positions; a position is kept to 1/65535 of the widest page."""
    lines = layout.lines
    none = np.zeros(0, np.float32)
    lefts = np.concatenate([none, *(np.asarray(line.lefts, np.float32) for line in lines)])
    rights = np.concatenate([none, *(np.asarray(line.rights, np.float32) for line in lines)])
    low = float(lefts.min(initial=0.0))
    step = max(float(rights.max(initial=0.0)) - low, 1.0) / 65_535
    header = {
        "pages": [[p.number, p.start, p.end, p.width, p.height, p.label] for p in layout.pages],
        "lines": [[ln.start, ln.page, round(ln.top, 2), round(ln.bottom, 2), len(ln.lefts)] for ln in lines],
        "low": low,
        "step": step,
        "left_out": layout.left_out,
    }
    head = json.dumps(header).encode()
    body = (np.concatenate([lefts - low, rights - low]) / step).round().clip(0, 65_535).astype("<u2").tobytes()
    return zlib.compress(len(head).to_bytes(8, "little") + head + body)


def unpack_layout(data: bytes) -> Layout:
    """The layout that `pack_layout` wrote."""
    raw = _inflate(data)
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    edges = np.frombuffer(raw[8 + size :], "<u2").astype(np.float32) * header["step"] + header["low"]
    lefts, rights = edges[: len(edges) // 2].astype(np.float32), edges[len(edges) // 2 :].astype(np.float32)
    lines, at = [], 0
    for start, page, top, bottom, length in header["lines"]:
        part = slice(at, at + length)
        lines.append(PageLine(start, page, top, bottom, _floats(lefts[part]), _floats(rights[part])))
        at += length
    left_out = tuple((page, text) for page, text in header.get("left_out", ()))  # none in older libraries
    return Layout(tuple(Page(*page) for page in header["pages"]), tuple(lines), left_out)


def pack_vectors(vectors: Vectors) -> bytes:
    """Vectors as little-endian float32 rows."""
    return np.ascontiguousarray(vectors, dtype="<f4").tobytes()


def unpack_vectors(data: bytes, rows: int) -> Vectors:
    """The rows that `pack_vectors` wrote."""
    flat = np.frombuffer(data, dtype="<f4")
    if rows == 0 or len(flat) % rows:
        raise LibraryError(DAMAGED)
    return flat.reshape(rows, -1).astype(np.float32, copy=False)


def pack_sentences(vectors: Vectors) -> bytes:
    """Unit vectors as int8 with one scale each: a quarter of the bytes, cosine kept to about 1e-4."""
    scales = np.abs(vectors).max(axis=1, initial=1e-12).astype("<f4") / 127
    codes = np.rint(vectors / scales[:, None]).astype(np.int8)
    return bytes(scales.tobytes() + codes.tobytes())


def unpack_sentences(rows: Sequence[tuple[int, int, bytes, bytes]]) -> Sentences:
    """What `pack_spans` and `pack_sentences` wrote for several passages: generation, chunk index, both blobs."""
    rows = [row for row in rows if row[2]]
    counts = [len(offsets) // 8 for _, _, offsets, _ in rows]
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    scales = b"".join(vectors[: 4 * count] for (_, _, _, vectors), count in zip(rows, counts, strict=True))
    codes = b"".join(vectors[4 * count :] for (_, _, _, vectors), count in zip(rows, counts, strict=True))
    total = int(starts[-1])
    if total and len(codes) % total:
        raise LibraryError(DAMAGED)
    return Sentences(
        keys=tuple((generation, chunk_index) for generation, chunk_index, _, _ in rows),
        starts=starts,
        spans=np.frombuffer(b"".join(offsets for _, _, offsets, _ in rows), "<u4").reshape(-1, 2),
        codes=np.frombuffer(codes, np.int8).reshape(total, -1) if total else np.zeros((0, 0), np.int8),
        scales=np.frombuffer(scales, "<f4"),
    )


def pack_spans(spans: Sequence[tuple[int, int]]) -> bytes:
    """Offsets as little-endian pairs.

    >>> unpack_spans(pack_spans([(0, 5), (6, 9)]))
    ((0, 5), (6, 9))
    """
    return np.array(spans, dtype="<u4").tobytes()


def unpack_spans(data: bytes) -> tuple[tuple[int, int], ...]:
    """The offsets that `pack_spans` wrote."""
    return tuple((int(start), int(end)) for start, end in np.frombuffer(data, "<u4").reshape(-1, 2))


def _floats(values: NDArray[np.float32]) -> array[float]:
    return array("f", values.tobytes())


def _inflate(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise LibraryError(DAMAGED) from error
