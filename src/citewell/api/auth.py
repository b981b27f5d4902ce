"""Who may come in: a token, a session made from it, and a proof that a form came from our own page."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import time
from collections.abc import Collection
from urllib.parse import urlsplit

VISITOR = "citewell.visitor"
"""In the scope of a request: who sent it."""

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 -- compared with, not bound to


class TokenSigner:
    """All secrets of one server, derived from its token; every comparison takes the same time."""

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("a token is required")
        self._token = token
        self.session = self._derived("session")
        """What the cookie holds: never the token itself."""
        self.csrf = self.csrf_of(self.session)
        self.cookie = f"citewell_{self._derived('cookie')[:8]}"
        """Cookies know no ports: two servers on one machine must not share a name."""

    def _derived(self, purpose: str) -> str:
        return hmac.new(self._token.encode(), f"citewell {purpose}".encode(), hashlib.sha256).hexdigest()

    def is_token(self, given: str | None) -> bool:
        """Whether this is the token that was printed."""
        return is_equal(given, self._token)

    def is_session(self, given: str | None) -> bool:
        """Whether this is a session that the token opened."""
        return is_equal(given, self.session)

    def sealed(self, text: str, *, lasts_s: int) -> str:
        """A text that a browser may carry for a while but cannot change; it can read it."""
        body = base64.urlsafe_b64encode(f"{int(time.time()) + lasts_s} {text}".encode()).decode()
        return f"{body}.{self._derived(f'sealed {body}')}"

    def opened(self, given: str | None) -> str | None:
        """What was sealed, or None where it was changed or its time is over."""
        body, _, mark = (given or "").partition(".")
        if not is_equal(mark, self._derived(f"sealed {body}")):
            return None
        ends_at, _, text = base64.urlsafe_b64decode(body).decode().partition(" ")
        return text if time.time() < int(ends_at) else None

    def csrf_of(self, session: str) -> str:
        """What forms made for a session carry; of no use to any other session."""
        return self._derived(f"csrf {session}")


def is_equal(given: str | None, expected: str) -> bool:
    """Whether two secrets are the same, in a time that tells nothing."""
    return given is not None and hmac.compare_digest(given.encode(), expected.encode())


def is_own_host(header: str, bound: str, names: Collection[str] = ()) -> bool:
    """Whether a Host header names this server; another name may be a web site that points its own name at us.

    `names` are those under which a proxy makes the server known.

    >>> is_own_host("127.0.0.1:8477", "127.0.0.1"), is_own_host("evil.example:8477", "127.0.0.1")
    (True, False)
    >>> is_own_host("192.0.2.7:8477", "0.0.0.0"), is_own_host("192.0.2.7:8477", "127.0.0.1")
    (True, False)
    """
    try:
        name = urlsplit(f"//{header}").hostname
        port_is_number = urlsplit(f"//{header}").port is not None or not header.endswith(":")
    except ValueError:
        return False
    if name is None or not port_is_number or set(header) & set("/?#@\\ \t"):
        return False
    if name in LOOPBACK_NAMES or name == bound.lower() or name in names:
        return True
    # Bound to every address, we cannot know our names; a bare address at least is nobody's domain.
    return bound in WILDCARDS and _is_address(name)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what is bound to this address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    return host in LOOPBACK_NAMES or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(*, origin: str | None, fetch_site: str | None, host: str) -> bool:
    """Whether a request that changes something was sent by a page of this server, or by no page at all.

    Browsers say where a request comes from and no page can make them lie. The older header counts where the newer one
    is missing.

    >>> is_same_origin(origin="http://127.0.0.1:8477", fetch_site=None, host="127.0.0.1:8477")
    True
    >>> is_same_origin(origin="http://127.0.0.1:3000", fetch_site=None, host="127.0.0.1:8477")
    False
    >>> is_same_origin(origin="https://behind-a-proxy.example", fetch_site="same-origin", host="127.0.0.1:8477")
    True
    """
    if fetch_site is not None:
        return fetch_site in ("same-origin", "none")
    return origin is None or origin == f"http://{host}"
