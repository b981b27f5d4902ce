"""The trail over HTTP: what each request was by its route, kept before its answer is given."""

from __future__ import annotations

import logging
import queue
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from citewell.adapters.store.trail import SqlTrail
from citewell.api.visitor import Visitor
from citewell.history import TrailEvent
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)

DONE, REFUSED = "done", "refused"
WAIT_S = 2.0
"""How long an answer waits for its record; then it is given, and the record follows as soon as it can be written."""
AGAIN_S = 300.0
"""The same thing opened again by the same person within this is one record: a page draws its document in many parts."""
IDLE_S = 5.0
MAX_REMEMBERED, MAX_WAITING, MAX_AT_ONCE = 4_096, 10_000, 200

KINDS = {
    "documents": "document",
    "library": "document",
    "literature": "document",
    "queries": "query",
    "queue": "document",
    "search": "search",
    "ask": "conversation",
    "check": "check",
    "conversations": "conversation",
    "evidence": "evidence",
    "inbox": "inbox",
    "asked": "inbox",
    "audit": "audit",
    "trail": "trail",
    "guidelines": "guideline",
    "assess": "assessment",
    "cds-services": "assessment",
    "chat": "conversation",
    "consult": "consult",
    "consults": "consult",
    "patients": "patient",
    "vaults": "record",
    "records": "record",
    "keys": "key",
    "sessions": "session",
    "users": "user",
    "tags": "tag",
    "journeys": "journey",
    "shared": "answer",
    "me": "account",
    "sign-out": "session",
    "upload": "document",
}
"""What a request is about, by the first word of its path that is here; what begins with another is not recorded."""
EXPORTS = frozenset({"export", "file", "copy"})
REMOVALS = frozenset({"delete", "erase", "remove", "off", "end"})
UNRECORDED = frozenset(
    {"row", "status", "progress", "boxes", "health", "models", "related", "diff", "refresh", "proof"}
)
"""Ends of paths that show nothing of a document or a person, or are asked again every second."""
LISTS = frozenset({"search", "audit", "trail", "user"})
"""What is recorded without an id as well."""

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._:-]{0,63}")


def action_of(method: str, template: str) -> str | None:
    """What a request to a route is called on the trail; None where it is not recorded.

    >>> action_of("GET", "/api/v1/documents/{document_id}"), action_of("GET", "/documents/{document_id}/panel")
    ('document.open', 'document.open')
    >>> action_of("GET", "/records/{vault}/documents/{document_id}/file"), action_of("DELETE", "/api/v1/keys/{key_id}")
    ('record.export', 'key.delete')
    >>> action_of("POST", "/api/v1/consults/{consult_id}/sign"), action_of("PATCH", "/api/v1/users/{user_id}")
    ('consult.sign', 'user.change')
    >>> action_of("GET", "/api/v1/search"), action_of("GET", "/library"), action_of("GET", "/api/v1/health")
    ('search.search', None, None)
    """
    words = [word for word in template.removeprefix("/api/v1").strip("/").split("/") if word != "admin"]
    kind = next((KINDS[word] for word in words if word in KINDS), None)
    last = next((word for word in reversed(words) if "{" not in word), "")
    verb = None if kind is None or last in UNRECORDED else _verb(method, kind, last, has_id="{" in template)
    return None if verb is None else f"{kind}.{verb}"


def _verb(method: str, kind: str, last: str, *, has_id: bool) -> str | None:
    """What is done with a kind of thing, by the method and the last word of the path."""
    if method in ("GET", "HEAD"):
        shown = "open" if has_id else "list" if kind in LISTS else None
        return "export" if last in EXPORTS else "search" if kind == "search" else shown
    if method == "DELETE" or last in REMOVALS:
        return "delete"
    if method in ("PATCH", "PUT"):
        return "change"
    if last not in KINDS:
        return last
    return "change" if has_id else "add" if KINDS[last] == kind and kind != "conversation" else last


def object_of(params: Mapping[str, Any], *, is_done: bool) -> str:
    """The ids in an address; what was refused may hold anything, so that only its hash is kept unless it is an id.

    >>> object_of({"vault": "a1", "fact_id": "f-2", "number": 3}, is_done=True)
    'a1/f-2'
    >>> object_of({"document_id": "Mrs Smith has cancer"}, is_done=False).startswith("h")
    True
    """
    ids = [str(value) for name, value in params.items() if name not in ("number",)]
    return "/".join(value if is_done and _ID.fullmatch(value) else _known(value) for value in ids)[:128]


def _known(value: str) -> str:
    return value if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value) else logged(value)


class Recorder:
    """Keeps events in the order in which they come, many in one transaction; whoever is asked waits a moment for it."""

    def __init__(self, trail: Callable[[], SqlTrail]) -> None:
        self._trail = trail
        self._is_failing = False
        self._waiting: queue.Queue[tuple[TrailEvent, Future[None]] | None] = queue.Queue(MAX_WAITING)
        self._recent: OrderedDict[tuple[str, ...], float] = OrderedDict()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_ending = threading.Event()
        self.lost = 0
        """Events that could not be kept, since the library took none for too long."""

    def note(self, event: TrailEvent) -> None:
        """Keep an event; it waits a moment for the transaction, and never fails whoever is asked."""
        if self._is_repeated(event):
            return
        kept: Future[None] = Future()
        with self._lock:
            try:
                self._waiting.put_nowait((event, kept))
            except queue.Full:
                self.lost += 1
                log.error("the trail takes nothing: %d events lost", self.lost)
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="trail", daemon=True)
                self._thread.start()
        if not self._is_failing:
            with suppress(TookTooLong):
                kept.result(WAIT_S)

    def stop(self) -> None:
        """Keep what waits, and end."""
        with self._lock:
            thread = self._thread
            if thread is None:
                return
            self._is_ending.set()
            self._waiting.put(None)
        thread.join(10 * WAIT_S)
        self._is_ending.clear()

    @property
    def behind(self) -> int:
        """How many events wait to be kept."""
        return self._waiting.qsize()

    def _is_repeated(self, event: TrailEvent) -> bool:
        if not event.action.endswith((".open", ".list")) and event.outcome == DONE:
            return False
        key = (event.tenant, event.user_id, event.way, event.action, event.object_id, event.outcome)
        at = time.monotonic()
        with self._lock:
            before = self._recent.pop(key, None)
            is_repeated = before is not None and at - before < AGAIN_S
            self._recent[key] = before if is_repeated and before is not None else at
            while len(self._recent) > MAX_REMEMBERED:
                self._recent.popitem(last=False)
        return is_repeated

    def _work(self) -> None:
        """Keep what comes; end where nothing has come for a while."""
        while True:
            taken = self._taken()
            some = [item for item in taken if item is not None]
            if some:
                self._keep(some)
            with self._lock:
                if self._waiting.empty() and (not taken or None in taken):
                    self._thread = None
                    return

    def _taken(self) -> list[tuple[TrailEvent, Future[None]] | None]:
        """What waits, as much as goes into one transaction; None among it says that the end is asked for."""
        some = []
        with suppress(queue.Empty):
            some.append(self._waiting.get(timeout=IDLE_S))
            while len(some) < MAX_AT_ONCE:
                some.append(self._waiting.get_nowait())
        return some

    def _keep(self, some: Sequence[tuple[TrailEvent, Future[None]]]) -> None:
        is_last_try = False
        while True:
            try:
                self._trail().keep([event for event, _ in some])
            except Exception as error:
                log.warning("the trail is behind by %d: %s", self.behind + len(some), type(error).__name__)
                self._is_failing = True
                if is_last_try:
                    self.lost += len(some)
                    break
                is_last_try = self._is_ending.wait(WAIT_S)
            else:
                self._is_failing = False
                break
        for _, kept in some:
            kept.set_result(None)


NOTED: ContextVar[list[tuple[str, str]]] = ContextVar("noted")
"""What a request says itself of what it did; its route alone tells less."""


def also(action: str, object_id: str) -> None:
    """Say what a request did more exactly than its route does; outside of one nobody listens."""
    with suppress(LookupError):
        NOTED.get().append((action, object_id))


def event_of(visitor: Visitor, action: str, object_id: str = "", *, outcome: str = DONE) -> TrailEvent:
    """What a visitor did, now."""
    return TrailEvent(visitor.tenant, visitor.user_id, visitor.way, action, object_id, outcome, datetime.now(UTC))


def requested(scope: Mapping[str, Any], visitor: Visitor, status: int) -> list[TrailEvent]:
    """What a request was, once its status is known; nothing where nothing is recorded of it."""
    route = scope.get("route")
    action = None if route is None else action_of(scope["method"], route.path)
    if action is None or status >= 500 or status in (304, 405, 422, 429):
        return []
    object_id = object_of(scope.get("path_params", {}), is_done=status < 400)
    if status >= 400:
        return [event_of(visitor, action, object_id, outcome=REFUSED)]
    return [event_of(visitor, *noted) for noted in NOTED.get([])] or [event_of(visitor, action, object_id)]
