"""Reads the bytes of a file or a stream, unless there are too many."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from citewell.errors import InputError, TooLarge
from citewell.types import Source


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
