"""How much time and memory the reading of one file may take: more for a larger one."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MEBIBYTE = 1 << 20
BASE_S = 300.0
PER_MEBIBYTE_S = 120.0
"""Pages that are pictures take longest: a few seconds each to read, at a tenth of a MiB or more."""
BASE_BYTES = 1_536 * MEBIBYTE
PER_BYTE = 30


@dataclass(frozen=True, slots=True)
class ParseAllowance:
    """What one reading may take."""

    time_s: float
    memory_bytes: int


def allowance(size_bytes: int) -> ParseAllowance:
    """The allowance of a file by its size.

    >>> allowance(0).time_s, allowance(10 * MEBIBYTE).time_s, allowance(100 * MEBIBYTE).time_s
    (300.0, 1500.0, 12300.0)
    """
    return ParseAllowance(BASE_S + PER_MEBIBYTE_S * size_bytes / MEBIBYTE, BASE_BYTES + PER_BYTE * size_bytes)


@contextmanager
def bounded_memory(extra_bytes: int) -> Iterator[None]:
    """Let this process grow by so much and no more; Python then raises MemoryError instead of the machine stalling.

    For a process that does nothing else: the bound holds for all of its threads.
    """
    if sys.platform != "linux":
        yield
        return
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _data_bytes() + extra_bytes
    limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


def _data_bytes() -> int:
    """What this process holds in private memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * resource.getpagesize()
