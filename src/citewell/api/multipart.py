"""Receives files without holding them in memory: limits are kept while the bytes arrive."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import Request
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from citewell.api.problems import NOT_OUR_FORM, Problem, Refused
from citewell.api.request_checks import CSRF_NEEDED
from citewell.api.token_signer import is_equal
from citewell.api.visitor import visitor_of
from citewell.errors import CitewellError, DiskFull, InputError, TooLarge
from citewell.ingest.parse import safe_name

MAX_FILES = 100
MAX_FIELDS = 20
TOTAL_FACTOR = 4
"""All files of one request together may be this many times as large as one may be."""
STALL_S = 30.0
"""So long the next part of an upload may take to arrive."""
SLOWEST_BYTES_S = 1_024
"""An upload that is slower than this holds a place that others need."""
STALLED = Problem(
    HTTPStatus.REQUEST_TIMEOUT,
    "TooSlow",
    "The upload stalled, so nothing was added. Try again with fewer files at a time.",
)
CSRF_FIELD = "csrf"
SPOOLED_BYTES = 1024 * 1024
"""A file that grows larger goes to the disk, where it may."""
NEVER = 0
"""A spooled file of this size stays in memory, however large it gets."""


@dataclass(frozen=True, slots=True)
class Received:
    """A file that arrived, or why it was not kept."""

    name: str
    file: UploadFile | None
    error: CitewellError | None


@dataclass(frozen=True, slots=True)
class Form:
    """The plain fields of a form, and its files."""

    fields: dict[str, str]
    files: tuple[Received, ...]


class LimitedParser(MultiPartParser):
    """Reads a form, drops a file that grows too large, and takes no file before the form has proved its origin."""

    spool_max_size = SPOOLED_BYTES

    def __init__(
        self, headers: Headers, stream: AsyncIterator[bytes], *, max_file_bytes: int, csrf: str, csrf_needed: bool
    ) -> None:
        super().__init__(headers, stream, max_files=MAX_FILES, max_fields=MAX_FIELDS)  # type: ignore[arg-type]
        self._max_file_bytes = max_file_bytes
        self._csrf = csrf
        self._csrf_needed = csrf_needed
        self._file_bytes = 0
        self.too_large: set[int] = set()
        """Which items, by their place, were dropped."""

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        self._file_bytes = 0
        if self._current_part.file is not None and self._csrf_needed:
            raise Refused(NOT_OUR_FORM)

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._current_part.file is None:
            super().on_part_data(data, start, end)
            return
        self._file_bytes += end - start
        if self._file_bytes <= self._max_file_bytes:
            super().on_part_data(data, start, end)
        else:
            self.too_large.add(len(self.items))

    def on_part_end(self) -> None:
        super().on_part_end()
        name, value = self.items[-1]
        if name == CSRF_FIELD and isinstance(value, str) and is_equal(value, self._csrf):
            self._csrf_needed = False

    async def received(self) -> Form:
        """The whole form."""
        await self.parse()
        if self._csrf_needed:
            raise Refused(NOT_OUR_FORM)
        fields = {name: value for name, value in self.items if isinstance(value, str)}
        files = [
            self._received(value, too_large=at in self.too_large)
            for at, (_, value) in enumerate(self.items)
            # A browser sends one nameless, empty file when none was chosen.
            if isinstance(value, UploadFile) and (value.filename or value.size)
        ]
        return Form(fields, tuple(files))

    def _received(self, file: UploadFile, *, too_large: bool) -> Received:
        name = safe_name(file.filename or "")
        return Received(name, None, over_limit(self._max_file_bytes)) if too_large else Received(name, file, None)

    def close(self) -> None:
        """Remove what was spooled."""
        for file in self._files_to_close_on_error:
            file.close()


def over_limit(max_bytes: int) -> TooLarge:
    """The error of a file that is too large."""
    return TooLarge(
        f"The file is larger than the {max_bytes / 1_048_576:,.0f} MiB limit. Split it and add the parts, or raise "
        "CITEWELL_MAX_FILE_MB and start again."
    )


@asynccontextmanager
async def received(request: Request, *, max_file_bytes: int, to_disk: bool = True) -> AsyncIterator[Form]:
    """The form of a request; its files are gone afterwards, and never touch a disk where they must not."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InputError("Send files as a form (multipart/form-data).")
    total_bytes = TOTAL_FACTOR * max_file_bytes
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > total_bytes:
        raise over_limit(max_file_bytes)
    parser = LimitedParser(
        request.headers,
        _limited(request.stream(), total_bytes, max_file_bytes),
        max_file_bytes=max_file_bytes,
        csrf=visitor_of(request).csrf,
        csrf_needed=request.scope[CSRF_NEEDED],
    )
    if not to_disk:
        parser.spool_max_size = NEVER
    try:
        yield await _parsed(parser)
    finally:
        parser.close()


async def whole_body(request: Request, *, max_file_bytes: int) -> bytes:
    """A body that is one file, in memory; with the same limits while it arrives."""
    return b"".join([part async for part in _limited(request.stream(), max_file_bytes, max_file_bytes)])


async def _parsed(parser: LimitedParser) -> Form:
    try:
        return await parser.received()
    except MultiPartException:
        raise InputError(
            f"The upload was interrupted or has more than {MAX_FILES} files. Send fewer at a time."
        ) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                "The disk for temporary files is full, so nothing was added. Free some space and try again."
            ) from error
        raise


async def _limited(stream: AsyncIterator[bytes], total_bytes: int, max_file_bytes: int) -> AsyncIterator[bytes]:
    """The stream, until it is longer or slower than any honest one."""
    count, clock = 0, asyncio.get_running_loop().time
    started_s = clock()
    while True:
        slowest_s = started_s + STALL_S + count / SLOWEST_BYTES_S
        try:
            async with asyncio.timeout_at(min(clock() + STALL_S, slowest_s)):
                part = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refused(STALLED) from None
        count += len(part)
        if count > total_bytes:
            raise over_limit(max_file_bytes)
        yield part
