"""A copy of a library that can be put back: taken while it is in use, proved before it is trusted."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.adapters.store.engine import Driver
from citewell.adapters.store.original_files import store_of
from citewell.adapters.vault.library_key import driver_of
from citewell.errors import DamagedFile, DiskFull, InputError, LibraryError, NotFound
from citewell.wiring import LIBRARY_FILE, make_home

if TYPE_CHECKING:
    from citewell.app import App
    from citewell.ports.blobs import Blobs

MANIFEST = "backup.json"
BESIDE = ("audit.head", "seal.key", "web-token")
FOLDERS = ("patients", "calibrations")
"""In this order and before the library: the note of how far the audit log has come may be behind it, never ahead."""
NOT_SQLITE = (
    "This library is in PostgreSQL. Back it up with `pg_dump --format=custom`, and copy seal.key and audit.head "
    "from the home folder separately. docs/operations.md explains how to restore them."
)

LOGS = ("-wal", "-shm", "-journal")
TAKEN = (
    "{home} already holds a library. Choose an empty folder with --home, or move library.sqlite away together with "
    "its -wal and -shm files."
)
LEFT_BESIDE = (
    "{home} holds {name} but not its library. It contains the last changes of a library that was moved away. Move "
    "it next to that library, then try again. Nothing was restored."
)


@dataclass(frozen=True, slots=True)
class Copied:
    """What a backup holds."""

    folder: Path
    files: tuple[str, ...]
    bytes: int
    vaults: int
    """Vaults beside the library: each is exported for itself."""
    lost: int
    """Original files that the store outside of the library should have and has not."""


def back_up(app: App, folder: Path) -> Copied:
    """Copy the library and what lies beside it into a new folder; readers and writers go on meanwhile."""
    if app.library.engine.dialect.name != "sqlite":
        raise InputError(NOT_SQLITE)
    home = app.settings.home
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty. Choose a new folder for each backup.")
    making = folder.with_name(folder.name + ".part")
    shutil.rmtree(making, ignore_errors=True)
    try:
        make_home(making)
        for name in BESIDE:
            if (home / name).is_file():
                shutil.copy2(home / name, making / name)
        driver = driver_of(home / LIBRARY_FILE, app.settings.library_key_file)
        _copy_library(driver, home / LIBRARY_FILE, making / LIBRARY_FILE)
        lost = _bring_in_originals(driver, making / LIBRARY_FILE, app.library.blobs)
        for name in FOLDERS:
            if (home / name).is_dir():
                shutil.copytree(home / name, making / name)
        files = {str(path.relative_to(making)): _digest(path) for path in sorted(making.rglob("*")) if path.is_file()}
        manifest = {"made_at": datetime.now(UTC).isoformat(timespec="seconds"), "files": files}
        (making / MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")
        if folder.exists():
            folder.rmdir()
        making.replace(folder)
    except OSError as error:
        raise LibraryError(f"The backup could not be written: {error.strerror}. Nothing was changed.") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    size = sum((folder / name).stat().st_size for name in files)
    return Copied(folder, tuple(files), size, sum(1 for _ in (home / "vaults").glob("*")), lost)


def restore(folder: Path, home: Path) -> int:
    """Put a backup into a home that holds no library yet; how many files. Nothing is put back from a damaged one."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
        files: dict[str, str] = manifest["files"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{folder} is not a backup: {MANIFEST} is missing or damaged. Choose another folder."
        ) from error
    if (home / LIBRARY_FILE).exists():
        raise InputError(TAKEN.format(home=home))
    # SQLite would take a log that lies beside the file for the file's own, and write it over what is put back.
    for name in (LIBRARY_FILE + ending for ending in LOGS):
        if (home / name).exists():
            raise InputError(LEFT_BESIDE.format(home=home, name=name))
    for name, digest in files.items():
        path = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts or not path.is_file() or _digest(path) != digest:
            raise DamagedFile(
                f"{name} in the backup is missing or was changed. Nothing was restored. Try another backup."
            )
    if taken := [name for name in files if (home / name).exists() and _digest(home / name) != files[name]]:
        raise InputError(f"{home} already holds a different {taken[0]}. Choose an empty folder with --home.")
    make_home(home)
    # The library last: a home without one is no library yet, however far this came.
    for name in sorted(files, key=lambda name: name == LIBRARY_FILE):
        target = home / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = target.with_name(target.name + ".part")
        shutil.copy2(folder / name, draft)
        draft.replace(target)
    return len(files)


def _copy_library(driver: Driver, path: Path, target: Path) -> None:
    with _plain_errors(driver, target), closing(driver.connect(path, read_only=False)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))
    target.chmod(0o600)


def _bring_in_originals(driver: Driver, path: Path, blobs: Blobs | None) -> int:
    """Put the originals that lie outside into a copy, which then needs no store; how many are not to be had.

    The files outside stay the living library's, so the copy no longer knows of them.
    """
    lost = 0
    with _plain_errors(driver, path), closing(driver.connect(path, read_only=False)) as connection, connection:
        query = "SELECT rowid, kept_in, key FROM originals WHERE key IS NOT NULL"
        for row, kept_in, key in connection.execute(query).fetchall():
            try:
                data = store_of(kept_in, blobs).get(key)
            except NotFound:
                lost += 1
                continue
            inside = "UPDATE originals SET data = ?, kept_in = NULL, key = NULL WHERE rowid = ?"
            connection.execute(inside, (data, row))
        connection.execute("DELETE FROM outside")
    return lost


@contextmanager
def _plain_errors(driver: Driver, target: Path) -> Iterator[None]:
    try:
        yield
    except driver.module.Error as error:
        if "full" in str(error):
            raise DiskFull(
                f"The disk that holds {target.parent} is full. Nothing was changed. Free some space and try again."
            ) from error
        raise LibraryError(f"The library could not be copied ({type(error).__name__}). Nothing was changed.") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
