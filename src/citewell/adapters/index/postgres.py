"""The index of a library that many processes share: the words of a tenant in memory, its vectors where they fit.

A tenant is read when it is first searched, and again as far as it has changed, which one indexed row tells. Where its
vectors take more memory than the settings allow, pgvector compares them in the database, but for small scopes that are
searched again. Both give the same candidates.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from citewell.adapters.index.bm25 import TUNING, Bm25Settings, match
from citewell.adapters.index.candidate_list import Passages
from citewell.adapters.index.compact_scope import CompactIndex
from citewell.adapters.index.dense import cosines_of
from citewell.adapters.index.exact import MAX_ATTEMPTS, ExactIndex, _best, _checked, _ranked, _too_busy
from citewell.adapters.index.scope_view import SegmentView, look
from citewell.adapters.index.segment import Integers, build, read
from citewell.adapters.index.tenant_indexes import TenantIndex
from citewell.ports import Asked, Candidate, IndexedVersion, Shelf, Vector
from citewell.types import Scope

Key = tuple[int, int]
"""Generation and chunk index."""

WORD_BYTES = 256 << 20
"""Words are held up to here whatever the settings say: without them every search would read them again."""


class VectorShelf(Shelf, Protocol):
    """The shelf of one tenant in a database that can compare vectors itself."""

    def load_words(self, wanted: Sequence[int]) -> Iterator[IndexedVersion]:
        """Postings of these generations, with vectors that have no numbers."""
        ...

    def vector_bytes(self) -> int:
        """How much memory all vectors would take."""
        ...

    def compared(
        self, vector: Vector, scope: Scope, *, limit: int, also: Sequence[Key], stamp: int
    ) -> Mapping[Key, Vector] | None:
        """The vectors of the nearest chunks in scope, and of these others; None when the shelf changed meanwhile."""
        ...


class PostgresIndex(TenantIndex):
    """One small index for each tenant, the least recently searched let go; threads may share one."""

    def __init__(
        self, shelf_of: Callable[[str], VectorShelf], *, memory_bytes: int, tuning: Bm25Settings = TUNING
    ) -> None:
        super().__init__(shelf_of, tuning=tuning)
        self._vectors_of, self._memory_bytes = shelf_of, memory_bytes
        self._tenants: OrderedDict[str, ExactIndex] = OrderedDict()
        self._bytes: dict[str, int] = {}
        self._held = 0

    @contextmanager
    def _used(self, tenant: str) -> Iterator[ExactIndex]:
        with self._changing:
            index = self._tenants.get(tenant)
            if index is not None:
                self._tenants.move_to_end(tenant)
        if index is None:
            made = self._made(tenant)
            with self._changing:
                index = self._tenants.setdefault(tenant, made)
        yield index
        self._weigh(tenant, index)

    def _made(self, tenant: str) -> ExactIndex:
        shelf = self._vectors_of(tenant)
        if shelf.vector_bytes() < self._memory_bytes:
            return ExactIndex(shelf, tuning=self._tuning)
        return WordIndex(shelf, tuning=self._tuning)

    def _weigh(self, tenant: str, index: ExactIndex) -> None:
        """Let others go when too much is held; a tenant that is too large alone leaves its vectors in the database."""
        size = index.size().bytes
        with self._changing:
            if self._tenants.get(tenant) is not index:
                return
            self._held += size - self._bytes.get(tenant, 0)
            self._bytes[tenant] = size
            while self._held > max(self._memory_bytes, WORD_BYTES) and len(self._tenants) > 1:
                oldest, _ = self._tenants.popitem(last=False)
                self._held -= self._bytes.pop(oldest, 0)
            if size > self._memory_bytes and not isinstance(index, WordIndex):
                self._tenants[tenant] = WordIndex(self._vectors_of(tenant), tuning=self._tuning)


class WordIndex(ExactIndex):
    """BM25 from memory, cosines of what the database finds nearest; of little that is asked again, all from memory."""

    def __init__(self, shelf: VectorShelf, *, tuning: Bm25Settings = TUNING) -> None:
        super().__init__(shelf, tuning=tuning)
        self._vectors = shelf

    def _load(self, generations: Sequence[int]) -> Iterator[IndexedVersion]:
        """The words alone: the vectors stay where they are."""
        return self._vectors.load_words(generations)

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int) -> list[Candidate]:
        """The same candidates as those of an index that holds the vectors."""
        question = np.ascontiguousarray(vector, dtype=np.float32)
        question = question if np.isfinite(question).all() else np.zeros_like(question)
        for _ in range(MAX_ATTEMPTS):
            stamp = self._vectors.stamp()
            parts = self._view(scope)
            if limit <= 0 or not parts:
                return []
            if isinstance(parts, CompactIndex):
                return parts.candidates(_checked(vector, {parts.matrix.shape[1]}), terms, limit=limit)
            matches = match(parts, terms, tuning=self._tuning)
            lexical = _keys(parts, _best(matches.scores, limit))
            found = self._vectors.compared(question, scope, limit=limit, also=lexical, stamp=stamp)
            if found is None:
                continue  # a document came or went since the words were read
            places = _places(parts, list(found))
            cosines = cosines_of(np.stack(list(found.values())), question)
            passages = []
            for part, scores, place in zip(parts, matches.scores, places, strict=True):
                rows = part.segment.first_rows[place.ordinals] + place.chunks
                at = rows if part.shifts is None else rows - part.shifts[place.ordinals]
                told = part.segment.generations[place.ordinals], place.chunks, cosines[place.of]
                passages.append((*told, scores[at], matches.coverage(part.segment, rows)))
            return _ranked(Passages(*map(np.concatenate, zip(*passages, strict=True))), limit=limit)
        raise _too_busy()

    def candidates_of_each(self, asked: Sequence[Asked], *, scope: Scope, limit: int) -> list[list[Candidate]]:
        """The same of several questions; each asks the database for itself."""
        return [self.candidates(vector, terms, scope=scope, limit=limit) for vector, terms in asked]

    def _whole(self, parts: tuple[SegmentView, ...]) -> tuple[SegmentView, ...]:
        """A view that is small enough to be laid out is small enough to be held with its vectors."""
        wanted = np.concatenate([part.segment.generations[part.ordinals] for part in parts]).tolist()
        whole = build(read(self._vectors.load(wanted)))
        return look([whole], wanted) if set(whole.generations.tolist()) == set(wanted) else ()


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where some of the chunks found stand in one part."""

    of: Integers
    """Which of them."""
    ordinals: Integers
    chunks: Integers


def _keys(parts: Sequence[SegmentView], positions: Sequence[Integers]) -> list[Key]:
    """The chunks at these positions."""
    found: list[Key] = []
    for part, own in zip(parts, positions, strict=True):
        generations, chunks = part.segment.where(part.rows_at(own))
        found += zip(generations.tolist(), chunks.tolist(), strict=True)
    return found


def _places(parts: Sequence[SegmentView], keys: Sequence[Key]) -> list[ChunkPlace]:
    """Where chunks stand, part by part; a chunk stands in one of them."""
    wanted = np.array(keys, dtype=np.int64).reshape(-1, 2)
    chunk_places = []
    for part in parts:
        known = part.segment.generations[part.ordinals]
        order = np.argsort(known, kind="stable")
        at = known[order].searchsorted(wanted[:, 0])
        at[at == len(known)] = 0
        here = np.flatnonzero(known[order[at]] == wanted[:, 0])
        chunk_places.append(ChunkPlace(here, part.ordinals[order[at[here]]].astype(np.int64), wanted[here, 1]))
    return chunk_places
