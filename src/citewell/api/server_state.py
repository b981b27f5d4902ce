"""What every route needs: the open library, the keys, and what is kept in memory between two requests."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from starlette.datastructures import URL
from starlette.responses import Response

from citewell.adapters.llm.model_list import listing, vendor_of
from citewell.adapters.llm.shared_request import SharedRequest
from citewell.adapters.oidc.provider import Provider
from citewell.adapters.store.identities import SqlIdentities
from citewell.adapters.store.single_tenant import tenants
from citewell.answer.service import AskService
from citewell.api.doors.cds_clients import CdsClients
from citewell.api.fair_turns import FairTurns
from citewell.api.metrics import Metrics
from citewell.api.problems import Refused
from citewell.api.progress import Progress, Stopwatch
from citewell.api.rate_limits import RateLimit, Running, too_often
from citewell.api.token_signer import TokenSigner
from citewell.api.trail import DONE, Recorder, event_of
from citewell.api.visitor import Visitor
from citewell.app import App, Results
from citewell.errors import CitewellError, LibraryError, NotFound
from citewell.history import TrailEvent
from citewell.ingest.worker import EmbedTimes, Worker, reason
from citewell.operations.literature import LiteratureTimer
from citewell.operations.scheduled_backup import BackupTimer
from citewell.operations.watch import FolderWatcher
from citewell.ports.queue import Queue
from citewell.samples import is_sample
from citewell.types import Chunk, Document, LibraryEntry, LifecycleState, Scope
from citewell.vocabulary import ATTRIBUTION
from citewell.web import display_words as phrases
from citewell.web.navigation import Menu, menu
from citewell.web.pages import page

log = logging.getLogger(__name__)

T = TypeVar("T")

QUARTER_S = 900.0
UNDER_WAY = frozenset({LifecycleState.PENDING, LifecycleState.QUEUED, LifecycleState.PROCESSING})
OPENED_DOCUMENTS = 4
PAGE_IMAGES = 48
CHECKS_AT_ONCE = 2
"""Texts of one person that are checked at the same time: a long one takes as long as many answers."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A document as it was opened."""

    entry: LibraryEntry
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


class SignInMethods:
    """What somebody has to say to come in here."""

    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def provider(self) -> Provider:
        """Who signs people in besides us."""
        settings = self._app.settings
        if settings.oidc_issuer is None:
            raise NotFound("Single sign-on is not set up here. Sign in with a password.")
        secret = settings.oidc_client_secret
        return Provider(
            settings.oidc_issuer,
            client_id=settings.oidc_client_id,
            client_secret=secret.get_secret_value() if secret else None,
        )

    def only_tenant(self) -> str | None:
        """The tenant of whoever names none; None where there are several, since nobody's is taken for granted."""
        known = self._tenants()
        return None if len(known) > 1 else next(iter(known), self._app.tenant)

    def form(self) -> dict[str, Any]:
        """What the page asks for: the provider beside passwords, and the organisation where there are several."""
        settings, is_shared = self._app.settings, False
        with suppress(LibraryError):  # the form is shown beside what went wrong, and must not fail of the same
            is_shared = len(self._tenants()) > 1
        return {"provider": settings.oidc_label if settings.oidc_issuer else None, "asks_organisation": is_shared}

    def _tenants(self) -> frozenset[str]:
        return tenants(self._app.library.engine, self._app.library.path)


class ServerState:
    """One library behind one set of keys."""

    def __init__(self, app: App, keys: TokenSigner) -> None:
        self.app = app
        self.keys = keys
        self.tenant = app.tenant
        """Whom the printed link belongs to, and who runs the server."""
        self.door = SignInMethods(app)
        self.people = app.people
        self.identities = SqlIdentities(app.library.engine, app.library.path, app.people)
        self.cds_clients = CdsClients(app.settings.cds_clients, app.people, app.tenant)
        self.metrics = Metrics()
        self.recorder = Recorder(lambda: app.trail)
        settings = app.settings
        self.work = settings.work
        self.turns = FairTurns(self.work.at_once, self.work.waiting)
        """Whose request is worked on: health and sign-in wait for nobody."""
        is_quoting = settings.model == "extractive"
        self.answer_turns = self.turns if is_quoting else FairTurns(settings.max_streams, self.work.waiting)
        """Whose answer is written: those that wait for a language model hold up nothing but answers."""
        self.requests = RateLimit(settings.requests_per_minute)
        self.asks = RateLimit(settings.asks_per_minute)
        self.checks = Running(CHECKS_AT_ONCE)
        self.failures = RateLimit(settings.sign_ins_per_quarter, every_s=QUARTER_S)
        """Wrong passwords for one account."""
        self.machine_failures = RateLimit(10 * settings.sign_ins_per_quarter, every_s=QUARTER_S)
        """Wrong passwords from one machine, which may be a proxy that many people share."""
        self.hashers = self._hashers()
        """Checking a password takes 64 MiB for a moment: not many at once, however many try."""
        self.writers = self._writers()
        """Where answers are written: a bounded number at a time, apart from the threads of short requests."""
        self.models = SharedRequest(lambda: listing(settings, vendor_of(settings)))
        """Which models there are, asked of their server by one for all."""
        self.usual_ms: float | None = None
        """How long answers took of late; None before the first."""
        self.usual_sentence_ms: float | None = None
        """How long a sentence took to be checked of late; None before the first."""
        self._stopwatch = Stopwatch()
        self.backups = BackupTimer(settings)
        self.literature = LiteratureTimer(app, lambda: self.worker().nudge())
        self.folders = FolderWatcher(app)
        self.has_records: Callable[[], bool] = lambda: False
        """Whether somebody keeps a record of their own beside the library."""
        self.queueing = threading.Lock()
        """Held while a file is put into the queue, so that the same bytes twice are kept once."""
        self._loading = threading.Lock()
        self._worker: Worker | None = None
        self._opened = Recent(OPENED_DOCUMENTS)
        self._images = Recent(PAGE_IMAGES)
        self._counts = Recent(256)

    # ------------------------------------------------------------------------------------------------ life

    def start(self) -> None:
        """Load the parts, so that the first search is quick, and set the worker to work."""
        started = time.perf_counter()
        self.backups.start()
        self.literature.start()
        try:
            self.worker()
            self.search("fever", Scope.owner(self.tenant), limit=1)
            self.app.emergency("I have a cough.")
            self.app.check("Iron is given to adults.", evidence="Iron is not given to children.")
            with suppress(NotFound):  # no guideline is here yet
                self.app.chat.shelf(Scope.owner(self.tenant))
        except Exception as error:
            # The page that needs the missing part says what to do; the others work.
            log.warning("not ready: %s", reason(error))
        else:
            log.info("ready after %.0f ms", (time.perf_counter() - started) * 1000)
        self.folders.start()

    def stop(self) -> None:
        """Let the worker finish what it is at, and break off answers: a silent model must not hold up the end."""
        self.backups.stop()
        self.literature.stop()
        self.folders.stop()
        with self._loading:
            self.app.stop_writing()
        self.writers.shutdown(wait=True, cancel_futures=True)
        self.hashers.shutdown(wait=True, cancel_futures=True)
        self.recorder.stop()
        self.writers, self.hashers = self._writers(), self._hashers()  # a site may be started again
        with self._loading:
            if self._worker is not None:
                self._worker.stop()
                self._worker = None

    def _writers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.app.settings.max_streams, thread_name_prefix="answer")

    @staticmethod
    def _hashers() -> ThreadPoolExecutor:
        return ThreadPoolExecutor(2, thread_name_prefix="password")

    @property
    def is_reading(self) -> bool:
        """Whether this process reads what is queued itself, rather than workers elsewhere."""
        return self.app.settings.broker_url is None

    def worker(self) -> Queue:
        """Whom to wake when something is queued: the worker in this process, started when first needed, or a broker."""
        with self._loading:
            if not self.is_reading:
                return self.app.queue
            if self._worker is None:
                worker = self.app.worker
                worker.start()
                self._worker = worker
            return self._worker

    def page(self, template: str, visitor: Visitor, **values: Any) -> HTMLResponse:
        """A page of this site for a visitor; one that asks nobody else says so."""
        settings = self.app.settings
        is_local = settings.embedder == "minilm" and settings.model == "extractive"
        stores = (settings.database_url, settings.qdrant_url, settings.blobs)
        asked = (settings.smart_servers, settings.literature, settings.watch_logins)
        elsewhere = (*stores, *asked, settings.hosts, settings.oidc_issuer)
        common: dict[str, Any] = {
            "is_local": is_local,
            "stays_here": is_local and not any(elsewhere),
            "runs_site": self.is_run_by(visitor),
            "has_record_systems": bool(settings.smart_servers),
            "attribution": ATTRIBUTION,
            "places": lambda: self._places(visitor),
            "samples": lambda: self.samples(visitor),
        }
        return page(template, visitor=visitor, csrf=visitor.csrf, **common, **values)

    def _places(self, visitor: Visitor) -> Menu:
        """The menu of a visitor, with the number of questions that wait for them."""
        waiting = 0
        with suppress(CitewellError):  # the page says what is wrong where it matters
            waiting = self.ask_service().inbox.open_count(visitor.asker()) if visitor.may("ask") else 0
        return menu(visitor, inbox_count=waiting, is_personal=visitor.is_owner and self._is_personal(visitor))

    def samples(self, visitor: Visitor) -> frozenset[str]:
        """The ids of the sample documents that are here: pages mark whatever comes from them."""
        entries = self.app.entries(visitor.whole)
        return frozenset(entry.id for entry in entries if is_sample(entry))

    def _is_personal(self, visitor: Visitor) -> bool:
        """Whether a record is all that is kept here: no document but samples, and nobody else to share it with."""
        if not self.has_records() or self.people.all(tenant=visitor.tenant):
            return False
        return all(is_sample(entry) for entry in self.app.entries(visitor.whole))

    def note(self, visitor: Visitor, action: str, object_id: str = "", *, outcome: str = DONE) -> None:
        """Keep on the trail what somebody did."""
        self.keep([event_of(visitor, action, object_id, outcome=outcome)])

    def keep(self, events: Iterable[TrailEvent]) -> None:
        """Keep on the trail what a request did."""
        for event in events:
            self.recorder.note(event)

    def set_cookie(self, response: Response, session: str) -> None:
        """Give a browser its session."""
        response.set_cookie(
            self.keys.cookie, session, httponly=True, samesite="strict", path="/", secure=self.app.settings.is_https
        )

    def note_answer(self, took_ms: float) -> None:
        """Remember how long answers take, the last ones counting most."""
        self.usual_ms = _of_late(self.usual_ms, took_ms)

    def note_check(self, took_ms: float, sentences: int) -> None:
        """Remember how long a sentence takes to be checked, likewise."""
        self.usual_sentence_ms = _of_late(self.usual_sentence_ms, took_ms / max(1, sentences))

    def take_ask(self, visitor: Visitor, *, count: int = 1) -> None:
        """Use one question of a visitor's allowance, or as many as a long text counts for, or refuse."""
        wait_s = self.asks.take(f"{visitor.tenant}/{visitor.user_id}", uses=count)
        if wait_s:
            raise Refused(too_often(wait_s))

    def base(self, url: URL) -> str:
        """Where the pages are for whoever sent a request; the guard has looked at the host."""
        return f"{'https' if self.app.settings.is_https else url.scheme}://{url.netloc}"

    def is_run_by(self, visitor: Visitor | None) -> bool:
        """Whether a visitor runs this server, and may be told of the folders and servers that it uses."""
        return visitor is not None and visitor.may("govern") and visitor.tenant == self.tenant

    def take_try(self, account: str, machine: str | None = None) -> None:
        """Use one try at a password before it is checked, or refuse: many at the same moment count as many."""
        wait_s = self.failures.take(account)
        if not wait_s and machine is not None and (wait_s := self.machine_failures.take(machine)):
            self.failures.give_back(account)
        if wait_s:
            raise Refused(too_often(wait_s))

    def give_back_try(self, account: str, machine: str | None = None) -> None:
        """The password was right: only wrong ones count."""
        self.failures.give_back(account)
        if machine is not None:
            self.machine_failures.give_back(machine)

    # --------------------------------------------------------------------------------------------- reading

    def loaded(self) -> App:
        """The library with its parts in memory: two threads must not load them at the same time."""
        with self._loading:
            self.app.open_parts()
        return self.app

    def ask_service(self) -> AskService:
        """Where questions are asked and kept; opened without loading what only answers need."""
        with self._loading:
            return self.app.ask_service

    def chat_service(self) -> AskService:
        """The same of the guidelines chat."""
        with self._loading:
            return self.app.chat.ask_service()

    def search(self, question: str, scope: Scope, *, limit: int) -> Results:
        """The passages closest to a question."""
        self.loaded()
        results = self.app.search(question, scope=scope, limit=limit)
        log.info("search: %d hits in %.0f ms", len(results.hits), results.took_ms)
        self.metrics.observe("search", results.took_ms / 1000)
        return results

    def passages(self, scope: Scope) -> int:
        """How many passages a search in this scope looks through."""

        def count() -> int:
            return sum(entry.chunk_count for entry in self.app.entries(scope) if is_answering(entry))

        return self._counts.get((self.app.library.stamp(), scope), count)

    def opened(self, document_id: str, scope: Scope) -> Opened:
        """A document with its text; the last few stay open, and are shown only to those who may see them."""
        entry = self.entry(document_id, scope)
        key = (entry.id, self.app.library.stamp())
        whole = Scope.owner(entry.tenant)
        return self._opened.get(key, lambda: Opened(*self.app.show(document_id, whole)))

    def entry(self, document_id: str, scope: Scope) -> LibraryEntry:
        return self.app.library.entry(document_id, scope)

    def page_image(self, document_id: str, number: int, *, scope: Scope, width_px: int) -> bytes:
        """A page as PNG; drawn once while it is being looked at."""
        self.entry(document_id, scope)
        return self._images.get(
            (document_id, number, width_px),
            lambda: self.app.page_image(document_id, number, width_px=width_px, scope=scope),
        )

    def took(self, document_id: str) -> EmbedTimes | None:
        """What embedding and indexing a document took, where this process has read it of late."""
        return None if self._worker is None else self._worker.took.get(document_id)

    def progress(self, entry: LibraryEntry) -> Progress | None:
        """How far a document has come, or None once it is read or has failed."""
        if entry.state not in UNDER_WAY:
            self._stopwatch.forget(entry.id)
            return None
        step = None if self._worker is None else self._worker.steps.get(entry.id)
        if step is None and entry.state is LifecycleState.PROCESSING:
            return Progress("reading", 0, 0, None, phrases.ELSEWHERE)
        if step is None and entry.next_attempt_at is not None:
            return Progress("waiting", 0, 0, None, phrases.next_attempt(entry.next_attempt_at))
        return self._stopwatch.look(entry.id, step)


def _of_late(usual: float | None, took: float) -> float:
    return took if usual is None else 0.7 * usual + 0.3 * took


def is_answering(entry: LibraryEntry) -> bool:
    """Whether searches look through this version."""
    return entry.is_current and entry.state is LifecycleState.COMPLETED


def site_of(request: Request) -> ServerState:
    site: ServerState = request.app.state.site
    return site


Here = Annotated[ServerState, Depends(site_of)]
