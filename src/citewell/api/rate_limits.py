"""How often one person may ask for something: allowances that fill up again, in memory."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from citewell.api.problems import Problem

MANY = 10_000
"""So many names are remembered before those are looked for that can be forgotten."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at_s: float


class RateLimit:
    """`count` uses in `every_s` seconds, for each name; what was used comes back evenly.

    A name is forgotten when it has all of its uses again, never before: a flood of other names frees nobody.

    >>> clock = iter([0.0, 0.0, 0.0, 30.0]).__next__
    >>> two_a_minute = RateLimit(2, every_s=60, clock=clock)
    >>> [two_a_minute.take("ann") for _ in range(4)]
    [0.0, 0.0, 30.0, 0.0]
    """

    def __init__(self, count: int, *, every_s: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._count, self._every_s, self._clock = count, every_s, clock
        self._buckets: dict[str, _Bucket] = {}
        self._tidied_at = MANY
        self._lock = threading.Lock()

    def take(self, name: str, *, uses: int = 1) -> float:
        """Use one or more, never more than there can be; 0, or in how many seconds there will be as many again."""
        uses = min(uses, self._count)
        with self._lock:
            bucket = self._filled(name)
            if bucket.left >= uses:
                bucket.left -= uses
                return 0.0
            return (uses - bucket.left) * self._every_s / self._count

    def give_back(self, name: str) -> None:
        """Return one that was taken and did not count after all."""
        with self._lock:
            bucket = self._filled(name)
            bucket.left = min(self._count, bucket.left + 1)

    def _filled(self, name: str) -> _Bucket:
        now_s = self._clock()
        if len(self._buckets) >= self._tidied_at:
            self._buckets = {
                other: bucket for other, bucket in self._buckets.items() if not self._is_full(bucket, now_s)
            }
            self._tidied_at = max(MANY, 2 * len(self._buckets))
        bucket = self._buckets.setdefault(name, _Bucket(self._count, now_s))
        bucket.left, bucket.at_s = self._left(bucket, now_s), now_s
        return bucket

    def _left(self, bucket: _Bucket, now_s: float) -> float:
        return min(self._count, bucket.left + (now_s - bucket.at_s) * self._count / self._every_s)

    def _is_full(self, bucket: _Bucket, now_s: float) -> bool:
        return self._left(bucket, now_s) >= self._count


class Running:
    """How many of one kind of work each person has under way.

    >>> one = Running(1)
    >>> one.begin("ann"), one.begin("ann"), one.begin("ben"), one.end("ann"), one.begin("ann")
    (True, False, True, None, True)
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def begin(self, name: str) -> bool:
        """Count one more, if there is room for it."""
        with self._lock:
            if self._counts[name] >= self.at_once:
                return False
            self._counts[name] += 1
            return True

    def end(self, name: str) -> None:
        """One is done."""
        with self._lock:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]


def too_often(wait_s: float) -> Problem:
    """What to tell someone whose allowance is used up."""
    seconds = max(1, -int(-wait_s // 1))
    detail = f"Too many requests. Wait {seconds} second{'s' * (seconds > 1)}, then try again."
    return too_many(detail, seconds)


def too_many(detail: str, wait_s: int) -> Problem:
    """What to tell someone who wants too much at once."""
    return Problem(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", detail, retry_after_s=wait_s)
