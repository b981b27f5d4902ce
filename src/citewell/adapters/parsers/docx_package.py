"""The zip round a Word document, opened with distrust: sizes are checked before and while anything is unpacked."""

from __future__ import annotations

import posixpath
import struct
import zipfile
import zlib
from io import BytesIO

from lxml import etree

from citewell.adapters.parsers.markup_flow import local_name
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.errors import DamagedFile, EncryptedFile, TooLarge
from citewell.types import ParseLimits

MAX_ENTRIES = 10_000
MAX_DIRECTORY_BYTES = 4 * 1024 * 1024
MAX_RATIO = 200
"""Text packs about ten to one and repetitive tables fifty to one; only a bomb packs better than this."""
RATIO_FREE_BYTES = 8 * 1024 * 1024
MAIN_PART = "word/document.xml"
_END_RECORD = b"PK\x05\x06"
_LARGE_END_RECORD = b"PK\x06\x07"
_ASK_AGAIN = "Open it in Word, save it again, and add that copy."


class Package:
    """The parts of a Word document."""

    def __init__(self, data: bytes, limits: ParseLimits) -> None:
        _check_directory(data)
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise DamagedFile(f"The Word file is incomplete or damaged. {_ASK_AGAIN}") from error
        self._budget = limits.max_unpacked_bytes
        self._entries = _checked_entries(self._zip, limits)
        self.main_part = self._related("", "officeDocument") or MAIN_PART

    def main(self) -> etree._Element:
        """The root of the main text."""
        root = self.part(self.main_part)
        if root is None:
            raise DamagedFile(f"This looks like a Word document but contains no text. {_ASK_AGAIN}")
        return root

    def related(self, kind: str) -> etree._Element | None:
        """The root of a part that the main text refers to, such as its styles."""
        name = self._related(self.main_part, kind)
        return self.part(name) if name else None

    def part(self, name: str) -> etree._Element | None:
        """The root of a part, or None when there is no such part."""
        entry = self._entries.get(name)
        return None if entry is None else read_tree(self._read(entry))[0]

    def _related(self, part: str, kind: str) -> str | None:
        folder, name = posixpath.split(part)
        relations = self.part(posixpath.join(folder, "_rels", f"{name}.rels"))
        for relation in relations if relations is not None else ():
            if local_name(relation) == "Relationship" and (relation.get("Type") or "").endswith(f"/{kind}"):
                target = relation.get("Target") or ""
                if relation.get("TargetMode") != "External":
                    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        return None

    def _read(self, entry: zipfile.ZipInfo) -> bytes:
        """Unpack one part; what the directory says of its size is not believed."""
        try:
            with self._zip.open(entry) as stream:
                data = stream.read(self._budget + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise DamagedFile(f"Part of the Word file could not be unpacked. {_ASK_AGAIN}") from error
        self._budget -= len(data)
        if self._budget < 0:
            raise TooLarge("The Word file is over the max_unpacked_bytes limit when unpacked. Split it.")
        return data


def _check_directory(data: bytes) -> None:
    """Look at the size of the zip's directory before a library reads all of it."""
    at = data.rfind(_END_RECORD, max(0, len(data) - 22 - 65_535))
    if at < 0 or len(data) - at < 22:
        raise DamagedFile(f"The Word file is incomplete. Download or copy it again. {_ASK_AGAIN}")
    if data[max(0, at - 20) : max(0, at - 16)] == _LARGE_END_RECORD:
        raise DamagedFile(f"The Word file reports an impossible size. {_ASK_AGAIN}")
    entries, size = struct.unpack("<HI", data[at + 10 : at + 16])
    if entries > MAX_ENTRIES or size > MAX_DIRECTORY_BYTES:
        raise DamagedFile(f"The Word file reports an impossible number of parts. {_ASK_AGAIN}")


def _checked_entries(package: zipfile.ZipFile, limits: ParseLimits) -> dict[str, zipfile.ZipInfo]:
    entries: dict[str, zipfile.ZipInfo] = {}
    unpacked = 0
    for entry in package.infolist():
        name = entry.filename
        if entry.flag_bits & 1:
            raise EncryptedFile("The Word file is password-protected. Save it without a password and add that.")
        if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/"):
            raise DamagedFile(f"The Word file has parts that point outside it. {_ASK_AGAIN}")
        if name in entries:
            raise DamagedFile(f"The Word file contains the same part twice. {_ASK_AGAIN}")
        if entry.file_size > RATIO_FREE_BYTES and entry.file_size > MAX_RATIO * max(1, entry.compress_size):
            raise TooLarge(f"The Word file has a part that unpacks to hundreds of times its size. {_ASK_AGAIN}")
        unpacked += entry.file_size
        entries[name] = entry
    if unpacked > limits.max_unpacked_bytes:
        raise TooLarge("The Word file is over the max_unpacked_bytes limit when unpacked. Split it.")
    return entries
