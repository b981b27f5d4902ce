"""What a scope may see, where that is little, laid out for itself: a few array steps search it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.bm25 import Bm25Settings, Scores, asked, impact, mean_length, weigh
from citewell.adapters.index.candidate_list import Passages
from citewell.adapters.index.dense import cosines_of
from citewell.adapters.index.scope_view import HIDDEN, SegmentView
from citewell.adapters.index.segment import Integers, expand, lookup, sorting, starts
from citewell.ports import Candidate, Vector, Vectors

MAX_ROWS = 2048
"""Larger views gain little: their time goes into the arithmetic, not into the steps round it."""

MAX_PAIRS = 1 << 24
"""All pairs of the segments are gone through once, a million in two milliseconds: in a larger index it does not pay."""

FEW_PAIRS = 1 << 16
"""So many are laid out in less than a millisecond."""


@dataclass(frozen=True, slots=True)
class CompactIndex:
    """The visible rows, in the order of the library, and their words; candidates are those of the parts, to the bit."""

    generations: Integers
    """Of each row."""
    chunks: Integers
    matrix: Vectors
    term_keys: NDArray[np.uint64]
    term_postings: Integers
    """The first posting of each term; one more than terms."""
    posting_rows: NDArray[np.intp]
    impacts: Scores
    """What each posting adds for a gain of one."""
    tuning: Bm25Settings

    @property
    def bytes(self) -> int:
        """Memory held."""
        arrays = (getattr(self, name) for name in self.__slots__)
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, limit: int) -> list[Candidate]:
        """The union of the `limit` nearest by cosine and the `limit` best by BM25 over weighted terms."""
        cosines = cosines_of(self.matrix, vector)
        scores, coverages = self._match(terms)
        lexical_count = min(limit, int(np.count_nonzero(scores)))
        passages = Passages(self.generations, self.chunks, cosines, scores, coverages)
        return passages.listed(_highest(cosines, limit), _highest(scores, lexical_count))

    def _match(self, terms: Mapping[str, float]) -> tuple[Scores, Scores]:
        """BM25 and coverage of every row."""
        keys, weights = asked(terms)
        firsts, ends = lookup(self.term_keys, self.term_postings, keys)
        counts, row_count = ends - firsts, len(self.matrix)
        gains, shares = weigh(weights, counts, row_count, self.tuning)
        runs = [slice(*ends) for ends in zip(firsts.tolist(), ends.tolist(), strict=True)] or [slice(0)]
        rows = np.concatenate([self.posting_rows[run] for run in runs])
        impacts = np.concatenate([self.impacts[run] for run in runs])
        impacts *= np.repeat(gains, counts)
        return _sums(rows, impacts, row_count), _sums(rows, np.repeat(shares, counts), row_count)


def is_small(parts: Sequence[SegmentView]) -> bool:
    """Whether it pays to lay these out; rows of two embedders cannot be."""
    return (
        sum(part.rows for part in parts) <= MAX_ROWS
        and sum(len(part.segment.pair_ordinals) for part in parts) <= MAX_PAIRS
        and len({part.segment.matrix.shape[1] for part in parts}) == 1
    )


def is_quick(parts: Sequence[SegmentView]) -> bool:
    """Whether these are laid out before a search would notice."""
    return sum(len(part.segment.pair_ordinals) for part in parts) <= FEW_PAIRS


def compact(parts: Sequence[SegmentView], *, tuning: Bm25Settings) -> CompactIndex:
    """Lay out what these parts show."""
    rows = [part.rows_at(np.arange(part.rows)) for part in parts]
    shown = [(part.segment, own) for part, own in zip(parts, rows, strict=True)]
    generations, chunks = map(np.concatenate, zip(*(segment.where(own) for segment, own in shown), strict=True))
    matrix = np.concatenate([segment.matrix.take(own, axis=0) for segment, own in shown])
    mean, before = mean_length(parts), starts([part.rows for part in parts]).tolist()
    words = _joined([_words(part, first, mean, tuning) for part, first in zip(parts, before, strict=False)])
    order = np.lexsort((chunks, generations))
    opens = np.flatnonzero(np.diff(words.keys, prepend=~words.keys[:1]))
    return CompactIndex(
        generations[order],
        chunks[order],
        matrix[order],
        words.keys[opens],
        starts(words.counts)[np.append(opens, len(words.keys))],
        order.argsort()[words.positions],
        words.impacts,
        tuning,
    )


@dataclass(frozen=True, slots=True)
class _TermPairs:
    """Pairs by their terms, and what stands in the postings of all of them, one pair after another."""

    keys: NDArray[np.uint64]
    counts: NDArray[np.integer]
    """Postings of each pair."""
    positions: NDArray[np.integer]
    impacts: Scores


def _words(part: SegmentView, first: int, mean: float, tuning: Bm25Settings) -> _TermPairs:
    """The visible words of a part whose first position has this number."""
    segment = part.segment
    if part.shifts is None:
        shifts, pairs = np.zeros(len(segment.generations), np.int64), np.arange(len(segment.pair_ordinals))
    else:
        shifts, pairs = part.shifts, np.flatnonzero((part.shifts != HIDDEN).take(segment.pair_ordinals))
    counts = segment.pair_postings[pairs + 1] - segment.pair_postings[pairs]
    postings = expand(segment.pair_postings[pairs], counts)
    terms = segment.term_pairs.searchsorted(pairs, side="right") - 1
    shift: Integers = first - shifts[segment.pair_ordinals[pairs]]
    positions = segment.posting_rows[postings] + np.repeat(shift, counts)
    impacts = impact(*segment.read_kinds(segment.posting_kinds[postings]), mean, tuning)
    return _TermPairs(segment.term_keys[terms], counts, positions, impacts)


def _joined(many: Sequence[_TermPairs]) -> _TermPairs:
    """The words of all parts, by term; those of one part are in that order."""
    if len(many) == 1:
        return many[0]
    keys, counts = (
        np.concatenate([term_pairs.keys for term_pairs in many]),
        np.concatenate([term_pairs.counts for term_pairs in many]),
    )
    order = sorting(keys)
    postings = expand(starts(counts)[order], counts[order])
    positions, impacts = (
        np.concatenate(own)
        for own in zip(*((term_pairs.positions, term_pairs.impacts) for term_pairs in many), strict=True)
    )
    return _TermPairs(keys[order], counts[order], positions[postings], impacts[postings])


def _sums(rows: NDArray[np.intp], values: Scores, row_count: int) -> Scores:
    sums: Scores = np.bincount(rows, values, minlength=row_count).astype(np.float64, copy=False)
    return sums


def _highest(scores: Scores, count: int) -> Integers:
    """Where the highest scores stand, the highest first; equal ones as they come.

    >>> _highest(np.array([1.0, 3.0, 2.0, 3.0, 3.0]), 2).tolist()
    [1, 3]
    """
    if not 0 < count < len(scores):
        every: Integers = (-scores).argsort(kind="stable")[:count]
        return every
    parted = scores.copy()
    parted.partition(-count)
    (places,) = (scores >= parted[-count]).nonzero()
    order: Integers = places.take((-scores.take(places)).argsort(kind="stable")[:count])
    return order
