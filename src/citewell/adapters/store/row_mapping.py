"""Between rows and nouns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, and_, bindparam, delete, insert, literal, select, union_all

from citewell.adapters.store import codec, vectors
from citewell.adapters.store.schema import (
    chunks,
    document_journeys,
    document_tags,
    documents,
    generations,
    literature,
)
from citewell.ingest.chunk import default_chunking
from citewell.ingest.postings import pack
from citewell.ports import ParsedFile
from citewell.sentences import terms
from citewell.types import Chunk, Chunking, Document, Filing, LibraryEntry, LifecycleState, Metadata
from citewell.types.literature import Notice


def now() -> datetime:
    """The present, in UTC, as columns hold it."""
    return datetime.now(UTC).replace(tzinfo=None)


def hashed(data: bytes | str) -> str:
    """The SHA-256 of bytes or text."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def read_columns(reading: ParsedFile, title: str | None, *, at: datetime) -> dict[str, Any]:
    """The columns of `documents` that a reading decides, and when it came."""
    document, metadata = reading.document, reading.document.metadata
    return {
        "title": title or document.title,
        "media_type": document.media_type,
        "page_count": len(document.layout.pages),
        "language": metadata.language,
        "publisher": metadata.publisher,
        "published": metadata.published,
        "licence": metadata.licence,
        "source_url": metadata.source_url,
        "identifiers": [list(pair) for pair in metadata.identifiers],
        "notes": list(document.notes),
        "state": LifecycleState.COMPLETED.value,
        "error": None,
        "processed_at": at,
        "took_s": reading.took_s,
    }


def chunking_columns(chunking: Chunking | None) -> dict[str, Any]:
    """The columns of `documents` that say how it is cut; an empty strategy means as its kind is."""
    if chunking is None:
        return {"chunk_strategy": "", "chunk_size": 0, "chunk_overlap": 0, "chunk_unit": ""}
    return {
        "chunk_strategy": chunking.strategy,
        "chunk_size": chunking.size,
        "chunk_overlap": chunking.overlap,
        "chunk_unit": chunking.unit,
    }


def insert_generation(connection: Connection, document_id: str, reading: ParsedFile) -> int:
    """Store one reading: text, structure, passages, vectors; returns its number."""
    document = reading.document
    row = {
        "document_id": document_id,
        "embedder": reading.embedder,
        "made_at": now(),
        "text": document.text,
        "structure": codec.pack_blocks(document.blocks),
        "layout": codec.pack_layout(document.layout),
        "chunk_count": len(reading.chunks),
        "sentence_count": len(reading.sentence_vectors),
        "postings": pack([terms(chunk.passage) for chunk in reading.chunks]),
        "vectors": codec.pack_vectors(reading.vectors),
    }
    result = connection.execute(insert(generations), row)
    assert result.inserted_primary_key is not None
    generation = int(result.inserted_primary_key[0])
    connection.execute(insert(chunks), _chunk_rows(generation, reading))
    if connection.dialect.name == "postgresql":
        vectors.keep(connection, generation, reading.vectors)
    return generation


def _chunk_rows(generation: int, reading: ParsedFile) -> list[dict[str, Any]]:
    ends = np.cumsum([len(chunk.sentences) for chunk in reading.chunks])
    return [
        {
            "generation": generation,
            "chunk_index": chunk.index,
            "start": chunk.start,
            "end": chunk.end,
            "page": chunk.page,
            "section": list(chunk.section),
            "tokens": chunk.tokens,
            "text": chunk.text,
            "text_hash": hashed(chunk.text),
            "sentence_offsets": codec.pack_spans(chunk.sentences),
            "sentence_vectors": codec.pack_sentences(reading.sentence_vectors[end - len(chunk.sentences) : end]),
        }
        for chunk, end in zip(reading.chunks, ends, strict=True)
    ]


def replace_filing(connection: Connection, document_id: str, filing: Filing) -> None:
    """Set the tags and journeys of a document that are said."""
    for table, values in ((document_tags, filing.tags), (document_journeys, filing.journeys)):
        if values is not None:
            connection.execute(delete(table).where(table.c.document_id == document_id))
    insert_filing(connection, document_id, tags=filing.tags, journeys=filing.journeys)


def insert_filing(
    connection: Connection, document_id: str, *, tags: frozenset[str] | None, journeys: frozenset[str] | None
) -> None:
    """Give a document that has none the tags and journeys that are said."""
    for table, column, values in (
        (document_tags, "tag", tags),
        (document_journeys, "journey", journeys),
    ):
        if values:
            rows = [{"document_id": document_id, column: value} for value in sorted(values)]
            connection.execute(insert(table), rows)


def entries_of(connection: Connection, rows: Sequence[Row[Any]]) -> list[LibraryEntry]:
    """Entries for rows of `documents` joined with counts of their generation."""
    ids = [row.id for row in rows]
    filed: dict[tuple[str, str], list[str]] = {}
    for batch in (ids[at : at + 500] for at in range(0, len(ids), 500)):
        for kind, document_id, name in connection.execute(FILED, {"ids": batch}):
            filed.setdefault((kind, document_id), []).append(name)

    def names(kind: str, row: Row[Any]) -> tuple[str, ...]:
        return tuple(sorted(filed.get((kind, row.id), ())))

    return [_entry(row, names("tag", row), names("journey", row)) for row in rows]


ENTRY = select(
    documents, generations.c.chunk_count, generations.c.sentence_count, generations.c.embedder, literature.c.notices
).select_from(
    documents.outerjoin(generations, generations.c.id == documents.c.generation).outerjoin(
        literature, and_(literature.c.tenant == documents.c.tenant, literature.c.lineage == documents.c.lineage)
    )
)

FILED = union_all(
    *(
        select(literal(column), table.c.document_id, table.c[column]).where(
            table.c.document_id.in_(bindparam("ids", expanding=True))
        )
        for table, column in ((document_tags, "tag"), (document_journeys, "journey"))
    )
)
"""What documents are filed under: the kind, the document, the name."""


def _entry(row: Row[Any], tags: tuple[str, ...], journeys: tuple[str, ...]) -> LibraryEntry:
    return LibraryEntry(
        id=row.id,
        tenant=row.tenant,
        lineage=row.lineage,
        version=row.version,
        name=row.name,
        title=row.title,
        media_type=row.media_type,
        state=LifecycleState(row.state),
        is_current=row.is_current,
        content_hash=row.content_hash,
        size_bytes=row.size_bytes,
        tags=tags,
        journeys=journeys,
        subject=row.subject,
        page_count=row.page_count,
        chunk_count=row.chunk_count or 0,
        sentence_count=row.sentence_count or 0,
        chunking=chunking_of(row) or default_chunking(row.media_type),
        embedder=row.embedder,
        metadata=metadata_of(row),
        notes=tuple(row.notes),
        error=row.error,
        added_at=row.added_at.replace(tzinfo=UTC),
        added_by=row.added_by,
        processed_at=row.processed_at.replace(tzinfo=UTC) if row.processed_at else None,
        took_s=row.took_s,
        attempts=row.attempts,
        next_attempt_at=row.next_attempt_at.replace(tzinfo=UTC) if row.next_attempt_at else None,
        rework=row.rework,
        revision=row.revision,
        notices=notices_of(row.notices),
    )


def notices_of(kept: Iterable[Mapping[str, Any]] | None) -> tuple[Notice, ...]:
    """Notices as a column holds them."""
    return tuple(Notice(**notice) for notice in kept or ())


def chunking_of(row: Row[Any]) -> Chunking | None:
    """How the document of a row is cut; None: as its kind is."""
    if not row.chunk_strategy:
        return None
    return Chunking(row.chunk_strategy, row.chunk_size, row.chunk_overlap, row.chunk_unit)


def metadata_of(row: Row[Any]) -> Metadata:
    """What the document of a row says about itself."""
    identifiers = tuple((kind, value) for kind, value in row.identifiers)
    return Metadata(row.language, row.publisher, row.published, row.licence, row.source_url, identifiers)


def document_of(row: Row[Any]) -> Document:
    """The document of a row of `documents` joined with its generation."""
    return Document(
        title=row.title,
        media_type=row.media_type,
        text=row.text,
        blocks=codec.unpack_blocks(row.structure),
        layout=codec.unpack_layout(row.layout),
        metadata=metadata_of(row),
        notes=tuple(row.notes),
    )


def chunks_of(rows: Iterable[Row[Any]]) -> tuple[Chunk, ...]:
    return tuple(
        Chunk(
            index=row.chunk_index,
            start=row.start,
            end=row.end,
            text=row.text,
            section=tuple(row.section),
            page=row.page,
            tokens=row.tokens,
            sentences=codec.unpack_spans(row.sentence_offsets),
        )
        for row in rows
    )
