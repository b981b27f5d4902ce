"""The key of an encrypted library: a file kept apart from it, and whether it fits."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from citewell.adapters.store.engine import PLAIN, Driver
from citewell.adapters.vault.cipher import keyed
from citewell.adapters.vault.keys import KEY_BYTES, VaultKey
from citewell.errors import InputError, LibraryError

SQLITE_HEADER = b"SQLite format 3\x00"
NOT_A_KEY = (
    "{file} does not hold a library key (64 hexadecimal characters). Correct CITEWELL_LIBRARY_KEY_FILE, or make a "
    "new key with `citewell encrypt --new-key FILE`."
)
NO_KEY = "The library in {home} is encrypted. Set CITEWELL_LIBRARY_KEY_FILE to the file that holds its key."
NOT_ENCRYPTED = (
    "CITEWELL_LIBRARY_KEY_FILE is set, but the library in {home} is not encrypted. Run `citewell encrypt`, or unset it."
)
WRONG_KEY = "The key in {file} does not open the library in {home}. Nothing was changed. Use the key it was made with."


def new_key(file: Path) -> VaultKey:
    """A new random key in a new file that its owner alone can read."""
    key = VaultKey.new()
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise InputError(f"{file} is already there. Choose another file for the new key.") from error
    except OSError as error:
        raise InputError(
            f"{file} could not be written ({error.strerror}). Choose another place for the key."
        ) from error
    with os.fdopen(descriptor, "w") as opened:
        opened.write(f"{key.read().hex()}\n")
        opened.flush()
        os.fsync(opened.fileno())
    return key


def read_key(file: Path) -> VaultKey:
    """The key in a file."""
    try:
        text = file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The library key could not be read from {file}. Check CITEWELL_LIBRARY_KEY_FILE.") from error
    if not re.fullmatch(rf"[0-9a-fA-F]{{{2 * KEY_BYTES}}}", text):
        raise InputError(NOT_A_KEY.format(file=file))
    return VaultKey(bytes.fromhex(text))


def is_plain(library: Path) -> bool:
    """Whether a library's file is an unencrypted one; one that is empty is neither yet."""
    with library.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def is_new(library: Path) -> bool:
    """Whether nothing is in the file yet."""
    return not library.exists() or library.stat().st_size == 0


def driver_of(library: Path, key_file: Path | None) -> Driver:
    """What opens a library's file, once it is sure that the key fits."""
    if key_file is None:
        if not is_new(library) and not is_plain(library) and _is_of_whole_pages(library):
            raise LibraryError(NO_KEY.format(home=library.parent))
        return PLAIN
    driver = keyed(read_key(key_file))
    if is_new(library):
        return driver
    if is_plain(library):
        raise LibraryError(NOT_ENCRYPTED.format(home=library.parent))
    refuse_wrong_key(driver, library, key_file)
    return driver


def refuse_wrong_key(driver: Driver, library: Path, key_file: Path) -> None:
    """Read one page with the key."""
    connection: Any = driver.module.connect(str(library))
    try:
        connection.execute("PRAGMA cipher_log_level = NONE")
        driver.unlock(connection)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except driver.module.DatabaseError as error:
        if "not a database" not in str(error):
            return  # busy or unreadable for another reason, which opening it will name
        raise LibraryError(WRONG_KEY.format(file=key_file, home=library.parent)) from error
    finally:
        connection.close()


def _is_of_whole_pages(library: Path) -> bool:
    """An encrypted file is made of whole pages; anything else is only damaged."""
    return library.stat().st_size % 4096 == 0
