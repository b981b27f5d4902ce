"""Counts and times for Prometheus: never a word, an id or an address."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping

from starlette.types import Scope

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BOUNDS_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Upper bounds of the buckets of a time."""

COUNTERS = {
    "requests": "Requests answered, by route, method and status.",
    "answers": "Questions answered, by outcome.",
    "failures": "Questions that failed, by error.",
    "sign_ins": "Sign-ins, by outcome.",
}
TIMES = {"request": "Time to the first byte of an answer, by route.", "search": "Search time."}
GAUGES = {
    "streams": "Answers being sent.",
    "documents": "Documents in use.",
    "documents_under_way": "Documents queued or being processed.",
    "documents_failed": "Documents that could not be read.",
    "passages": "Passages in use.",
    "queue_oldest_seconds": "Waiting time of the oldest queued document.",
    "workers": "Workers that reported recently.",
    "backup_age_seconds": "Age of the newest scheduled backup; Inf if there is none yet.",
}

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """All counts and times of one server; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, Labels], int] = defaultdict(int)
        self._times: dict[tuple[str, Labels], list[float]] = {}
        self._levels: dict[str, int] = {"streams": 0}

    def count(self, name: str, **labels: str) -> None:
        """One more of something."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += 1

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """How long something took."""
        with self._lock:
            # One place for each bound, then the count and the sum.
            place = self._times.setdefault((name, tuple(sorted(labels.items()))), [0.0] * (len(BOUNDS_S) + 2))
            for at, bound in enumerate(BOUNDS_S):
                place[at] += seconds <= bound
            place[-2] += 1
            place[-1] += seconds

    def answered(self, scope: Scope, status: int, seconds: float) -> None:
        """An answer to a request; routes are named by their pattern, since an address may hold an id or words."""
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"  # a client may call them what it likes
        self.count("requests", route=route, method=method, status=str(status))
        self.observe("request", seconds, route=route)

    def move(self, name: str, by: int) -> None:
        """Raise or lower a level."""
        with self._lock:
            self._levels[name] += by

    def text(self, levels: Mapping[str, float]) -> str:
        """Everything in Prometheus's text format; `levels` are those read just now."""
        with self._lock:
            counts = sorted(self._counts.items())
            times = sorted((key, list(place)) for key, place in self._times.items())
            known = dict(self._levels)
        lines: list[str] = []
        for name, description in COUNTERS.items():
            lines += _head(f"citewell_{name}_total", description, "counter")
            lines += [
                f"citewell_{name}_total{_labels(of)} {count}" for (counted, of), count in counts if counted == name
            ]
        for name, description in TIMES.items():
            lines += _head(f"citewell_{name}_seconds", description, "histogram")
            for (counted, of), place in times:
                if counted == name:
                    lines += _histogram(f"citewell_{name}_seconds", of, place)
        for name, level in sorted({**known, **levels}.items()):
            lines += _head(f"citewell_{name}", GAUGES.get(name, "A value read at this moment."), "gauge")
            lines.append(f"citewell_{name} {level:g}")
        return "\n".join(lines) + "\n"


def _head(name: str, description: str, kind: str) -> list[str]:
    return [f"# HELP {name} {description}", f"# TYPE {name} {kind}"]


def _labels(labels: Labels) -> str:
    r"""Labels as they are written.

    >>> _labels((("route", '/a"b'),))
    '{route="/a\\"b"}'
    """
    listed = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels)
    return f"{{{listed}}}" if listed else ""


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def _histogram(name: str, labels: Labels, place: list[float]) -> list[str]:
    bounds = [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
    buckets = [
        f"{name}_bucket{_labels((*labels, ('le', bound)))} {count:g}"
        for bound, count in zip(bounds, place[:-1], strict=True)
    ]
    return [*buckets, f"{name}_sum{_labels(labels)} {place[-1]:.6f}", f"{name}_count{_labels(labels)} {place[-2]:g}"]
