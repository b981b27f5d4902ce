"""What search reads: the current generations, who may see them, and the rows of what was found."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Row,
    and_,
    bindparam,
    insert,
    or_,
    select,
    true,
    update,
)

from citewell.adapters.store import codec
from citewell.adapters.store.access import searchable, visible
from citewell.adapters.store.engine import reading
from citewell.adapters.store.schema import chunks, document_tags, documents, generations, stamps
from citewell.adapters.store.schema import library as facts
from citewell.adapters.store.version_stamps import VersionStamps
from citewell.ports import Candidate, IndexedVersion, RankedCandidate, Sentences
from citewell.types import Hit, Scope

T = TypeVar("T")

BATCH = 400
FACT = select(facts.c.value).where(facts.c.key == bindparam("which"))
SET_FACT = update(facts).where(facts.c.key == bindparam("which"))
SET_STAMP = update(stamps).where(stamps.c.tenant == bindparam("which"))
HIT_COLUMNS = tuple(chunks.c[name] for name in ("generation", "chunk_index", "start", "end", "page", "section", "text"))


class SqlShelf:
    """The reading side of the library in SQL."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self.engine = engine
        self.path = path
        self.stamps = VersionStamps(engine, path)

    def stamp(self) -> int:
        with reading(self.engine, self.path) as connection:
            return int(self._fact(connection, "stamp") or 0)

    def embedder(self) -> str | None:
        with reading(self.engine, self.path) as connection:
            return self._fact(connection, "embedder")

    def current(self) -> list[int]:
        with reading(self.engine, self.path) as connection:
            return list(connection.execute(select(documents.c.generation).where(searchable())).scalars())

    def visible(self, scope: Scope) -> list[int]:
        query = select(documents.c.generation).where(searchable(), visible(scope)).order_by(documents.c.generation)
        with reading(self.engine, self.path) as connection:
            return list(connection.execute(query).scalars())

    def load(self, generations_wanted: Sequence[int]) -> Iterator[IndexedVersion]:
        columns = (generations.c.id, generations.c.chunk_count, generations.c.vectors, generations.c.postings)
        with reading(self.engine, self.path) as connection:
            for batch in _batches(sorted(generations_wanted)):
                for row in connection.execute(select(*columns).where(generations.c.id.in_(batch))):
                    if row.chunk_count:
                        vectors = codec.unpack_vectors(row.vectors, row.chunk_count)
                        yield IndexedVersion(row.id, vectors, row.postings)

    def sentences(self, candidates: Sequence[Candidate]) -> Sentences:
        columns = (chunks.c.generation, chunks.c.chunk_index, chunks.c.sentence_offsets, chunks.c.sentence_vectors)
        with reading(self.engine, self.path) as connection:
            rows = [tuple(row) for row in _rows_of(connection, columns, candidates)]
        return codec.unpack_sentences(rows)

    def hits(self, ranked_candidates: Sequence[RankedCandidate], scope: Scope) -> list[Hit]:
        with reading(self.engine, self.path) as connection:
            by_key = {
                (row.generation, row.chunk_index): row
                for row in _rows_of(connection, HIT_COLUMNS, [item.candidate for item in ranked_candidates])
            }
            documents_seen = self._documents(connection, {generation for generation, _ in by_key}, scope)
            tags = self._tags(connection, {row.id for row in documents_seen.values()})
        shown = []
        for item in ranked_candidates:
            key = (item.candidate.generation, item.candidate.chunk_index)
            if key in by_key and key[0] in documents_seen:
                document = documents_seen[key[0]]
                shown.append(_hit(item, by_key[key], document, tags.get(document.id, ())))
        return shown

    @staticmethod
    def _documents(connection: Connection, wanted: set[int], scope: Scope) -> dict[int, Any]:
        """The documents of these generations that the scope may see."""
        told = (documents.c.publisher, documents.c.published)
        columns = (documents.c.generation, documents.c.id, documents.c.title, documents.c.version, *told)
        query = select(*columns).where(documents.c.generation.in_(wanted), visible(scope))
        return {row.generation: row for row in connection.execute(query)}

    @staticmethod
    def _tags(connection: Connection, ids: set[str]) -> dict[str, tuple[str, ...]]:
        query = select(document_tags).where(document_tags.c.document_id.in_(ids))
        found: dict[str, tuple[str, ...]] = {}
        for row in sorted(connection.execute(query), key=lambda row: str(row.tag)):  # no two databases sort alike
            found[row.document_id] = (*found.get(row.document_id, ()), row.tag)
        return found

    @staticmethod
    def _fact(connection: Connection, key: str) -> str | None:
        return connection.execute(FACT, {"which": key}).scalar()

    def _touch(self, connection: Connection, tenant: str | None = None) -> int:
        """Let every index know that something changed, of one tenant or of all; the new stamp."""
        stamp = int(self._fact(connection, "stamp") or 0) + 1
        if stamp == 1:
            connection.execute(insert(facts), {"key": "stamp", "value": "1"})
        else:
            connection.execute(SET_FACT, {"which": "stamp", "value": str(stamp)})
        if tenant is None:
            connection.execute(update(stamps), {"stamp": stamp})
        elif connection.execute(SET_STAMP, {"which": tenant, "stamp": stamp}).rowcount == 0:
            connection.execute(insert(stamps), {"tenant": tenant, "stamp": stamp})
        return stamp

    def at(self, stamp: int, *, only: Collection[int] | None = None) -> PastShelf:
        """What was current at an earlier stamp; of that `only` these generations, where some are named."""
        return PastShelf(self, stamp, None if only is None else frozenset(only))


class PastShelf:
    """The versions that answered at an earlier moment, as far as they are still kept."""

    def __init__(self, shelf: SqlShelf, stamp: int, only: frozenset[int] | None) -> None:
        self._shelf, self._stamp, self._only = shelf, stamp, only

    def stamp(self) -> int:
        """The moment, which does not change."""
        return self._stamp

    def current(self) -> list[int]:
        """The generations that were current then."""
        return [generation for generation, _ in self._versions(true())]

    def visible(self, scope: Scope) -> list[int]:
        """Those that the scope may see now."""
        return [generation for generation, _ in self._versions(visible(scope))]

    def versions(self, scope: Scope) -> list[tuple[int, str]]:
        """The same, each with the id of its document version."""
        return self._versions(visible(scope))

    def load(self, generations_wanted: Sequence[int]) -> Iterator[IndexedVersion]:
        """Vectors and postings of these generations."""
        return self._shelf.load(generations_wanted)

    def _versions(self, condition: ColumnElement[bool]) -> list[tuple[int, str]]:
        lasted = or_(documents.c.current_until.is_(None), documents.c.current_until > self._stamp)
        then = and_(documents.c.generation.is_not(None), documents.c.current_from <= self._stamp, lasted)
        query = select(documents.c.generation, documents.c.id).where(then, condition).order_by(documents.c.generation)
        with reading(self._shelf.engine, self._shelf.path) as connection:
            found = [(row.generation, row.id) for row in connection.execute(query)]
        return [one for one in found if self._only is None or one[0] in self._only]


def _hit(item: RankedCandidate, row: Row[Any], document: Row[Any], tags: tuple[str, ...]) -> Hit:
    return Hit(
        document_id=document.id,
        document=document.title,
        version=document.version,
        chunk_index=row.chunk_index,
        start=row.start,
        end=row.end,
        text=row.text,
        page=row.page,
        section=tuple(json.loads(row.section) if isinstance(row.section, str) else row.section),
        tags=tags,
        raw_cosine=item.candidate.cosine,
        rank_score=item.rank_score,
        relevance=item.relevance,
        why=item.why,
        publisher=document.publisher,
        published=document.published,
    )


def _rows_of(
    connection: Connection, columns: Sequence[Column[Any]], candidates: Sequence[Candidate]
) -> Iterator[Row[Any]]:
    """The rows of `chunks` that the candidates name; keys are numbers, so they may stand in the text."""
    names = ", ".join(f'chunks."{column.name}"' for column in columns)
    for batch in _batches(candidates):
        keys = ", ".join(f"({int(candidate.generation)}, {int(candidate.chunk_index)})" for candidate in batch)
        yield from connection.exec_driver_sql(
            f"WITH wanted (generation, chunk_index) AS (VALUES {keys}) SELECT {names} FROM wanted "
            "JOIN chunks ON chunks.generation = wanted.generation AND chunks.chunk_index = wanted.chunk_index"
        ).all()


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[at : at + BATCH] for at in range(0, len(items), BATCH))
