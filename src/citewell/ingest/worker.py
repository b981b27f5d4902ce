"""Works through queued documents in the background; the documents table is the truth."""

from __future__ import annotations

import logging
import threading

from citewell.errors import CitewellError
from citewell.ingest.library import check_embedder
from citewell.ingest.read import Reader, Step
from citewell.ports import Claim, Library

log = logging.getLogger(__name__)

IDLE_S = 1.0


class Stopped(Exception):
    """The worker ends before its document is read."""


class Worker:
    """One thread that reads what is queued, one document at a time."""

    def __init__(self, library: Library, reader: Reader) -> None:
        self._library = library
        self._reader = reader
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.steps: dict[str, Step] = {}
        """How far each document in work has come."""

    def start(self) -> None:
        """Take up what an earlier run left, then wait for more."""
        self._library.release()
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
        claim = self._library.claim()
        if claim is None:
            return False
        try:
            self._read(claim)
        except Stopped:
            self._library.release()
        except CitewellError as error:
            self._library.fail(claim.document_id, str(error))
            log.warning("document %s failed: %s", claim.document_id, type(error).__name__)
        except Exception as error:
            message = f"Reading it stopped unexpectedly ({type(error).__name__}). Try again, or convert it to PDF."
            self._library.fail(claim.document_id, message)
            log.exception("document %s failed", claim.document_id)
        finally:
            self.steps.pop(claim.document_id, None)
        return True

    def _read(self, claim: Claim) -> None:
        def watch(step: Step) -> None:
            if self._stopping.is_set():
                raise Stopped
            self.steps[claim.document_id] = step

        check_embedder(self._library, self._reader.embedder.fingerprint)
        reading = self._reader.read(claim.source, chunking=claim.filing.chunking, watch=watch)
        watch(Step("storing"))
        self._library.complete(claim.document_id, reading)
        log.info("document %s read: %d chunks", claim.document_id, len(reading.chunks))

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self.work():
                    continue
            except CitewellError as error:
                log.warning("queue cannot be read: %s", type(error).__name__)
            self._wake.wait(IDLE_S)
            self._wake.clear()
