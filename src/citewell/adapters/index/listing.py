"""The two orders of what was found, told as one list of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain, count, repeat

import numpy as np
from numpy.typing import NDArray

from citewell.ports import Candidate


@dataclass(frozen=True, slots=True)
class Passages:
    """Passages that may answer: where each stands in the library, and its scores."""

    generations: NDArray[np.int64]
    chunks: NDArray[np.int64]
    cosines: NDArray[np.float64]
    scores: NDArray[np.float64]
    """BM25."""
    coverages: NDArray[np.float64]

    def listed(self, dense: list[int], lexical: list[int]) -> list[Candidate]:
        """Those in the dense order, then the others of the lexical one, each with its ranks."""
        ranks = dict(zip(lexical, count(1), strict=False))
        near_ranks = [ranks.pop(place, None) for place in dense]
        places = np.array([*dense, *ranks], dtype=np.int64)
        columns = (self.generations, self.chunks, self.cosines, self.scores)
        rows = zip(
            *(column.take(places).tolist() for column in columns),
            chain(range(1, len(dense) + 1), repeat(None)),
            chain(near_ranks, ranks.values()),
            self.coverages.take(places).tolist(),
            strict=False,
        )
        # As `Candidate._make`, which counts the fields of each again.
        return list(map(partial(tuple.__new__, Candidate), rows))
