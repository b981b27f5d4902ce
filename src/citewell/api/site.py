"""What every route needs: the open library, the keys, and what is kept in memory between two requests."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse

from citewell.api.auth import Keys
from citewell.api.errors import NOT_OUR_FORM, Refused
from citewell.api.guard import CSRF_NEEDED
from citewell.api.progress import Progress, Stopwatch
from citewell.bootstrap import App, Results
from citewell.errors import InputError
from citewell.ingest.library import Added, refiled
from citewell.ingest.worker import Worker
from citewell.types import Chunk, Document, Entry, Filing, Scope, Source, State
from citewell.vocabulary import ATTRIBUTION
from citewell.web.pages import page

log = logging.getLogger(__name__)

T = TypeVar("T")

UNDER_WAY = frozenset({State.PENDING, State.QUEUED, State.PROCESSING})
OPENED_DOCUMENTS = 4
PAGE_IMAGES = 48


@dataclass(frozen=True, slots=True)
class Opened:
    """A document as it was opened."""

    entry: Entry
    document: Document
    chunks: tuple[Chunk, ...]


class Recent:
    """The last few values that were made, by key."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, object] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of the key, made when it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]  # type: ignore[return-value]
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value


class Site:
    """One library behind one set of keys."""

    def __init__(self, app: App, keys: Keys) -> None:
        self.app = app
        self.keys = keys
        self.owner = Scope.owner(app.settings.tenant)
        self._stopwatch = Stopwatch()
        self._queueing = threading.Lock()
        self._loading = threading.Lock()
        self._worker: Worker | None = None
        self._opened = Recent(OPENED_DOCUMENTS)
        self._images = Recent(PAGE_IMAGES)
        self._counts = Recent(8)

    # ------------------------------------------------------------------------------------------------ life

    def start(self) -> None:
        """Load the parts, so that the first search is quick, and set the worker to work."""
        started = time.perf_counter()
        try:
            self.worker()
            self.search("fever", self.owner, limit=1)
        except Exception as error:
            # The page that needs the missing part says what to do; the others work.
            log.warning("not ready: %s", type(error).__name__)
        else:
            log.info("ready after %.0f ms", (time.perf_counter() - started) * 1000)

    def stop(self) -> None:
        """Let the worker finish what it is at."""
        with self._loading:
            if self._worker is not None:
                self._worker.stop()

    def worker(self) -> Worker:
        """What reads the queue, started when first needed."""
        with self._loading:
            if self._worker is None:
                worker = self.app.worker
                worker.start()
                self._worker = worker
            return self._worker

    def page(self, template: str, **values: Any) -> HTMLResponse:
        """A page of this site; one that runs on the built-in model alone says so."""
        is_local = self.app.settings.embedder == "minilm"
        return page(template, csrf=self.keys.csrf, is_local=is_local, attribution=ATTRIBUTION, **values)

    # --------------------------------------------------------------------------------------------- reading

    def search(self, question: str, scope: Scope, *, limit: int) -> Results:
        """Search, once the parts are loaded: two threads must not load them at the same time."""
        with self._loading:
            _ = self.app.embedder, self.app.lexicon, self.app.index
        results = self.app.search(question, scope=scope, limit=limit)
        log.info("search: %d hits in %.0f ms", len(results.hits), results.took_ms)
        return results

    def passages(self, scope: Scope) -> int:
        """How many passages a search in this scope looks through."""

        def count() -> int:
            return sum(entry.chunk_count for entry in self.app.entries(scope) if is_answering(entry))

        return self._counts.get((self.app.library.stamp(), scope), count)

    def opened(self, document_id: str) -> Opened:
        """A document with its text; the last few stay open."""
        key = (document_id, self.app.library.stamp())
        return self._opened.get(key, lambda: Opened(*self.app.show(document_id, self.owner)))

    def entry(self, document_id: str) -> Entry:
        """One document version."""
        return self.app.library.entry(document_id, self.owner)

    def page_image(self, document_id: str, number: int, *, width_px: int) -> bytes:
        """A page as PNG; drawn once while it is being looked at."""
        self.entry(document_id)
        return self._images.get(
            (document_id, number, width_px), lambda: self.app.page_image(document_id, number, width_px=width_px)
        )

    def progress(self, entry: Entry) -> Progress | None:
        """How far a document has come, or None once it is read or has failed."""
        if entry.state not in UNDER_WAY:
            self._stopwatch.forget(entry.id)
            return None
        step = None if self._worker is None else self._worker.steps.get(entry.id)
        return self._stopwatch.look(entry.id, step)

    # -------------------------------------------------------------------------------------------- changing

    def queue(self, source: Source, filing: Filing) -> Added:
        """Keep a file for the worker; the same bytes twice are kept once."""
        worker = self.worker()
        with self._queueing:
            known = None if filing.replaces else self._known(source, filing)
            if known is not None:
                return refiled(known, filing=filing, scope=self.owner, library=self.app.library)
            entry = self.app.library.enqueue(source, filing=filing, scope=self.owner)
        worker.nudge()
        log.info("document %s queued: %d bytes", entry.id, entry.size_bytes)
        return Added(entry, was_there=False)

    def _known(self, source: Source, filing: Filing) -> Entry | None:
        """The same bytes, on the shelf or on the way to it."""
        there = self.app.library.same(source, subject=filing.subject, scope=self.owner)
        if there is not None:
            return there
        content_hash = hashlib.sha256(source.data).hexdigest()
        waiting = (entry for entry in self.app.entries(self.owner) if entry.state in UNDER_WAY)
        same = (entry for entry in waiting if entry.content_hash == content_hash and entry.subject == filing.subject)
        return next(same, None)

    def retry(self, document_id: str) -> Entry:
        """Queue a document again that could not be read; the failed attempt goes, the versions before it stay."""
        failed = self.entry(document_id)
        if failed.state is not State.FAILED:
            raise InputError("Only a document that could not be read can be tried again.")
        source = self.app.library.original(document_id, self.owner)
        family = [entry for entry in self.app.entries(self.owner) if entry.lineage == failed.lineage]
        current = next((entry.id for entry in family if entry.is_current), None)
        title = None if failed.title == failed.name else failed.title
        filing = Filing(frozenset(failed.tags), frozenset(failed.journeys), failed.subject, title, current)
        entry = self.app.library.enqueue(source, filing=filing, scope=self.owner)
        self.app.delete(document_id)
        self.worker().nudge()
        return entry


def require_our_form(request: Request, site: Site, csrf: str | None = None) -> None:
    """Refuse a change that does not prove that one of our own pages asked for it."""
    if request.scope[CSRF_NEEDED] and not site.keys.is_csrf(csrf):
        raise Refused(NOT_OUR_FORM)


def is_answering(entry: Entry) -> bool:
    """Whether searches look through this version."""
    return entry.is_current and entry.state is State.COMPLETED


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    site: Site = request.app.state.site
    return site


Here = Annotated[Site, Depends(site_of)]
