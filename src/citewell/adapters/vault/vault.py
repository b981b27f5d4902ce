"""The folder of one vault: made, opened, wrapped anew, copied out and in, and erased."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
import unicodedata
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from mnemonic import Mnemonic

from citewell.adapters.blobs.folder import sync
from citewell.adapters.store.engine import plain_errors
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.vault.cipher import copy_whole, keyed, prove_whole
from citewell.adapters.vault.header import HEADER_FILE, FailedAttempts, Header, Way, alone
from citewell.adapters.vault.keys import Derivation, VaultKey, WrappedKey
from citewell.errors import InputError, LibraryError, LibraryReadOnly

PHRASE_WORDS = 12
PHRASE_BITS = 128


def new_phrase() -> str:
    """Twelve random words; the last one also checks the others."""
    return Mnemonic("english").generate(PHRASE_BITS)


def read_phrase(typed: str) -> str:
    """The phrase as it was shown, whatever spaces and capitals it was typed with."""
    words = unicodedata.normalize("NFKD", typed).lower().split()
    known = Mnemonic("english")
    if len(words) != PHRASE_WORDS:
        raise InputError(f"Enter all {PHRASE_WORDS} recovery words in order; there are {len(words)}.")
    wrong = [position for position, word in enumerate(words, 1) if word not in known.wordlist]
    if wrong:
        places = ", ".join(str(position) for position in wrong)
        raise InputError(f"Check the spelling of word {places}: it is not a recovery word.")
    if not known.check(" ".join(words)):
        raise InputError("These are not matching recovery words. Check each word and their order.")
    return " ".join(words)


DATA_FILE = "vault.db"
MIN_PASSPHRASE_CHARACTERS = 10
MAX_LABEL_CHARACTERS = 40
MAX_HEADER_BYTES = 16 * 1024
PAGE_BYTES = 4096
ENCRYPTED = 1
"""The flag of a file that its archive encrypts."""
DRAFT = ".new-"
STALE_S = 3600
EMPTY = WrappedKey(b"", b"")


@dataclass(frozen=True, slots=True)
class VaultFolder:
    """One vault on disk."""

    path: Path

    @property
    def header(self) -> Header:
        """What is known of it while it is closed."""
        return Header.read(self.path)

    @property
    def data(self) -> Path:
        return self.path / DATA_FILE

    def unlock(self, phrase: str, *, way: Way = "passphrase", now: datetime | None = None) -> VaultKey:
        """The vault's key. A try is counted before it is made, so that stopping the program does not save one."""
        if way == "recovery":
            phrase = read_phrase(phrase)
        with alone(self.path):
            header = self.header.counted(now or datetime.now(UTC))
            header.write(self.path)
        key = header.unwrapped(way, phrase)
        with alone(self.path):  # read anew: another window may have changed the passphrase meanwhile
            replace(self.header, wrong=FailedAttempts()).write(self.path)
        return key

    def library(self, key: VaultKey) -> SqlLibrary:
        """The record itself, after the seal of every page was checked."""
        if not self.data.is_file():
            raise LibraryError(f"{DATA_FILE} is missing from {self.path}. Restore the vault from an export.")
        library = SqlLibrary(self.data, keyed(key), is_vault=True)
        try:
            prove_whole(library.engine)
        except BaseException:
            library.close()
            raise
        return library

    def rewrap(self, key: VaultKey, passphrase: str) -> None:
        """Another passphrase for the same data; none of it is encrypted again."""
        with alone(self.path):
            self.header.wrapped(key, "passphrase", checked(passphrase)).write(self.path)

    def new_recovery(self, key: VaultKey) -> str:
        """Another recovery phrase; the old one opens this vault no more."""
        phrase = new_phrase()
        with alone(self.path):
            self.header.wrapped(key, "recovery", phrase).write(self.path)
        return phrase

    def export(self, key: VaultKey, target: Path) -> None:
        """Copy the vault as it is at this moment into one file, as encrypted as it is here."""
        library = self.library(key)
        copy = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            with plain_errors(self.data):
                copy_whole(library.engine, key, copy)
            with zipfile.ZipFile(target, "x", zipfile.ZIP_STORED) as archive:
                target.chmod(0o600)
                archive.writestr(
                    HEADER_FILE, json.dumps(replace(self.header, wrong=FailedAttempts()).as_json(), indent=1)
                )
                archive.write(copy, DATA_FILE)
        except FileExistsError as error:
            raise InputError(f"{target} already exists. Choose another name.") from error
        except OSError as error:
            raise InputError(f"{target} could not be written: {error.strerror}. Choose another place.") from error
        finally:
            copy.unlink(missing_ok=True)
            library.close()

    def erase(self) -> None:
        """Overwrite what the key could be got from, then remove everything; nobody can open it after that."""
        try:
            for path, count in ((self.path / HEADER_FILE, None), (self.data, PAGE_BYTES)):
                _overwrite(path, count)
            for path in self.path.iterdir():
                path.unlink()
            self.path.rmdir()
            sync(self.path.parent)
        except OSError as error:
            raise LibraryReadOnly(
                f"The vault in {self.path} could not be removed ({error.strerror}). Check the folder's permissions."
            ) from error


def make_vault(vaults: Path, label: str, passphrase: str) -> tuple[VaultFolder, str]:
    """A new vault and its recovery phrase; a half-made one is never seen."""
    label, passphrase = label_of(label), checked(passphrase)
    vault_id, phrase, key = str(uuid.uuid4()), new_phrase(), VaultKey.new()
    header = Header(vault_id, label, datetime.now(UTC), Derivation.measured(), EMPTY, EMPTY)
    with _made_apart(vaults, vault_id) as draft:
        header.wrapped(key, "passphrase", passphrase).wrapped(key, "recovery", phrase).write(draft)
        os.close(os.open(draft / DATA_FILE, os.O_CREAT | os.O_RDWR, 0o600))
        SqlLibrary(draft / DATA_FILE, keyed(key), is_vault=True).close()
    key.wipe()
    return VaultFolder(vaults / vault_id), phrase


def restore(vaults: Path, source: Path | IO[bytes]) -> VaultFolder:
    """A vault again from the file that `export` made."""
    try:
        with zipfile.ZipFile(source) as archive:
            header, data = _header_in(archive), _as_it_is(archive, DATA_FILE)
            if (vaults / header.id).exists():
                raise InputError("This record is already here. To replace it with the copy, erase it first.")
            with _made_apart(vaults, header.id) as draft:
                header.write(draft)
                descriptor = os.open(draft / DATA_FILE, os.O_CREAT | os.O_WRONLY, 0o600)
                with archive.open(data) as copied, os.fdopen(descriptor, "wb") as file:
                    shutil.copyfileobj(copied, file)
                    os.fsync(file.fileno())
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError, RecursionError) as error:
        raise InputError("This file is not a complete copy of a record. Choose another copy.") from error
    except OSError as error:
        raise InputError(f"The record could not be restored: {error.strerror}. Check the file and the disk.") from error
    return VaultFolder(vaults / header.id)


def _header_in(archive: zipfile.ZipFile) -> Header:
    """What opens the vault in a copy, with an id and a label such as those that are given here."""
    told = _as_it_is(archive, HEADER_FILE)
    if told.file_size > MAX_HEADER_BYTES:
        raise ValueError("no header is that long")
    header = Header.of(json.loads(archive.read(told)), Path("the copy"))
    return replace(header, id=str(uuid.UUID(header.id)), label=label_of(header.label), wrong=FailedAttempts())


def _as_it_is(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """A file in a copy: `export` packs none, so that nothing small can unfold to something large."""
    told = archive.getinfo(name)
    if told.compress_type != zipfile.ZIP_STORED or told.file_size != told.compress_size or told.flag_bits & ENCRYPTED:
        raise ValueError("no export packs or locks its files")
    return told


def checked(passphrase: str) -> str:
    """A passphrase that is long enough to be worth its vault."""
    if len(passphrase.strip()) < MIN_PASSPHRASE_CHARACTERS:
        raise InputError(
            f"The passphrase must have at least {MIN_PASSPHRASE_CHARACTERS} characters. A few words work well."
        )
    return passphrase


def label_of(label: str) -> str:
    """A label that can be shown."""
    label = " ".join(label.split())
    if not 1 <= len(label) <= MAX_LABEL_CHARACTERS or not label.isprintable():
        raise InputError(f"Enter a label of 1 to {MAX_LABEL_CHARACTERS} characters, such as “me” or “mum”.")
    return label


@contextmanager
def _made_apart(vaults: Path, vault_id: str) -> Iterator[Path]:
    """A folder under another name, which takes its own only when it is whole."""
    draft = vaults / f"{DRAFT}{vault_id}-{secrets.token_hex(4)}"
    try:
        _sweep(vaults)
        draft.mkdir(parents=True, mode=0o700)
        yield draft
        draft.rename(vaults / vault_id)
        sync(vaults)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _sweep(vaults: Path) -> None:
    """Remove what a program that was stopped left half-made, once nobody can be at work on it any more."""
    for path in vaults.glob(f"{DRAFT}*"):
        if time.time() - path.stat().st_mtime > STALE_S:
            shutil.rmtree(path, ignore_errors=True)


def _overwrite(path: Path, count: int | None) -> None:
    """Random bytes over the beginning of a file, or all of it, down to the disk."""
    if not path.is_file():
        return
    with path.open("r+b") as file:
        file.write(os.urandom(count or path.stat().st_size))
        file.flush()
        os.fsync(file.fileno())
