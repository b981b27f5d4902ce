"""Opens the database of a library: pragmas, transactions, and SQL errors in plain words."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DatabaseError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from citewell.adapters.store.invalid_characters import refuse_unkeepable
from citewell.errors import DiskFull, LibraryBusy, LibraryError, LibraryReadOnly, SchemaTooNew

SCHEMA_VERSION = "0016"
BUSY_TIMEOUT_MS = 30_000
CONNECTIONS = 40
"""As many as threads of a server may read at the same time."""
CONNECTION_TIMEOUT_S = 30.0
LEAST_FREE_BYTES = 64 << 10
"""What SQLite needs to open a file at all."""
LEAST_ROOM_BYTES = 1 << 20
"""What a question with its answer may need to be kept."""

READ_ONLY = (
    "The library in {place} cannot be written to. Check the folder's permissions, or choose another with --home."
)
FULL = "The disk of the library in {place} is full. The last change was not saved. Free some space and try again."
BUSY = "Another process is writing to the library in {place}. The last change was not saved. Try again in a moment."
CROWDED = "The library in {place} is too busy. Nothing was changed. Try again in a moment."
BROKEN = "The library file in {place} is damaged or is not a Citewell library. Restore it from a backup."


def _nothing(_connection: Any) -> None:
    """A plain file needs no key."""


@dataclass(frozen=True, slots=True)
class Driver:
    """What opens the file: a module of Python's database kind, and what unlocks each new connection."""

    module: ModuleType = sqlite3
    unlock: Callable[[Any], None] = _nothing

    def connect(self, path: Path, *, read_only: bool) -> Any:
        """A new connection, unlocked."""
        address = _read_only_address(path) if read_only else str(path)
        timeout_s = BUSY_TIMEOUT_MS / 1000
        connection = self.module.connect(address, uri=read_only, timeout=timeout_s, check_same_thread=False)
        try:
            self.unlock(connection)
        except BaseException:
            connection.close()
            raise
        return connection


PLAIN = Driver()


def open_engine(path: Path, driver: Driver = PLAIN) -> Engine:
    """An engine on the SQLite file at `path`, made or brought up to date where needed."""
    read_only = path.exists() and not os.access(path.parent, os.W_OK)
    pool = {"poolclass": QueuePool, "pool_size": CONNECTIONS, "max_overflow": 0, "pool_timeout": CONNECTION_TIMEOUT_S}
    engine = create_engine(
        "sqlite://",
        module=driver.module,
        creator=lambda: driver.connect(path, read_only=read_only),
        hide_parameters=True,
        **pool,
    )
    event.listen(engine, "connect", _read_only_pragmas if read_only else _pragmas)
    event.listen(engine, "begin", _begin)
    refuse_unkeepable(engine)
    with plain_errors(path):
        bring_up_to_date(engine)
    return engine


def _read_only_address(path: Path) -> str:
    """How SQLite opens a file in a folder that cannot be written.

    Only a library that was closed cleanly may be taken as unchanging; else what is in its log would be missed.
    """
    log = path.with_name(path.name + "-wal")
    unchanging = "" if log.exists() and log.stat().st_size else "&immutable=1"
    return f"file:{quote(str(path))}?mode=ro{unchanging}"


def _pragmas(connection: Any, _record: object) -> None:
    """Durable, erasing, and free of the driver's own idea of a transaction."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _read_only_pragmas(connection: Any, _record: object) -> None:
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def bring_up_to_date(engine: Engine) -> None:
    """Make the tables, or bring those of an earlier version to this one."""
    with engine.connect() as connection:
        if _version(connection) == SCHEMA_VERSION:
            return
    from citewell.adapters.store.upgrade import make_tables, upgrade_tables

    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        version = _version(connection)  # asked again: another process may have been first
        if version is None:
            make_tables(connection, SCHEMA_VERSION)
        elif version < SCHEMA_VERSION:
            upgrade_tables(connection, version, SCHEMA_VERSION)


def refuse_newer(engine: Engine, place: Path) -> None:
    """Refuse a library that a newer version has brought up to date while it was open here."""
    with reading(engine, place) as connection:
        _version(connection)


def _version(connection: Connection) -> str | None:
    """The version of the tables, unless it is a newer one; None where there are none yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if version is not None and version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"This library was written by a newer version of Citewell (schema {version}; this one supports "
            f"{SCHEMA_VERSION}). Nothing was changed. Upgrade Citewell to open it."
        )
    return version


@contextmanager
def reading(engine: Engine, place: Path) -> Iterator[Connection]:
    """One consistent view of the library."""
    with plain_errors(place), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine, place: Path) -> Iterator[Connection]:
    """One transaction: all of it or nothing."""
    with (
        plain_errors(place),
        engine.connect().execution_options(writing=True) as connection,
        connection.begin(),
    ):
        yield connection
    with suppress(LookupError):
        KEPT.get().append(place)


KEPT: ContextVar[list[Path]] = ContextVar("kept")
"""What a request has committed so far, for an error that has to say whether something was kept."""


@contextmanager
def plain_errors(place: Path) -> Iterator[None]:
    """Turn the database's errors into ours, each saying what to do."""
    try:
        yield
    except (DBAPIError, PoolTimeout, OSError) as error:
        raise _translated(error, place).at(place.parent) from error


def _translated(error: Exception, place: Path) -> LibraryError:
    words = str(error.orig if isinstance(error, DBAPIError) else error).lower()
    folder = place.parent
    if isinstance(error, PoolTimeout):
        return LibraryBusy(CROWDED.format(place=folder))
    if "full" in words or "no space" in words or ("disk i/o" in words and _is_full(folder)):
        return DiskFull(FULL.format(place=folder))
    if "locked" in words or "busy" in words:
        return LibraryBusy(BUSY.format(place=folder))
    if "readonly" in words or "read-only" in words or "permission" in words or "unable to open" in words:
        return LibraryReadOnly(READ_ONLY.format(place=folder))
    if isinstance(error, DatabaseError) and ("malformed" in words or "not a database" in words):
        return LibraryError(BROKEN.format(place=folder))
    return LibraryError(f"The library in {folder} could not be used ({type(error).__name__}). Run `citewell doctor`.")


def refuse_read_only(place: Path) -> None:
    """Refuse a library in which nothing can be kept: a folder or a file that cannot be written to."""
    is_writable = os.access(place.parent, os.W_OK) and (not place.exists() or os.access(place, os.W_OK))
    if not is_writable:
        raise LibraryReadOnly(READ_ONLY.format(place=place.parent)).at(place.parent)


def refuse_full(place: Path) -> None:
    """Refuse a disk on which no answer could be kept."""
    if shutil.disk_usage(place.parent).free < LEAST_ROOM_BYTES:
        raise DiskFull(FULL.format(place=place.parent)).at(place.parent)


def _is_full(folder: Path) -> bool:
    """Whether nothing more fits: SQLite tells of no room for its shared memory as of a broken disk."""
    return folder.exists() and shutil.disk_usage(folder).free < LEAST_FREE_BYTES
