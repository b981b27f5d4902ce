"""Seals the words of questions and answers with a key that is kept beside the library, or inside a vault."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Connection, insert, select

from citewell.adapters.store.schema import library
from citewell.errors import LibraryError, LibraryReadOnly

KEY_FILE = "seal.key"
KEY_PRINT = "seal.print"
"""The fact that tells which key a shared database is sealed with."""
KEY_BITS = 256
NONCE_BYTES = 12


class TextCipher:
    """AES-GCM; what a text is about is sealed with it, so that no record can stand in for another."""

    def __init__(self, key: bytes, *, is_new: bool = False) -> None:
        self.is_new = is_new
        """Whether the key was made just now: nothing can have been sealed with it before."""
        self._cipher = AESGCM(key)
        self._printing = hmac.digest(key, b"fingerprint", "sha256")

    @classmethod
    def of(cls, home: Path) -> TextCipher:
        """The seal of a library, made once."""
        path = home / KEY_FILE
        is_new = not path.exists()
        try:
            if is_new:
                _write(path, AESGCM.generate_key(KEY_BITS))
            key = path.read_bytes()
        except OSError as error:
            raise LibraryReadOnly(
                f"The key of the audit log could not be saved in {home} ({error.strerror}). Check the folder's "
                "permissions."
            ).at(home) from error
        if len(key) * 8 != KEY_BITS:
            raise LibraryError(f"{KEY_FILE} in {home} is damaged. Nothing was changed. Restore it from a backup.").at(
                home
            )
        return cls(key, is_new=is_new)

    @classmethod
    def inside(cls, connection: Connection) -> TextCipher:
        """The seal of a vault, made once and kept among its own tables; the transaction must be a writing one."""
        kept = connection.execute(select(library.c.value).where(library.c.key == KEY_FILE)).scalar()
        if kept is None:
            kept = AESGCM.generate_key(KEY_BITS).hex()
            connection.execute(insert(library).values(key=KEY_FILE, value=kept))
        return cls(bytes.fromhex(kept))

    def agree(self, connection: Connection, home: Path) -> None:
        """Refuse a key that is not the one of a database that several machines share; the first to come sets it."""
        mine = self.fingerprint(KEY_FILE)
        kept = connection.execute(select(library.c.value).where(library.c.key == KEY_PRINT)).scalar()
        if kept is None:
            connection.execute(insert(library).values(key=KEY_PRINT, value=mine))
        elif not hmac.compare_digest(kept, mine):
            raise LibraryError(
                f"{KEY_FILE} in {home} is not the key of this database. Nothing was changed. Copy it and audit.head "
                "from the computer that first opened the database."
            ).at(home)

    def close(self, text: str, *, about: str) -> bytes:
        """The text, unreadable without the key."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, text.encode(), about.encode())

    def fingerprint(self, text: str) -> str:
        """A hash that only the key's holder can make: short questions cannot be guessed from it."""
        return hmac.digest(self._printing, text.encode(), "sha256").hex()

    def open(self, sealed: bytes, *, about: str) -> str:
        """The text again."""
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], about.encode()).decode()
        except (InvalidTag, ValueError) as error:
            raise LibraryError(
                f"An encrypted record could not be opened: it was altered, or {KEY_FILE} is not the key it was "
                "encrypted with."
            ) from error


def _write(path: Path, key: bytes) -> None:
    """Write the key whole or not at all; the first of two writers wins."""
    draft = path.with_suffix(f".{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
