"""Opens SQLite files that SQLCipher encrypts: AES-256, every page authenticated."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import sqlcipher3.dbapi2
from sqlalchemy import Engine

from citewell.adapters.store.engine import Driver
from citewell.adapters.vault.keys import VaultKey
from citewell.errors import LibraryError

TRIES = 3
PAUSE_S = 0.2


def keyed(key: VaultKey) -> Driver:
    """A driver that gives every new connection the key; it stands in no address, log or message."""
    return Driver(sqlcipher3.dbapi2, partial(_unlock, key))


def _unlock(key: VaultKey, connection: Any) -> None:
    """A raw key: it was made slowly already, so that SQLCipher derives nothing more from it."""
    connection.execute(f"PRAGMA key = \"x'{key.read().hex()}'\"")
    connection.execute("PRAGMA temp_store = MEMORY")


def copy_whole(engine: Engine, key: VaultKey, target: Path) -> None:
    """Write an equally encrypted copy of an open vault, consistent even while another window writes.

    The file is not read directly: closing it again would drop this process's locks on it.
    """
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    copy = keyed(key).connect(target, read_only=False)
    try:
        with engine.connect() as connection:
            source: Any = connection.connection.driver_connection
            source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    finally:
        copy.close()


def prove_whole(engine: Engine) -> None:
    """Check the seal of every page, so that a single flipped byte is found before anything is read.

    Another process may be moving pages from its log meanwhile; what is wrong then is right a moment later.
    """
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            wrong = connection.exec_driver_sql("PRAGMA cipher_integrity_check").fetchall()
        if not wrong:
            return
    raise LibraryError(
        f"This vault is damaged: {len(wrong)} of its pages were altered. Checking it changed nothing. Restore it "
        "from an export."
    )
