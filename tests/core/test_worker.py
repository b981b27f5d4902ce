"""Queued documents are read in the background, one at a time, and none is lost when the worker stops."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.exc import TimeoutError as PoolTimeout

from citewell.adapters.queue.celery import AWAY, BrokerMessages
from citewell.adapters.store import queue
from citewell.app import App
from citewell.ingest.worker import Worker
from citewell.types import Filing, LifecycleState, Source


def reached(is_so: Callable[[], bool]) -> bool:
    """Whether something comes about within half a minute."""
    return any(is_so() or time.sleep(0.05) for _ in range(600))


TEXT = Source(b"# Iron\n\nTake 200 mg.", "iron.md")


def test_it_reads_what_is_queued_and_says_what_failed(app: App) -> None:
    good = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    bad = app.library.enqueue(Source(b"\x00\x01\x02\x00", "x.bin"), filing=Filing(), scope=app.scope_of_owner())
    assert [app.worker.work(), app.worker.work(), app.worker.work()] == [True, True, False]
    assert app.library.entry(good.id, app.scope_of_owner()).state == LifecycleState.COMPLETED
    failed = app.library.entry(bad.id, app.scope_of_owner())
    assert failed.state == LifecycleState.FAILED
    assert failed.error
    assert app.worker.steps == {}
    assert app.verify().problems == ()


def test_a_document_in_work_goes_back_to_the_queue_when_it_stops(app: App) -> None:
    queued = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    worker = Worker(app.library, app.reader)
    worker.stop()
    worker.work()
    assert app.library.entry(queued.id, app.scope_of_owner()).state == LifecycleState.QUEUED


def test_it_runs_until_it_is_stopped(app: App) -> None:
    app.worker.start()
    queued = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    app.worker.nudge()
    for _ in range(600):
        if app.library.entry(queued.id, app.scope_of_owner()).state == LifecycleState.COMPLETED:
            break
        app.worker._wake.wait(0.05)
    assert app.search("iron dose").hits[0].document_id == queued.id
    app.worker.stop()
    later = app.library.enqueue(replace(TEXT, name="later.md"), filing=Filing(), scope=app.scope_of_owner())
    app.worker.nudge()
    assert app.library.entry(later.id, app.scope_of_owner()).state == LifecycleState.QUEUED


def test_no_error_ends_it(app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    claim, failures = app.library.claim, [PoolTimeout("secret words"), ValueError("secret words")]

    def failing(worker: str, *, embedder: str, document_id: str | None) -> object:
        if failures:
            raise failures.pop()
        return claim(worker, embedder=embedder, document_id=document_id)

    monkeypatch.setattr(app.library, "claim", failing)
    monkeypatch.setattr("citewell.ingest.worker.PAUSE_S", 0.01)
    queued = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    with caplog.at_level(logging.WARNING, "citewell"):
        app.worker.start()
        assert reached(lambda: app.library.entry(queued.id, app.scope_of_owner()).state == LifecycleState.COMPLETED)
    assert [record.getMessage() for record in caplog.records] == [
        "queue cannot be worked on: ValueError",
        "queue cannot be worked on: TimeoutError",
    ]


def test_a_lease_that_runs_out_while_it_waits_is_taken_up(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewell.ingest.worker.TAKE_UP_S", 0.1)
    monkeypatch.setattr(queue, "LEASE", timedelta(seconds=1))
    queued = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    assert app.library.claim("another-machine/1/silent") is not None
    app.worker.start()
    assert app.library.entry(queued.id, app.scope_of_owner()).state == LifecycleState.PROCESSING
    monkeypatch.setattr(queue, "LEASE", timedelta(minutes=5))
    assert reached(lambda: app.library.entry(queued.id, app.scope_of_owner()).state == LifecycleState.COMPLETED)


def test_it_starts_again_after_it_was_stopped(app: App) -> None:
    app.worker.start()
    app.worker.stop()
    queued = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    app.worker.start()
    assert reached(lambda: app.library.entry(queued.id, app.scope_of_owner()).state == LifecycleState.COMPLETED)


def test_a_broker_that_is_away_is_told_of_in_one_sentence_however_often_it_is_tried(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, words = logging.getLogger("consumer-of-a-broker"), BrokerMessages()
    told.addFilter(words)
    for _ in range(3):
        told.error("Cannot connect to %s: %s", "redis://:secret@host", "refused", exc_info=ValueError("secret"))
    monkeypatch.setattr("citewell.adapters.queue.celery.SAID_AGAIN_S", -1.0)
    told.warning("Connection lost")
    assert [record.getMessage() for record in caplog.records] == [AWAY, AWAY]
    assert "secret" not in caplog.text
