"""A test's shelf, its documents and vectors mirrored into real tables of PostgreSQL, where pgvector compares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine, delete, insert

from citewell.adapters.index.postgres import Key, PostgresIndex
from citewell.adapters.store import vectors
from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import document_tags, documents, generations, stamps
from citewell.adapters.store.shelf import SqlShelf
from citewell.adapters.store.tenant_shelf import TenantShelf
from citewell.ports import IndexedVersion, Vector
from citewell.types import Scope


class Mirror:
    """One tenant of a test's shelf; what the database is asked for, it has been given before."""

    owner: object = None
    """Whose documents the tables hold now."""

    def __init__(self, shelf: Any, engine: Engine, tenant: str) -> None:
        self._shelf, self._engine = shelf, engine
        self._tables = TenantShelf(SqlShelf(engine, Path("library")), tenant)
        self._tenant = tenant
        self._known: dict[int, Any] = {}

    def stamp(self) -> int:
        return int(self._shelf.stamp())

    def current(self) -> list[int]:
        found: list[int] = self._shelf.current()
        return found

    def visible(self, scope: Scope) -> list[int]:
        found: list[int] = self._shelf.visible(scope)
        return found

    def load(self, wanted: Sequence[int]) -> Iterator[IndexedVersion]:
        found: Iterator[IndexedVersion] = self._shelf.load(wanted)
        return found

    def load_words(self, wanted: Sequence[int]) -> Iterator[IndexedVersion]:
        for one in self.load(wanted):
            yield IndexedVersion(one.generation, np.zeros((len(one.vectors), 0), np.float32), one.postings)

    def vector_bytes(self) -> int:
        return 1

    def compared(
        self, vector: Vector, scope: Scope, *, limit: int, also: Sequence[Key], stamp: int
    ) -> Mapping[Key, Vector] | None:
        with self._shelf.lock:
            if self._shelf.stamp() != stamp:
                return None
            self._bring_up_to_date(stamp)
            found = self._tables.compared(_padded(vector), scope, limit=limit, also=also, stamp=stamp)
            return None if found is None else {key: one[: len(vector)] for key, one in found.items()}

    def _bring_up_to_date(self, stamp: int) -> None:
        with self._engine.connect().execution_options(writing=True) as connection, connection.begin():
            if Mirror.owner is not self:
                connection.execute(delete(documents))
                Mirror.owner, self._known = self, {}
            wanted = dict(self._shelf.documents)
            gone = [number for number, one in self._known.items() if wanted.get(number) is not one]
            if gone:
                connection.execute(delete(documents).where(documents.c.generation.in_(gone)))
            for number, one in wanted.items():
                if self._known.get(number) is not one:
                    _insert(connection, number, one)
            self._known = wanted
            connection.execute(delete(stamps))
            connection.execute(insert(stamps).values(tenant=self._tenant, stamp=stamp))


def _insert(connection: Any, number: int, one: Any) -> None:
    row: dict[str, Any] = dict.fromkeys(("name", "title", "media_type", "content_hash", "chunk_strategy"), "")
    row |= {"chunk_unit": "", "size_bytes": 0, "page_count": 0, "chunk_size": 0, "chunk_overlap": 0}
    row |= {"id": str(number), "lineage": str(number), "version": 1, "identifiers": [], "notes": []}
    row |= {"tenant": one.tenant, "is_current": True, "state": "completed", "generation": number, "added_at": now()}
    connection.execute(insert(documents).values(**row))
    blobs = dict.fromkeys(("structure", "layout", "postings", "vectors"), b"")
    told = {"id": number, "document_id": str(number), "embedder": "", "made_at": now(), "text": ""}
    connection.execute(insert(generations).values(chunk_count=0, sentence_count=0, **told, **blobs))
    connection.execute(insert(document_tags), [{"document_id": str(number), "tag": tag} for tag in one.tags])
    vectors.keep(connection, number, _padded(one.vectors))


def _padded(rows: Any) -> Any:
    """Zeros behind short vectors, which change no product: the package's build of pgvector takes the rest beyond
    sixteens with instructions that not every processor has."""
    width = rows.shape[-1]
    return rows if width % 16 == 0 else np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, 15 * width)])


def mirrored(engine: Engine) -> Any:
    """Opens the index of PostgreSQL on a test's shelf, vectors in the database."""

    def open_index(shelf: Any) -> PostgresIndex:
        return PostgresIndex(lambda tenant: Mirror(shelf, engine, tenant), memory_bytes=0)

    return open_index
