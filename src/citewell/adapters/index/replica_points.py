"""What a replica holds of a document version: a point per passage, and a line that says how it is filed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from citewell.adapters.index.bm25 import TUNING, impact
from citewell.ingest.postings import unpack
from citewell.ports import IndexedVersion

MEANING, WORDS = "meaning", "words"
MEAN_LENGTH = 150.0
"""What lengths are measured against when words are ranked there; scores are computed again with the scope's own."""
CHUNK_BITS = 24


@dataclass(frozen=True, slots=True)
class FiledVersion:
    """Who may see a document version: what a scope is held against."""

    tenant: str
    tags: tuple[str, ...]
    journeys: tuple[str, ...]
    subject: str | None
    lineage: str

    @property
    def payload(self) -> dict[str, Any]:
        return {
            "tenant": self.tenant,
            "tags": list(self.tags),
            "journeys": list(self.journeys),
            "is_universal": not self.journeys,
            "subject": self.subject,
            "is_general": self.subject is None,
            "lineage": self.lineage,
        }

    @property
    def mark(self) -> str:
        return hashlib.sha256(json.dumps(self.payload, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class ReplicaVersion:
    """What the copy holds of one document version."""

    mark: str
    chunks: int
    length: int


@dataclass(frozen=True, slots=True)
class ReplicaLag:
    """How far the copy is behind."""

    missing: int
    """Document versions that are to be sent, or filed anew."""
    surplus: int
    """Those that are to be taken away."""
    is_current: bool

    @property
    def documents(self) -> int:
        return self.missing + self.surplus


def point_id(generation: int, chunk: int) -> int:
    """The number of a passage in the copy.

    >>> point_id(3, 5) >> CHUNK_BITS, point_id(3, 5) & ((1 << CHUNK_BITS) - 1)
    (3, 5)
    """
    return (generation << CHUNK_BITS) | chunk


def word(key: int) -> int:
    """A term's key as a sparse vector numbers it: 32 bits of the 64."""
    return key & 0xFFFFFFFF


def points_of(stored: IndexedVersion, filed: FiledVersion) -> Iterator[tuple[Any, int]]:
    """The passages of a document version as points, each with its length in words."""
    from qdrant_client import models

    postings = unpack(stored.postings)
    keys = np.repeat(postings.keys, postings.counts)
    order = np.argsort(postings.chunks, kind="stable")
    ends = np.searchsorted(postings.chunks[order], np.arange(len(stored.vectors) + 1))
    vectors = np.nan_to_num(stored.vectors.astype(np.float32))
    for chunk, vector in enumerate(vectors):
        mine = order[ends[chunk] : ends[chunk + 1]]
        length = int(postings.lengths[chunk])
        counted: dict[int, int] = {}
        for key, often in zip(keys[mine].tolist(), postings.frequencies[mine].tolist(), strict=True):
            counted[word(key)] = counted.get(word(key), 0) + often
        often = np.fromiter(counted.values(), dtype=np.float64, count=len(counted))
        weights = impact(often, np.full(len(often), float(length)), MEAN_LENGTH, TUNING)
        payload = {
            **filed.payload,
            "generation": stored.generation,
            "chunk": chunk,
            "length": length,
            "terms": list(counted),
            "often": list(counted.values()),
        }
        sparse = models.SparseVector(indices=list(counted), values=weights.tolist())
        named = {MEANING: vector.tolist(), WORDS: sparse}
        yield models.PointStruct(id=point_id(stored.generation, chunk), vector=named, payload=payload), length
