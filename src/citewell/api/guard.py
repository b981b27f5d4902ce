"""What every request passes first: the right address, the right person, our own page; and headers for every answer."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.adapters.store.engine import KEPT
from citewell.adapters.store.users import KEY_PREFIX, UserAccount
from citewell.api.addresses import is_own_host, is_same_origin
from citewell.api.fair_turns import ASKING, LONG_BYTES, Asking, Person
from citewell.api.problem_responses import FOR_PROGRAMS, answer
from citewell.api.problems import FROM_ANOTHER_SITE, Problem, Refused, problem_of
from citewell.api.rate_limits import too_often
from citewell.api.request_checks import CSRF_NEEDED
from citewell.api.server_state import ServerState
from citewell.api.token_signer import is_equal
from citewell.api.trail import NOTED, REFUSED, requested
from citewell.api.visitor import VISITOR, Visitor
from citewell.errors import ClientGone, TooLarge
from citewell.work import WorkAllowance, bounded

T = TypeVar("T")

SAFE_METHODS = frozenset({"GET", "HEAD"})
HEALTH = "/api/v1/health"
OPEN_PATHS = ("/static/", HEALTH, "/favicon.ico")
SIGN_IN = "/sign-in"
PROVIDER, PROVIDER_DONE = f"{SIGN_IN}/provider", f"{SIGN_IN}/provider/done"
SIGN_IN_CODE = f"{SIGN_IN}/code"
SIGN_IN_PATHS = frozenset({SIGN_IN, SIGN_IN_CODE, PROVIDER, PROVIDER_DONE})
SMART_LAUNCH, SMART_CALLBACK = "/smart/launch", "/smart/callback"
"""Where a record system sends a browser, which brings no strict cookie along: a page leads on."""
FROM_ELSEWHERE = SIGN_IN_PATHS | {SMART_LAUNCH, SMART_CALLBACK}
CSRF_HEADER = "x-csrf-token"
IN_ADDRESSES = "/%?#=&+:@!$()*,;[]"
"""What stays as it is in the path, query and fragment of an address, beside letters and digits."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: under it browsers send `Origin: null` with our own forms. To others, neither tells anything.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""Set on every answer that does not say otherwise itself."""

WRONG_HOST = Problem(
    HTTPStatus.MISDIRECTED_REQUEST,
    "WrongHost",
    "This server can only be used at its own address. Open the link that `citewell serve` printed.",
)
NO_ENTRY = Problem(
    HTTPStatus.UNAUTHORIZED,
    "NotSignedIn",
    "Sign in, or open the link that `citewell serve` printed. Programs must send a key as “Authorization: Bearer …”.",
)
NO_KEY = Problem(
    HTTPStatus.UNAUTHORIZED,
    "NotSignedIn",
    "There is no key in this request. Send one as “Authorization: Bearer …”; `citewell users key EMAIL` creates one.",
)
UNKNOWN_KEY = Problem(
    HTTPStatus.UNAUTHORIZED,
    "NotSignedIn",
    "This key is unknown, revoked or expired. Check that it was copied whole, or create a new one.",
)
ENDED = Problem(
    HTTPStatus.UNAUTHORIZED,
    "SessionEnded",
    "Your session has ended, so nothing was done. Sign in again, or open the link that `citewell serve` printed.",
)
FOREIGN = Problem(
    HTTPStatus.FORBIDDEN,
    "ForeignPage",
    FROM_ANOTHER_SITE,
)

ACCOUNT = "/keys"
OF_FACTOR = (f"{ACCOUNT}/second-factor", f"{ACCOUNT}/password", "/api/v1/me")
FACTOR_NEEDED = Problem(
    HTTPStatus.FORBIDDEN,
    "SecondFactorNeeded",
    "Your role needs a second factor, so nothing was done. Set it up on the Account page first.",
)

BODY_S = 30.0
"""So long a body may take to arrive: a client that sends a byte now and then must not hold a place for ever."""
SLOWEST = 2_048
"""Bytes of a file that arrive in a second, at least."""
TOO_SLOW = Problem(
    HTTPStatus.REQUEST_TIMEOUT, "TooSlow", "The request did not arrive within 30 seconds. Send it again."
)
TOO_LARGE = "The request is over the limit of {:,} KiB ({}). Send less at a time."
CDS_SERVICES = "/cds-services"
UPLOADS = re.compile(
    "/library|/api/v1/documents|(/api/v1)?/literature/import|/documents/[^/]+/version|(/api/v1)?/records/[^/]+/import"
    "|/records/restore|/api/v1/vaults/restore"
)
"""The routes that take files."""
BUNDLES = re.compile("/consult|/api/v1/consults/[^/]+/record|/cds-services/[^/]+")
"""The routes that take a patient's record within their body."""
LONG_WORK = re.compile(
    "/(?:api/v1/)?(?:check|assess|consults?|guidelines|records|vaults|audit|replay|mcp|cds-services|smart|literature|queries)\\b"
)
"""The routes that read much for one request: a whole text, patient, guideline or record."""
WAITING = re.compile("/(?:api/v1/)?(?:literature|queries)\\b")
"""The routes that wait for the servers of others, and take no turn from anybody meanwhile."""
STREAMS = re.compile("/stream$|/chat/completions$")
"""The routes that send an answer as it is written."""
GONE: Message = {"type": "http.disconnect"}
LEFT = "The client left before its turn came."
MEBIBYTE = 1 << 20
KIND_PARTS = 4
"""Parts of a path that tell what is asked, such as `/api/v1/ask`."""
MOST_KINDS = 200
MAX_BUNDLE_BYTES = 32 * 1024 * 1024


class Guard:
    """Middleware round the whole site."""

    def __init__(self, app: ASGIApp, *, site: ServerState, host: str) -> None:
        self._app = app
        self._site = site
        self._host = host
        self._asked_before: set[str] = set()
        self._names = frozenset(name.lower() for name in site.app.settings.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, started = False, time.perf_counter()
        NOTED.set([])
        KEPT.set([])

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._site.metrics.answered(scope, message["status"], time.perf_counter() - started)
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                visitor = scope.get(VISITOR)
                events = [] if visitor is None else requested(scope, visitor, message["status"])
                if events:
                    await run_in_threadpool(self._site.keep, events)
            await send(message)

        try:
            with self._site.turns.arriving():
                response = await self._looked_at(HTTPConnection(scope))
            await self._answered(response, scope, receive, send_with_headers)
        except Exception as error:
            problem = problem_of(error)
            if begun:
                # The status is out already; ending the connection is all that can still be said.
                raise ConnectionResetError("an answer broke off") from None
            refusal = answer(scope["path"], problem, form=self._site.door.form, visitor=scope.get(VISITOR))
            await refusal(scope, receive, send_with_headers)

    async def _answered(self, response: Response | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request within its allowance and in its turn; the work ends when the client goes."""
        if response is not None:
            await response(scope, receive, send)
            return
        path, brings_file = scope["path"], is_upload(scope["method"], scope["path"])
        limits, visitor = self._site.work, scope.get(VISITOR)
        usual_s = limits.long_processor_s if LONG_WORK.match(path) else limits.processor_s
        allowed_s = (limits.file_processor_s if brings_file else usual_s) + self._first_s(path)
        with bounded(allowed_s) as allowance:
            if brings_file:
                await self._app(scope, paced(receive), send)
                return
            first = await buffered(receive, max_bytes=limit_of(path, self._usual_bytes))
            if BUNDLES.fullmatch(path):
                allowance.limit_s += limits.record_s_per_mib * len(first.get("body", b"")) / MEBIBYTE
            channel = Channel(first, receive, allowance)
            async with channel.watched():
                if visitor is None or path.startswith(OPEN_PATHS):
                    with self._site.turns.arriving():
                        await self._app(scope, channel.receive, send)
                    return
                is_long = len(first.get("body", b"")) > LONG_BYTES
                ASKING.set(Asking(Person(visitor.tenant, visitor.user_id), allowance, is_long))
                end_turn = await channel.unless_gone(self._site.turns.begin())
                if WAITING.match(path):
                    end_turn()

                async def send_in_turn(message: Message) -> None:
                    if message["type"] == "http.response.start" and STREAMS.search(path):
                        end_turn()  # who writes on takes a turn for that: who reads slowly holds none
                    await send(message)

                try:
                    await self._app(scope, channel.receive, send_in_turn)
                finally:
                    end_turn()

    def _first_s(self, path: str) -> float:
        """What the first request of a kind may take more than others."""
        kind = "/".join(path.split("/")[:KIND_PARTS])
        if kind in self._asked_before or len(self._asked_before) > MOST_KINDS:
            return 0.0
        self._asked_before.add(kind)
        return self._site.work.first_s

    @property
    def _usual_bytes(self) -> int:
        return self._site.app.settings.max_request_kb * 1024

    async def _looked_at(self, asked: HTTPConnection) -> Response | None:
        """The answer to a request that goes no further, or None."""
        path, method, hosts = asked.scope["path"], asked.scope["method"], asked.headers.getlist("host")
        if len(hosts) != 1 or not is_own_host(hosts[0], self._host, self._names):
            raise Refused(WRONG_HOST)
        if method in SAFE_METHODS and (path.startswith(OPEN_PATHS) or path in FROM_ELSEWHERE):
            if path.startswith(HEALTH):
                asked.scope[VISITOR] = await self._visitor(asked)  # administrators are told more
            return None
        if path in (SIGN_IN, SIGN_IN_CODE):
            self._refuse_foreign(asked)
            return None
        if method == "GET" and "token" in asked.query_params and not path.startswith("/api/"):
            return await self._let_in(asked)
        visitor = await self._visitor(asked)
        if visitor is None:
            if _bearer(asked.headers) is not None:
                raise Refused(UNKNOWN_KEY)
            if self._site.keys.cookie in asked.cookies:
                raise Refused(ENDED)
            raise Refused(NO_KEY if path.startswith(FOR_PROGRAMS) else NO_ENTRY)
        wait_s = self._site.requests.take(f"{visitor.tenant}/{visitor.user_id}")
        if wait_s:
            raise Refused(too_often(wait_s))
        asked.scope[VISITOR] = visitor
        if visitor.lacks_factor and not is_for_factor(method, path):
            if method not in SAFE_METHODS or path.startswith(FOR_PROGRAMS):
                raise Refused(FACTOR_NEEDED)
            return RedirectResponse(ACCOUNT, status_code=HTTPStatus.SEE_OTHER)
        # Another site's page cannot send a key in a header, but a cookie might go along with what it sends.
        asked.scope[CSRF_NEEDED] = visitor.way != "key" and not is_equal(asked.headers.get(CSRF_HEADER), visitor.csrf)
        if method not in SAFE_METHODS:
            self._refuse_foreign(asked)
        return None

    async def _visitor(self, asked: HTTPConnection) -> Visitor | None:
        """Who sent a request: by a key in a header, or by a cookie."""
        keys, tenant = self._site.keys, self._site.tenant
        key, session = _bearer(asked.headers), asked.cookies.get(keys.cookie)
        if key is not None:
            if keys.is_token(key):
                return Visitor.owner(tenant, way="key", csrf="")
            user = await run_in_threadpool(self._by_key, key, asked)
            return None if user is None else Visitor.of(user, way="key", csrf="")
        if session is None:
            return None
        return await run_in_threadpool(self._in_session, session)

    def _by_key(self, key: str, asked: HTTPConnection) -> UserAccount | None:
        """Whose key it is; a record system signs its calls instead."""
        if key.startswith(KEY_PREFIX):
            return self._site.people.by_key(key)
        if not asked.url.path.startswith(CDS_SERVICES):
            return None
        return self._site.cds_clients.user(key, address=f"{self._site.base(asked.url)}{asked.url.path}")

    def _in_session(self, session: str) -> Visitor | None:
        """Who holds a session: a user, or the owner who came by the printed link."""
        site, csrf = self._site, self._site.keys.csrf_of(session)
        user = site.people.by_session(session)
        if user is not None:
            visitor = Visitor.of(user, way="session", csrf=csrf, session=session)
            return replace(visitor, lacks_factor=self._lacks_factor(user, session))
        if site.people.is_owner_session(session, tenant=site.tenant):
            return Visitor.owner(site.tenant, way="link", csrf=csrf, session=session)
        return None

    def _lacks_factor(self, user: UserAccount, session: str) -> bool:
        """Whether a session was opened with a password alone though the role wants more."""
        app = self._site.app
        if user.role not in app.settings.second_factor_roles or app.second_factors.is_on(user.id):
            return False
        opened = self._site.people.session(session)
        return opened is None or opened.way == "password"

    @staticmethod
    def _refuse_foreign(asked: HTTPConnection) -> None:
        """Refuse a change that a page of another site asks for."""
        headers = asked.headers
        origin, fetch_site = headers.get("origin"), headers.get("sec-fetch-site")
        if not is_same_origin(origin=origin, fetch_site=fetch_site, host=headers["host"]):
            raise Refused(FOREIGN)

    async def _let_in(self, asked: HTTPConnection) -> Response:
        """Exchange the token for a session and drop it from the address."""
        owner = Visitor.owner(self._site.tenant, way="link", csrf="")
        if not self._site.keys.is_token(asked.query_params["token"]):
            nobody = replace(owner, user_id="")
            await run_in_threadpool(self._site.note, nobody, "session.open", outcome=REFUSED)
            raise Refused(NO_ENTRY)
        rest = urlencode([(name, value) for name, value in parse_qsl(asked.url.query) if name != "token"])
        clean = own_path(asked.url.path)
        response = RedirectResponse(f"{clean}?{rest}" if rest else clean, status_code=HTTPStatus.SEE_OTHER)
        session = await run_in_threadpool(self._site.people.open_owner_session, self._site.tenant)
        self._site.set_cookie(response, session)
        await run_in_threadpool(self._site.note, owner, "session.open")
        return response


def own_path(path: str) -> str:
    r"""A path of this site: one that begins with two slashes would lead to another host.

    Browsers take a backslash for a slash and drop tabs and line ends, so none of these stays as it is.

    >>> own_path("//evil.example/x"), own_path("/library?q=chest pain")
    ('/evil.example/x', '/library?q=chest%20pain')
    >>> own_path("/\t/evil.example/x"), own_path("/ \\evil.example")
    ('/%09/evil.example/x', '/%20%5Cevil.example')
    """
    return "/" + quote(path.lstrip("/\\"), safe=IN_ADDRESSES)


def is_for_factor(method: str, path: str) -> bool:
    """Whether somebody who still needs a second factor may go there: to set it up, to change a password, or to leave.

    >>> is_for_factor("GET", "/keys"), is_for_factor("POST", "/keys"), is_for_factor("POST", "/keys/second-factor/code")
    (True, False, True)
    """
    return (method, path) == ("GET", ACCOUNT) or path == "/sign-out" or path.startswith(OF_FACTOR)


def _bearer(headers: Headers) -> str | None:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def limit_of(path: str, usual: int) -> int:
    """How many bytes the body of a request may have.

    >>> limit_of("/consult", 512), limit_of("/consult/1/say", 512)
    (33554432, 512)
    """
    return max(usual, MAX_BUNDLE_BYTES) if BUNDLES.fullmatch(path) else usual


def is_upload(method: str, path: str) -> bool:
    """Whether a route reads the body itself, with limits of its own: files are never held in memory.

    >>> is_upload("POST", "/library"), is_upload("POST", "/sign-in"), is_upload("PUT", "/library")
    (True, False, False)
    """
    return method == "POST" and UPLOADS.fullmatch(path) is not None


async def buffered(receive: Receive, *, max_bytes: int) -> Message:
    """What the client sent, its body read as a whole; or that it left."""
    try:
        async with asyncio.timeout(BODY_S):
            return await _buffered(receive, max_bytes)
    except TimeoutError:
        raise Refused(TOO_SLOW) from None


async def _buffered(receive: Receive, max_bytes: int) -> Message:
    parts: list[bytes] = []
    size, ended = 0, False
    while not ended:
        message = await receive()
        if message["type"] != "http.request":
            return message
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > max_bytes:
            limit = "fixed for a patient's record" if max_bytes == MAX_BUNDLE_BYTES else "CITEWELL_MAX_REQUEST_KB"
            raise TooLarge(TOO_LARGE.format(max_bytes // 1024, limit))
        ended = not message.get("more_body", False)
    return {"type": "http.request", "body": b"".join(parts), "more_body": False}


def paced(receive: Receive) -> Receive:
    """The same channel for a file: whoever sends it more slowly than a very slow line does is refused."""
    started_s, size, is_whole = time.monotonic(), 0, False

    async def next_message() -> Message:
        nonlocal size, is_whole
        if is_whole:
            return await receive()
        try:
            async with asyncio.timeout(BODY_S):
                message = await receive()
        except TimeoutError:
            raise Refused(TOO_SLOW) from None
        size += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        if time.monotonic() - started_s > BODY_S + size / SLOWEST:
            raise Refused(TOO_SLOW)
        return message

    return next_message


class Channel:
    """What a client sent, and after that whether it is still there."""

    def __init__(self, first: Message, receive: Receive, allowance: WorkAllowance) -> None:
        self._waiting, self._receive, self._allowance = [first], receive, allowance
        self._gone = asyncio.Event()

    async def receive(self) -> Message:
        """The body, then that the client left."""
        if self._waiting:
            return self._waiting.pop()
        await self._gone.wait()
        return GONE

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """End the work of the request when its client goes."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self._allowance.stop()
        self._gone.set()

    async def unless_gone(self, waiting: Coroutine[None, None, T]) -> T:
        """Wait for something as long as the client does."""
        turn, gone = asyncio.ensure_future(waiting), asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait({turn, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                raise ClientGone(LEFT)
            return await turn
        finally:
            gone.cancel()
            if not turn.done():
                turn.cancel()
