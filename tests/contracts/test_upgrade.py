"""A library of every earlier version becomes one of this version, with all that is in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Engine, create_engine, insert, inspect, select, text

from citewell.adapters.store.engine import SCHEMA_VERSION, bring_up_to_date, open_engine
from citewell.adapters.store.postgres import connect, open_postgres
from citewell.adapters.store.schema import metadata
from citewell.adapters.store.upgrade import FILLS
from citewell.adapters.vault.cipher import keyed
from citewell.adapters.vault.keys import VaultKey
from tests.contracts.schemas import VERSIONS, make_schema
from tests.postgres import Server

AT = datetime(2026, 1, 1, 12)  # noqa: DTZ001 - as a database keeps it
VALUES: dict[type, Any] = {
    str: "x", int: 1, bool: True, float: 1.5, bytes: b"x", datetime: AT, date: AT.date(), object: ["x"],
}  # fmt: skip
KEY = f"{hashlib.sha256(b'x').hexdigest()[:16]}/x/x"
PUT = {
    ("documents", "attempts"): 0,
    ("documents", "revision"): 0,
    ("documents", "current_from"): 0,
    ("answers", "number"): 1,
    ("users", "has_own_password"): False,
    ("originals", "key"): KEY,
}
"""What an upgrade puts into new columns; the others stay empty."""

Opener = Callable[[], Engine]


@pytest.fixture(params=["file", "vault", "server"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Engine, Opener]]:
    """An empty database with nothing made in it, and what opens it as a library."""
    if request.param == "server":
        server: Server = request.getfixturevalue("postgres_server")
        url = server.new(like="template1")
        server.sql("CREATE EXTENSION vector", url.rsplit("/", 1)[1])
        engine = connect(url)
        yield engine, lambda: open_postgres(url)
        engine.dispose()
        server.drop(url)
        return
    path = tmp_path / "library.sqlite"
    if request.param == "vault":
        driver = keyed(VaultKey.new())
        engine = create_engine("sqlite://", module=driver.module, creator=lambda: driver.connect(path, read_only=False))
        yield engine, lambda: open_engine(path, driver)
    else:
        engine = create_engine(f"sqlite:///{path}")
        yield engine, lambda: open_engine(path)
    engine.dispose()


def described(connection: Connection) -> list[str]:
    """All tables, columns, types, defaults, constraints and indexes, in the database's own words, in no order."""
    if connection.dialect.name == "sqlite":
        told = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")).all()
        return sorted(f"{name}: {part}" for name, sql in told for part in clauses(sql))
    queries = (
        "SELECT table_name, column_name, data_type, udt_name, character_maximum_length, is_nullable, column_default "
        "FROM information_schema.columns WHERE table_schema = 'public'",
        "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace AND contype <> 'n'",
        "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    )
    return sorted(str(tuple(row)) for query in queries for row in connection.execute(text(query)))


def clauses(sql: str) -> list[str]:
    """What a CREATE statement says between its commas, since an added column comes last."""
    head, _, body = " ".join(sql.split()).partition("(")
    parts = re.split(r",\s*(?![^()]*\))", body.rpartition(")")[0])
    return [head.strip(), *(part.strip() for part in parts)]


def value(column: Column[Any]) -> Any:
    return VALUES[column.type.python_type]


def fill(connection: Connection) -> dict[str, dict[str, Any]]:
    """A row in every table that is there, with something in every column; what was put in."""
    known = inspect(connection)
    rows = {}
    for table in metadata.sorted_tables:
        if table.name in known.get_table_names():
            columns = {column["name"] for column in known.get_columns(table.name)}
            rows[table.name] = {column.name: value(column) for column in table.columns if column.name in columns}
            connection.execute(insert(table).values(rows[table.name]))
    return rows


@pytest.mark.parametrize("version", VERSIONS)
def test_what_every_version_stored_is_there_after_the_upgrade(version: str, opened: tuple[Engine, Opener]) -> None:
    engine, open_library = opened
    with engine.begin() as connection:
        make_schema(connection, version)
        before = fill(connection)
        past = before["documents"] | {"id": "y", "version": 2, "is_current": False}
        connection.execute(insert(metadata.tables["documents"]).values(past))
    library = open_library()
    with library.connect() as connection:
        for name, row in before.items():
            table = metadata.tables[name]
            (now, *more) = connection.execute(select(table).order_by(table.primary_key.columns.values()[0])).mappings()
            assert len(more) == (name == "documents")
            for column in table.columns:
                put = PUT.get((name, column.name))
                if column.name == "key" and "kept_in" not in before["originals"]:
                    put = None  # nothing was kept outside yet
                assert now[column] == row.get(column.name, put), (name, column.name)
        until = connection.execute(text("SELECT current_until FROM documents WHERE id = 'y'")).scalar()
        assert until == (0 if version < "0002" else 1)
        outside = connection.execute(text("SELECT key, kept_in FROM outside")).all()
        named = [(KEY, "x")] if "kept_in" in before["originals"] else []
        assert outside == ([("x", "x")] if "outside" in before else named)
        assert connection.execute(text("SELECT version_num FROM alembic_version")).all() == [(SCHEMA_VERSION,)]
    library.dispose()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_upgraded_schema_equals_a_new_one(version: str, opened: tuple[Engine, Opener]) -> None:
    engine, open_library = opened
    with engine.begin() as connection:
        make_schema(connection, version)
    open_library().dispose()
    with engine.connect() as connection:
        upgraded = described(connection)
    with engine.begin() as connection:
        empty(connection)
    bring_up_to_date(engine)
    with engine.connect() as connection:
        new = described(connection)
    assert upgraded == new
    assert len(new) > 200


def empty(connection: Connection) -> None:
    """Take everything out again."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
        connection.execute(text("CREATE EXTENSION vector"))
        return
    metadata.drop_all(connection)
    connection.execute(text("DROP TABLE alembic_version"))


def test_an_upgrade_that_fails_changes_nothing(opened: tuple[Engine, Opener], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, open_library = opened
    with engine.begin() as connection:
        make_schema(connection, "0004")
        before = described(connection)

    def fail(_connection: Connection) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(FILLS, "0012", fail)
    with pytest.raises(KeyboardInterrupt):
        open_library()
    with engine.connect() as connection:
        assert described(connection) == before
    monkeypatch.undo()
    open_library().dispose()


def test_several_open_an_older_library_at_once(opened: tuple[Engine, Opener]) -> None:
    engine, open_library = opened
    with engine.begin() as connection:
        make_schema(connection, "0001")
    with ThreadPoolExecutor(4) as threads:
        for library in threads.map(lambda _: open_library(), range(4)):
            library.dispose()


def test_the_schema_of_every_version_is_kept() -> None:
    """Whoever raises the version writes what it adds into both files, so that the upgrade to it is tested."""
    assert VERSIONS[-1] == SCHEMA_VERSION
