"""What the CPU can do, by the names that Linux gives its features."""

from __future__ import annotations

import platform
import sys
from functools import cache
from pathlib import Path


@cache
def features() -> frozenset[str]:
    """The CPU's features; empty where they cannot be known, which is always safe."""
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return frozenset({"asimddp", "asimdhp"})  # every Apple CPU that runs Python has both
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    listed = (line.partition(":")[2] for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(listed, "").split())
