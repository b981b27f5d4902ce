"""The library as a replica is fed from it: what search reads, and how each document version is filed."""

from __future__ import annotations

from sqlalchemy import Table, select

from citewell.adapters.index.replica_points import FiledVersion
from citewell.adapters.store.access import searchable
from citewell.adapters.store.engine import reading
from citewell.adapters.store.schema import document_journeys, document_tags, documents
from citewell.adapters.store.shelf import SqlShelf


class SqlFilings(SqlShelf):
    """A shelf that also tells how its documents are filed."""

    def __init__(self, shelf: SqlShelf) -> None:
        self.engine, self.path, self.stamps = shelf.engine, shelf.path, shelf.stamps

    def filings(self) -> dict[int, FiledVersion]:
        query = select(
            documents.c.id, documents.c.generation, documents.c.tenant, documents.c.subject, documents.c.lineage
        )
        with reading(self.engine, self.path) as connection:
            rows = connection.execute(query.where(searchable())).all()
        tags, journeys = self._named(document_tags, "tag"), self._named(document_journeys, "journey")
        return {
            row.generation: FiledVersion(
                row.tenant, tags.get(row.id, ()), journeys.get(row.id, ()), row.subject, row.lineage
            )
            for row in rows
        }

    def _named(self, table: Table, column: str) -> dict[str, tuple[str, ...]]:
        """What documents carry, by their ids, in one order on every database."""
        query = select(table.c.document_id, table.c[column]).where(
            table.c.document_id.in_(select(documents.c.id).where(searchable()))
        )
        found: dict[str, list[str]] = {}
        with reading(self.engine, self.path) as connection:
            for document_id, name in connection.execute(query):
                found.setdefault(document_id, []).append(name)
        return {document_id: tuple(sorted(names)) for document_id, names in found.items()}
