"""From which machine a request comes, as far as that can be known behind a proxy."""

from __future__ import annotations

from fastapi import Request

from citewell.api.addresses import is_loopback
from citewell.api.server_state import ServerState

MOST_CHARACTERS = 64


def machine_of(request: Request, site: ServerState) -> str | None:
    """The address of the machine; None where a proxy hides it, so that one person cannot lock out the others.

    Only what a proxy of the settings says of its client is believed.
    """
    nearest, chosen = request.client.host if request.client else "", site.app.settings
    if nearest in chosen.proxies:
        named = [part.strip() for part in ",".join(request.headers.getlist("x-forwarded-for")).split(",")]
        clients = [address for address in named if address and address not in chosen.proxies]
        return clients[-1][:MOST_CHARACTERS] if clients else None
    is_published_by_proxy = bool(chosen.hosts) and is_loopback(nearest)
    return None if is_published_by_proxy else nearest
