"""How often one person may ask for something: allowances that fill up again, in memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from citewell.api.errors import Problem

MAX_KNOWN = 10_000
"""Of how many people the allowance is remembered; the one seen longest ago is forgotten first."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at_s: float


class Allowance:
    """`count` uses in `every_s` seconds, for each name; what was used comes back evenly.

    >>> clock = iter([0.0, 0.0, 0.0, 30.0]).__next__
    >>> two_a_minute = Allowance(2, every_s=60, clock=clock)
    >>> [two_a_minute.take("ann") for _ in range(4)]
    [0.0, 0.0, 30.0, 0.0]
    """

    def __init__(self, count: int, *, every_s: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._count, self._every_s, self._clock = count, every_s, clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str) -> float:
        """Use one; 0, or in how many seconds there will be one again."""
        with self._lock:
            bucket = self._filled(name)
            if bucket.left >= 1:
                bucket.left -= 1
                return 0.0
            return (1 - bucket.left) * self._every_s / self._count

    def give_back(self, name: str) -> None:
        """Return one that was taken and did not count after all."""
        with self._lock:
            bucket = self._filled(name)
            bucket.left = min(self._count, bucket.left + 1)

    def _filled(self, name: str) -> _Bucket:
        now_s = self._clock()
        bucket = self._buckets.setdefault(name, _Bucket(self._count, now_s))
        self._buckets.move_to_end(name)
        bucket.left = min(self._count, bucket.left + (now_s - bucket.at_s) * self._count / self._every_s)
        bucket.at_s = now_s
        while len(self._buckets) > MAX_KNOWN:
            self._buckets.popitem(last=False)
        return bucket


def too_often(wait_s: float) -> Problem:
    """What to tell someone whose allowance is used up."""
    seconds = max(1, -int(-wait_s // 1))
    detail = f"Too many requests in a short time. Wait {seconds} second{'s' * (seconds > 1)}, then try again."
    return Problem(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", detail, retry_after_s=seconds)
