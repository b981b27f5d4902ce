"""vault.json: what stands outside a vault, so that it can be opened. It holds no word of the record."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from citewell.adapters.blobs.folder import sync
from citewell.adapters.vault.keys import Derivation, VaultKey, WrappedKey
from citewell.errors import LibraryError, LibraryReadOnly, NotFound, SchemaTooNew, VaultWaits

FORMAT = 1
HEADER_FILE = "vault.json"
FREE_TRIES = 3
LONGEST_WAIT_S = 15 * 60

Way = Literal["passphrase", "recovery"]


@dataclass(frozen=True, slots=True)
class FailedAttempts:
    """How many wrong phrases were given in a row, and when the last one was."""

    count: int = 0
    last_at: datetime | None = None

    def wait_s(self, now: datetime) -> int:
        """Seconds until the next try: none at first, then twice as many each time.

        >>> then = datetime(2026, 1, 1, tzinfo=UTC)
        >>> [FailedAttempts(count, then).wait_s(then) for count in (2, 3, 4, 9, 40)]
        [0, 1, 2, 64, 900]
        """
        if self.count < FREE_TRIES or self.last_at is None:
            return 0
        wait = min(2 ** min(self.count - FREE_TRIES, 20), LONGEST_WAIT_S)
        gone = (now - self.last_at).total_seconds()
        # A clock that was set back must not lock anybody out for longer than the wait itself.
        return int(min(max(wait - gone, 0), wait) + 0.999)


@dataclass(frozen=True, slots=True)
class Header:
    """One vault, as it is known while it is closed."""

    id: str
    label: str
    """Chosen to be seen by anybody who can read the folder, such as “me” or “mum”."""
    made_at: datetime
    derivation: Derivation
    passphrase: WrappedKey
    recovery: WrappedKey
    wrong: FailedAttempts = FailedAttempts()

    def wrapped(self, key: VaultKey, way: Way, phrase: str) -> Header:
        """The same vault with its key wrapped anew by another phrase."""
        made = WrappedKey.of(key, phrase, derivation=self.derivation, about=self._about(way))
        return replace(self, passphrase=made) if way == "passphrase" else replace(self, recovery=made)

    def unwrapped(self, way: Way, phrase: str) -> VaultKey:
        """The vault's key; a wrong phrase is an error that says nothing else."""
        kept = self.passphrase if way == "passphrase" else self.recovery
        return kept.open(phrase, derivation=self.derivation, about=self._about(way))

    def counted(self, now: datetime) -> Header:
        """With one more try, unless it has to wait."""
        if wait_s := self.wrong.wait_s(now):
            raise VaultWaits(f"Too many wrong attempts. Wait {wait_s} s, then try again.", wait_s=wait_s)
        return replace(self, wrong=FailedAttempts(self.wrong.count + 1, now))

    def _about(self, way: Way) -> str:
        return f"{FORMAT}:{self.id}:{way}"

    # ---------------------------------------------------------------------------------------------------- the file

    @classmethod
    def read(cls, folder: Path) -> Header:
        """The header in a vault's folder."""
        try:
            told = json.loads((folder / HEADER_FILE).read_bytes())
        except FileNotFoundError as error:
            raise NotFound("Vault not found. `citewell vault list` shows them.") from error
        except (OSError, ValueError) as error:
            raise _damaged(folder) from error
        return cls.of(told, folder)

    @classmethod
    def of(cls, entry: Any, folder: Path) -> Header:
        """A header from JSON; one of a newer Citewell says so."""
        if isinstance(entry, dict) and isinstance(entry.get("format"), int) and entry["format"] > FORMAT:
            raise SchemaTooNew(
                f"This vault was written by a newer version of Citewell (format {entry['format']}; this one supports "
                f"{FORMAT}). Nothing was changed. Upgrade Citewell to open it."
            )
        try:
            if entry["format"] != FORMAT or not all(isinstance(entry[name], str) for name in ("id", "label")):
                raise ValueError("not a header")
            last_at = entry["wrong"]["last_at"]
            return cls(
                id=entry["id"],
                label=entry["label"],
                made_at=datetime.fromisoformat(entry["made_at"]),
                derivation=Derivation(**entry["derivation"]),
                passphrase=WrappedKey.read(entry["passphrase"]),
                recovery=WrappedKey.read(entry["recovery"]),
                wrong=FailedAttempts(int(entry["wrong"]["count"]), None if last_at is None else _moment(last_at)),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise _damaged(folder) from error

    def as_json(self) -> dict[str, Any]:
        """As it is written."""
        last_at = self.wrong.last_at
        return {
            "format": FORMAT,
            "id": self.id,
            "label": self.label,
            "made_at": self.made_at.isoformat(),
            "derivation": asdict(self.derivation),
            "passphrase": self.passphrase.as_json(),
            "recovery": self.recovery.as_json(),
            "wrong": {"count": self.wrong.count, "last_at": last_at and last_at.isoformat()},
        }

    def write(self, folder: Path) -> None:
        """Write it whole or not at all, and durably."""
        draft = folder / f".{HEADER_FILE}.{secrets.token_hex(8)}"
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(self.as_json(), file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(folder / HEADER_FILE)
            sync(folder)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise LibraryReadOnly(
                f"The vault in {folder} cannot be written to ({error.strerror}). Check the folder's permissions."
            ) from error


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other programs from changing the header between reading and writing it, where the system has a way to."""
    if os.name == "nt" or not folder.is_dir():
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _moment(told: str) -> datetime:
    moment = datetime.fromisoformat(told)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _damaged(folder: Path) -> LibraryError:
    return LibraryError(f"{HEADER_FILE} in {folder} is damaged. Nothing was changed. Restore the vault from an export.")
