"""How much memory a model server on this machine takes, where the operating system tells it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from citewell.adapters.remote import is_local

PROC = Path("/proc")
LISTENS = "0A"


def server_memory(url: str) -> int | None:
    """Bytes in memory of the process that listens at a local address, and of those it started; None if unknown."""
    parts = urlsplit(url)
    if not is_local(url) or not PROC.is_dir():
        return None
    sockets = set(_listening(parts.port or (443 if parts.scheme == "https" else 80)))
    owners = {pid for pid in _processes() if not sockets.isdisjoint(_sockets(pid))}
    return sum(map(_resident, _with_children(owners))) or None


def _listening(port: int) -> Iterator[str]:
    """What the sockets are called that listen on a port."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{fields[9]}]"


def _processes() -> Iterator[int]:
    return (int(folder.name) for folder in PROC.iterdir() if folder.name.isdecimal())


def _sockets(pid: int) -> Iterator[str]:
    """What a process has open; nothing of one that is another user's."""
    with suppress(OSError):
        for link in (PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                yield str(link.readlink())


def _with_children(owners: set[int]) -> set[int]:
    """Processes and all that they started, such as the runner of a model."""
    parents = {pid: int(_status(pid, "PPid") or 0) for pid in _processes()}
    family, size = set(owners), 0
    while len(family) > size:
        size = len(family)
        family |= {pid for pid, parent in parents.items() if parent in family}
    return family


def _resident(pid: int) -> int:
    return int(_status(pid, "VmRSS") or 0) * 1024


def _status(pid: int, name: str) -> str | None:
    """The first word of a line of a process's status."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return line.split()[1]
    return None
