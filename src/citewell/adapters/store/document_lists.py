"""Lists of documents a page at a time, one document with its passages a page at a time, and edits that are checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select, update

from citewell.adapters.store import row_mapping as rows
from citewell.adapters.store.access import searchable, visible
from citewell.adapters.store.document_history import note, refuse_stale
from citewell.adapters.store.document_versions import NO_SUCH_DOCUMENT, refuse_illegal
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import chunks, document_journeys, document_tags, documents, generations
from citewell.adapters.store.shelf import SqlShelf
from citewell.errors import InputError, NotFound
from citewell.types import EVERY, Chunk, Chunking, Filing, LibraryEntry, LifecycleState, Scope
from citewell.types.journeys import UNIVERSAL
from citewell.types.tags import sought_tags

Order = Literal["name", "version", "state", "active", "vectors", "added"]
MAX_TITLE_CHARACTERS = 300
BATCH = 400

COLUMNS: dict[Order, Any] = {
    "name": func.lower(documents.c.title),
    "version": documents.c.version,
    "state": documents.c.state,
    "active": documents.c.is_current,
    "vectors": func.coalesce(generations.c.chunk_count, 0),
    "added": documents.c.added_at,
}


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents of a list; what is not said does not restrict it."""

    words: str = ""
    state: LifecycleState | None = None
    journey: str | None = None
    """A slug, or `universal` for those in none."""
    tag: str | None = None
    is_active: bool | None = None
    with_superseded: bool = False


@dataclass(frozen=True, slots=True)
class ListOrder:
    """In which order, and which part of it."""

    order: Order = "added"
    down: bool = True
    first: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A part of a list, and how long all of it is."""

    entries: tuple[LibraryEntry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to change of a document; None leaves it as it is."""

    title: str | None = None
    tags: frozenset[str] | None = None
    journeys: frozenset[str] | None = None
    chunking: Chunking | None = None
    """How it is cut when it is read the next time."""


class SqlCatalogue(SqlShelf):
    """The documents as those who keep them look at them; a list costs the same however long it is."""

    def listed(self, wanted: DocumentFilter, sorting: ListOrder, scope: Scope) -> ListedPage:
        """A part of the documents in scope that are wanted."""
        which = and_(visible(scope), *_conditions(wanted))
        column = COLUMNS[sorting.order]
        query: Select[Any] = rows.ENTRY.where(which)
        query = query.order_by(column.desc() if sorting.down else column, documents.c.id)
        with reading(self.engine, self.path) as connection:
            total = connection.execute(select(func.count()).select_from(documents).where(which)).scalar_one()
            found = connection.execute(query.limit(sorting.limit).offset(sorting.first)).all()
            return ListedPage(tuple(rows.entries_of(connection, found)), total)

    def chosen(self, document_ids: Sequence[str], scope: Scope) -> list[LibraryEntry]:
        """These documents in this order; NotFound where the scope may not see one."""
        with reading(self.engine, self.path) as connection:
            return chosen(connection, document_ids, scope)

    def versions(self, lineage: str, scope: Scope) -> list[LibraryEntry]:
        """All versions of a document, the newest first."""
        query = rows.ENTRY.where(visible(scope), documents.c.lineage == lineage)
        with reading(self.engine, self.path) as connection:
            found = connection.execute(query.order_by(documents.c.version.desc())).all()
            return rows.entries_of(connection, found)

    def chunks(self, document_id: str, scope: Scope, *, first: int, limit: int) -> tuple[Chunk, ...]:
        """Some of the passages of a document, by their number."""
        generation = select(documents.c.generation).where(documents.c.id == document_id, visible(scope))
        with reading(self.engine, self.path) as connection:
            found = connection.execute(generation).first()
            if found is None:
                raise NotFound(NO_SUCH_DOCUMENT)
            mine = and_(chunks.c.generation == found.generation, chunks.c.chunk_index >= first)
            query = select(chunks).where(mine).order_by(chunks.c.chunk_index).limit(limit)
            return rows.chunks_of(connection.execute(query))

    def counts(self, scope: Scope) -> tuple[int, int]:
        """How many documents answer in scope, and with how many passages."""
        query = (
            select(func.count(documents.c.id), func.coalesce(func.sum(generations.c.chunk_count), 0))
            .select_from(documents.join(generations, generations.c.id == documents.c.generation))
            .where(searchable(), visible(scope))
        )
        with reading(self.engine, self.path) as connection:
            row = connection.execute(query).one()
            return int(row[0]), int(row[1])

    def tags(self, scope: Scope) -> list[str]:
        """The tags that documents in scope carry, by name."""
        seen = select(documents.c.id).where(visible(scope))
        query = select(document_tags.c.tag).where(document_tags.c.document_id.in_(seen)).distinct()
        with reading(self.engine, self.path) as connection:
            return sorted(connection.execute(query).scalars())

    def edit(self, document_id: str, change: Edit, *, scope: Scope, by: str, revision: int | None) -> LibraryEntry:
        """Change what people say of a document, unless somebody else did since; no vector is touched."""
        filing = Filing(tags=change.tags, journeys=change.journeys)
        refuse_illegal(filing)
        values: dict[str, Any] = {}
        if change.title is not None:
            values["title"] = _title(change.title)
        if change.chunking is not None:
            values |= rows.chunking_columns(change.chunking)
        with writing(self.engine, self.path) as connection:
            here = select(documents).where(documents.c.id == document_id, visible(scope))
            row = connection.execute(here).first()
            if row is None:
                raise NotFound(NO_SUCH_DOCUMENT)
            refuse_stale(row, revision)
            rows.replace_filing(connection, document_id, filing)
            bumped = update(documents).where(documents.c.id == document_id)
            connection.execute(bumped.values(revision=row.revision + 1, **values))
            note(connection, row, "refiled", by=by, state=LifecycleState(row.state))
            self._touch(connection, scope.tenant)
            query = rows.ENTRY.where(documents.c.id == document_id)
            return rows.entries_of(connection, connection.execute(query).all())[0]


def _title(text: str) -> str:
    found = " ".join("".join(sign for sign in text if sign.isprintable() or sign.isspace()).split())
    if not found or len(found) > MAX_TITLE_CHARACTERS:
        raise InputError(f"Enter a document name of up to {MAX_TITLE_CHARACTERS} characters.")
    return found


def _conditions(wanted: DocumentFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    for word in wanted.words.casefold().split():
        held = (func.lower(column).contains(word, autoescape=True) for column in (documents.c.title, documents.c.name))
        found.append(or_(*held, documents.c.id.startswith(word, autoescape=True)))
    if wanted.state is not None:
        found.append(documents.c.state == wanted.state.value)
    elif not wanted.with_superseded:
        found.append(documents.c.state != LifecycleState.SUPERSEDED.value)
    if wanted.is_active is not None:
        found.append(documents.c.is_current == wanted.is_active)
    if wanted.tag is not None:
        carried = document_tags.c.tag.in_(sorted(sought_tags([wanted.tag])))
        found.append(exists(select(1).where(document_tags.c.document_id == documents.c.id, carried)))
    if wanted.journey is not None:
        filed = select(1).where(document_journeys.c.document_id == documents.c.id)
        slug = document_journeys.c.journey == wanted.journey
        found.append(~exists(filed) if wanted.journey == UNIVERSAL else exists(filed.where(slug)))
    return found


def chosen(connection: Connection, ids: Sequence[str], scope: Scope) -> list[LibraryEntry]:
    """These documents in this order, in whichever journey; NotFound where the scope may not see one."""
    found: dict[str, LibraryEntry] = {}
    for batch in (ids[at : at + BATCH] for at in range(0, len(ids), BATCH)):
        query = rows.ENTRY.where(documents.c.id.in_(batch), visible(replace(scope, journey=EVERY)))
        found |= {
            library_entry.id: library_entry
            for library_entry in rows.entries_of(connection, connection.execute(query).all())
        }
    if len(found) != len(ids):
        raise NotFound(NO_SUCH_DOCUMENT)
    return [found[id_] for id_ in ids]
