"""An export of many files: a zip or a folder of FHIR, C-CDA, letters and Apple Health, told apart by what they are."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from citewell.adapters.parsers.safe_zip import SafeZip, ZipWords
from citewell.adapters.records.apple_health import summarised
from citewell.adapters.records.bundle import RECORD_SYSTEM, flat_entries, read_json
from citewell.errors import CitewellError, DamagedFile, InputError, TooLarge
from citewell.ingest.media_types import FHIR, is_apple_health, is_archive, sniff
from citewell.ingest.parse import safe_name
from citewell.ports.records import FileReport
from citewell.types import ParseLimits, Source

WORDS = ZipWords("zip", "Download it again, then add it.", "Download it again and add that.")
MOST_FILES = 20_000
PACKAGING = frozenset({"index.htm", "index.html", "metadata.xml", "license.txt"})
PACKED = frozenset({".xsl", ".xslt", ".css", ".js", ".gpx", ".csv", ".plist", ".ico", ".svg", ".gif", ".map"})
"""What tells a person or a program how to show the others, and routes and curves of a watch."""
NOT_OF_THE_RECORD = "Not read: it is part of the package."
MERGED = "health-records.json"
SUMMARY = "apple-health.json"
APPLE_EXPORT, APPLE_CDA = "export.xml", "export_cda.xml"


class Files(Protocol):
    """Where the files of an export are read from."""

    @property
    def names(self) -> Sequence[str]:
        """The paths of the files, in a lasting order."""

    def read(self, name: str) -> bytes:
        """All of one file."""

    def opened(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """One file as a stream."""


class ZippedFiles:
    """The files of a zip."""

    def __init__(self, data: bytes, limits: ParseLimits) -> None:
        self._zip = SafeZip(
            data,
            WORDS,
            max_unpacked_bytes=limits.max_unpacked_bytes,
            max_entries=MOST_FILES,
            is_streamed=lambda name: PurePosixPath(name).name == APPLE_EXPORT,
        )

    @property
    def names(self) -> Sequence[str]:
        return sorted(name for name in self._zip.entries if not name.endswith("/"))

    def read(self, name: str) -> bytes:
        return self._zip.read(name)

    def opened(self, name: str) -> AbstractContextManager[IO[bytes]]:
        return self._zip.opened(name)


class FolderFiles:
    """The files of a folder and of those in it; links are not followed."""

    def __init__(self, folder: Path, limits: ParseLimits) -> None:
        self._folder, self._left = folder, limits.max_unpacked_bytes
        self._names = []
        for path, _folders, files in os.walk(folder):
            self._names += [(Path(path) / file).relative_to(folder).as_posix() for file in files]
            if len(self._names) > MOST_FILES:
                raise TooLarge(f"The folder holds more than {MOST_FILES:,} files. Add a part of them at a time.")
        self._names = sorted(name for name in self._names if not (folder / name).is_symlink())

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def read(self, name: str) -> bytes:
        try:
            data = (self._folder / name).read_bytes()
        except OSError as error:
            raise InputError(f"{name} could not be read: {error.strerror}.") from error
        self._left -= len(data)
        if self._left < 0:
            raise TooLarge("The folder is too large to be read at once. Add a part of its files at a time.")
        return data

    def opened(self, name: str) -> AbstractContextManager[IO[bytes]]:
        return (self._folder / name).open("rb")


@dataclass(frozen=True, slots=True)
class SingleFile:
    """A file that is treated as an export of one."""

    source: Source

    @property
    def names(self) -> Sequence[str]:
        return [APPLE_EXPORT]

    def read(self, name: str) -> bytes:  # noqa: ARG002
        return self.source.data

    def opened(self, name: str) -> AbstractContextManager[IO[bytes]]:  # noqa: ARG002
        """It as a stream."""
        return BytesIO(self.source.data)


@dataclass(frozen=True, slots=True)
class Part:
    """A document that the files of an export make."""

    source: Source
    files: tuple[str, ...]
    """What it was made from."""
    counts: tuple[int, ...] = ()
    """Of a bundle made from many files: how many entries each gave."""
    notes: tuple[str, ...] = ()

    def placed(self, said: str) -> str:
        """A sentence about an entry of a bundle, with the file that it came from."""
        word, _, rest = said.partition(" ")
        number, _, end = rest.partition(" ")
        if word != "Entry" or not number.isdecimal() or not self.counts:
            return said
        left = int(number)
        for name, count in zip(self.files, self.counts, strict=True):
            if left <= count:
                return f"Entry {left} of {name} {end}" if count > 1 else f"{name} {end}"
            left -= count
        return said


@dataclass(slots=True)
class Unpacked:
    """What the files of an export make, and what is said of those that make nothing."""

    parts: list[Part] = field(default_factory=list)
    unread: list[FileReport] = field(default_factory=list)


def unpacked(files: Files) -> Unpacked:
    """The documents in an export; a file that cannot be read is reported, a zip in it refuses all."""
    made = Unpacked()
    pieces: list[tuple[str, bytes, Any]] = []
    is_apples = any(_base(name) == APPLE_EXPORT for name in files.names)
    seen: set[bytes] = set()
    for name in files.names:
        if _is_packaging(name) or (is_apples and _base(name) == APPLE_CDA):
            made.unread.append(FileReport(name, is_read=False, said=NOT_OF_THE_RECORD))
            continue
        if _base(name) == APPLE_EXPORT:
            with files.opened(name) as stream:
                data, notes = summarised(stream)
            made.parts.append(Part(Source(data, SUMMARY), (name,), notes=notes))
            continue
        data = files.read(name)
        if is_archive(data):
            raise DamagedFile(
                f"{name} is a zip inside the export. Nothing was imported. Unpack it and add the files inside."
            )
        if data in seen:
            made.unread.append(FileReport(name, is_read=False, said="Not read: the same file is there twice."))
            continue
        seen.add(data)
        try:
            kind = _kind(name, data)
            if kind == FHIR:
                pieces.append((name, data, _bundle_in(data)))
            else:
                made.parts.append(Part(Source(data, safe_name(_base(name, as_written=True))), (name,)))
        except CitewellError as error:
            made.unread.append(FileReport(name, is_read=False, said=f"Not read: {error}"))
    made.parts = [*_merged(pieces), *made.parts]
    return made


def _base(name: str, *, as_written: bool = False) -> str:
    base = PurePosixPath(name).name
    return base if as_written else base.casefold()


def _is_packaging(name: str) -> bool:
    base, path = _base(name), PurePosixPath(name)
    is_hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return is_hidden or base in PACKAGING or base.startswith("readme") or path.suffix.casefold() in PACKED


def _kind(name: str, data: bytes) -> str:
    if not data.strip():
        raise InputError("it is empty.")
    is_resource = data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"resourceType"' in data
    return FHIR if is_resource else sniff(Source(data, name))


def _bundle_in(data: bytes) -> Any:
    try:
        told = read_json(data)
    except (ValueError, RecursionError) as error:
        raise DamagedFile("the file is not complete JSON.") from error
    identifier = told.get("identifier")
    if isinstance(identifier, dict) and identifier.get("system") == RECORD_SYSTEM:
        raise InputError("it is an export of Citewell. Add it on its own.")
    if not isinstance(told.get("entry"), list):
        raise DamagedFile("the file is not a FHIR bundle with entries.")
    return {**told, "entry": list(flat_entries(told["entry"]))}


def _merged(pieces: Sequence[tuple[str, bytes, Any]]) -> list[Part]:
    """All FHIR of an export as one bundle, so that what refers to another file is found there."""
    if not pieces:
        return []
    names = tuple(name for name, _, _ in pieces)
    counts = tuple(len(told["entry"]) for _, _, told in pieces)
    if len(pieces) == 1:
        name, data, _ = pieces[0]
        return [Part(Source(data, safe_name(_base(name, as_written=True))), names, counts)]
    entries = [entry for _, _, told in pieces for entry in told["entry"]]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
    return [Part(Source(json.dumps(bundle, ensure_ascii=False).encode(), MERGED), names, counts)]


def holds_many(source: Source) -> bool:
    """Whether a file is an export of many files, or one that is read in a stream."""
    return is_archive(source.data) or is_apple_health(source.data)


def files_of(source: Source, limits: ParseLimits) -> Files:
    """The files of a zip; Apple's measurements on their own are one file."""
    return ZippedFiles(source.data, limits) if is_archive(source.data) else SingleFile(source)
