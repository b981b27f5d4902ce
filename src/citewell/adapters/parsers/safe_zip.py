"""Opens a zip without trusting it: no bomb, no name that leads outside, nothing twice, no password."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import IO

from citewell.errors import DamagedFile, EncryptedFile, TooLarge

MAX_ENTRIES = 10_000
MAX_DIRECTORY_BYTES = 4 * 1024 * 1024
MAX_RATIO = 200
"""Text packs about ten to one and repetitive tables fifty to one; only a bomb packs better than this."""
RATIO_FREE_BYTES = 8 * 1024 * 1024
LINK = 0o120000
"""The kind of file of a link to another."""
_END_RECORD = b"PK\x05\x06"
_LARGE_END_RECORD = b"PK\x06\x07"


@dataclass(frozen=True, slots=True)
class ZipWords:
    """How the errors name the file, and what they say to do."""

    what: str
    whole: str
    """What to do about one that is not complete."""
    again: str
    """What to do about one that is damaged."""
    locked: str = "Save it without a password and add that."

    @property
    def unsafe(self) -> str:
        """Said of a zip that nobody makes by accident."""
        return f"The {self.what} may be unsafe and was not added. Ask the sender for a new copy."

    @property
    def too_large(self) -> str:
        """Said of one that unpacks to more than may be."""
        return f"The {self.what} is over the max_unpacked_bytes limit when unpacked. Split it."


class SafeZip:
    """The parts of a zip, read one by one within a budget."""

    def __init__(
        self,
        data: bytes,
        words: ZipWords,
        *,
        max_unpacked_bytes: int,
        max_entries: int = MAX_ENTRIES,
        is_streamed: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self._words = words
        _check_directory(data, words, max_entries)
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise DamagedFile(f"The {words.what} is incomplete or damaged. {words.again}") from error
        self._budget = max_unpacked_bytes
        self.entries = _checked_entries(self._zip, words, max_unpacked_bytes, is_streamed)

    def read(self, name: str) -> bytes:
        """Unpack one part; what the directory says of its size is not believed."""
        with self.opened(name) as stream:
            data = stream.read(self._budget + 1)
        self._budget -= len(data)
        if self._budget < 0:
            raise TooLarge(self._words.too_large)
        return data

    @contextmanager
    def opened(self, name: str) -> Iterator[IO[bytes]]:
        """One part as a stream, which whoever reads it must bound."""
        try:
            with self._zip.open(self.entries[name]) as stream:
                yield stream
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise DamagedFile(f"Part of the {self._words.what} could not be unpacked. {self._words.again}") from error


def _check_directory(data: bytes, words: ZipWords, max_entries: int) -> None:
    """Look at the size of the zip's directory before a library reads all of it."""
    at = data.rfind(_END_RECORD, max(0, len(data) - 22 - 65_535))
    if at < 0 or len(data) - at < 22:
        raise DamagedFile(f"The {words.what} is incomplete. {words.whole}")
    if data[max(0, at - 20) : max(0, at - 16)] == _LARGE_END_RECORD:
        raise DamagedFile(words.unsafe)
    entries, size = struct.unpack("<HI", data[at + 10 : at + 16])
    if entries > max_entries or size > MAX_DIRECTORY_BYTES:
        raise DamagedFile(words.unsafe)


def _checked_entries(
    package: zipfile.ZipFile, words: ZipWords, max_unpacked_bytes: int, is_streamed: Callable[[str], bool]
) -> dict[str, zipfile.ZipInfo]:
    entries: dict[str, zipfile.ZipInfo] = {}
    unpacked = 0
    for entry in package.infolist():
        name = entry.filename
        if entry.flag_bits & 1:
            raise EncryptedFile(f"The {words.what} is password-protected. {words.locked}")
        if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/"):
            raise DamagedFile(words.unsafe)
        if name in entries or (entry.external_attr >> 16) & 0o170000 == LINK:
            raise DamagedFile(words.unsafe)
        if entry.file_size > RATIO_FREE_BYTES and entry.file_size > MAX_RATIO * max(1, entry.compress_size):
            raise TooLarge(words.unsafe)
        unpacked += 0 if is_streamed(name) else entry.file_size
        entries[name] = entry
    if unpacked > max_unpacked_bytes:
        raise TooLarge(words.too_large)
    return entries
