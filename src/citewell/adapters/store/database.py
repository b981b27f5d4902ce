"""Says which database a library is in."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, Engine, text

from citewell.adapters.store.postgres import place_of

SIZES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}


@dataclass(frozen=True, slots=True)
class Database:
    """What holds a library."""

    kind: str
    version: str
    pgvector: str | None
    schema: str
    size_bytes: int
    place: str | None
    """Host and name of a server's database; None for a file."""

    def __str__(self) -> str:
        vectors = "" if self.pgvector is None else f" with pgvector {self.pgvector}"
        where = "" if self.place is None else f" at {self.place}"
        return (
            f"{self.kind} {self.version}{vectors}{where}, schema {self.schema}, {self.size_bytes / 1_048_576:.0f} MiB"
        )


def database(engine: Engine) -> Database:
    """Ask it."""
    with engine.connect() as connection, connection.begin():
        size = int(_one(connection, SIZES[connection.dialect.name]))
        schema = _one(connection, "SELECT version_num FROM alembic_version")
        if connection.dialect.name == "sqlite":
            return Database("SQLite", _one(connection, "SELECT sqlite_version()"), None, schema, size, None)
        version = _one(connection, "SHOW server_version").split()[0]
        pgvector = _one(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        return Database("PostgreSQL", version, pgvector, schema, size, place_of(engine.url))


def _one(connection: Connection, query: str) -> str:
    return str(connection.execute(text(query)).scalar_one())
