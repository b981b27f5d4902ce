"""What search reads of one tenant: nothing of it takes longer because there are others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sqlalchemy import func, select

from citewell.adapters.store import vectors
from citewell.adapters.store.access import searchable, visible
from citewell.adapters.store.engine import reading
from citewell.adapters.store.schema import documents, generations
from citewell.adapters.store.shelf import SqlShelf
from citewell.adapters.store.version_stamps import stamp_of
from citewell.ports import IndexedVersion, Vector
from citewell.types import Scope

BATCH = 400


class TenantShelf:
    """The part of a library that belongs to one tenant."""

    def __init__(self, shelf: SqlShelf, tenant: str) -> None:
        self._shelf, self._tenant = shelf, tenant

    def stamp(self) -> int:
        """Grows with every change that concerns the tenant; asked before every search, so without a transaction."""
        return self._shelf.stamps.of(self._tenant)

    def current(self) -> list[int]:
        """The tenant's generations that are current."""
        query = select(documents.c.generation).where(searchable(), documents.c.tenant == self._tenant)
        with reading(self._shelf.engine, self._shelf.path) as connection:
            return list(connection.execute(query).scalars())

    def visible(self, scope: Scope) -> list[int]:
        """The current generations that the scope may see."""
        return self._shelf.visible(scope)

    def load(self, wanted: Sequence[int]) -> Iterator[IndexedVersion]:
        """Vectors and postings of these generations."""
        return self._shelf.load(wanted)

    def load_words(self, wanted: Sequence[int]) -> Iterator[IndexedVersion]:
        """Postings alone; the vectors have no numbers."""
        columns = (generations.c.id, generations.c.chunk_count, generations.c.postings)
        with reading(self._shelf.engine, self._shelf.path) as connection:
            for first in range(0, len(wanted), BATCH):
                query = select(*columns).where(generations.c.id.in_(wanted[first : first + BATCH]))
                for row in connection.execute(query):
                    if row.chunk_count:
                        yield IndexedVersion(row.id, np.zeros((row.chunk_count, 0), np.float32), row.postings)

    def vector_bytes(self) -> int:
        """How much memory the tenant's current vectors take."""
        query = (
            select(func.sum(func.length(generations.c.vectors)))
            .join(documents, documents.c.generation == generations.c.id)
            .where(searchable(), documents.c.tenant == self._tenant)
        )
        with reading(self._shelf.engine, self._shelf.path) as connection:
            return int(connection.execute(query).scalar() or 0)

    def compared(
        self, vector: Vector, scope: Scope, *, limit: int, also: Sequence[vectors.Key], stamp: int
    ) -> dict[vectors.Key, Vector] | None:
        """The vectors of the nearest chunks in scope, and of these others; None when the tenant changed meanwhile."""
        with reading(self._shelf.engine, self._shelf.path) as connection:
            if stamp_of(connection, self._tenant) != stamp:
                return None
            allowed = searchable() & visible(scope)
            found = dict(vectors.nearest(connection, vector, allowed, limit=limit))
            return found | dict(vectors.fetch(connection, [key for key in also if key not in found]))
