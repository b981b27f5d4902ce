"""What every request passes first: the right address, the right person, our own page; and headers for every answer."""

from __future__ import annotations

import logging
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.api.auth import Keys, is_own_host, is_same_origin
from citewell.api.errors import Problem, answer, problem_of

log = logging.getLogger(__name__)

SAFE_METHODS = frozenset({"GET", "HEAD"})
OPEN_PATHS = ("/static/", "/api/v1/health", "/favicon.ico")
CSRF_HEADER = "x-csrf-token"
CSRF_NEEDED = "citewell.csrf_needed"
"""In the scope of a request: whether its form must prove that it is ours."""

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
    "This server answers only under its own address. Open the link that `citewell serve` printed.",
)
NO_ENTRY = Problem(
    HTTPStatus.UNAUTHORIZED,
    "NotSignedIn",
    "Open the link that `citewell serve` printed: it ends in a token. Programs send it as “Authorization: Bearer …”.",
)
FOREIGN = Problem(
    HTTPStatus.FORBIDDEN,
    "ForeignPage",
    "This came from a page of another site, so nothing was done. Go back and retry.",
)


class Guard:
    """Middleware round the whole site."""

    def __init__(self, app: ASGIApp, *, keys: Keys, host: str) -> None:
        self._app = app
        self._keys = keys
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refusal = self._refusal(HTTPConnection(scope))
            await (refusal or self._app)(scope, receive, send_with_headers)
        except Exception as error:
            problem = problem_of(error)
            if begun:
                # The status is out already; ending the connection is all that can still be said.
                raise ConnectionResetError("an answer broke off") from None
            await answer(scope["path"], problem)(scope, receive, send_with_headers)

    def _refusal(self, asked: HTTPConnection) -> Response | None:
        """Why a request goes no further, or None."""
        path, method, hosts = asked.scope["path"], asked.scope["method"], asked.headers.getlist("host")
        if len(hosts) != 1 or not is_own_host(hosts[0], self._host):
            return answer(path, WRONG_HOST)
        if method in SAFE_METHODS and path.startswith(OPEN_PATHS):
            return None
        if method == "GET" and "token" in asked.query_params and not path.startswith("/api/"):
            return self._signed_in(asked)
        by_token = self._keys.is_token(_bearer(asked.headers))
        if not by_token and not self._keys.is_session(asked.cookies.get(self._keys.cookie)):
            return self._no_entry(path)
        return None if method in SAFE_METHODS else self._foreign(asked, by_token=by_token)

    def _foreign(self, asked: HTTPConnection, *, by_token: bool) -> Response | None:
        """Why something may not be changed, or None; forms that a cookie lets in have to prove their origin as well."""
        headers = asked.headers
        origin, fetch_site = headers.get("origin"), headers.get("sec-fetch-site")
        if not is_same_origin(origin=origin, fetch_site=fetch_site, host=headers["host"]):
            return answer(asked.scope["path"], FOREIGN)
        # Another site's page cannot send a token in a header, but a cookie might go along with what it sends.
        asked.scope[CSRF_NEEDED] = not by_token and not self._keys.is_csrf(headers.get(CSRF_HEADER))
        return None

    def _signed_in(self, asked: HTTPConnection) -> Response:
        """Exchange the token for a cookie and drop it from the address."""
        if not self._keys.is_token(asked.query_params["token"]):
            return self._no_entry(asked.scope["path"])
        rest = urlencode([(name, value) for name, value in parse_qsl(asked.url.query) if name != "token"])
        # A path that begins with two slashes would lead to another host.
        clean = "/" + asked.url.path.lstrip("/\\")
        response = RedirectResponse(f"{clean}?{rest}" if rest else clean, status_code=HTTPStatus.SEE_OTHER)
        response.set_cookie(self._keys.cookie, self._keys.session, httponly=True, samesite="strict", path="/")
        return response

    @staticmethod
    def _no_entry(path: str) -> Response:
        response = answer(path, NO_ENTRY)
        if path.startswith("/api/"):
            response.headers["WWW-Authenticate"] = "Bearer"
        return response


def _bearer(headers: Headers) -> str | None:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None
