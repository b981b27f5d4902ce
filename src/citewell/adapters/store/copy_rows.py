"""Moves a whole library from one database to another, row for row, and proves that all of it arrived."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Engine, Integer, Row, Select, Table, delete, func, insert, select, text

from citewell.adapters.store import codec, vectors
from citewell.adapters.store.schema import generations, metadata
from citewell.adapters.store.schema import library as facts
from citewell.errors import LibraryError

IDENTITY, MARK = "identity", "migrating"
"""Facts of a library: who it is, and that what it holds is still on its way here."""

BATCH_ROWS, BATCH_BYTES = 500, 8 << 20
DIGEST_BITS = 256

NOT_EMPTY = (
    "{place} already holds a library. Nothing was changed. Choose an empty database; two libraries cannot be merged."
)
NOT_WHOLE = (
    "{table} did not arrive intact. The old library was not changed. Empty the new database and run `citewell "
    "migrate` again."
)
UNFINISHED = "A move into this database was interrupted. Run the same `citewell migrate` again to continue."

Watch = Callable[[str, int, int], None]
"""Told the table, the rows that have arrived and how many there are."""


@dataclass(frozen=True, slots=True)
class Migration:
    """What was moved."""

    rows: dict[str, int]
    vectors: int
    resumed: bool


def migrate(source: Engine, target: Engine, *, place: str, watch: Watch) -> Migration:
    """Copy every row, prove that all are there, then open the new library for use.

    Each batch is one transaction and knows how far it came, so that a move that is killed goes on there. Nobody can
    write to the old library meanwhile.
    """
    identity = _identity(source)
    with source.connect().execution_options(writing=True) as old, old.begin():
        state = _state(old, identity)
        resumed = _begin(target, state, place)
        for table in _tables():
            _copy(old, target, table, watch)
        with target.connect() as new, new.begin():
            counts = {table.name: _same(old, new, table) for table in _tables()}
            vector_count = _same_vectors(new) if new.dialect.name == "postgresql" else 0
        _finish(target)
    return Migration(counts, vector_count, resumed)


def refuse_unfinished(engine: Engine) -> None:
    """A library that is still on its way answers nothing."""
    with engine.connect() as connection, connection.begin():
        if _fact(connection, MARK) is not None:
            raise LibraryError(UNFINISHED)


# ------------------------------------------------------------------------------------------------------ beginning


def _tables() -> list[Table]:
    """Those that others refer to first, and what says which vectors are in use last."""
    return [table for table in metadata.sorted_tables if table is not facts] + [facts]


def _identity(source: Engine) -> str:
    """Who a library is, said once and for good."""
    with source.connect().execution_options(writing=True) as connection, connection.begin():
        if _fact(connection, MARK) is not None:
            raise LibraryError(UNFINISHED)
        known = _fact(connection, IDENTITY)
        if known is None:
            known = str(uuid.uuid4())
            connection.execute(insert(facts).values(key=IDENTITY, value=known))
        return known


def _state(old: Connection, identity: str) -> str:
    """The old library as it is now: a move that is taken up again must find it so."""
    counts = [old.execute(select(func.count()).select_from(table)).scalar_one() for table in _tables()]
    told = json.dumps([identity, _fact(old, "stamp"), counts])
    return f"{identity} {hashlib.sha256(told.encode()).hexdigest()}"


def _begin(target: Engine, state: str, place: str) -> bool:
    """Mark the new database as ours; whether part of this very library is there already."""
    with target.connect().execution_options(writing=True) as new, new.begin():
        mark = _fact(new, MARK)
        if mark == state:
            return True
        if mark is None and any(new.execute(select(1).select_from(table).limit(1)).first() for table in _tables()):
            raise LibraryError(NOT_EMPTY.format(place=place))
        if mark is not None and mark.split(maxsplit=1)[0] != state.split(maxsplit=1)[0]:
            raise LibraryError(NOT_EMPTY.format(place=place))
        for table in reversed(_tables()):  # the old library has changed since the last attempt
            new.execute(delete(table))
        new.execute(insert(facts).values(key=MARK, value=state))
        return False


def _fact(connection: Connection, key: str) -> str | None:
    return connection.execute(select(facts.c.value).where(facts.c.key == key)).scalar()


# -------------------------------------------------------------------------------------------------------- copying


def _copy(old: Connection, target: Engine, table: Table, watch: Watch) -> None:
    """Copy the rows of a table that are not there yet, in the order of the old library's key."""
    total = old.execute(select(func.count()).select_from(_own(table).subquery())).scalar_one()
    progress = f"{MARK}:{table.name}"[:32]
    with target.connect() as new, new.begin():
        done = int(_fact(new, progress) or 0)
    query = _own(table).order_by(*table.primary_key.columns).offset(done)
    for batch in _batches(old.execute(query.execution_options(yield_per=50))):
        with target.connect().execution_options(writing=True) as new, new.begin():
            new.execute(insert(table), [dict(row._mapping) for row in batch])
            if table is generations and new.dialect.name == "postgresql":
                _keep_vectors(new, batch)
            done += len(batch)
            new.execute(delete(facts).where(facts.c.key == progress))
            new.execute(insert(facts).values(key=progress, value=str(done)))
        watch(table.name, done, total)


def _own(table: Table) -> Select[Any]:
    """The rows that belong to the library itself, and not to a move of it."""
    query = select(table)
    return query.where(facts.c.key.not_like(f"{MARK}%")) if table is facts else query


def _batches(rows: Any) -> Iterator[list[Row[Any]]]:
    batch: list[Row[Any]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, bytes | str))
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _keep_vectors(new: Connection, batch: Sequence[Row[Any]]) -> None:
    for row in batch:
        if row.chunk_count:
            vectors.keep(new, row.id, codec.unpack_vectors(row.vectors, row.chunk_count))


# -------------------------------------------------------------------------------------------------------- proving


def _same(old: Connection, new: Connection, table: Table) -> int:
    """How many rows a table has, when both sides have the same ones."""
    (count, before), (_, after) = (_digest(one, table) for one in (old, new))
    if before != after:
        raise LibraryError(NOT_WHOLE.format(table=table.name))
    return count


def _digest(connection: Connection, table: Table) -> tuple[int, tuple[int, int]]:
    """The number of rows, and a sum of their hashes that does not depend on their order."""
    count = total = 0
    for row in connection.execute(_own(table).execution_options(yield_per=100)):
        written = json.dumps([_plain(value) for value in row], ensure_ascii=True, sort_keys=True)
        total += int.from_bytes(hashlib.sha256(written.encode()).digest(), "big")
        count += 1
    return count, (count, total % (1 << DIGEST_BITS))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return hashlib.sha256(value).hexdigest()
    return value.isoformat() if isinstance(value, datetime | date) else value


def _same_vectors(new: Connection) -> int:
    """How many rows of vectors there are, when they are those of the generations."""
    query = select(generations.c.id, generations.c.chunk_count, generations.c.vectors)
    count = 0
    for row in new.execute(query.where(generations.c.chunk_count > 0).execution_options(yield_per=50)):
        kept = dict(vectors.fetch(new, [(row.id, chunk) for chunk in range(row.chunk_count)]))
        blob = b"".join(kept[key].tobytes() for key in sorted(kept))
        if blob != codec.pack_vectors(vectors.finite(codec.unpack_vectors(row.vectors, row.chunk_count))):
            raise LibraryError(NOT_WHOLE.format(table="chunk_vectors"))
        count += len(kept)
    return count


def _finish(target: Engine) -> None:
    """Let new numbers follow the old ones, and take the mark away."""
    with target.connect().execution_options(writing=True) as new, new.begin():
        if new.dialect.name == "postgresql":
            for table in _tables():
                (key, *more) = table.primary_key.columns
                if not more and isinstance(key.type, Integer):
                    new.execute(
                        text(
                            f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key.name}'), "
                            f"(SELECT max({key.name}) FROM {table.name})) "
                            f"WHERE EXISTS (SELECT 1 FROM {table.name})"
                        )
                    )
        new.execute(delete(facts).where(facts.c.key.like(f"{MARK}%")))
