"""Proves that what a library holds agrees with itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, select, text

from citewell.adapters.store import codec, vectors
from citewell.adapters.store.original_files import fetch, unused
from citewell.adapters.store.row_mapping import chunks_of, hashed
from citewell.adapters.store.schema import chunks, documents, generations, originals
from citewell.adapters.store.schema import library as facts
from citewell.errors import CitewellError, NotFound
from citewell.ingest.postings import unpack
from citewell.ports import Verification
from citewell.ports.blobs import Blobs
from citewell.types import LifecycleState


def verify(connection: Connection, embedder: str | None, blobs: Blobs | None = None) -> Verification:
    """Check every document version; a problem names the document and what to do is always: add it again."""
    problems = [f"The database file is damaged: {row[0]}" for row in _integrity(connection) if row[0] != "ok"]
    joined = documents.outerjoin(generations, generations.c.id == documents.c.generation)
    columns = [column for column in generations.c if column.key not in ("id", "embedder")]
    query = select(documents, generations.c.embedder.label("made_by"), *columns).select_from(joined)
    checked = chunk_count = sentence_count = 0
    for row in connection.execute(query.order_by(documents.c.id)).yield_per(20):
        problems += [f"{row.id} ({row.name}): {problem}" for problem in _document(connection, row, embedder, blobs)]
        checked += 1
        chunk_count += row.chunk_count or 0
        sentence_count += row.sentence_count or 0
    problems += _strays(connection)
    if connection.dialect.name == "postgresql" and (count := vectors.uneven(connection)):
        problems.append(f"{count} indexed texts have no vectors in chunk_vectors")
    if blobs is not None and (lost := unused(connection, blobs)):
        problems.append(
            f"{len(lost)} files that this library put into {blobs.name} belong to no document: `citewell evidence "
            "reingest --cleanup` removes them"
        )
    return Verification(checked, chunk_count, sentence_count, tuple(problems))


def _integrity(connection: Connection) -> list[Row[Any]]:
    if connection.dialect.name != "sqlite":
        return []
    return [*connection.execute(text("PRAGMA integrity_check")), *connection.execute(text("PRAGMA foreign_key_check"))]


def _document(connection: Connection, row: Row[Any], embedder: str | None, blobs: Blobs | None) -> Iterator[str]:
    """What is wrong with one document version."""
    try:
        data = fetch(connection, row.tenant, row.content_hash, blobs)
    except NotFound:
        data = None
    if data is None:
        yield "its original file is missing"
    elif hashed(data) != row.content_hash:
        yield "its original file has changed"
    finished = row.state in (LifecycleState.COMPLETED, LifecycleState.SUPERSEDED, LifecycleState.WITHDRAWN)
    if finished != (row.generation is not None):
        yield f"it is {row.state} but {'has no' if finished else 'already has a'} text in use"
    if row.is_current and row.state != LifecycleState.COMPLETED:
        yield f"it is current but {row.state}"
    if row.generation is None or row.text is None:
        return
    if row.made_by != embedder:
        yield f"its vectors were made by {row.made_by}, the library's by {embedder}"
    try:
        yield from _generation(connection, row)
    except (CitewellError, ValueError) as error:
        yield f"it cannot be read back: {error}"


def _generation(connection: Connection, row: Row[Any]) -> Iterator[str]:
    """What is wrong with the text, chunks and vectors of one generation."""
    mine = connection.execute(
        select(chunks).where(chunks.c.generation == row.generation).order_by(chunks.c.chunk_index)
    ).all()
    passages = chunks_of(mine)
    if [passage.index for passage in passages] != list(range(row.chunk_count)):
        yield "its chunks are not complete"
        return
    if any(row.text[p.start : p.end] != p.text for p in passages):
        yield "a chunk's offsets do not give its text"
    if any(hashed(stored.text) != stored.text_hash for stored in mine):
        yield "a chunk's text has changed"
    if sum(len(passage.sentences) for passage in passages) != row.sentence_count:
        yield "its sentences are not complete"
    if any(start < p.start or end > p.end for p in passages for start, end in p.sentences):
        yield "a sentence lies outside its chunk"
    covered = sorted((passage.start, passage.end) for passage in passages)
    if _uncovered(row.text, covered):
        yield "some of its text is in no chunk"
    if any(block.end > len(row.text) for block in codec.unpack_blocks(row.structure)):
        yield "its structure does not fit its text"
    if codec.unpack_layout(row.layout).pages and row.page_count == 0:
        yield "its pages are not counted"
    yield from _vectors(row, mine)


def _vectors(row: Row[Any], mine: list[Row[Any]] | Any) -> Iterator[str]:
    if row.chunk_count == 0:
        return
    vectors = codec.unpack_vectors(row.vectors, row.chunk_count)
    if not np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-2):
        yield "a chunk's vector is not a unit vector"
    if len(unpack(row.postings).lengths) != row.chunk_count:
        yield "its words do not belong to its chunks"
    for stored in mine:
        count = len(stored.sentence_offsets) // 8
        width = len(stored.sentence_vectors) // count - 4 if count else vectors.shape[1]
        if width != vectors.shape[1]:
            yield f"chunk {stored.chunk_index} has sentences without vectors"


def _uncovered(text: str, spans: list[tuple[int, int]]) -> bool:
    """Whether anything but white space lies outside the spans."""
    position = 0
    for start, end in spans:
        if text[position:start].strip():
            return True
        position = max(position, end)
    return bool(text[position:].strip())


def _strays(connection: Connection) -> Iterator[str]:
    """Rows that belong to nothing."""
    hashes = select(documents.c.content_hash).where(documents.c.tenant == originals.c.tenant)
    lost = select(func.count()).select_from(originals).where(originals.c.content_hash.not_in(hashes))
    if count := connection.execute(lost).scalar_one():
        yield f"{count} original files belong to no document"
    spare = select(func.count()).select_from(generations)
    spare = spare.where(
        generations.c.id.not_in(select(documents.c.generation).where(documents.c.generation.is_not(None)))
    )
    reindexing = connection.execute(select(facts.c.value).where(facts.c.key == "reindex_after")).scalar()
    if reindexing is None and (count := connection.execute(spare).scalar_one()):
        yield f"{count} indexed texts are not in use"
    homeless = select(func.count()).select_from(chunks)
    homeless = homeless.where(chunks.c.generation.not_in(select(generations.c.id)))
    if count := connection.execute(homeless).scalar_one():
        yield f"{count} chunks belong to no document"
