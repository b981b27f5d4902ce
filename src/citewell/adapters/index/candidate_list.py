"""The two orders of what was found, told as one list of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.segment import Integers
from citewell.ports import Candidate


@dataclass(frozen=True, slots=True)
class Passages:
    """Passages that may answer: where each stands in the library, and its scores."""

    generations: Integers
    chunks: Integers
    cosines: NDArray[np.float64]
    scores: NDArray[np.float64]
    """BM25."""
    coverages: NDArray[np.float64]

    def listed(self, dense: Integers, lexical: Integers) -> list[Candidate]:
        """Those in the dense order, then the others of the lexical one, each with its ranks."""
        ranks = np.zeros(len(self.cosines), dtype=np.int64)
        ranks[lexical] = np.arange(1, len(lexical) + 1)
        near_ranks = ranks.take(dense)
        ranks[dense] = 0
        others = lexical[ranks.take(lexical) > 0]
        places = np.concatenate((dense, others))
        columns = (self.generations, self.chunks, self.cosines, self.scores)
        rows = zip(
            *(column.take(places).tolist() for column in columns),
            chain(range(1, len(dense) + 1), repeat(None)),
            chain([rank or None for rank in near_ranks.tolist()], ranks.take(others).tolist()),
            self.coverages.take(places).tolist(),
            strict=False,
        )
        # As `Candidate._make`, which counts the fields of each again.
        return list(map(tuple.__new__, repeat(Candidate), rows))
