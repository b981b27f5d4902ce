"""Documents and their versions: what is added becomes current in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, exists, func, insert, select, true

from citewell.adapters.store import original_files as originals
from citewell.adapters.store import row_mapping as rows
from citewell.adapters.store.access import PUBLIC, visible
from citewell.adapters.store.clock import clock
from citewell.adapters.store.document_history import move, note
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import document_tags, documents
from citewell.adapters.store.schema import library as facts
from citewell.adapters.store.shelf import SqlShelf
from citewell.errors import CitewellError, EmbedderMismatch, NotFound, ScopeRefused
from citewell.ports import ParsedFile
from citewell.ports.blobs import Blobs
from citewell.types import EVERY, OWNER_ID, Filing, LibraryEntry, LifecycleState, Scope, Source

PUBLIC_ONLY = frozenset({PUBLIC})
ONE_ENTRY = rows.ENTRY.where(documents.c.id == bindparam("which"))
ADDED = insert(documents).returning(documents)
ONE = select(documents).where(documents.c.id == bindparam("which"))
OTHERS = select(documents).where(
    documents.c.lineage == bindparam("of"), documents.c.id != bindparam("which"), documents.c.is_current
)
NO_SUCH_DOCUMENT = "Document not found. `citewell list` shows the IDs."


class SqlVersions(SqlShelf):
    """The writing side: each version follows the last one of its lineage."""

    blobs: Blobs | None = None
    """Where original files are kept outside of the library; None: in it."""

    def same(self, source: Source, *, subject: str | None, scope: Scope) -> LibraryEntry | None:
        with reading(self.engine, self.path) as connection:
            return self._same(connection, source, subject, scope)

    @staticmethod
    def _same(connection: Connection, source: Source, subject: str | None, scope: Scope) -> LibraryEntry | None:
        given = {"hash": rows.hashed(source.data)} | ({} if subject is None else {"whose": subject})
        query = _of_the_same_bytes(scope, is_general=subject is None)
        library_entries = rows.entries_of(connection, connection.execute(query, given).all())
        return library_entries[0] if library_entries else None

    def add(self, source: Source, reading: ParsedFile, *, filing: Filing, scope: Scope) -> LibraryEntry:
        with self._outside(source) as key, writing(self.engine, self.path) as connection:
            return self.add_within(connection, source, reading, filing=filing, scope=scope, key=key)

    def add_within(
        self,
        connection: Connection,
        source: Source,
        reading: ParsedFile,
        *,
        filing: Filing,
        scope: Scope,
        key: str | None = None,
    ) -> LibraryEntry:
        """The same inside a transaction that keeps more than the document."""
        same = None if filing.replaces else self._same(connection, source, filing.subject, scope)
        if same is not None:  # another process was quicker
            return same
        title = filing.title or reading.document.title
        made = self._insert(connection, source, filing, scope, title, key=key, state=LifecycleState.PROCESSING)
        by = filing.added_by or OWNER_ID
        note(connection, made, LifecycleState.PROCESSING.value, by=by, state=LifecycleState.PROCESSING)
        self._make_current(connection, made, reading, filing.title, by=by)
        return self._entry(connection, made.id)

    @contextmanager
    def _outside(self, source: Source) -> Iterator[str | None]:
        """Hand the bytes to the store outside, if there is one, before the library speaks of them; their key.

        They are taken back where it does not come to that, or where the library has the same bytes already.
        """
        if self.blobs is None:
            yield None
            return
        with writing(self.engine, self.path) as connection:
            key = originals.announce(connection, self.blobs)
        try:
            self.blobs.put(key, source.data)
            yield key
        finally:
            with suppress(CitewellError):  # it is written down, and goes when the store is cleaned up
                self._remove_outside([key])

    def _remove_outside(self, keys: Collection[str] | None) -> int:
        """Remove those of these files that belong to no document, or all that are left; how many."""
        if self.blobs is None or keys == []:
            return 0
        with reading(self.engine, self.path) as connection:
            lost = originals.unused(connection, self.blobs, keys=keys)
        for key in lost:
            self.blobs.remove(key)
            with writing(self.engine, self.path) as connection:
                originals.forget(connection, key)
        return len(lost)

    @staticmethod
    def _row(connection: Connection, document_id: str) -> Row[Any]:
        return connection.execute(ONE, {"which": document_id}).one()

    def _insert(
        self,
        connection: Connection,
        source: Source,
        filing: Filing,
        scope: Scope,
        title: str | None,
        *,
        key: str | None,
        state: LifecycleState,
    ) -> Row[Any]:
        """A row that is not current yet, with its bytes and filing."""
        refuse_illegal(filing)
        document_id = str(uuid.uuid4())
        content_hash = rows.hashed(source.data)
        before = self._replaced(connection, source, filing, scope, title)
        row = {
            "id": document_id,
            "tenant": scope.tenant,
            "lineage": before.lineage if before else document_id,
            "version": self._next_version(connection, before.lineage) if before else 1,
            "is_current": False,
            "state": state.value,
            "name": source.name,
            "title": title or source.name,
            "media_type": "",
            "content_hash": content_hash,
            "size_bytes": len(source.data),
            "subject": filing.subject if before is None or filing.subject is not None else before.subject,
            "page_count": 0,
            "identifiers": [],
            "notes": [],
            "added_at": clock(connection),
            "added_by": filing.added_by,
            **rows.chunking_columns(filing.chunking),
        }
        made = connection.execute(ADDED, row).one()
        originals.keep(connection, scope.tenant, content_hash, source.data, key=key, blobs=self.blobs)
        tags, journeys = self._inherited(connection, filing, before)
        rows.insert_filing(connection, document_id, tags=tags, journeys=journeys)
        note(connection, made, "added", by=filing.added_by or OWNER_ID, state=LifecycleState.PENDING)
        return made

    @staticmethod
    def _inherited(connection: Connection, filing: Filing, before: Any) -> tuple[frozenset[str], frozenset[str]]:
        """Tags and journeys, what was not said taken from the version before: nothing restricted becomes public.

        What a version carries is given on as it is, also where an old library holds what no filing may say today.
        """
        if before is None:
            return filing.tags or PUBLIC_ONLY, filing.journeys or frozenset()
        (entry,) = rows.entries_of(connection, connection.execute(rows.ENTRY.where(documents.c.id == before.id)).all())
        return (
            frozenset(entry.tags) if filing.tags is None else filing.tags,
            frozenset(entry.journeys) if filing.journeys is None else filing.journeys,
        )

    def _replaced(self, connection: Connection, source: Source, filing: Filing, scope: Scope, title: str | None) -> Any:
        """The current row that this document is the next version of.

        Said by the caller, or the same name and title: never guessed for a person's own papers, where two letters
        may well be called alike.
        """
        if filing.replaces is not None:
            query = select(documents).where(documents.c.id == filing.replaces, visible(scope))
            if (row := connection.execute(query).first()) is None:
                raise NotFound(NO_SUCH_DOCUMENT)
            return row
        if filing.subject is not None or title is None or filing.is_separate:
            return None
        return self._alike(connection, scope, source.name, title, None if EVERY in scope.tags else filing.tags)

    @staticmethod
    def _alike(connection: Connection, scope: Scope, name: str, title: str, tags: frozenset[str] | None) -> Any:
        """The current document of this name and title that is about no person: none that the scope may not see.

        Where tags are given, it carries no others: nobody who sees it loses it to the next version.
        """
        query = _alike_query(scope, tags)
        return connection.execute(query, {"called": name, "titled": title}).first()

    def _late_lineage(self, connection: Connection, row: Any, title: str) -> dict[str, Any]:
        """The lineage of a queued document whose title is known only now that it is read."""
        if row.subject is not None or row.version > 1:
            return {}
        # Who added it is gone by now: what carries no other tags than it does was theirs to replace.
        query = select(document_tags.c.tag).where(document_tags.c.document_id == row.id)
        scope = Scope(row.tenant, frozenset(connection.execute(query).scalars()), EVERY, None)
        before = self._alike(connection, scope, row.name, title, scope.tags)
        if before is None or before.lineage == row.lineage:
            return {}
        return {"lineage": before.lineage, "version": self._next_version(connection, before.lineage)}

    @staticmethod
    def _next_version(connection: Connection, lineage: str) -> int:
        query = select(func.max(documents.c.version)).where(documents.c.lineage == lineage)
        return int(connection.execute(query).scalar_one()) + 1

    def _make_current(
        self, connection: Connection, row: Row[Any], reading: ParsedFile, title: str | None, *, by: str
    ) -> None:
        """Write the generation, then flip: this version answers from now on, the last one no more.

        Where a newer version was read sooner, that one goes on answering, and this one is kept behind it.
        """
        self._check_embedder(connection, reading.embedder)
        columns = {"generation": rows.insert_generation(connection, row.id, reading), "next_attempt_at": None}
        columns |= rows.read_columns(reading, title, at=clock(connection))
        del columns["state"]
        others = connection.execute(OTHERS, {"of": row.lineage, "which": row.id}).all()
        newest = max((other.version for other in others), default=0)
        passages = f"{len(reading.chunks)} passages"
        if newest > row.version:
            move(connection, row, LifecycleState.COMPLETED, by=by, detail=passages, **columns)
            read = self._row(connection, row.id)
            return move(connection, read, LifecycleState.SUPERSEDED, by=by, detail=f"version {newest}")
        stamp = self._touch(connection, row.tenant)
        for old in others:
            retired = {"is_current": False, "current_until": stamp, "rework": None, "claimed_by": None}
            move(connection, old, LifecycleState.SUPERSEDED, by=by, detail=f"version {row.version}", **retired)
        columns |= {"is_current": True, "current_from": stamp}
        return move(connection, row, LifecycleState.COMPLETED, by=by, detail=passages, **columns)

    def _check_embedder(self, connection: Connection, fingerprint: str) -> None:
        known = self._fact(connection, "embedder")
        if known is None:
            connection.execute(insert(facts).values(key="embedder", value=fingerprint))
        elif known != fingerprint:
            raise EmbedderMismatch(
                f"This library was indexed with {known}, not {fingerprint}. Run `citewell evidence reingest` to "
                "index it again, or restore the previous embedding model if you changed it."
            )

    def _entry(self, connection: Connection, document_id: str, scope: Scope | None = None) -> LibraryEntry:
        query = ONE_ENTRY.where(visible(scope)) if scope else ONE_ENTRY
        found = connection.execute(query, {"which": document_id}).all()
        if not found:
            raise NotFound(NO_SUCH_DOCUMENT)
        return rows.entries_of(connection, found)[0]


@lru_cache(maxsize=256)
def _alike_query(scope: Scope, tags: frozenset[str] | None) -> Select[Any]:
    """Finds the current document of a name and title that is about nobody and carries, if some are said, only these."""
    mine = document_tags.c.document_id == documents.c.id
    others = true() if tags is None else ~exists(select(1).where(mine, document_tags.c.tag.not_in(tags)))
    return select(documents).where(
        visible(scope),
        others,
        documents.c.subject.is_(None),
        documents.c.is_current,
        documents.c.name == bindparam("called"),
        documents.c.title == bindparam("titled"),
    )


@lru_cache(maxsize=256)
def _of_the_same_bytes(scope: Scope, *, is_general: bool) -> Select[Any]:
    """Finds the current document with these bytes, about nobody or about one person."""
    return rows.ENTRY.where(
        visible(scope),
        documents.c.content_hash == bindparam("hash"),
        documents.c.subject.is_(None) if is_general else documents.c.subject == bindparam("whose"),
        documents.c.is_current,
        documents.c.state == LifecycleState.COMPLETED.value,
    )


def refuse_illegal(filing: Filing) -> None:
    """No journey or subject may be the sign for “all”, and none may be empty; tags are checked by the filing itself."""
    names = [*(filing.journeys or ()), filing.subject or "-"]
    if EVERY in names or not all(name.strip() for name in names):
        raise ScopeRefused(f"“{EVERY}” cannot be used as a document's journey or person.")
