"""Whether a request names this server and was sent by one of its own pages."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 -- compared with, not bound to


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
