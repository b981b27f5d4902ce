"""A lock between processes of one machine, given up by the system when its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewell.errors import DoesNotFit, LibraryError


@contextmanager
def alone(path: Path, *, running: str) -> Iterator[None]:
    """Keep other processes from the same work; what they are told is `running`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as error:
        raise LibraryError(f"{path.parent} cannot be written to ({error.strerror}). Nothing was changed.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise DoesNotFit(running) from error
    finally:
        os.close(lock)
