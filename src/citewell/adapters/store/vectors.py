"""Vectors as rows of PostgreSQL, compared by pgvector: exact, since no index that could lose a hit is ever made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Select,
    Table,
    bindparam,
    cast,
    func,
    select,
    tuple_,
)
from sqlalchemy.types import UserDefinedType

from citewell.adapters.store.schema import documents, generations
from citewell.ports import Vector, Vectors

ROUNDING = 1e-5
"""More than a product of unit vectors in single precision can be off by."""
SPARE = 20
"""Asked for beyond the limit, so that the next after the last is known to be farther."""
BATCH = 500


class VectorType(UserDefinedType[Any]):
    """The type of pgvector."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"


chunk_vectors = Table(
    "chunk_vectors",
    MetaData(),
    Column("generation", Integer, primary_key=True),
    Column("chunk_index", Integer, primary_key=True),
    Column("embedding", VectorType(), nullable=False),
)
"""A row per chunk, in PostgreSQL only; `generations.vectors` holds the same numbers for those who load them all."""

Key = tuple[int, int]
"""Generation and chunk index."""


def keep(connection: Connection, generation: int, vectors: Vectors) -> None:
    """Write the vectors of a generation, in the transaction that writes the rest of it."""
    from psycopg import Error

    from citewell.adapters.store.postgres import place_of, translated

    raw = connection.connection.driver_connection
    assert raw is not None
    try:
        with raw.cursor() as cursor, cursor.copy("COPY chunk_vectors FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(packed(generation, vectors))
    except Error as error:
        raise translated(error, place_of(connection.engine.url)) from None


def packed(generation: int, vectors: Vectors) -> bytes:
    """Rows in the binary form of COPY."""
    count, width = vectors.shape
    names = ("fields", "size_0", "generation", "size_1", "chunk", "size_2", "width", "unused")
    kinds = (">i2", ">i4", ">i4", ">i4", ">i4", ">i4", ">i2", ">i2")
    row = np.dtype([*zip(names, kinds, strict=True), ("numbers", ">f4", (width,))])
    rows = np.zeros(count, dtype=row)
    rows["fields"], rows["size_0"], rows["size_1"], rows["size_2"] = 3, 4, 4, 4 + 4 * width
    rows["generation"], rows["chunk"], rows["width"] = generation, np.arange(count), width
    rows["numbers"] = finite(vectors)
    header = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    return header + rows.tobytes() + b"\xff\xff"


def finite(vectors: Vectors) -> Vectors:
    """Vectors that pgvector takes: one that is no number is near nothing, which zero says."""
    return np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, np.float32(0.0))


def nearest(
    connection: Connection, vector: Vector, condition: ColumnElement[bool], *, limit: int
) -> list[tuple[Key, Vector]]:
    """At least the `limit` nearest among documents for which the condition holds, or all that there are."""
    distance = chunk_vectors.c.embedding.op("<#>", return_type=Float())(_bound(vector))
    joined = chunk_vectors.join(documents, documents.c.generation == chunk_vectors.c.generation)
    query = select(chunk_vectors.c.generation, chunk_vectors.c.chunk_index, distance.label("distance"))
    query = query.select_from(joined).where(condition)
    rows = connection.execute(_with_numbers(query.order_by("distance").limit(limit + SPARE))).all()
    if len(rows) == limit + SPARE and rows[-1].distance <= rows[limit - 1].distance + 2 * ROUNDING:
        # Many are as near as the last: which of them come first is decided by whoever sums each row alone.
        near_enough = distance <= rows[limit - 1].distance + 2 * ROUNDING
        rows = connection.execute(_with_numbers(query.where(near_enough))).all()
    return _read(rows)


def uneven(connection: Connection) -> int:
    """How many generations have not as many vectors here as passages."""
    mine = select(func.count()).where(chunk_vectors.c.generation == generations.c.id).scalar_subquery()
    query = select(func.count()).select_from(generations).where(mine != generations.c.chunk_count)
    return int(connection.execute(query).scalar_one())


def _with_numbers(found: Select[Any]) -> Select[Any]:
    """What was found, each with its vector: those are written out for the few that are left, not for all that were
    compared."""
    few = found.subquery("found")
    same = (chunk_vectors.c.generation == few.c.generation) & (chunk_vectors.c.chunk_index == few.c.chunk_index)
    columns = (few.c.generation, few.c.chunk_index, few.c.distance, _bytes())
    return select(*columns).select_from(few.join(chunk_vectors, same)).order_by(few.c.distance)


def fetch(connection: Connection, keys: Sequence[Key]) -> list[tuple[Key, Vector]]:
    """The vectors of these chunks."""
    found: list[tuple[Key, Vector]] = []
    for first in range(0, len(keys), BATCH):
        found += _read(connection.execute(_of(keys[first : first + BATCH])).all())
    return found


def _of(keys: Sequence[Key]) -> Select[Any]:
    mine = tuple_(chunk_vectors.c.generation, chunk_vectors.c.chunk_index).in_(keys)
    return select(chunk_vectors.c.generation, chunk_vectors.c.chunk_index, _bytes()).where(mine)


def _bytes() -> ColumnElement[bytes]:
    return func.vector_send(chunk_vectors.c.embedding, type_=LargeBinary()).label("numbers")


def _bound(vector: Vector) -> ColumnElement[Any]:
    written: BindParameter[Any] = bindparam("question", "[" + ",".join(map(repr, vector.tolist())) + "]")
    return cast(written, VectorType())


def _read(rows: Sequence[Row[Any]]) -> list[tuple[Key, Vector]]:
    """Dimensions in two bytes, two bytes for nothing, then the numbers."""
    return [
        ((row.generation, row.chunk_index), np.frombuffer(row.numbers, ">f4", offset=4).astype(np.float32))
        for row in rows
    ]
