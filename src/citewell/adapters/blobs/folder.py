"""Original files in a folder, such as one that several machines share."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from citewell.errors import BlobsUnavailable, DiskFull, NotFound

FULL = "The storage for original files ({place}) is full. Nothing was changed. Free some space there and try again."
UNUSABLE = (
    "The storage for original files ({place}) could not be used ({why}). Nothing was changed. Check CITEWELL_BLOBS."
)
MISSING = (
    "The original file is missing from storage ({place}). Check that this is the right folder and that it is "
    "mounted. If so, restore the file from a backup, or add the document again."
)
DRAFT = ".draft"


class FolderBlobs:
    """One file a key; a file appears whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = "folder"

    def put(self, key: str, data: bytes) -> None:
        """Keep bytes under a key, safe against a sudden end of the machine."""
        path = self._folder / key
        draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}{DRAFT}")
        with self._plain_errors():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(path)
            except OSError:
                with suppress(OSError):
                    draft.unlink()
                raise
            sync(path.parent)

    def get(self, key: str) -> bytes:
        """The bytes of a key."""
        with self._plain_errors():
            try:
                return (self._folder / key).read_bytes()
            except FileNotFoundError:
                raise NotFound(MISSING.format(place=self._folder)).at(self._folder) from None

    def remove(self, key: str) -> None:
        """Remove a key for good, and what a sudden end left of it."""
        path = self._folder / key
        with self._plain_errors():
            for one in (path, *path.parent.glob(f"{path.name}.*{DRAFT}")):
                one.unlink(missing_ok=True)

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(FULL.format(place=self._folder)).at(self._folder) from error
            raise BlobsUnavailable(UNUSABLE.format(place=self._folder, why=error.strerror)).at(self._folder) from error


def sync(folder: Path) -> None:
    """Make a folder's entries durable, where the system has a way to."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
