"""What the server writes to its log: the same warning once a minute with a count, in files that turn over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

FORMAT = "%(asctime)s %(process)d %(levelname)s %(message)s"
EVERY_S = 60.0
MOST_KINDS = 1_000
"""Kinds of lines that are remembered."""
FILES = 5
"""Files that are kept beside the one in use."""


class CountedWarnings(logging.Filter):
    """Lets each kind of warning through once a minute, and says later how many more there were.

    Lines below a warning are let through as they are.
    """

    def __init__(
        self, tell: Callable[[logging.LogRecord], object], *, every_s: float = EVERY_S, is_timed: bool = True
    ) -> None:
        super().__init__()
        self._tell, self._every_s, self._is_timed = tell, every_s, is_timed
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this line is written."""
        if record.levelno < logging.WARNING:
            return True
        kind = (record.name, record.levelno, str(record.msg))
        with self._lock:
            since_s, more = self._seen.get(kind, (0.0, 0))
            now_s = time.monotonic()
            if kind in self._seen and now_s - since_s < self._every_s:
                self._seen[kind] = since_s, more + 1
                if not more and self._is_timed:
                    timer = threading.Timer(self._every_s, self._sum_up, (kind, record))
                    timer.daemon = True
                    timer.start()
                return False
            if len(self._seen) >= MOST_KINDS:
                self._seen = {}
            self._seen[kind] = now_s, 0
        return True

    def _sum_up(self, kind: tuple[str, int, str], record: logging.LogRecord) -> None:
        with self._lock:
            since_s, more = self._seen.get(kind, (0.0, 0))
            self._seen[kind] = since_s, 0
        if more:
            said = logging.LogRecord(
                record.name,
                record.levelno,
                record.pathname,
                record.lineno,
                f"{more} more: {record.msg}",
                record.args,
                None,
            )
            self._tell(said)


def write_log(file: Path | None, *, max_mb: int) -> logging.Handler:
    """Send warnings to standard error, or everything to a file that turns over before it grows too large."""
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler()
        handler.setLevel(logging.WARNING)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=max_mb << 20, backupCount=FILES, encoding="utf-8")
        handler.setLevel(logging.INFO)
        logging.getLogger("citewell").setLevel(logging.INFO)
    handler.setFormatter(logging.Formatter(FORMAT))
    handler.addFilter(CountedWarnings(handler.emit))
    logging.getLogger().addHandler(handler)
    return handler
