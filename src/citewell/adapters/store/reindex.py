"""Another embedder: new generations are written beside those in use, then all are switched at once."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, update

from citewell.adapters.store import row_mapping as rows
from citewell.adapters.store.document_history import note
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import documents, generations
from citewell.adapters.store.schema import library as facts
from citewell.adapters.store.shelf import SqlShelf
from citewell.ports import ParsedFile
from citewell.types import Chunking, Document, LifecycleState
from citewell.types.lifecycle import SYSTEM


class SqlReindex(SqlShelf):
    """Generations of two embedders side by side, of which one answers."""

    def readings(self, embedder: str) -> Iterator[tuple[str, Document, Chunking | None]]:
        """Documents not embedded anew yet since a reindex began: id, content and how to cut it.

        The beginning is kept until the switch, so that a reindex that was stopped goes on where it was.
        """
        query = select(documents, generations).join(generations, generations.c.id == documents.c.generation)
        with writing(self.engine, self.path) as connection:
            begun = self._begun(connection)
            ids = connection.execute(select(documents.c.id).where(stale_for(embedder, begun))).scalars().all()
        for document_id in ids:
            with reading(self.engine, self.path) as connection:
                row = connection.execute(query.where(documents.c.id == document_id)).first()
            if row is not None:
                yield document_id, rows.document_of(row), rows.chunking_of(row)

    def regenerate(self, document_id: str, reading: ParsedFile) -> None:
        """Store another generation beside the one in use, unless the document was erased meanwhile."""
        with writing(self.engine, self.path) as connection:
            if connection.execute(select(documents.c.id).where(documents.c.id == document_id)).first() is not None:
                rows.insert_generation(connection, document_id, reading)

    def _begun(self, connection: Connection) -> int:
        """The last generation before the reindex that is under way, or that begins now."""
        known = self._fact(connection, "reindex_after")
        if known is None:
            newest = connection.execute(select(func.max(generations.c.id))).scalar() or 0
            connection.execute(insert(facts).values(key="reindex_after", value=str(newest)))
            return int(newest)
        return int(known)

    def switch_when_whole(self, embedder: str) -> int | None:
        """Switch if everything was to be embedded anew with this embedder and now is; else nothing.

        What came meanwhile is queued for it; what could not be embedded holds the switch up until somebody looks.
        """
        with reading(self.engine, self.path) as connection:
            begun = self._fact(connection, "reindex_after")
            if begun is None or self._fact(connection, "reindex_to") != embedder:
                return None
            stale = connection.execute(select(documents).where(stale_for(embedder, int(begun)))).all()
        late = [row for row in stale if row.rework is None and row.error is None]
        if late:
            with writing(self.engine, self.path) as connection:
                for row in late:
                    mine = and_(documents.c.id == row.id, documents.c.rework.is_(None))
                    connection.execute(update(documents).where(mine).values(rework="queued", attempts=0))
                    note(
                        connection,
                        row,
                        "reread queued",
                        by=SYSTEM,
                        state=LifecycleState(row.state),
                        detail="came meanwhile",
                    )
        return None if stale else self.switch(embedder)

    def switch(self, embedder: str) -> int | None:
        """Put the generations of this embedder in use, all at once, and drop the others; says how many.

        None when a document came meanwhile that has none yet: nothing is switched.
        """
        newest = (
            select(func.max(generations.c.id))
            .where(generations.c.document_id == documents.c.id, generations.c.embedder == embedder)
            .scalar_subquery()
        )
        with writing(self.engine, self.path) as connection:
            if connection.execute(select(documents.c.id).where(stale_for(embedder, self._begun(connection)))).first():
                return None
            flip = update(documents).where(documents.c.generation.is_not(None)).values(generation=newest)
            count = connection.execute(flip).rowcount
            connection.execute(update(documents).where(documents.c.rework == "queued").values(rework=None))
            used = select(documents.c.generation).where(documents.c.generation.is_not(None))
            connection.execute(delete(generations).where(generations.c.id.not_in(used)))
            connection.execute(delete(facts).where(facts.c.key.in_(["embedder", "reindex_after", "reindex_to"])))
            connection.execute(insert(facts).values(key="embedder", value=embedder))
            self._touch(connection)
            return count


def stale_for(embedder: str, begun: int) -> ColumnElement[bool]:
    """The documents in use without a generation of this embedder made since the reindex began."""
    done = select(generations.c.document_id).where(generations.c.embedder == embedder, generations.c.id > begun)
    return and_(documents.c.generation.is_not(None), documents.c.id.not_in(done))
