"""What one reading may take: it keeps its document however long a step lasts, and no longer than its size allows."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from citewell.adapters.store import queue
from citewell.app import App
from citewell.ingest import worker
from citewell.ingest import worker as heart
from citewell.ingest.parse_allowance import ParseAllowance
from citewell.ingest.worker import LeaseHeartbeat, Worker
from citewell.types import Filing, LifecycleState, Source
from tests.core.test_worker import reached
from tests.faults.churn import Hashes

IRON = Source(b"# Iron\n\nTake 200 mg.", "iron.md")


class Slow(Hashes):
    """An embedder that says when it begins, and goes on when it may."""

    def __init__(self) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def embed(self, texts, *, progress=None):  # type: ignore[no-untyped-def]
        self.begun.set()
        assert self.may_go_on.wait(60)
        return super().embed(texts)


@pytest.mark.slow
def test_a_step_that_lasts_longer_than_a_lease_keeps_its_document(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "BEAT_S", 0.2)
    monkeypatch.setattr(queue, "LEASE", timedelta(seconds=2))
    slow, renewed = Slow(), threading.Semaphore(0)
    renew = app.library.renew
    monkeypatch.setattr(app.library, "renew", lambda *given: (renewed.release(), renew(*given))[1])
    queued = app.library.enqueue(IRON, filing=Filing(), scope=app.scope_of_owner())
    one = Worker(app.library, replace(app.reader, embedder=slow))
    working = threading.Thread(target=one.work)
    working.start()
    assert slow.begun.wait(60)
    for _ in range(15):  # at least three seconds: longer than the lease
        assert renewed.acquire(timeout=60)
    assert app.library.release([]) == 0
    assert app.library.claim("another") is None
    heard_of = app.library.status(app.scope_of_owner()).workers
    assert [(beat.name, beat.is_silent) for beat in heard_of] == [(one.name, False)]
    slow.may_go_on.set()
    working.join()
    assert app.library.entry(queued.id, app.scope_of_owner()).state is LifecycleState.COMPLETED


def test_a_reading_that_takes_too_long_is_tried_again_later(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "allowance", lambda _size: ParseAllowance(0.0, 1 << 30))
    queued = app.library.enqueue(IRON, filing=Filing(), scope=app.scope_of_owner())
    assert Worker(app.library, replace(app.reader, embedder=Hashes())).work()
    entry = app.library.entry(queued.id, app.scope_of_owner())
    assert (entry.state, entry.attempts, entry.chunk_count) == (LifecycleState.QUEUED, 1, 0)
    assert "longer than" in (entry.error or "")
    assert entry.next_attempt_at is not None


def test_a_reading_that_hangs_is_noticed_and_beats_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heart, "GRACE_S", 0.05)
    hung, beats = threading.Event(), []
    with LeaseHeartbeat(renew=lambda: not beats.append(1), time_s=0.1, hangs=hung.set) as beating:
        assert hung.wait(60)
        assert beating.is_overdue
        count = len(beats)
        assert reached(lambda: not beating._thread.is_alive())
        assert len(beats) == count


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")
def test_memory_is_bounded_while_a_document_is_read_and_not_afterwards() -> None:
    script = """
from citewell.ingest.parse_allowance import bounded_memory
with bounded_memory(64 << 20):
    bytearray(16 << 20)
    try:
        bytearray(512 << 20)
    except MemoryError:
        print("bounded")
bytearray(512 << 20)
print("free again")
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told.split("\n")[:2] == ["bounded", "free again"]
