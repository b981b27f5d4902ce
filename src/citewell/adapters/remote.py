"""What clients of models behind a server share: its address, its vendor's package, and when to try again."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from citewell.errors import CitewellError, MissingExtra

RETRY_AFTER_S = (1.0, 2.0, 4.0)
MAX_WAIT_S = 10.0
CONNECT_S = 5.0

Sleep = Callable[[float], None]


class TransientFailure(Exception):
    """A failure that another try may not meet."""

    def __init__(self, error: CitewellError, *, retry_after: object = None) -> None:
        super().__init__(str(error))
        self.error = error
        is_seconds = isinstance(retry_after, str) and re.fullmatch(r"\d{1,4}(\.\d+)?", retry_after)
        self.wait_s = float(retry_after) if isinstance(retry_after, str) and is_seconds else None
        """What the server asks to wait, if it does."""


def spread(pause_s: float, asked_s: float | None) -> float:
    """The pause before another try, spread so that many callers do not come back at once.

    >>> spread(1.0, asked_s=60.0), 0.75 <= spread(1.0, asked_s=None) <= 1.25
    (10.0, True)
    """
    own_s = pause_s * random.uniform(0.75, 1.25)  # noqa: S311 - guards nothing
    return min(MAX_WAIT_S, max(own_s, asked_s or 0.0))


def place_of(vendor: str, url: str) -> str:
    """The vendor and its address, without any user or key that the address may hold.

    >>> place_of("Ollama", "http://me:secret@127.0.0.1:11434/api")
    'Ollama at http://127.0.0.1:11434'
    """
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{vendor} at {parts.scheme}://{parts.hostname}{port}"


def is_local(url: str) -> bool:
    """Whether an address is on this machine, where a proxy of the environment must not see what is sent.

    >>> is_local("http://localhost:11434"), is_local("https://models.example/v1")
    (True, False)
    """
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def is_safe(address: str) -> bool:
    """Whether what comes from an address cannot be changed on its way: https, or this machine.

    >>> is_safe("https://models.example"), is_safe("http://models.example"), is_safe("http://127.0.0.1:1")
    (True, False, True)
    """
    return urlsplit(address).scheme == "https" or (address.startswith("http://") and is_local(address))


def vendor_package(name: str, client: str, *, extra: str) -> Any:
    """The package of a vendor's client, which is read only when it is wanted."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(
            f"{client} is not installed. Install it with `pip install 'citewell[{extra}]'` in the environment that "
            "Citewell runs in."
        ) from error
