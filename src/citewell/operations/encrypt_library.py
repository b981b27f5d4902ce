"""Encrypts the file of a library, or decrypts it: a whole new file takes the old one's place, or nothing changes."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlcipher3.dbapi2

from citewell.adapters.store.engine import PLAIN, Driver, plain_errors
from citewell.adapters.vault.cipher import keyed
from citewell.adapters.vault.keys import VaultKey
from citewell.adapters.vault.library_key import is_new, is_plain, refuse_wrong_key
from citewell.config import Settings
from citewell.errors import DoesNotFit, InputError, LibraryBusy, LibraryError, NotFound
from citewell.wiring import LIBRARY_FILE

IN_USE = "The library in {home} is in use. Stop `citewell serve` and all workers, then try again. Nothing was changed."
DIFFERS = "The copy of {table} is not complete. Nothing was changed. Check the disk, then try again."


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A library whose file was written again."""

    library: Path
    bytes: int


def plain_library(settings: Settings) -> Path:
    """The file of a library that is not encrypted yet."""
    library = _library(settings)
    if not is_plain(library):
        raise DoesNotFit(f"The library in {library.parent} is encrypted already. Nothing was changed.")
    return library


def encrypt(library: Path, key: VaultKey) -> Rewritten:
    """Encrypt an unencrypted library."""
    return _rewritten(library, PLAIN_CIPHER, keyed(key), f"x'{key.read().hex()}'")


def decrypt(settings: Settings, key: VaultKey, key_file: Path) -> Rewritten:
    """Make an encrypted library an ordinary file again."""
    library = _library(settings)
    if is_plain(library):
        raise DoesNotFit(f"The library in {library.parent} is not encrypted. Nothing was changed.")
    refuse_wrong_key(keyed(key), library, key_file)
    return _rewritten(library, keyed(key), PLAIN, "")


PLAIN_CIPHER = Driver(sqlcipher3.dbapi2)
"""SQLCipher without a key reads an ordinary file, and can write an encrypted one beside it."""


def _library(settings: Settings) -> Path:
    if settings.database_url is not None:
        raise InputError("This library is in PostgreSQL. Encrypt the server's disk instead.")
    library = settings.home / LIBRARY_FILE
    if is_new(library):
        raise NotFound(
            f"There is no library in {settings.home} yet. With CITEWELL_LIBRARY_KEY_FILE set, a new one is "
            "encrypted from the start."
        )
    return library


def _rewritten(library: Path, source: Driver, target: Driver, key: str) -> Rewritten:
    """Copy everything into a new file, compare, and put that file in the old one's place."""
    draft = library.with_name(f"{library.name}.part")
    draft.unlink(missing_ok=True)
    try:
        with plain_errors(library), closing(source.connect(library, read_only=False)) as connection:
            _take_alone(connection, library)
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            connection.execute("ATTACH DATABASE ? AS copy KEY ?", (str(draft), key))
            connection.execute("SELECT sqlcipher_export('copy')").fetchall()
            connection.execute("DETACH DATABASE copy")
            _compare(connection, target, draft)
            old_size = library.stat().st_size
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            with library.open("rb+") as old:  # open before its name goes to the new file, to overwrite it after
                draft.replace(library)
                _overwrite(old, old_size)
    finally:
        draft.unlink(missing_ok=True)
    return Rewritten(library, library.stat().st_size)


def _take_alone(connection: Any, library: Path) -> None:
    """Bring the log into the file and keep every other process out."""
    connection.isolation_level = None
    try:
        connection.execute("PRAGMA busy_timeout = 2000")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlcipher3.dbapi2.OperationalError as error:
        raise LibraryBusy(IN_USE.format(home=library.parent)) from error
    if mode != "delete":
        raise LibraryBusy(IN_USE.format(home=library.parent))


def _compare(connection: Any, target: Driver, draft: Path) -> None:
    """Refuse a copy that lacks a table or a row."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    with closing(target.connect(draft, read_only=False)) as copy:
        names = [name for (name,) in connection.execute(tables)]
        if names != [name for (name,) in copy.execute(tables)]:
            raise LibraryError(DIFFERS.format(table="the list of tables"))
        for name in names:
            count = f'SELECT count(*) FROM "{name}"'
            if connection.execute(count).fetchone() != copy.execute(count).fetchone():
                raise LibraryError(DIFFERS.format(table=name))
        if copy.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise LibraryError(DIFFERS.format(table="the library"))


def _overwrite(file: Any, size: int) -> None:
    """Write zeros over a file that has no name any more, so that its words are not left on the disk."""
    block = bytes(1 << 20)
    file.seek(0)
    for start in range(0, size, len(block)):
        file.write(block[: size - start])
    file.flush()
    os.fsync(file.fileno())
