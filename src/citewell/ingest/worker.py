"""Works through queued documents, one at a time; the documents table is the truth, everything else only hurries."""

from __future__ import annotations

import logging
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from types import TracebackType
from typing import NamedTuple

from citewell.errors import EmbedderMismatch, LibraryError, TookTooLong
from citewell.ingest.parse_allowance import allowance, bounded_memory
from citewell.ingest.parse_cut_embed import FileReader, Step
from citewell.ingest.retries import PermanentFailure, RetryLater, judge
from citewell.ports import JobLease, Library
from citewell.types.hashed_ids import logged

BEAT_S = 20.0
GRACE_S = 60.0
"""How long after its time a document may take to notice."""


class LeaseHeartbeat:
    """A thread beside the reading: renews its lease, and stops doing so when its time is up.

    It beats however long one step takes; a step that never ends loses the lease, and what it was at goes to others.
    """

    def __init__(self, *, renew: Callable[[], bool], time_s: float, hangs: Callable[[], None] | None) -> None:
        self._renew, self._hangs = renew, hangs
        self._until = time.monotonic() + time_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heart", daemon=True)
        self.is_lost = False
        """Whether the document is another's by now."""

    @property
    def is_overdue(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self._until

    def __enter__(self) -> LeaseHeartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(min(BEAT_S, max(0.0, self._until - time.monotonic()) + 0.01)):
            if self.is_overdue:
                if not self._ended.wait(GRACE_S) and self._hangs is not None:
                    self._hangs()
                return
            try:
                self.is_lost = not self._renew()
            except Exception as failure:  # the database may be back before the lease ends
                log.warning("lease not renewed: %s", type(failure).__name__)
            if self.is_lost:
                return


log = logging.getLogger(__name__)

IDLE_S = 1.0
TAKE_UP_S = 20.0
PAUSE_S = 1.0
MAX_PAUSE_S = 30.0
"""How long to leave a library alone that cannot be used, at first and at most."""
REMEMBERED = 1_000
"""Documents of which a worker knows what they took."""
TOO_LONG = "Processing took longer than the {minutes:.0f} minutes allowed for a file of this size."
_chance = random.SystemRandom().random


class WorkerStopped(Exception):
    """The worker ends, or lost its document, before it is read."""


class EmbedTimes(NamedTuple):
    """How long a document was embedded, and then made current."""

    embedding_ms: float
    indexing_ms: float


class Worker:
    """Reads what is queued, one document at a time: in a thread of a server, or in a process of its own.

    A process of its own keeps its memory within bounds too, and ends itself when a document hangs.
    """

    def __init__(
        self,
        library: Library,
        reader: FileReader,
        *,
        is_alone: bool = False,
        tell: Callable[[str, Step], None] | None = None,
    ) -> None:
        self._library, self._reader, self._is_alone, self._tell = library, reader, is_alone, tell
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._taken_up_at = 0.0
        self._beat_at = 0.0
        self.name = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4()}"
        self.done = self.failed = 0
        self.steps: dict[str, Step] = {}
        """How far each document in work has come."""
        self.took: dict[str, EmbedTimes] = {}
        """What the last documents took."""

    # --------------------------------------------------------------------------------------------------------- life

    def start(self) -> None:
        """Take up what a worker that is no more left, then wait for more, in a thread."""
        self.take_up()
        self._stopping.clear()
        self._thread = threading.Thread(target=self.run, name="worker", daemon=True)
        self._thread.start()

    def nudge(self) -> bool:
        """Say that there is something new in the queue."""
        self._wake.set()
        return True

    def stop(self) -> None:
        """End soon; the document in work goes back to the queue."""
        self.end()
        if self._thread is not None:
            self._thread.join()
        with suppress(Exception):
            self._library.leave(self.name)

    def end(self) -> None:
        """The same without waiting for it: for a signal's handler."""
        self._stopping.set()
        self._wake.set()

    def is_ended_within(self, seconds: float) -> bool:
        """Wait so long, unless told to stop before; whether that was said."""
        return self._stopping.wait(seconds)

    def run(self) -> None:
        """Work until told to stop; whatever goes wrong is logged by its type, and tried again after a pause."""
        pause_s = PAUSE_S
        while not self._stopping.is_set():
            try:
                self.look_round()
                has_worked = self.work()
            except Exception as error:
                if self._is_alone and isinstance(error, EmbedderMismatch):
                    raise
                log.warning("queue cannot be worked on: %s", reason(error))
                self._stopping.wait(pause_s)
                pause_s = min(pause_s * 2, MAX_PAUSE_S)
                continue
            pause_s = PAUSE_S
            if not has_worked:
                self._wake.wait(IDLE_S)
                self._wake.clear()

    def take_up(self) -> int:
        """Queue again what dead workers left, and what silent ones held for too long; says how many."""
        self._taken_up_at = time.monotonic()
        released = self._library.release([name for name in self._library.claimants() if is_dead(name)])
        if released:
            log.info("%d documents taken up again", released)
        return released

    def look_round(self) -> None:
        """Say from time to time that this worker is there, and look for what others left."""
        if time.monotonic() - self._taken_up_at > TAKE_UP_S:
            self.take_up()
        if not self._beat_at or time.monotonic() - self._beat_at > TAKE_UP_S:
            self._beat()
            self._library.switch_when_whole(self._reader.embedder.fingerprint)

    def keep_looking_round(self) -> None:
        """The same for as long as the process lives: for one that waits to be called."""
        while not self._stopping.wait(IDLE_S):
            try:
                self.look_round()
            except Exception as error:
                log.warning("queue cannot be looked at: %s", reason(error))

    def _beat(self) -> None:
        self._beat_at = time.monotonic()
        embedder = self._reader.embedder.fingerprint
        self._library.beat(self.name, embedder, done=self.done, failed=self.failed)

    # ---------------------------------------------------------------------------------------------------------- work

    def work(self, document_id: str | None = None) -> bool:
        """Read one document that waits, or the one named; whether there was one."""
        fingerprint = self._reader.embedder.fingerprint
        claim = self._library.claim(self.name, embedder=fingerprint, document_id=document_id)
        if claim is None:
            return False
        try:
            self._read(claim)
            self.done += 1
        except WorkerStopped:
            self._library.put_back(claim.document_id, self.name)
        except (KeyboardInterrupt, EmbedderMismatch):  # not the document's fault: another may read it
            self._library.put_back(claim.document_id, self.name)
            raise
        except Exception as error:
            self.failed += 1
            self._failed(claim, error)
        finally:
            self.steps.pop(claim.document_id, None)
        return True

    def _failed(self, claim: JobLease, error: Exception) -> None:
        """Try again later what may heal, give up the rest; when not even that can be written, leave it to others."""
        log.warning(
            "document %s failed: %s (attempt %d)", logged(claim.document_id), type(error).__name__, claim.attempts
        )
        try:
            match judge(error, attempts=claim.attempts, chance=_chance):
                case RetryLater(pause_s, message):
                    self._library.retry_later(claim.document_id, message, self.name, pause_s=pause_s)
                case PermanentFailure(message):
                    self._library.fail(claim.document_id, message, self.name)
        except Exception:
            with suppress(Exception):
                self._library.release([self.name])
            raise

    def _read(self, claim: JobLease) -> None:
        allowed = allowance(claim.size_bytes)
        too_long = TookTooLong(TOO_LONG.format(minutes=allowed.time_s / 60))
        heart = LeaseHeartbeat(
            renew=partial(self._goes_on, claim),
            time_s=allowed.time_s,
            hangs=self._hangs(claim, too_long) if self._is_alone else None,
        )

        def watch(step: Step) -> None:
            if self._stopping.is_set() or heart.is_lost:
                raise WorkerStopped
            if heart.is_overdue:
                raise too_long
            self.steps[claim.document_id] = step
            if self._tell is not None:
                self._tell(claim.name, step)

        with heart, bounded_memory(allowed.memory_bytes) if self._is_alone else nullcontext():
            if claim.parsed is None:
                reading = self._reader.read(claim.source, chunking=claim.chunking, watch=watch)
            else:
                reading = self._reader.embedded(claim.parsed(), chunking=claim.chunking, watch=watch)
            watch(Step("storing"))
            started = time.perf_counter()
            entry = self._library.complete(claim.document_id, reading, self.name)
            self._note(claim.document_id, EmbedTimes(reading.embedding_ms, (time.perf_counter() - started) * 1000))
        if entry is not None:
            log.info("document %s read: %d chunks", logged(claim.document_id), len(reading.chunks))
            if claim.is_rework:
                self._library.switch_when_whole(reading.embedder)

    def _note(self, document_id: str, took: EmbedTimes) -> None:
        """Remember what a document took, and forget it of those long ago."""
        for old in list(self.took)[: 1 - REMEMBERED]:
            self.took.pop(old, None)
        self.took[document_id] = took

    def _goes_on(self, claim: JobLease) -> bool:
        """Say that the reading goes on, and that this worker is there; whether the document is still its own."""
        is_mine = self._library.renew(claim.document_id, self.name)
        self._beat()
        return is_mine

    def _hangs(self, claim: JobLease, error: Exception) -> Callable[[], None]:
        """What to do about a document that does not even notice that its time is up: nothing but ending helps."""

        def end() -> None:
            with suppress(Exception):
                self._failed(claim, error)
            os._exit(os.EX_SOFTWARE)

        return end


def reason(error: Exception) -> str:
    """What a log may say of an error: our own sentences about the library quote nobody, any other might.

    >>> reason(LibraryError("PostgreSQL cannot be reached.")), reason(ValueError("aspirin"))
    ('PostgreSQL cannot be reached.', 'ValueError')
    """
    return str(error) if isinstance(error, (LibraryError, EmbedderMismatch)) else type(error).__name__


def is_dead(worker: str) -> bool:
    """Whether a worker ran on this machine in a process that is no more."""
    host, _, rest = worker.partition("/")
    process = rest.partition("/")[0]
    if host != socket.gethostname() or not process.isdigit() or int(process) == os.getpid():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
