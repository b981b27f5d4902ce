"""The library in SQL: every change is one transaction, and every read is scoped."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Engine, and_, delete, select, update

from citewell.adapters.store import original_files as originals
from citewell.adapters.store import row_mapping as rows
from citewell.adapters.store.access import visible
from citewell.adapters.store.document_history import ERASED, note, refuse_stale, was_erased
from citewell.adapters.store.document_versions import NO_SUCH_DOCUMENT, refuse_illegal
from citewell.adapters.store.engine import PLAIN, Driver, open_engine, reading, writing
from citewell.adapters.store.integrity import verify
from citewell.adapters.store.literature import forget
from citewell.adapters.store.queue import SqlQueue
from citewell.adapters.store.reindex import SqlReindex
from citewell.adapters.store.schema import chunks, documents, generations, literature
from citewell.errors import BlobsUnavailable, NotFound
from citewell.ports import Verification
from citewell.types import OWNER_ID, Chunk, Document, Filing, LibraryEntry, LifecycleState, Scope, Source
from citewell.types.literature import Notice

STILL_OUTSIDE = (
    "The document is erased from the library, but its file is still in external storage, which is not responding. "
    "Run `citewell evidence reingest --cleanup` when it is available again."
)
NEVER_READ = (LifecycleState.PENDING, LifecycleState.QUEUED, LifecycleState.PROCESSING, LifecycleState.FAILED)


class SqlLibrary(SqlQueue, SqlReindex):
    """Documents, versions and generations in one SQLite file, or in the database of an engine that is open."""

    def __init__(
        self, path: Path, driver: Driver = PLAIN, *, engine: Engine | None = None, is_vault: bool = False
    ) -> None:
        super().__init__(engine or open_engine(path, driver), path)
        self.is_vault = is_vault
        """A vault keeps everything inside its file; nothing may lie beside it."""

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    # ---------------------------------------------------------------------------------------------------- reading

    def entries(self, scope: Scope) -> list[LibraryEntry]:
        query = rows.ENTRY.where(visible(scope)).order_by(documents.c.added_at.desc(), documents.c.id)
        with reading(self.engine, self.path) as connection:
            return rows.entries_of(connection, connection.execute(query).all())

    def entry(self, document_id: str, scope: Scope) -> LibraryEntry:
        with reading(self.engine, self.path) as connection:
            return self._entry(connection, document_id, scope)

    def notices(self, document_ids: Iterable[str]) -> dict[str, tuple[Notice, ...]]:
        """What was published about each of these documents; those of which nothing is known are left out."""
        same = and_(literature.c.tenant == documents.c.tenant, literature.c.lineage == documents.c.lineage)
        query = select(documents.c.id, literature.c.notices).join(literature, same)
        with reading(self.engine, self.path) as connection:
            found = connection.execute(query.where(documents.c.id.in_(sorted(document_ids)))).all()
        return {row.id: rows.notices_of(row.notices) for row in found if row.notices}

    def opened(self, document_id: str, scope: Scope) -> tuple[LibraryEntry, Document, tuple[Chunk, ...]]:
        with reading(self.engine, self.path) as connection:
            entry = self._entry(connection, document_id, scope)
            query = select(documents, generations).join(generations, generations.c.id == documents.c.generation)
            row = connection.execute(query.where(documents.c.id == document_id)).first()
            if row is None:
                raise NotFound(f"This document has no text: it is {entry.state}. {entry.error or ''}".strip())
            mine = select(chunks).where(chunks.c.generation == row.generation).order_by(chunks.c.chunk_index)
            return entry, rows.document_of(row), rows.chunks_of(connection.execute(mine))

    def original(self, document_id: str, scope: Scope) -> Source:
        with reading(self.engine, self.path) as connection:
            row = connection.execute(select(documents).where(documents.c.id == document_id, visible(scope))).first()
            data = None if row is None else originals.fetch(connection, row.tenant, row.content_hash, self.blobs)
        if row is None or data is None:
            raise NotFound(NO_SUCH_DOCUMENT)
        return Source(data, row.name)

    # --------------------------------------------------------------------------------------------------- changing

    def refile(
        self, document_id: str, *, filing: Filing, scope: Scope, by: str = OWNER_ID, revision: int | None = None
    ) -> LibraryEntry:
        refuse_illegal(filing)
        with writing(self.engine, self.path) as connection:
            self._entry(connection, document_id, scope)
            row = self._row(connection, document_id)
            refuse_stale(row, revision)
            rows.replace_filing(connection, document_id, filing)
            bumped = update(documents).where(documents.c.id == document_id).values(revision=row.revision + 1)
            connection.execute(bumped)
            note(connection, row, "refiled", by=by, state=LifecycleState(row.state))
            self._touch(connection, scope.tenant)
            return self._entry(connection, document_id)

    def erase(
        self, document_id: str, scope: Scope, *, by: str = OWNER_ID, revision: int | None = None
    ) -> list[LibraryEntry]:
        with writing(self.engine, self.path) as connection:
            if was_erased(connection, document_id, scope, by=by):
                return []
            entry = self._entry(connection, document_id, scope)
            refuse_stale(self._row(connection, document_id), revision)
            family = and_(documents.c.lineage == entry.lineage, documents.c.tenant == scope.tenant)
            if entry.state in NEVER_READ:  # an attempt that came to nothing goes alone
                family = and_(family, documents.c.id == document_id)
            gone = rows.entries_of(connection, connection.execute(rows.ENTRY.where(family)).all())
            for row in connection.execute(select(documents).where(family)).all():
                note(connection, row, ERASED, by=by, state=None)
            connection.execute(delete(documents).where(family))
            forget(connection, scope.tenant, entry.lineage)
            hashes = [library_entry.content_hash for library_entry in gone]
            keys = originals.drop_unused(connection, scope.tenant, hashes, self.blobs)
            self._touch(connection, scope.tenant)
        self._checkpoint()
        try:
            self._remove_outside(keys)
        except BlobsUnavailable as error:
            raise BlobsUnavailable(STILL_OUTSIDE) from error
        return gone

    def is_erased(self, document_id: str, scope: Scope, *, by: str = OWNER_ID) -> bool:
        """Whether there is nothing left to erase, because the owner asks or who erased it; else nobody is told."""
        with reading(self.engine, self.path) as connection:
            return was_erased(connection, document_id, scope, by=by)

    def _checkpoint(self) -> None:
        """Move erased pages out of the write-ahead log too; a server has its own time for that."""
        if self.engine.dialect.name != "sqlite":
            return
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def verify(self) -> Verification:
        with reading(self.engine, self.path) as connection:
            return verify(connection, self._fact(connection, "embedder"), self.blobs)
