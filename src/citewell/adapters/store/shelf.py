"""What search reads: the current generations, who may see them, and the rows of what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Row, Select, insert, select, tuple_, update

from citewell.adapters.store import codec
from citewell.adapters.store.access import searchable, visible
from citewell.adapters.store.engine import reading
from citewell.adapters.store.schema import chunks, document_tags, documents, generations
from citewell.adapters.store.schema import library as facts
from citewell.ports import Candidate, Passage, Ranked, Stored
from citewell.types import Hit, Scope

T = TypeVar("T")

BATCH = 400


class SqlShelf:
    """The reading side of the library in SQL."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self.engine = engine
        self.path = path

    def stamp(self) -> int:
        """Grows with every change of what is current or who may see it."""
        with reading(self.engine, self.path) as connection:
            return int(self._fact(connection, "stamp") or 0)

    def embedder(self) -> str | None:
        """The fingerprint of the vectors in use, or None while there are none."""
        with reading(self.engine, self.path) as connection:
            return self._fact(connection, "embedder")

    def current(self) -> list[int]:
        """The generations that are current, of all tenants."""
        with reading(self.engine, self.path) as connection:
            return list(connection.execute(select(documents.c.generation).where(searchable())).scalars())

    def visible(self, scope: Scope) -> list[int]:
        """The current generations that the scope may see: the one place where access is decided."""
        query = select(documents.c.generation).where(searchable(), visible(scope)).order_by(documents.c.generation)
        with reading(self.engine, self.path) as connection:
            return list(connection.execute(query).scalars())

    def load(self, generations_wanted: Sequence[int]) -> Iterator[Stored]:
        """Vectors and postings of these generations, in any order."""
        columns = (generations.c.id, generations.c.chunk_count, generations.c.vectors, generations.c.postings)
        with reading(self.engine, self.path) as connection:
            for batch in _batches(sorted(generations_wanted)):
                for row in connection.execute(select(*columns).where(generations.c.id.in_(batch))):
                    if row.chunk_count:
                        vectors = codec.unpack_vectors(row.vectors, row.chunk_count)
                        yield Stored(row.id, vectors, row.postings)

    def sentences(self, candidates: Sequence[Candidate]) -> dict[tuple[int, int], Passage]:
        """Sentence offsets and vectors by (generation, chunk index)."""
        columns = (chunks.c.generation, chunks.c.chunk_index, chunks.c.sentence_offsets, chunks.c.sentence_vectors)
        found = {}
        with reading(self.engine, self.path) as connection:
            for row in _rows_of(connection, select(*columns), candidates):
                spans = codec.unpack_spans(row.sentence_offsets)
                vectors = codec.unpack_sentences(row.sentence_vectors, len(spans))
                found[row.generation, row.chunk_index] = Passage(spans, vectors)
        return found

    def hits(self, found: Sequence[Ranked], scope: Scope) -> list[Hit]:
        """Full hits, in the order given; what vanished meanwhile is left out."""
        columns = (chunks, documents.c.id.label("document_id"), documents.c.title, documents.c.version)
        query = select(*columns).join(documents, documents.c.generation == chunks.c.generation).where(visible(scope))
        with reading(self.engine, self.path) as connection:
            rows = _rows_of(connection, query, [item.candidate for item in found])
            by_key = {(row.generation, row.chunk_index): row for row in rows}
            tags = self._tags(connection, {row.document_id for row in by_key.values()})
        keyed = ((item, by_key.get((item.candidate.generation, item.candidate.chunk_index))) for item in found)
        return [_hit(item, row, tags.get(row.document_id, ())) for item, row in keyed if row is not None]

    @staticmethod
    def _tags(connection: Connection, ids: set[str]) -> dict[str, tuple[str, ...]]:
        query = select(document_tags).where(document_tags.c.document_id.in_(ids)).order_by(document_tags.c.tag)
        found: dict[str, tuple[str, ...]] = {}
        for row in connection.execute(query):
            found[row.document_id] = (*found.get(row.document_id, ()), row.tag)
        return found

    @staticmethod
    def _fact(connection: Connection, key: str) -> str | None:
        return connection.execute(select(facts.c.value).where(facts.c.key == key)).scalar()

    def _touch(self, connection: Connection) -> None:
        """Let every index know that something changed."""
        stamp = int(self._fact(connection, "stamp") or 0)
        if stamp == 0:
            connection.execute(insert(facts).values(key="stamp", value="1"))
        else:
            connection.execute(update(facts).where(facts.c.key == "stamp").values(value=str(stamp + 1)))


def _hit(item: Ranked, row: Row[Any], tags: tuple[str, ...]) -> Hit:
    return Hit(
        document_id=row.document_id,
        document=row.title,
        version=row.version,
        chunk_index=row.chunk_index,
        start=row.start,
        end=row.end,
        text=row.text,
        page=row.page,
        section=tuple(row.section),
        tags=tags,
        raw_cosine=item.candidate.cosine,
        rank_score=item.rank_score,
        relevance=item.relevance,
        why=item.why,
    )


def _rows_of(connection: Connection, query: Select[Any], candidates: Sequence[Candidate]) -> Iterator[Row[Any]]:
    """The rows of `chunks` that the candidates name."""
    key = tuple_(chunks.c.generation, chunks.c.chunk_index)
    for batch in _batches(candidates):
        wanted = [(candidate.generation, candidate.chunk_index) for candidate in batch]
        yield from connection.execute(query.where(key.in_(wanted)))


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[at : at + BATCH] for at in range(0, len(items), BATCH))
