"""Queued documents are read in the background, one at a time, and none is lost when the worker stops."""

from __future__ import annotations

from citewell.bootstrap import App
from citewell.ingest.read import Step
from citewell.ingest.worker import Worker
from citewell.types import Filing, Source, State

TEXT = Source(b"# Iron\n\nTake 200 mg.", "iron.md")


def test_it_reads_what_is_queued_and_says_what_failed(app: App) -> None:
    good = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    bad = app.library.enqueue(Source(b"\x00\x01\x02\x00", "x.bin"), filing=Filing(), scope=app.scope_of_owner())
    assert [app.worker.work(), app.worker.work(), app.worker.work()] == [True, True, False]
    assert app.library.entry(good.id, app.scope_of_owner()).state == State.COMPLETED
    failed = app.library.entry(bad.id, app.scope_of_owner())
    assert failed.state == State.FAILED
    assert failed.error
    assert app.worker.steps == {}
    assert app.verify().problems == ()


def test_a_document_in_work_goes_back_to_the_queue_when_it_stops(app: App) -> None:
    queued = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    worker = Worker(app.library, app.reader)
    worker.stop()
    worker.work()
    assert app.library.entry(queued.id, app.scope_of_owner()).state == State.QUEUED


def test_it_runs_until_it_is_stopped(app: App) -> None:
    app.worker.start()
    queued = app.library.enqueue(TEXT, filing=Filing(), scope=app.scope_of_owner())
    app.worker.nudge()
    for _ in range(600):
        if app.library.entry(queued.id, app.scope_of_owner()).state == State.COMPLETED:
            break
        app.worker._wake.wait(0.05)
    assert app.search("iron dose").hits[0].document_id == queued.id
    assert all(isinstance(step, Step) for step in app.worker.steps.values())
