"""Works through queued documents in the background; the documents table is the truth."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from contextlib import suppress

from citewell.errors import CitewellError
from citewell.ingest.library import check_embedder
from citewell.ingest.read import Reader, Step
from citewell.ports import Claim, Library

log = logging.getLogger(__name__)

IDLE_S = 1.0
RENEW_S = 20.0
TAKE_UP_S = 20.0
PAUSE_S = 1.0
MAX_PAUSE_S = 30.0
"""How long to leave a library alone that cannot be used, at first and at most."""


class Stopped(Exception):
    """The worker ends, or lost its document, before it is read."""


class Worker:
    """One thread that reads what is queued, one document at a time."""

    def __init__(self, library: Library, reader: Reader) -> None:
        self._library = library
        self._reader = reader
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._taken_up_at = 0.0
        self.name = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4()}"
        self.steps: dict[str, Step] = {}
        """How far each document in work has come."""

    def start(self) -> None:
        """Take up what a worker that is no more left, then wait for more."""
        self._take_up()
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
        self._thread.start()

    def nudge(self) -> None:
        """Say that there is something new in the queue."""
        self._wake.set()

    def stop(self) -> None:
        """End soon; the document in work goes back to the queue."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def work(self) -> bool:
        """Read one queued document; whether there was one."""
        claim = self._library.claim(self.name)
        if claim is None:
            return False
        try:
            self._read(claim)
        except Stopped:
            self._library.put_back(claim.document_id, self.name)
        except CitewellError as error:
            self._failed(claim, str(error))
            log.warning("document %s failed: %s", claim.document_id, type(error).__name__)
        except Exception as error:
            name = type(error).__name__
            self._failed(claim, f"Reading it stopped unexpectedly ({name}). Try again, or convert it to PDF.")
            log.warning("document %s failed unexpectedly: %s", claim.document_id, name)
        finally:
            self.steps.pop(claim.document_id, None)
        return True

    def _failed(self, claim: Claim, message: str) -> None:
        """Record the failure; when not even that can be written, let the document go back to the queue."""
        try:
            self._library.fail(claim.document_id, message, self.name)
        except Exception:
            with suppress(Exception):
                self._library.release([self.name])
            raise

    def _read(self, claim: Claim) -> None:
        renewed_at = time.monotonic()

        def watch(step: Step) -> None:
            nonlocal renewed_at
            if self._stopping.is_set():
                raise Stopped
            self.steps[claim.document_id] = step
            if time.monotonic() - renewed_at > RENEW_S:
                renewed_at = time.monotonic()
                if not self._library.renew(claim.document_id, self.name):
                    raise Stopped

        check_embedder(self._library, self._reader.embedder.fingerprint)
        reading = self._reader.read(claim.source, chunking=claim.chunking, watch=watch)
        watch(Step("storing"))
        self._library.complete(claim.document_id, reading, self.name)
        log.info("document %s read: %d chunks", claim.document_id, len(reading.chunks))

    def _take_up(self) -> None:
        """Queue again what dead workers left, and what silent ones held for too long."""
        self._taken_up_at = time.monotonic()
        released = self._library.release([name for name in self._library.claimants() if _is_dead(name)])
        if released:
            log.info("%d documents taken up again", released)

    def _run(self) -> None:
        """Work until told to stop; whatever goes wrong is logged by its type, and tried again after a pause."""
        pause_s = PAUSE_S
        while not self._stopping.is_set():
            try:
                if time.monotonic() - self._taken_up_at > TAKE_UP_S:
                    self._take_up()
                has_worked = self.work()
            except Exception as error:
                log.warning("queue cannot be worked on: %s", type(error).__name__)
                self._stopping.wait(pause_s)
                pause_s = min(pause_s * 2, MAX_PAUSE_S)
                continue
            pause_s = PAUSE_S
            if not has_worked:
                self._wake.wait(IDLE_S)
                self._wake.clear()


def _is_dead(worker: str) -> bool:
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
