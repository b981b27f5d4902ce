"""A folder on this machine, or a share that is mounted here."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from citewell.adapters.folders.names import why_skipped
from citewell.errors import Unavailable
from citewell.types.watched import FolderListing, SeenFile

NOT_THERE = "The folder {place} is not there. Nothing was changed. Check that its drive is connected."
LINK, NO_FILE = "a link", "not a file"


class LocalFolder:
    """Every file below a folder; links are not followed, so that nothing outside of it is read."""

    is_settled = False

    def __init__(self, root: Path) -> None:
        self._root = root

    def listing(self) -> FolderListing:
        """All files that are there now."""
        if not self._root.is_dir():
            raise Unavailable(NOT_THERE.format(place=self._root))
        files, skipped, unread = [], dict[str, str](), dict[str, str]()
        for entry in self._entries(self._root, unread):
            path = Path(entry.path).relative_to(self._root).as_posix()
            if (why := why_skipped(path) or _why_no_file(entry)) is not None:
                skipped[path.encode(errors="replace").decode()] = why
                continue
            with suppress(FileNotFoundError):  # gone meanwhile
                status = entry.stat(follow_symlinks=False)
                files.append(SeenFile(path, _mark(status), status.st_size))
        return FolderListing(tuple(sorted(files, key=lambda file: file.path)), {**skipped, **unread}, not unread)

    def _entries(self, folder: Path, unread: dict[str, str]) -> Iterator[os.DirEntry[str]]:
        """Everything below a folder that is no folder itself; hidden ones are not entered."""
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if folder == self._root:
                raise Unavailable(NOT_THERE.format(place=self._root)) from error
            unread[folder.relative_to(self._root).as_posix()] = f"could not be opened ({error.strerror})"
            return
        for entry in found:
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from self._entries(Path(entry.path), unread)
            else:
                yield entry

    def read(self, file: SeenFile) -> bytes | None:
        """The bytes of a file, if they are the same before and after, and are not elsewhere."""
        path = self._root / file.path
        try:
            if path.resolve() != self._root.resolve() / file.path:  # a link took the place of the file or a folder
                return None
            data = _bytes_of(path)
            is_same = _mark(path.lstat()) == file.mark and _hash(data) == _hash(_bytes_of(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"{file.path} could not be read ({error.strerror}).") from error
        return data if is_same else None

    def close(self) -> None:
        """There is nothing to let go of."""


def _why_no_file(entry: os.DirEntry[str]) -> str | None:
    """Why an entry is not read: a link may lead anywhere, and a pipe or a socket never ends."""
    if entry.is_symlink():
        return LINK
    return None if entry.is_file(follow_symlinks=False) else NO_FILE


def _mark(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns}"


def _bytes_of(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
