"""Fetching from a bookshelf server: politely, going on where a download was cut."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType

import httpx

from citewell.adapters.bookshelf.catalogue import BookEntry, catalogue
from citewell.adapters.remote import is_safe
from citewell.errors import InputError, LibraryError, TooLarge, Unavailable

ADDRESS = "https://ftp.ncbi.nlm.nih.gov/pub/litarch/"
LIST = "file_list.csv"
MAX_LIST_BYTES = 64 * 1024 * 1024
MAX_ARCHIVE_BYTES = 2 * 1024**3
TRIES = 5
LONGEST_WAIT_S = 60.0

Progress = Callable[[int, int], None]
"""Called with the bytes that are here and all that are expected (0: not known)."""


class Bookshelf:
    """One server; at most one request in `pause_s`, each tried again a few times where that may help."""

    def __init__(
        self, address: str = ADDRESS, *, pause_s: float = 1.0, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if not is_safe(address):
            raise InputError("The address of a bookshelf must start with https://.")
        self._address = address.rstrip("/") + "/"
        self._pause_s = pause_s
        self._sleep = sleep
        self._asked_at = -1e9
        self._client = httpx.Client(timeout=30.0, follow_redirects=True, headers={"accept-encoding": "identity"})

    def __enter__(self) -> Bookshelf:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def catalogue(self, folder: Path) -> list[BookEntry]:
        """The list of the server."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / LIST
        self._fetch(LIST, path, max_bytes=MAX_LIST_BYTES, progress=_unwatched)
        return catalogue(path.read_text("utf-8", errors="replace"))

    def archive(self, book: BookEntry, folder: Path, *, progress: Progress | None = None) -> Path:
        """One archive; a part that is there is gone on with."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{book.accession}.tar.gz"
        self._fetch(book.path, path, max_bytes=MAX_ARCHIVE_BYTES, progress=progress or _unwatched)
        return path

    # ---------------------------------------------------------------------------------------------------- one file

    def _fetch(self, place: str, path: Path, *, max_bytes: int, progress: Progress) -> None:
        part = path.with_name(path.name + ".part")
        for attempt in range(TRIES):
            self._wait_my_turn()
            try:
                again_after = self._attempt(place, part, max_bytes=max_bytes, progress=progress)
            except httpx.HTTPError as error:
                if attempt == TRIES - 1:
                    raise _unreachable(place, type(error).__name__) from error
                again_after = _backoff(attempt)
            except OSError as error:
                raise LibraryError(
                    f"{path.name} could not be written: {error.strerror}. Free some space, then continue."
                ) from error
            if again_after is None:
                _mark(part).unlink(missing_ok=True)
                part.replace(path)
                return
            self._sleep(max(again_after, _backoff(attempt)))
        raise _unreachable(place, "the server is busy or the connection keeps breaking")

    def _attempt(self, place: str, part: Path, *, max_bytes: int, progress: Progress) -> float | None:
        """Fetch what is missing; the seconds to wait before the next try, or None when all is here."""
        have, mark = _so_far(part)
        asked = {"range": f"bytes={have}-", "if-range": mark} if have else {}
        with self._client.stream("GET", self._address + place, headers=asked) as reply:
            if not is_safe(str(reply.url)):
                raise InputError(
                    f"The bookshelf redirects {place} to an address that is not https, so it was not read."
                )
            if reply.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                _forget(part)
                return 0.0
            if reply.status_code in (429, 500, 502, 503, 504):
                return _asked_to_wait(reply)
            if reply.status_code not in (200, 206):
                raise InputError(
                    f"The bookshelf has no {place} (status {reply.status_code}). Check the address given with --from."
                )
            goes_on = reply.status_code == 206 and reply.headers.get("content-range", "").startswith(f"bytes {have}-")
            if reply.status_code == 206 and not goes_on:
                _forget(part)
                return 0.0
            have = have if goes_on else 0
            expected = have + int(reply.headers.get("content-length") or 0)
            if expected > max_bytes:
                raise TooLarge(f"{place} is {expected:,} bytes; the limit is {max_bytes:,}.")
            if name := reply.headers.get("etag") or reply.headers.get("last-modified"):
                _mark(part).write_text(name, "utf-8")
            with part.open("ab" if goes_on else "wb") as file:
                for piece in reply.iter_raw():
                    file.write(piece)
                    have += len(piece)
                    if have > max_bytes:
                        raise TooLarge(f"{place} is over the limit of {max_bytes:,} bytes.")
                    progress(have, expected)
        return None

    def _wait_my_turn(self) -> None:
        due = self._asked_at + self._pause_s
        if (left := due - time.monotonic()) > 0:
            self._sleep(left)
        self._asked_at = time.monotonic()


def _unwatched(_have: int, _all: int) -> None:
    """Nobody looks."""


def _mark(part: Path) -> Path:
    """Beside a part: which version of the file it is the beginning of."""
    return part.with_name(part.name + ".version")


def _so_far(part: Path) -> tuple[int, str]:
    """How much is here, and of which version; a part of which nothing is known is begun anew."""
    with suppress(OSError):
        mark = _mark(part).read_text("utf-8")
        if mark and not mark.startswith("W/"):
            return part.stat().st_size, mark
    return 0, ""


def _forget(part: Path) -> None:
    for path in (part, _mark(part)):
        path.unlink(missing_ok=True)


def _backoff(attempt: int) -> float:
    return min(LONGEST_WAIT_S, 2.0**attempt) * random.uniform(0.5, 1.0)  # noqa: S311


def _asked_to_wait(reply: httpx.Response) -> float:
    """What the server asks for by Retry-After: seconds, or a date."""
    said = reply.headers.get("retry-after", "")
    if said.isdigit():
        return min(float(said), LONGEST_WAIT_S)
    with suppress(ValueError):
        return min(max(0.0, parsedate_to_datetime(said).timestamp() - time.time()), LONGEST_WAIT_S)
    return 0.0


def _unreachable(place: str, why: str) -> Unavailable:
    return Unavailable(
        f"{place} could not be downloaded ({why}). What has been downloaded is kept. Run the same command again to "
        "continue."
    )
