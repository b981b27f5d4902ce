"""JSON from a record system: no redirect is followed, and neither its size nor its time is left open."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from citewell.adapters.remote import is_local
from citewell.errors import Unavailable

MAX_BYTES = 16 * 1024 * 1024
"""All that one launch reads."""
JSON_TYPES = frozenset({"application/json", "application/fhir+json", "application/json+fhir", "text/json"})

AWAY = "The record system is not responding. Nothing was read. Try again."
TOO_LATE = (
    "The record system took too long, so nothing was used. Try again, or ask an administrator to raise "
    "CITEWELL_SMART_TIMEOUT_S."
)
TOO_BIG = "The record system sent more than 16 MiB for this patient, so nothing was used."
ELSEWHERE = (
    "The record system pointed to another address, so nothing was read. Ask an administrator to check "
    "CITEWELL_SMART_SERVERS."
)
NOT_JSON = (
    "The record system did not send FHIR data, so nothing was used. Ask an administrator to check "
    "CITEWELL_SMART_SERVERS."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, and the object that came with it."""

    status: int
    body: dict[str, Any]


@dataclass(slots=True)
class RecordSystemClient:
    """Calls of one launch, within the time and the size that all of them have together."""

    http: httpx.Client
    ends_at_s: float
    left_bytes: int = field(default=MAX_BYTES)

    def get(self, address: str, token: str | None = None) -> Reply:
        """What an address sends; a token goes along where there is one."""
        accepted = "application/json" if token is None else "application/fhir+json"
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self._sent("GET", address, {"Accept": accepted, **headers})

    def post(self, address: str, form: Mapping[str, str]) -> Reply:
        """What a form is answered with."""
        return self._sent("POST", address, {"Accept": "application/json"}, form)

    def _sent(
        self, method: str, address: str, headers: Mapping[str, str], form: Mapping[str, str] | None = None
    ) -> Reply:
        left_s = self.ends_at_s - time.monotonic()
        if left_s <= 0:
            raise Unavailable(TOO_LATE)
        # Not compressed: what is counted is what comes.
        sent = {"Accept-Encoding": "identity", **headers}
        try:
            with self.http.stream(method, address, headers=sent, data=form, timeout=left_s) as reply:
                if reply.is_redirect:
                    raise Unavailable(ELSEWHERE)
                data = self._body(reply)
                return Reply(reply.status_code, _json(reply, data))
        except httpx.TimeoutException as error:
            raise Unavailable(TOO_LATE) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unavailable(AWAY) from error

    def _body(self, reply: httpx.Response) -> bytes:
        parts = []
        for part in reply.iter_raw():
            self.left_bytes -= len(part)
            if self.left_bytes < 0:
                raise Unavailable(TOO_BIG)
            if time.monotonic() > self.ends_at_s:
                raise Unavailable(TOO_LATE)
            parts.append(part)
        return b"".join(parts)


@contextmanager
def calling(issuer: str, timeout_s: float) -> Iterator[RecordSystemClient]:
    """Calls to a record system; a proxy of the environment sees nothing of one on this machine."""
    with httpx.Client(follow_redirects=False, trust_env=not is_local(issuer)) as http:
        yield RecordSystemClient(http, time.monotonic() + timeout_s)


def origin_of(address: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what must be the same for two addresses to be of one server.

    >>> origin_of("https://ehr.example/fhir") == origin_of("https://EHR.example:443/token")
    True
    """
    try:
        parts = urlsplit(address)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError as error:
        raise Unavailable(ELSEWHERE) from error
    if parts.username is not None or parts.password is not None:
        raise Unavailable(ELSEWHERE)
    return parts.scheme, (parts.hostname or "").lower(), port


def _json(reply: httpx.Response, data: bytes) -> dict[str, Any]:
    """The object that was sent; an error may come without one."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind in JSON_TYPES and "content-encoding" not in reply.headers:
            body = json.loads(data)
            if isinstance(body, dict):
                return body
    except (ValueError, RecursionError):
        pass
    if reply.is_error:
        return {}
    raise Unavailable(NOT_JSON)
