"""The index of a file that several tenants share: one for each, so that no search tells that there are others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from citewell.adapters.index.bm25 import TUNING, Bm25Settings
from citewell.adapters.index.exact import ExactIndex, Size
from citewell.ports import Asked, Candidate, Shelf, Vector
from citewell.types import Scope


class TenantIndex:
    """One exact index for each tenant, read when it is first searched; what others add or remove costs it nothing."""

    def __init__(self, shelf_of: Callable[[str], Shelf], *, tuning: Bm25Settings = TUNING) -> None:
        self._shelf_of, self._tuning = shelf_of, tuning
        self._tenants: dict[str, ExactIndex] = {}
        self._changing = threading.Lock()

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int) -> list[Candidate]:
        """The union of the `limit` nearest by cosine and the `limit` best by BM25 over weighted terms."""
        with self._used(scope.tenant) as index:
            return index.candidates(vector, terms, scope=scope, limit=limit)

    def candidates_of_each(self, asked: Sequence[Asked], *, scope: Scope, limit: int) -> list[list[Candidate]]:
        with self._used(scope.tenant) as index:
            return index.candidates_of_each(asked, scope=scope, limit=limit)

    def size(self) -> Size:
        """What is in memory now, of all tenants."""
        with self._changing:
            sizes = [index.size() for index in self._tenants.values()]
        return Size(*(sum(getattr(other, name) for other in sizes) for name in ("segments", "rows", "bytes")))

    @contextmanager
    def _used(self, tenant: str) -> Iterator[ExactIndex]:
        """The index of a tenant, for one search."""
        with self._changing:
            if tenant not in self._tenants:
                self._tenants[tenant] = ExactIndex(self._shelf_of(tenant), tuning=self._tuning)
            index = self._tenants[tenant]
        yield index
