"""A trial run of the whole product that notes every attempt to reach another machine; run by `doctor --no-egress`."""

from __future__ import annotations

import ctypes
import ipaddress
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
WATCHED = frozenset({"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"})


def cut_off() -> bool:
    """Move into a network namespace without any way out, where the kernel lets us."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.unshare(CLONE_NEWNET) == 0 or libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
    except (OSError, AttributeError):
        return False


def watch(attempts: set[str]) -> None:
    """Note every address outside this machine that the process asks for."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in WATCHED and (place := _outside(event, arguments)):
            attempts.add(place)

    sys.addaudithook(hook)


def _outside(event: str, arguments: tuple[Any, ...]) -> str | None:
    """The host that a call names, unless it is this machine."""
    target = arguments[0] if event in ("socket.getaddrinfo", "socket.gethostbyname") else arguments[1]
    host = target[0] if isinstance(target, tuple) else target
    if not isinstance(host, str) or host in ("", "localhost") or host.startswith("/"):
        return None
    try:
        return None if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return host


def trial() -> dict[str, object]:
    """Add the samples and ask the example questions in a library that is thrown away."""
    attempts: set[str] = set()
    watch(attempts)
    is_cut_off = cut_off()
    import citewell
    from citewell.samples import EXAMPLE_QUESTIONS, sample_files

    with tempfile.TemporaryDirectory() as folder, citewell.open(Path(folder)) as app:
        added = [outcome for outcome in app.add_all(sample_files()) if outcome.error is None]
        resultses = [app.search(question.text) for question in EXAMPLE_QUESTIONS]
    return {
        "cut_off": is_cut_off,
        "documents": len(added),
        "searches": len(resultses),
        "attempts": sorted(attempts),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(trial()))
