"""BM25 over weighted terms, with the statistics of what the scope may see and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.segment import Integers, expand
from citewell.adapters.index.view import Part
from citewell.words import term_key


@dataclass(frozen=True, slots=True)
class Tuning:
    """The constants of BM25, and when a word is too common to weigh."""

    k1: float = 1.2
    b: float = 0.75
    common_share: float = 0.1
    """A term in more than this share of the chunks is left out when a rarer one remains."""
    common_above_chunks: int = 1000
    """Smaller libraries keep every term: their counts say little."""


TUNING = Tuning()


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the question, and the pairs that hold it in each part."""

    weight: float
    pairs: tuple[Integers | slice, ...]
    chunk_count: int


def lexical_scores(parts: Sequence[Part], terms: Mapping[str, float], *, tuning: Tuning) -> list[NDArray[np.float32]]:
    """The score of every visible position, part by part."""
    chunk_count = sum(part.rows for part in parts)
    mean_length = max(sum(part.total_length for part in parts) / max(chunk_count, 1), 1.0)
    found = [_find(parts, term, weight) for term, weight in terms.items() if weight > 0]
    scores = [np.zeros(part.rows, dtype=np.float32) for part in parts]
    for term in _telling(found, chunk_count, tuning):
        rarity = math.log(1 + (chunk_count - term.chunk_count + 0.5) / (term.chunk_count + 0.5))
        gain = term.weight * rarity * (tuning.k1 + 1)
        for part, pairs, score in zip(parts, term.pairs, scores, strict=True):
            positions, frequencies = _postings(part, pairs)
            lengths = part.segment.lengths[part.rows_at(positions)]
            damping = np.float32(tuning.k1 * (1 - tuning.b)) + np.float32(tuning.k1 * tuning.b / mean_length) * lengths
            score[positions] += np.float32(gain) * frequencies / (frequencies + damping.astype(np.float32))
    return scores


def _find(parts: Sequence[Part], term: str, weight: float) -> Term:
    """Where a term stands in what is visible."""
    key = term_key(term)
    pairs: list[Integers | slice] = []
    chunk_count = 0
    for part in parts:
        first, last = part.segment.pairs(key)
        starts = part.segment.starts
        if part.first_positions is None:
            pairs.append(slice(first, last))
            chunk_count += int(starts[last] - starts[first])
        else:
            seen = first + np.flatnonzero(part.first_positions[part.segment.pair_ordinals[first:last]] >= 0)
            pairs.append(seen)
            chunk_count += int((starts[seen + 1] - starts[seen]).sum())
    return Term(weight, tuple(pairs), chunk_count)


def _telling(terms: Sequence[Term], chunk_count: int, tuning: Tuning) -> list[Term]:
    """The terms worth scoring: those that occur, without the very common ones when rarer ones remain."""
    present = [term for term in terms if term.chunk_count]
    if chunk_count <= tuning.common_above_chunks:
        return present
    rare = [term for term in present if term.chunk_count <= tuning.common_share * chunk_count]
    return rare or present


def _postings(part: Part, pairs: Integers | slice) -> tuple[Integers, NDArray[np.float32]]:
    """The positions that hold a term, and how often each does."""
    segment = part.segment
    ordinals = segment.pair_ordinals[pairs]
    if isinstance(pairs, slice):
        starts, ends = segment.starts[pairs.start : pairs.stop], segment.starts[pairs.start + 1 : pairs.stop + 1]
    else:
        starts, ends = segment.starts[pairs], segment.starts[pairs + 1]
    counts = ends - starts
    base = segment.first_rows[ordinals] if part.first_positions is None else part.first_positions[ordinals]
    places = expand(starts, counts)
    return np.repeat(base, counts) + segment.chunks[places], segment.frequencies[places].astype(np.float32)
