"""Candidates from a Qdrant replica, scored as the library's own index would; where it cannot, that one answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.bm25 import TUNING, Bm25Settings, Scores, asked, impact, weigh
from citewell.adapters.index.candidate_list import Passages
from citewell.adapters.index.exact import _checked, _ranked
from citewell.adapters.index.replica import ALIAS, Replica, ShelfWithFilings
from citewell.adapters.index.replica_points import MEANING, WORDS, ReplicaLag, ReplicaVersion, word
from citewell.errors import CitewellError
from citewell.ports import Asked, Candidate, Index, Vector
from citewell.types import EVERY, Scope

log = logging.getLogger(__name__)

OVER_FETCH = 4
"""Words are ranked there with a fixed mean length: so many more are fetched and scored with the scope's own."""
EXACT_BELOW = 50_000
"""Passages of a scope up to which nearness is computed for each of them; above, through Qdrant's filtered graph."""
REST_S = 10.0
"""How long a replica that failed is left alone."""
PUBLIC = "public"


class QdrantIndex:
    """The replica while it is like the library, else the library's own index: an answer never rests on an old copy."""

    def __init__(self, shelf: ShelfWithFilings, replica: Replica, own: Index, *, tuning: Bm25Settings = TUNING) -> None:
        self._shelf, self._replica, self._own, self._tuning = shelf, replica, own, tuning
        self._ledger: tuple[int, dict[int, ReplicaVersion]] = (-1, {})
        self._rests_until = 0.0

    def lag(self) -> ReplicaLag:
        """How far the replica is behind the library."""
        return self._replica.lag(self._shelf)

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int) -> list[Candidate]:
        """The union of the `limit` nearest by cosine and the `limit` best by BM25 over weighted terms."""
        stamp = self._shelf.stamp()
        visible = self._shelf.visible(scope)
        if limit <= 0 or not visible:
            return []
        if time.monotonic() >= self._rests_until:
            try:
                found = self._found(vector, terms, scope=scope, limit=limit, stamp=stamp, visible=visible)
            except CitewellError:
                raise
            except Exception as error:
                self._rests_until = time.monotonic() + REST_S
                log.warning("replica does not answer: %s", type(error).__name__)
            else:
                if found is not None and self._shelf.stamp() == stamp:
                    return found
        return self._own.candidates(vector, terms, scope=scope, limit=limit)

    def candidates_of_each(self, asked: Sequence[Asked], *, scope: Scope, limit: int) -> list[list[Candidate]]:
        """The same of several questions; each asks the replica for itself."""
        return [self.candidates(vector, terms, scope=scope, limit=limit) for vector, terms in asked]

    def size(self) -> Any:
        """What is in memory now: the library's own index, as far as it was needed."""
        return self._own.size()  # type: ignore[attr-defined]

    def _found(
        self,
        vector: Vector,
        terms: Mapping[str, float],
        *,
        scope: Scope,
        limit: int,
        stamp: int,
        visible: Sequence[int],
    ) -> list[Candidate] | None:
        """What the replica finds; None while it is not like the library."""
        if self._replica.stamp() != stamp:
            return None
        held = self._held(stamp)
        seen = [held[one] for one in visible if one in held]
        chunk_count = sum(version.chunks for version in seen)
        if len(seen) < len(visible) or not chunk_count:
            return None
        condition = _condition(scope)
        keys, weights = asked(terms)
        present = np.array([self._count(condition, word(key)) for key in keys.tolist()], dtype=np.float64)
        gains, shares = weigh(weights, present, chunk_count, self._tuning)
        near = self._nearest(vector, condition, limit=limit, is_exact=chunk_count <= EXACT_BELOW)
        best = self._best(keys, gains, condition, limit=OVER_FETCH * limit)
        points = {int(point.id): point for point in (*near, *best)}
        allowed = frozenset(visible)
        told = [point for point in points.values() if point.payload["generation"] in allowed]
        if not told:
            return []
        question = _checked(vector, {len(point.vector[MEANING]) for point in told})
        mean = max(sum(replica_version.length for replica_version in seen) / chunk_count, 1.0)
        words = QdrantTerms([word(key) for key in keys.tolist()], gains, shares, mean)
        return _ranked(_passages(told, question, words, self._tuning), limit=limit)

    def _held(self, stamp: int) -> dict[int, ReplicaVersion]:
        if self._ledger[0] != stamp:
            self._ledger = stamp, self._replica.ledger()
        return self._ledger[1]

    def _count(self, condition: Any, term: int) -> int:
        from qdrant_client import models

        holds = models.FieldCondition(key="terms", match=models.MatchValue(value=term))
        counted = self._replica.client.count(ALIAS, count_filter=models.Filter(must=[condition, holds]), exact=True)
        return int(counted.count)

    def _nearest(self, vector: Vector, condition: Any, *, limit: int, is_exact: bool) -> list[Any]:
        from qdrant_client import models

        question = np.nan_to_num(np.asarray(vector, dtype=np.float32)).tolist()
        how = None if self._replica.is_local else models.SearchParams(exact=is_exact, hnsw_ef=max(128, 2 * limit))
        return self._points(question, MEANING, condition, limit=limit, how=how)

    def _best(self, keys: NDArray[np.uint64], gains: Scores, condition: Any, *, limit: int) -> list[Any]:
        from qdrant_client import models

        weighed: dict[int, float] = {}
        for key, gain in zip(keys.tolist(), gains.tolist(), strict=True):
            if gain > 0:
                weighed[word(key)] = weighed.get(word(key), 0.0) + gain
        if not weighed:
            return []
        question = models.SparseVector(indices=list(weighed), values=list(weighed.values()))
        return self._points(question, WORDS, condition, limit=limit)

    def _points(self, question: Any, using: str, condition: Any, *, limit: int, how: Any = None) -> list[Any]:
        answer = self._replica.client.query_points(
            ALIAS,
            query=question,
            using=using,
            query_filter=condition,
            search_params=how,
            limit=limit,
            with_payload=True,
            with_vectors=[MEANING],
        )
        return list(answer.points)


def _condition(scope: Scope) -> Any:
    """The scope as a filter there: the same as `store.access.visible`."""
    from qdrant_client import models

    def holds(key: str, *values: str) -> Any:
        return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))

    def is_so(key: str) -> Any:
        return models.FieldCondition(key=key, match=models.MatchValue(value=True))

    must: list[Any] = [holds("tenant", scope.tenant)]
    if scope.document is not None:
        must.append(holds("lineage", scope.document))
    if EVERY not in scope.tags:
        must.append(holds("tags", PUBLIC, *sorted(scope.tags)))
    for value, general, field in (
        (scope.journey, "is_universal", "journeys"),
        (scope.subject, "is_general", "subject"),
    ):
        if value is None:
            must.append(is_so(general))
        elif value != EVERY:
            must.append(models.Filter(should=[is_so(general), holds(field, value)]))
    return models.Filter(must=must)


@dataclass(frozen=True, slots=True)
class QdrantTerms:
    """The terms of a question with what each counts in the scope, and the mean length of the scope's passages."""

    numbers: list[int]
    gains: Scores
    shares: Scores
    mean: float


def _passages(points: Sequence[Any], question: Vector, words: QdrantTerms, tuning: Bm25Settings) -> Passages:
    """Where the points stand in the library, and their scores with the statistics of the scope."""
    rows = np.array([point.vector[MEANING] for point in points], dtype=np.float64)
    often = np.zeros((len(points), len(words.numbers)))
    for place, point in enumerate(points):
        counted = dict(zip(point.payload["terms"], point.payload["often"], strict=True))
        often[place] = [counted.get(number, 0) for number in words.numbers]
    lengths = np.array([[float(point.payload["length"])] for point in points])
    return Passages(
        np.array([point.payload["generation"] for point in points], dtype=np.int64),
        np.array([point.payload["chunk"] for point in points], dtype=np.int64),
        rows @ question.astype(np.float64),
        impact(often, lengths, words.mean, tuning) @ words.gains,
        (often > 0) @ words.shares,
    )
