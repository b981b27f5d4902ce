"""The papers of a record in SQL: what kind each document is, and whether a person has said so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Engine, delete, insert, select

from citewell.adapters.records.facts import tenant_of
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import papers
from citewell.ports.records import Paper, PaperKind
from citewell.types import Scope


class SqlPapers:
    """What is kept of the papers in one library."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path

    def all(self, scope: Scope) -> Mapping[str, Paper]:
        """Every paper that was described, by the id of its document."""
        query = select(papers).where(papers.c.tenant == tenant_of(scope))
        with reading(self._engine, self._path) as connection:
            return {
                row.document_id: Paper(PaperKind(row.kind), row.professional, row.ocr_confidence, row.is_verified)
                for row in connection.execute(query)
            }

    def put(self, document_id: str, paper: Paper, scope: Scope) -> None:
        """Keep what a paper is."""
        tenant = tenant_of(scope)
        mine = (papers.c.tenant == tenant) & (papers.c.document_id == document_id)
        with writing(self._engine, self._path) as connection:
            connection.execute(delete(papers).where(mine))
            connection.execute(
                insert(papers).values(
                    tenant=tenant,
                    document_id=document_id,
                    kind=paper.kind.value,
                    professional=paper.professional,
                    ocr_confidence=paper.ocr_confidence,
                    is_verified=paper.is_verified,
                )
            )
