"""What is taken out of an archive: its texts, never a link, a device or a path that leads elsewhere."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Self

from citewell.errors import DamagedFile, EmptyFile, TooLarge
from citewell.types import ParseLimits

MAX_FILES = 5_000
MAX_HEADER_BYTES = 1024 * 1024
"""A header that gives a member a long name is held in memory; no name is as long as this."""
MAX_NAME = 100
"""Characters of a file's own name; a longer one is cut, and its suffix kept."""
MAX_OPENED_BYTES = 8 * 1024**3
"""An archive holds pictures and PDFs that are passed over; more than this is no book."""
_SUFFIXES = (".nxml", ".xml")


def digest(path: Path, name: str = "sha256") -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, name).hexdigest()


def check(path: Path, checksum: str) -> None:
    """Refuse an archive that is not the one that the list names."""
    if checksum:
        kind = {32: "md5", 64: "sha256"}.get(len(checksum))
        if kind is None or digest(path, kind) != checksum.lower():
            raise DamagedFile(f"{path.name} does not match the checksum in the list: it was altered in transit.")


def unpack(archive: Path, folder: Path, *, limits: ParseLimits) -> list[Path]:
    """Write the texts of an archive into a folder that is there whole or not at all."""
    making = folder.with_name(folder.name + ".part")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    try:
        names = list(_write(archive, making, limits=limits))
        if not names:
            raise EmptyFile(f"{archive.name} contains no .nxml or .xml file.")
        shutil.rmtree(folder, ignore_errors=True)
        making.replace(folder)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError) as error:
        raise DamagedFile(f"{archive.name} is incomplete or damaged and must be downloaded again.") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return [folder / name for name in sorted(names)]


def _write(archive: Path, folder: Path, *, limits: ParseLimits) -> Iterator[str]:
    written = 0
    with _Counted(archive) as opened, tarfile.open(fileobj=opened, mode="r|", tarinfo=_Member) as tar:
        for member in tar:
            name = PurePosixPath(member.name).name
            if not member.isfile() or not name.endswith(_SUFFIXES) or name.startswith("."):
                continue
            written += member.size
            if member.size > limits.max_bytes or written > limits.max_unpacked_bytes:
                raise TooLarge(f"{archive.name} is over the limit when unpacked. Raise the limit to add it anyway.")
            if len(list(folder.iterdir())) >= MAX_FILES:
                raise TooLarge(f"{archive.name} contains more than {MAX_FILES:,} texts.")
            target = _free(folder, PurePosixPath(member.name))
            content = tar.extractfile(member)
            assert content is not None
            with target.open("xb") as file:
                shutil.copyfileobj(content, file)
            yield target.name


def _free(folder: Path, path: PurePosixPath) -> Path:
    """Where a text is written: under its own name, told apart from another of that name, never too long."""
    plain = "".join(one if one.isprintable() and one != "/" else "_" for one in path.stem)[:MAX_NAME]
    names = (plain, f"{path.parent.name[:MAX_NAME]}-{plain}", *(f"{plain}-{number}" for number in range(2, MAX_FILES)))
    return next(place for name in names if not (place := folder / f"{name}{path.suffix}").exists())


class _Member(tarfile.TarInfo):
    """A member whose header says how much it is; one that would fill the memory is refused before it is read."""

    _HEADERS = (
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    )

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """The member that a block of the archive begins."""
        member = super().frombuf(buf, encoding, errors)
        if member.type in cls._HEADERS and member.size > MAX_HEADER_BYTES:
            raise TooLarge("An archive has an oversized header; it is not a book.")
        return member


class _Counted(gzip.GzipFile):
    """A stream that says stop before an archive fills the machine's time."""

    _seen = 0

    def read(self, size: int | None = -1) -> bytes:
        piece = super().read(size)
        self._seen += len(piece)
        if self._seen > MAX_OPENED_BYTES:
            raise TooLarge(f"An archive unpacks to more than {MAX_OPENED_BYTES:,} bytes; it is not a book.")
        return piece
