"""The embedded index: everything current in memory, exact, rebuilt from the library whenever that changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.bm25 import TUNING, Matches, Scores, Tuning, match
from citewell.adapters.index.dense import exact_cosines, nearest
from citewell.adapters.index.heights import Heights, floor
from citewell.adapters.index.segment import Integers, Segment, build, join, keep, read
from citewell.adapters.index.view import Part, look
from citewell.errors import EmbedderMismatch, LibraryBusy, LibraryError
from citewell.ports import Candidate, Shelf, Vector
from citewell.types import Scope

MAX_SEGMENTS = 8
MAX_LOOSE_SHARE = 0.2
"""Share of rows outside the first segment, or dead in it, above which all segments are merged into one."""

SMALLEST = float(np.finfo(np.float64).tiny)
"""The least score above zero."""

MAX_VIEWS = 256
MAX_ATTEMPTS = 20
"""How often a search starts again because the library changed under it."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much the index holds."""

    segments: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The library as it was at one stamp."""

    stamp: int
    segments: tuple[Segment, ...]
    generations: frozenset[int]


class ExactIndex:
    """Candidates by exact cosine and BM25 from memory; threads may share one."""

    def __init__(self, shelf: Shelf, *, tuning: Tuning = TUNING) -> None:
        self._shelf = shelf
        self._tuning = tuning
        self._snapshot = Snapshot(-1, (), frozenset())
        self._refreshing = threading.Lock()
        self._views: OrderedDict[tuple[Scope, int], tuple[Part, ...]] = OrderedDict()
        self._viewing = threading.Lock()

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int) -> list[Candidate]:
        """The union of the `limit` nearest by cosine and the `limit` best by BM25 over weighted terms."""
        parts = self._view(scope)
        if limit <= 0 or not parts:
            return []
        vector = _checked(vector, parts)
        near = nearest(parts, vector, limit=limit)
        matches = match(parts, terms, tuning=self._tuning)
        best = _best(matches.scores, limit)
        passages = [
            _passages(part, _union(dense, lexical), vector, matches, scores)
            for part, dense, lexical, scores in zip(parts, near, best, matches.scores, strict=True)
        ]
        return _ranked(*map(np.concatenate, zip(*passages, strict=True)), limit=limit)

    def size(self) -> Size:
        """What is in memory now."""
        segments = self._snapshot.segments
        return Size(
            len(segments), sum(segment.rows for segment in segments), sum(segment.bytes for segment in segments)
        )

    def _view(self, scope: Scope) -> tuple[Part, ...]:
        """What the scope may see now, all of it loaded."""
        for _ in range(MAX_ATTEMPTS):
            snapshot = self._fresh()
            key = (scope, snapshot.stamp)
            with self._viewing:
                if (known := self._views.get(key)) is not None:
                    self._views.move_to_end(key)
                    return known
            visible = self._shelf.visible(scope)
            if not snapshot.generations.issuperset(visible):
                continue  # a document came after the snapshot was taken
            parts = look(snapshot.segments, visible)
            if self._shelf.stamp() == snapshot.stamp:
                self._remember(key, parts)
            return parts
        raise _too_busy()

    def _remember(self, key: tuple[Scope, int], parts: tuple[Part, ...]) -> None:
        with self._viewing:
            self._views[key] = parts
            while len(self._views) > MAX_VIEWS:
                self._views.popitem(last=False)

    def _fresh(self) -> Snapshot:
        """The library as it is now; the old snapshot stays in place when it cannot be read."""
        if self._snapshot.stamp == self._shelf.stamp():
            return self._snapshot
        with self._refreshing:
            for _ in range(MAX_ATTEMPTS):
                stamp = self._shelf.stamp()
                if self._snapshot.stamp == stamp:
                    return self._snapshot
                snapshot = self._read(stamp)
                if snapshot is not None:
                    self._snapshot = snapshot
                    with self._viewing:
                        self._views.clear()
                    return snapshot
                if self._shelf.stamp() == stamp:
                    raise LibraryError(
                        "The library lists documents whose vectors are missing. Run `citewell verify` to find them."
                    )
        raise _too_busy()

    def _read(self, stamp: int) -> Snapshot | None:
        """A snapshot of what is current, or None when a document went while it was read."""
        current = frozenset(self._shelf.current())
        segments = [one for one in self._snapshot.segments if not current.isdisjoint(one.generations.tolist())]
        held = self._snapshot.generations.union(*(segment.generations.tolist() for segment in segments))
        wanted = sorted(current - held)
        if wanted:
            fresh = read(self._shelf.load(wanted))
            if set(fresh.generations.tolist()) != set(wanted):
                return None
            segments.append(build(fresh))
        if _is_loose(segments, current):
            segments = [build(join([keep(segment, _alive(segment, current)) for segment in segments]))]
        return Snapshot(stamp, tuple(segment for segment in segments if segment.rows), current)


def _too_busy() -> LibraryBusy:
    return LibraryBusy("The library is changing faster than it can be read. Search again in a moment.")


def _alive(segment: Segment, current: frozenset[int]) -> NDArray[np.bool_]:
    return np.isin(segment.generations, np.fromiter(current, dtype=np.int64, count=len(current)))


def _is_loose(segments: Sequence[Segment], current: frozenset[int]) -> bool:
    """Whether merging pays: many segments, or many rows that are dead or outside the first."""
    if not segments:
        return False
    rows = sum(segment.rows for segment in segments)
    firm = int(np.diff(segments[0].first_rows)[_alive(segments[0], current)].sum())
    return len(segments) > MAX_SEGMENTS or rows - firm > MAX_LOOSE_SHARE * rows


def _checked(vector: Vector, parts: Sequence[Part]) -> Vector:
    """The query vector, when it can be compared with the rows."""
    dimensions = {part.segment.matrix.shape[1] for part in parts}
    if dimensions != {len(vector)}:
        raise EmbedderMismatch(
            f"The question's vector has {len(vector)} dimensions and the library's have "
            f"{' and '.join(map(str, sorted(dimensions)))}: they come from different embedders. Run `citewell reindex` "
            "to embed every document with the one in the settings."
        )
    vector = np.ascontiguousarray(vector, dtype=np.float32)
    return vector if np.isfinite(vector).all() else np.zeros_like(vector)


def _best(scores: Sequence[Scores], limit: int) -> list[Integers]:
    """Positions, part by part, that hold at least the `limit` best scores above zero."""
    heights = [Heights(score) for score in scores]
    least = max(floor(heights, limit), SMALLEST)
    return [one.reaching(least) for one in heights]


def _passages(
    part: Part, positions: Integers, vector: Vector, matches: Matches, scores: Scores
) -> tuple[Integers, Integers, Scores, Scores, Scores]:
    """Generation, chunk index, cosine, BM25 and coverage of the passages at these positions."""
    rows = part.rows_at(positions)
    segment = part.segment
    ordinals = segment.first_rows.searchsorted(rows, side="right") - 1
    return (
        segment.generations[ordinals],
        rows - segment.first_rows[ordinals],
        exact_cosines(segment, rows, vector),
        scores[positions],
        matches.coverage(segment, rows),
    )


def _union(first: Integers, second: Integers) -> Integers:
    """What is in either, once."""
    both = np.concatenate((first, second))
    both.sort()
    return both[np.flatnonzero(np.diff(both, prepend=-1))]


def _ranked(
    generations: Integers, chunks: Integers, cosines: Scores, scores: Scores, coverages: Scores, *, limit: int
) -> list[Candidate]:
    """The first `limit` of both lists, the nearest first; equal scores stand in the order of the library."""
    dense = np.lexsort((chunks, generations, -cosines))[:limit].tolist()
    lexical = np.lexsort((chunks, generations, -scores))[: min(limit, np.count_nonzero(scores > 0))].tolist()
    dense_ranks = dict(zip(dense, range(1, len(dense) + 1), strict=True))
    lexical_ranks = dict(zip(lexical, range(1, len(lexical) + 1), strict=True))
    order = list(dense_ranks | lexical_ranks)
    places = np.array(order, dtype=np.int64)
    columns = (
        generations[places].tolist(),
        chunks[places].tolist(),
        cosines[places].tolist(),
        scores[places].tolist(),
        map(dense_ranks.get, order),
        map(lexical_ranks.get, order),
        coverages[places].tolist(),
    )
    return list(map(Candidate._make, zip(*columns, strict=True)))
