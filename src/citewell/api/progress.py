"""How far a document has come and how long it will take, from what was seen of it so far."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from citewell.ingest.parse_cut_embed import Step
from citewell.web import display_words as phrases

REMEMBERED = 1_000
"""Documents of which it is known since when they are at their stage: many are never looked at again."""
SHOWN_AFTER_S = 2.0
"""An estimate made earlier than this says little."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a document is on its way to the shelf."""

    stage: str
    done: int
    total: int
    time_left_s: float | None
    words: str


@dataclass(frozen=True, slots=True)
class _Seen:
    step: Step
    at_s: float


class Stopwatch:
    """Remembers when each document's stage was first seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: dict[str, _Seen] = {}

    def forget(self, document_id: str) -> None:
        """The document is done."""
        with self._lock:
            self._first.pop(document_id, None)

    def look(self, document_id: str, step: Step | None, *, now_s: float | None = None) -> Progress:
        """What can be said of a document that is at this step."""
        if step is None:
            return Progress("waiting", 0, 0, None, phrases.stage(None, None))
        now_s = time.monotonic() if now_s is None else now_s
        with self._lock:
            first = self._first.get(document_id)
            if first is None or first.step.stage != step.stage:
                self._first.pop(document_id, None)
                first = self._first[document_id] = _Seen(step, now_s)
                if len(self._first) > REMEMBERED:
                    del self._first[next(iter(self._first))]
        left_s = _time_left_s(first, step, now_s)
        return Progress(step.stage, step.done, step.total, left_s, phrases.stage(step, left_s))


def _time_left_s(first: _Seen, step: Step, now_s: float) -> float | None:
    elapsed_s, gained = now_s - first.at_s, step.done - first.step.done
    if elapsed_s < SHOWN_AFTER_S or gained <= 0 or not step.total:
        return None
    return round((step.total - step.done) * elapsed_s / gained, 1)
