"""Reads and draws files in processes of their own: what hangs or dies over a file is that process, and nothing else."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Literal

from citewell import errors
from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.parsers.sandbox_frames import DrawJob, JobDone, JobFailed, ParseJob, received, send
from citewell.errors import CitewellError, DamagedFile, TooLarge, Unavailable
from citewell.ingest import media_types
from citewell.ingest.library_changes import PARSED_AT_ONCE
from citewell.ingest.parse_allowance import ParseAllowance, allowance
from citewell.ports import Parser
from citewell.types import Document, ParseLimits, Source

Use = Literal["read", "draw"]
AT_ONCE: dict[Use, int] = {"read": PARSED_AT_ONCE, "draw": 2}
"""How many processes there are for each use: a file that hangs while it is read keeps no page from being drawn."""
HERE_BYTES = 16 << 10
HERE = frozenset({media_types.TEXT, media_types.MARKDOWN})
"""A few pages of plain text are read in this process: nothing in them takes long, and the way there and back does."""
PACKAGES = Path(__file__).parents[3]
"""The folder that the package stands in."""
DRAWING_S = 30.0
"""How long a page may take to be drawn."""
END_S = 5.0
START = (
    "import sys; sys.path.append(sys.argv.pop(1)); from citewell.adapters.parsers.sandbox_process import main; main()"
)
"""The folder of the package is looked in, not the one that the person stands in."""
DIED = (
    "The file crashed the process that reads it: it may be damaged or malicious. Open it, save it again, and add "
    "that copy."
)
TOO_LONG = (
    "Reading the file took longer than the {minutes:.0f} minutes allowed for its size. Split it, or save it in "
    "another format, and add that."
)
UNDRAWABLE = (
    "Page {number} could not be shown: the file is damaged or the page is too complex. Download the file to view it."
)
NOT_STARTED = "This computer could not start a process to read the file. Close other programs, then try again."


class OutOfTime(Exception):
    """A job took longer than it may; its process is ended."""


class SandboxDied(Exception):
    """The process ended in the middle of its job."""


class SandboxProcess:
    """One process that does jobs, one after the other."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", START, str(PACKAGES), str(os.getpid())]
        try:
            self._process = subprocess.Popen(  # noqa: S603 -- our own command
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for whoever started it, who then ends it
            )
        except OSError as error:
            raise Unavailable(NOT_STARTED) from error

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def do(self, job: ParseJob | DrawJob, *, time_s: float) -> JobDone | JobFailed:
        """The reply to a job; OutOfTime or Died where there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        is_over = threading.Event()

        def stop() -> None:
            is_over.set()
            self._process.kill()

        timer = threading.Timer(time_s, stop)
        timer.daemon = True
        timer.start()
        try:
            send(self._process.stdin, job)
            reply = received(self._process.stdout)
        except (OSError, ValueError, TypeError, KeyError, ArithmeticError, MemoryError, RecursionError):
            reply = None  # what is no frame comes from a process that a file has taken over
        finally:
            timer.cancel()
        if not isinstance(reply, JobDone | JobFailed):
            raise OutOfTime if is_over.is_set() else SandboxDied
        return reply

    def end(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                continue  # what was not written need not be
        self._process.wait(END_S)


class SandboxPool:
    """A few processes kept warm; started when they are needed, ended with this one."""

    def __init__(self, at_once: int) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._free: list[SandboxProcess] = []
        atexit.register(self.close)

    def do(self, job: ParseJob | DrawJob, *, time_s: float) -> Document | bytes:
        """What comes of a job; what went wrong in the process is raised here."""
        with self._places:
            hand = self._taken()
            try:
                reply = hand.do(job, time_s=time_s)
            except BaseException:
                hand.end()
                raise
            if isinstance(reply, JobFailed) and not _is_ours(reply.name):
                hand.end()  # nobody knows what an unexpected error left behind
            else:
                with self._lock:
                    self._free.append(hand)
        if isinstance(reply, JobDone):
            return reply.result
        raise _error(reply)

    def close(self) -> None:
        """End the processes that wait."""
        with self._lock:
            free, self._free = self._free, []
        for hand in free:
            hand.end()

    def _taken(self) -> SandboxProcess:
        while True:
            with self._lock:
                if not self._free:
                    break
                hand = self._free.pop()
            if hand.is_alive:
                return hand
            hand.end()
        return SandboxProcess()


def _is_ours(name: str) -> bool:
    kind = getattr(errors, name, None)
    return isinstance(kind, type) and issubclass(kind, CitewellError)


def _error(failed: JobFailed) -> Exception:
    """The error that was told by name."""
    if _is_ours(failed.name):
        error: Exception = getattr(errors, failed.name)(failed.message)
        return error
    return MemoryError() if failed.name == "MemoryError" else RuntimeError(failed.name)


@cache
def _hands(use: Use, process: int) -> SandboxPool:  # noqa: ARG001 -- a fork must not share its parent's processes
    return SandboxPool(AT_ONCE[use])


def hands(use: Use) -> SandboxPool:
    """The processes of this one, for all libraries that it has open."""
    return _hands(use, os.getpid())


class ApartParser:
    """Parses files of any kind in a process of its own, within the time and memory that their size allows."""

    def __init__(self, here: Parser) -> None:
        self._here = here

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:
        """The document, or an InputError that says what to do."""
        if media_type in HERE and len(source.data) <= HERE_BYTES:
            return self._here.parse(source, media_type=media_type, limits=limits)
        allowed = allowance(len(source.data))
        job = ParseJob(source, media_type, limits, allowed.memory_bytes)
        try:
            document = hands("read").do(job, time_s=allowed.time_s)
        except OutOfTime:
            raise TooLarge(TOO_LONG.format(minutes=allowed.time_s / 60)) from None
        except SandboxDied:
            raise DamagedFile(DIED) from None
        assert isinstance(document, Document)
        return document


def apart_parsers() -> dict[str, Parser]:
    """A parser for every media type that can be read."""
    return {media_type: ApartParser(here) for media_type, here in all_parsers().items()}


def draw_page(data: bytes, number: int, *, width_px: int) -> bytes:
    """Page `number` (from 1) of a PDF as a PNG image of that width, drawn in a process of its own."""
    allowed = ParseAllowance(DRAWING_S, allowance(len(data)).memory_bytes)
    try:
        image = hands("draw").do(DrawJob(data, number, width_px, allowed.memory_bytes), time_s=allowed.time_s)
    except (OutOfTime, SandboxDied, MemoryError, RuntimeError):
        raise DamagedFile(UNDRAWABLE.format(number=number)) from None
    assert isinstance(image, bytes)
    return image
