"""The folder that holds a library, and files that are read from elsewhere."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from citewell.errors import InputError, LibraryReadOnly, TooLarge
from citewell.types import Source

LIBRARY_FILE = "library.sqlite"


def library_file(home: Path) -> Path:
    """The library's file in a folder that is made where there is none."""
    make_home(home)
    return _private(home / LIBRARY_FILE)


def read_source(path: Path, max_bytes: int) -> Source:
    """The bytes of a file, unless it is too large to read."""
    try:
        if not path.is_file():
            raise InputError(f"File not found: {path}. Check the name.")
        if path.stat().st_size > max_bytes:
            raise TooLarge(
                f"{path.name} is {path.stat().st_size / 1_048_576:,.0f} MiB and the limit is "
                f"{max_bytes / 1_048_576:,.0f}. Split it, or raise CITEWELL_MAX_FILE_MB."
            )
        return Source(path.read_bytes(), path.name)
    except OSError as error:
        raise InputError(f"{path} could not be read: {error.strerror}.") from error


def read_stream(stream: BinaryIO, name: str, max_bytes: int) -> Source:
    """All bytes of a stream, unless there are too many to read."""
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise TooLarge(
            f"{name} is over the limit of {max_bytes / 1_048_576:,.0f} MiB. Split it, or raise CITEWELL_MAX_FILE_MB."
        )
    return Source(data, name)


def size_of(path: Path) -> int:
    """How large a file is; one that cannot be looked at weighs nothing, and reading it says why."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def make_home(home: Path) -> None:
    """The folder, readable by its owner alone."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LibraryReadOnly(
            f"The folder {home} could not be created ({error.strerror}). Choose another with --home or CITEWELL_HOME."
        ) from error


def _private(path: Path) -> Path:
    """The library's file, made readable by its owner alone; what SQLite puts beside it gets the same mode."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    return path
