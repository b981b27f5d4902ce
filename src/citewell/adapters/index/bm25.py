"""BM25 over weighted terms, with the statistics of what the scope may see and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.scope_view import HIDDEN, SegmentView
from citewell.adapters.index.segment import Integers, Segment, expand
from citewell.sentences import term_key

SEARCH_COST = 10
"""Looking up a generation among the pairs of a term takes as long as going through this many of them."""

FEW_RUNS = 64
"""Up to so many runs are gone through one by one: a factor for each of a million numbers takes more time."""

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """The constants of BM25, and when a word is too common to weigh."""

    k1: float = 1.2
    b: float = 0.75
    common_share: float = 0.3
    """A term in more than this share of the chunks is left out when a rarer one remains."""
    common_above_chunks: int = 1000
    """Smaller libraries keep every term: their counts say little."""


TUNING = Bm25Settings()


@dataclass(frozen=True, slots=True)
class TermPostings:
    """Where terms stand in a part: the visible pairs of all terms, one term after another."""

    terms: Integers
    """The number of the term of each pair."""
    pairs: Integers
    postings: NDArray[np.integer]
    """The first posting of each pair."""
    counts: NDArray[np.integer]
    """Its number of postings."""


@dataclass(frozen=True, slots=True)
class Matches:
    """How the terms of a question match what is visible."""

    scores: list[Scores]
    """BM25 at every visible position, part by part."""
    keys: NDArray[np.uint64]
    shares: Scores
    """How much of the question each term is, by weight and rarity in the scope; one in all."""

    def coverage(self, segment: Segment, rows: Integers) -> Scores:
        """The part of the question that each of these rows holds, very common terms included."""
        covered, wanted = np.zeros(len(rows)), rows.astype(segment.posting_rows.dtype)
        first, last = segment.pairs(self.keys)
        starts, ends = segment.pair_postings[first].tolist(), segment.pair_postings[last].tolist()
        for start, end, share in zip(starts, ends, self.shares.tolist(), strict=True):
            if start < end:
                holders = segment.posting_rows[start:end]
                covered += share * (holders.take(holders.searchsorted(wanted), mode="clip") == wanted)
        return covered


def match(parts: Sequence[SegmentView], terms: Mapping[str, float], *, tuning: Bm25Settings) -> Matches:
    """Score every visible position, with the statistics of what is visible."""
    keys, weights = asked(terms)
    chunk_count = sum(part.rows for part in parts)
    places = [_find(part, keys) for part in parts]
    present = np.zeros(len(keys))
    for place in places:
        present += np.bincount(place.terms, weights=place.counts, minlength=len(keys))
    gains, shares = weigh(weights, present, chunk_count, tuning)
    mean = mean_length(parts)
    scores = [
        _score(part, term_postings, gains, mean, tuning) for part, term_postings in zip(parts, places, strict=True)
    ]
    return Matches(scores, keys, shares)


def asked(terms: Mapping[str, float]) -> tuple[NDArray[np.uint64], Scores]:
    """The keys of the terms that count, and what each counts."""
    weighed = {term: weight for term, weight in terms.items() if weight > 0}
    keys = np.fromiter(map(term_key, weighed), dtype=np.uint64, count=len(weighed))
    return keys, np.fromiter(weighed.values(), dtype=np.float64, count=len(weighed))


def weigh(weights: Scores, present: Scores | Integers, chunk_count: int, tuning: Bm25Settings) -> tuple[Scores, Scores]:
    """What each term adds to a score at most, and its share of the question, when so many chunks hold it."""
    counts = present.tolist()  # a question has a few terms: numbers one by one take less time than arrays of them
    rarities = [
        weight * math.log1p((chunk_count - count + 0.5) / (count + 0.5))
        for weight, count in zip(weights.tolist(), counts, strict=True)
    ]
    most, all_of_it = _most_telling(counts, chunk_count, tuning), max(math.fsum(rarities), 1e-9)
    gains = [
        rarity * (tuning.k1 + 1) if 0 < count <= most else 0.0 for rarity, count in zip(rarities, counts, strict=True)
    ]
    return np.array(gains), np.array(rarities) / all_of_it


def mean_length(parts: Sequence[SegmentView]) -> float:
    """The index terms of a visible row, on average."""
    return max(sum(part.total_length for part in parts) / sum(part.rows for part in parts), 1.0)


def impact(frequencies: Scores, lengths: Scores, mean: float, tuning: Bm25Settings) -> Scores:
    """What postings add for a gain of one."""
    damped: Scores = frequencies / (frequencies + tuning.k1 * (1 - tuning.b + tuning.b / mean * lengths))
    return damped


def _most_telling(counts: Sequence[float], chunk_count: int, tuning: Bm25Settings) -> float:
    """In how many chunks a term may be and still be worth scoring: very common ones are not when rarer ones remain."""
    most = tuning.common_share * chunk_count
    if chunk_count <= tuning.common_above_chunks or not any(0 < count <= most for count in counts):
        return math.inf
    return most


def _find(part: SegmentView, keys: NDArray[np.uint64]) -> TermPostings:
    """The visible pairs of each term; where all is visible, the postings of a term lie together and make one pair."""
    segment = part.segment
    first, last = segment.pairs(keys)
    if part.shifts is None:
        postings = segment.pair_postings[first]
        return TermPostings(np.arange(len(keys)), first, postings, segment.pair_postings[last] - postings)
    seen = [_visible_pairs(part, *ends) for ends in zip(first.tolist(), last.tolist(), strict=True)]
    pairs = np.concatenate([first[:0], *seen])
    terms = np.repeat(np.arange(len(keys)), [len(one) for one in seen])
    postings = segment.pair_postings[pairs]
    return TermPostings(terms, pairs, postings, segment.pair_postings[pairs + 1] - postings)


def _visible_pairs(part: SegmentView, first: int, last: int) -> Integers:
    """The pairs of one term whose generation is visible."""
    assert part.shifts is not None
    ordinals = part.segment.pair_ordinals[first:last]
    if len(ordinals) > SEARCH_COST * len(part.ordinals):
        places = ordinals.searchsorted(part.ordinals)
        seen = places[ordinals.take(places, mode="clip") == part.ordinals]
    else:
        seen = np.flatnonzero(part.shifts[ordinals] != HIDDEN)
    pairs: Integers = seen + first
    return pairs


def _score(part: SegmentView, places: TermPostings, gains: Scores, mean: float, tuning: Bm25Settings) -> Scores:
    """The sum over the telling terms, at each position."""
    kept = np.flatnonzero((gains[places.terms] > 0) & (places.counts > 0))
    firsts, counts = places.postings[kept], places.counts[kept]
    segment = part.segment
    if part.shifts is None:
        slices = [slice(first, first + count) for first, count in zip(firsts.tolist(), counts.tolist(), strict=True)]
        rows = [segment.posting_rows[other] for other in slices] or [segment.posting_rows[:0]]
        positions: NDArray[np.integer] = np.concatenate(rows, dtype=np.int64)
        kinds = np.concatenate([segment.posting_kinds[one] for one in slices] or [segment.posting_kinds[:0]])
    else:
        postings = expand(firsts, counts)
        shifts = part.shifts[segment.pair_ordinals[places.pairs[kept]]]
        positions = segment.posting_rows[postings] - np.repeat(shifts, counts)
        kinds = segment.posting_kinds[postings]
    impacts = _impacts(part, kinds, mean, tuning)
    _multiply(impacts, gains[places.terms[kept]], counts)
    scores: Scores = np.bincount(positions, weights=impacts, minlength=part.rows).astype(np.float64, copy=False)
    return scores


def _multiply(values: Scores, factors: Scores, counts: NDArray[np.integer]) -> None:
    """Multiply runs of these sizes by a factor each, in place."""
    if len(factors) > FEW_RUNS:
        values *= np.repeat(factors, counts)
        return
    ends = counts.cumsum().tolist()
    for start, end, factor in zip((0, *ends), ends, factors.tolist(), strict=False):
        values[start:end] *= factor


def _impacts(part: SegmentView, kinds: NDArray[np.unsignedinteger], mean: float, tuning: Bm25Settings) -> Scores:
    """What each posting adds for a gain of one: computed once per kind, or per posting where those are fewer."""
    segment = part.segment
    if len(kinds) <= segment.max_kind:
        return impact(*segment.read_kinds(kinds), mean, tuning)
    return impact(*segment.read_kinds(np.arange(segment.max_kind + 1)), mean, tuning).take(kinds)
