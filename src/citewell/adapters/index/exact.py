"""The embedded index: everything current in memory, exact, rebuilt from the library whenever that changes."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.bm25 import TUNING, Bm25Settings, Matches, Scores, match
from citewell.adapters.index.candidate_list import Passages
from citewell.adapters.index.compact_scope import CompactIndex, compact, is_quick, is_small
from citewell.adapters.index.dense import BlockMaxima, Scored, cosines_of, floor, nearest, scored_together
from citewell.adapters.index.helper_threads import HelperThreads, core_count
from citewell.adapters.index.scope_view import SegmentView, look
from citewell.adapters.index.segment import ROUGH_ROWS, Integers, Segment, build, join, keep, read
from citewell.errors import EmbedderMismatch, LibraryBusy, LibraryError
from citewell.ports import Asked, Candidate, IndexedVersion, Shelf, Vector
from citewell.types import Scope

MAX_SEGMENTS = 8
MAX_LOOSE_SHARE = 0.2
"""Share of rows outside the first segment, or dead in it, above which all segments are merged into one."""

SMALLEST = float(np.finfo(np.float64).tiny)
"""The least score above zero."""

MAX_VIEWS = 256
MAX_VIEW_BYTES = 64 << 20
"""Memory for what scopes see; a compact view of 800 passages takes 4 MB."""

MAX_ATTEMPTS = 20
"""How often a search starts again because the library changed under it."""

View = tuple[SegmentView, ...] | CompactIndex


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

    def __init__(self, shelf: Shelf, *, tuning: Bm25Settings = TUNING) -> None:
        self._shelf = shelf
        self._tuning = tuning
        self._snapshot = Snapshot(-1, (), frozenset())
        self._refreshing = threading.Lock()
        self._views: OrderedDict[tuple[Scope, int], View] = OrderedDict()
        self._laying: set[tuple[Scope, int]] = set()
        self._viewing = threading.Lock()
        self._hands = HelperThreads(helpers=core_count() - 1)

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int) -> list[Candidate]:
        """The union of the `limit` nearest by cosine and the `limit` best by BM25 over weighted terms."""
        return self.candidates_of_each([(vector, terms)], scope=scope, limit=limit)[0]

    def candidates_of_each(self, asked: Sequence[Asked], *, scope: Scope, limit: int) -> list[list[Candidate]]:
        view = self._view(scope)
        if limit <= 0 or not view:
            return [[] for _ in asked]
        matrices = [view.matrix] if isinstance(view, CompactIndex) else [part.segment.matrix for part in view]
        vectors = [_checked(vector, {matrix.shape[1] for matrix in matrices}) for vector, _ in asked]
        words = [terms for _, terms in asked]
        if isinstance(view, CompactIndex):
            return [view.candidates(*one, limit=limit) for one in zip(vectors, words, strict=True)]
        scored = zip(*(scored_together(part, vectors) for part in view), strict=True)
        return [self._within(view, *one, limit=limit) for one in zip(vectors, words, scored, strict=True)]

    def _within(
        self,
        parts: tuple[SegmentView, ...],
        vector: Vector,
        terms: Mapping[str, float],
        scored: Sequence[Scored],
        *,
        limit: int,
    ) -> list[Candidate]:
        hands = self._hands if sum(part.rows for part in parts) >= ROUGH_ROWS else HelperThreads(helpers=0)
        near, (matches, best) = hands.both(
            lambda: nearest(parts, vector, scored, limit=limit, hands=hands),
            lambda: self._lexical(parts, terms, limit=limit),
        )
        passages = [
            _passages(part, _union(dense, lexical), vector, matches, scores)
            for part, dense, lexical, scores in zip(parts, near, best, matches.scores, strict=True)
        ]
        return _ranked(Passages(*map(np.concatenate, zip(*passages, strict=True))), limit=limit)

    def _lexical(
        self, parts: Sequence[SegmentView], terms: Mapping[str, float], *, limit: int
    ) -> tuple[Matches, list[Integers]]:
        """How the terms match, and the positions, part by part, that hold the `limit` best."""
        matches = match(parts, terms, tuning=self._tuning)
        return matches, _best(matches.scores, limit)

    def size(self) -> Size:
        """What is in memory now."""
        segments = self._snapshot.segments
        with self._viewing:
            views = sum(map(_bytes, self._views.values()))
        return Size(
            len(segments), sum(segment.rows for segment in segments), sum(segment.bytes for segment in segments) + views
        )

    def _view(self, scope: Scope) -> View:
        """What the scope may see now, all of it loaded; a small view that is seen again is laid out for itself."""
        for _ in range(MAX_ATTEMPTS):
            snapshot = self._fresh()
            key = (scope, snapshot.stamp)
            with self._viewing:
                known = self._views.get(key)
                if known is not None:
                    self._views.move_to_end(key)
            if isinstance(known, CompactIndex):
                return known
            if known is not None:
                return self._laid_out(key, known)
            visible = self._shelf.visible(scope)
            if not snapshot.generations.issuperset(visible):
                continue  # a document came after the snapshot was taken
            parts = look(snapshot.segments, visible)
            if self._shelf.stamp() == snapshot.stamp:
                self._remember(key, parts)
            return parts
        raise _too_busy()

    def _laid_out(self, key: tuple[Scope, int], parts: tuple[SegmentView, ...]) -> View:
        """The same laid out for itself; the parts as they are while that is done beside, so that no search waits."""
        if not is_small(parts):
            return parts
        with self._viewing:
            if key in self._laying:
                return parts
            self._laying.add(key)
        hands = HelperThreads(helpers=0) if is_quick(parts) else self._hands
        hands.later(partial(self._lay_out, key, parts))
        with self._viewing:
            return self._views.get(key, parts)

    def _lay_out(self, key: tuple[Scope, int], parts: tuple[SegmentView, ...]) -> None:
        try:
            if whole := self._whole(parts):
                self._remember(key, compact(whole, tuning=self._tuning))
        finally:
            with self._viewing:
                self._laying.discard(key)

    def _whole(self, parts: tuple[SegmentView, ...]) -> tuple[SegmentView, ...]:
        """The same parts with their vectors, or none where they cannot be had."""
        return parts

    def _remember(self, key: tuple[Scope, int], view: View) -> None:
        """Keep a view for the next search, unless the library has changed since it was taken."""
        with self._viewing:
            if self._snapshot.stamp != key[1]:
                return
            self._views[key] = view
            held = sum(map(_bytes, self._views.values()))
            while len(self._views) > MAX_VIEWS or held > MAX_VIEW_BYTES:
                held -= _bytes(self._views.popitem(last=False)[1])

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

    def _load(self, generations: Sequence[int]) -> Iterator[IndexedVersion]:
        """What is held in memory of these generations."""
        return self._shelf.load(generations)

    def _read(self, stamp: int) -> Snapshot | None:
        """A snapshot of what is current, or None when a document went while it was read."""
        current = frozenset(self._shelf.current())
        segments = [other for other in self._snapshot.segments if not current.isdisjoint(other.generations.tolist())]
        held = self._snapshot.generations.union(*(segment.generations.tolist() for segment in segments))
        wanted = sorted(current - held)
        if wanted:
            fresh = read(self._load(wanted))
            if set(fresh.generations.tolist()) != set(wanted):
                return None
            segments.append(build(fresh))
        if _is_loose(segments, current):
            segments = [build(join([keep(segment, _alive(segment, current)) for segment in segments]))]
        return Snapshot(stamp, tuple(segment for segment in segments if segment.rows), current)


def _bytes(view: View) -> int:
    return view.bytes if isinstance(view, CompactIndex) else sum(part.bytes for part in view)


def _too_busy() -> LibraryBusy:
    return LibraryBusy("The library is changing too fast to be read. Search again in a moment.")


def _alive(segment: Segment, current: frozenset[int]) -> NDArray[np.bool_]:
    return np.isin(segment.generations, np.fromiter(current, dtype=np.int64, count=len(current)))


def _is_loose(segments: Sequence[Segment], current: frozenset[int]) -> bool:
    """Whether merging pays: many segments, or many rows that are dead or outside the first."""
    if not segments:
        return False
    rows = sum(segment.rows for segment in segments)
    firm = int(np.diff(segments[0].first_rows)[_alive(segments[0], current)].sum())
    return len(segments) > MAX_SEGMENTS or rows - firm > MAX_LOOSE_SHARE * rows


def _checked(vector: Vector, dimensions: set[int]) -> Vector:
    """The query vector, when it can be compared with rows of so many dimensions."""
    if dimensions != {len(vector)}:
        raise EmbedderMismatch(
            f"The question's vector has {len(vector)} dimensions but the library's have "
            f"{' and '.join(map(str, sorted(dimensions)))}: they come from different embedding models. Run `citewell "
            "evidence reingest` to index every document with the model in the settings."
        )
    vector = np.ascontiguousarray(vector, dtype=np.float32)
    # A sum of squares that is a number has no part that is none.
    return vector if math.isfinite(vector @ vector) or np.isfinite(vector).all() else np.zeros_like(vector)


def _best(scores: Sequence[Scores], limit: int) -> list[Integers]:
    """Positions, part by part, that hold at least the `limit` best scores above zero."""
    heights = [BlockMaxima(score) for score in scores]
    least = max(floor(heights, limit), SMALLEST)
    return [height.reaching(least) for height in heights]


def _passages(
    part: SegmentView, positions: Integers, vector: Vector, matches: Matches, scores: Scores
) -> tuple[Integers, Integers, Scores, Scores, Scores]:
    """Generation, chunk index, cosine, BM25 and coverage of the passages at these positions."""
    rows = part.rows_at(positions)
    segment = part.segment
    cosines, coverages = cosines_of(segment.matrix.take(rows, axis=0), vector), matches.coverage(segment, rows)
    return *segment.where(rows), cosines, scores[positions], coverages


def _union(first: Integers, second: Integers) -> Integers:
    """What is in either, once."""
    both = np.concatenate((first, second))
    both.sort()
    return both[np.flatnonzero(np.diff(both, prepend=-1))]


def _ranked(passages: Passages, *, limit: int) -> list[Candidate]:
    """The first `limit` of both lists, the nearest first; equal scores stand in the order of the library."""
    library = (passages.chunks, passages.generations)
    dense = np.lexsort((*library, -passages.cosines))[:limit]
    lexical = np.lexsort((*library, -passages.scores))[: min(limit, np.count_nonzero(passages.scores > 0))]
    return passages.listed(dense, lexical)
