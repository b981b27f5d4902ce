"""Makes the tables of a new library, and adds to those of an earlier version what came since."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from sqlalchemy import Connection, and_, insert, inspect, select, text, update
from sqlalchemy.schema import CreateColumn

from citewell.adapters.store.schema import metadata, originals, outside

VERSION_TABLE = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
"""Named after the tool that once wrote it: earlier versions look for it under this name."""
CHUNK_VECTORS = (
    "CREATE TABLE IF NOT EXISTS chunk_vectors (generation integer NOT NULL REFERENCES generations (id) "
    "ON DELETE CASCADE, chunk_index integer NOT NULL, embedding vector NOT NULL, PRIMARY KEY (generation, chunk_index))"
)
"""In PostgreSQL only, a row per vector: pgvector reads no blobs."""


def make_tables(connection: Connection, version: str) -> None:
    """Make all tables as they are in this version."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(text(VERSION_TABLE))
    connection.execute(text("INSERT INTO alembic_version VALUES (:version)"), {"version": version})
    _make_vectors(connection)


def upgrade_tables(connection: Connection, was: str, version: str) -> None:
    """Add the tables, columns and indexes that are missing; no version has changed or dropped any.

    One that does needs a step of its own here.
    """
    known = inspect(connection)
    tables = set(known.get_table_names())
    metadata.create_all(connection, [table for table in metadata.sorted_tables if table.name not in tables])
    older = [table for table in metadata.sorted_tables if table.name in tables]
    for table in older:
        columns = {column["name"] for column in known.get_columns(table.name)}
        for column in table.columns:
            if column.name not in columns:
                told = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {told}"))
    for since, fill in FILLS.items():
        if was < since:
            fill(connection)
    for table in older:
        indexes = {index["name"] for index in known.get_indexes(table.name)}
        for index in table.indexes:
            if index.name not in indexes:
                index.create(connection)
    _make_vectors(connection)
    connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})


def _make_vectors(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(CHUNK_VECTORS))


# ----------------------------------------------------------------------------------- what is put into new columns


def _date_versions(connection: Connection) -> None:
    """Every document was there from the start; one that is no longer current answered nothing since."""
    connection.execute(text("UPDATE documents SET current_from = 0 WHERE generation IS NOT NULL"))
    past = "UPDATE documents SET current_until = 0 WHERE generation IS NOT NULL AND NOT is_current"
    connection.execute(text(past))


def _number_answers(connection: Connection) -> None:
    connection.execute(text("UPDATE answers SET number = position"))


def _name_files(connection: Connection) -> None:
    """The keys of the files that are in a store outside already."""
    for row in connection.execute(select(originals).where(originals.c.kept_in.is_not(None))).all():
        tenant, content_hash = hashlib.sha256(row.tenant.encode()).hexdigest()[:16], row.content_hash
        key = f"{tenant}/{content_hash[:2]}/{content_hash}"
        mine = and_(originals.c.tenant == row.tenant, originals.c.content_hash == content_hash)
        connection.execute(update(originals).where(mine).values(key=key))
        connection.execute(insert(outside).values(key=key, kept_in=row.kept_in))


FILLS: dict[str, Callable[[Connection], None]] = {
    "0002": _date_versions,
    "0003": _number_answers,
    "0012": _name_files,
}
"""By the version that brought the columns."""
