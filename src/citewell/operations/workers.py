"""Reads what is queued: in this process, or in workers of several processes on any number of machines."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from citewell.app import App, build
from citewell.errors import EmbedderMismatch

if TYPE_CHECKING:
    from citewell.config import Settings
    from citewell.ingest.parse_cut_embed import Step
    from citewell.ingest.worker import Worker
    from citewell.types import LibraryEntry

log = logging.getLogger(__name__)

Tell = Callable[[str, "Step"], None]
"""Called at every step of a document, with its name."""
Part = Literal["poll", "serve", "sweep", "literature"]
"""What one process of a worker does: look at the table by itself, serve nudges, sweep up what nudges missed, or run
saved queries and look for retractions."""

SWEEP_S = 2.0
RESTART_S = 1.0
END_S = 30.0
"""How long a process may take to put its document back, once it is told to end."""
REFUSED = 78
"""How a process ends that must not be started again before a setting is changed."""
PARENT_DEATH = 1


# ----------------------------------------------------------------------------------------------- one worker, in parts


def drain(app: App) -> tuple[int, int]:
    """Read all that waits, in this process; says how many documents were read, and how many could not be."""
    worker = make_worker(app)
    worker.take_up()
    while worker.work():
        pass
    return worker.done, worker.failed


def read_document(app: App, document_id: str, *, watch: Tell) -> bool:
    """Read one document that waits, in this process; whether it was there to read."""
    from citewell.ingest.worker import Worker

    return Worker(app.library, app.reader, tell=watch).work(document_id)


def reprocess(app: App, document_ids: Sequence[str], *, watch: Tell) -> list[LibraryEntry]:
    """Read these documents a second time, in this process; those that could not be read, each with why."""
    from citewell.ingest.worker import Worker

    worker = Worker(app.library, app.reader, tell=watch)
    worker.take_up()
    for document_id in document_ids:
        worker.work(document_id)
    app.library.switch_when_whole(app.embedder.fingerprint)
    wanted = frozenset(document_ids)
    return [entry for entry in app.entries() if entry.id in wanted and (entry.error is not None or entry.rework)]


def make_worker(app: App) -> Worker:
    """A worker that has its process to itself."""
    from citewell.ingest.worker import Worker

    return Worker(app.library, app.reader, is_alone=True)


def refuse_misfit(app: App) -> None:
    """Refuse to work where the library's vectors are another embedder's, before anything is read."""
    app.library.fits(app.embedder.fingerprint)


def run_part(app: App, part: Part, *, processes: int) -> None:
    """Do one part of a worker until told to stop."""
    die_with_parent()
    try:
        if part == "serve":
            _serve(app, processes)
            return
        if part == "literature":
            _watch_literature(app)
            return
        refuse_misfit(app)
        worker = make_worker(app)
        signal.signal(signal.SIGTERM, lambda _number, _frame: worker.end())
        signal.signal(signal.SIGINT, lambda _number, _frame: worker.end())
        if part == "poll":
            worker.run()
        else:
            _sweep(app, worker, processes)
        worker.stop()
    except EmbedderMismatch as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(REFUSED)


def _watch_literature(app: App) -> None:
    """Run saved queries and look for retractions when it is time."""
    from citewell.operations.literature import LiteratureTimer

    timer = LiteratureTimer(app, app.queue.nudge if app.settings.broker_url else bool)
    signal.signal(signal.SIGTERM, lambda _number, _frame: timer.end())
    signal.signal(signal.SIGINT, lambda _number, _frame: timer.end())
    timer.run()


def _serve(app: App, processes: int) -> None:
    """Serve nudges; what reads is made once for all processes of the pool, and each opens the library for itself."""
    from citewell.adapters.queue.celery import run_pool
    from citewell.ingest.worker import Worker

    settings, reader = app.settings, app.reader
    app.library.close()  # no process may inherit a connection

    def make_work() -> Callable[[], bool]:
        worker = Worker(build(settings).library, reader, is_alone=True)
        threading.Thread(target=worker.keep_looking_round, name="beats", daemon=True).start()
        return worker.work

    assert settings.broker_url is not None
    run_pool(settings.broker_url.get_secret_value(), processes=processes, make_work=make_work)


def _sweep(app: App, worker: Worker, processes: int) -> None:
    """Find what nudges missed, nudge again, and read in person while the broker is silent."""
    from citewell.adapters.queue.celery import CeleryQueue
    from citewell.ingest.worker import reason

    assert app.settings.broker_url is not None
    queue = CeleryQueue(app.settings.broker_url.get_secret_value())
    last_error = None
    while not worker.is_ended_within(SWEEP_S):
        try:
            worker.look_round()
            refuse_misfit(app)  # the library may have changed to another embedder meanwhile
            waiting = app.library.due()
            last_error = None
            if not waiting:
                continue
            length = queue.length()
            if length is None:
                while not worker.is_ended_within(0) and worker.work():
                    pass
            elif length == 0:
                for _ in range(min(waiting, processes)):
                    queue.nudge()
        except EmbedderMismatch:
            raise
        except Exception as error:
            if last_error != reason(error):  # once, not every two seconds for as long as it lasts
                last_error = reason(error)
                log.warning("queue cannot be swept: %s", last_error)


def die_with_parent() -> None:
    """End when the process that started this one is gone, where the system can see to that."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGTERM)


# ------------------------------------------------------------------------------------------------------- supervision


def supervise(commands: Sequence[Sequence[str]]) -> int:
    """Keep a process running for each command until told to stop; the exit status to leave with."""
    children: dict[int, subprocess.Popen[bytes]] = {}
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: ending.set())
    try:
        while not ending.is_set():
            for at, command in enumerate(commands):
                child = children.get(at)
                if child is None or child.poll() is not None:
                    if child is not None and child.returncode == REFUSED:
                        return 1
                    if child is not None:
                        log.warning("a process ended with %d and is started again", child.returncode)
                        ending.wait(RESTART_S)
                    children[at] = subprocess.Popen(command)  # noqa: S603 -- our own command
            ending.wait(RESTART_S)
        return 0
    finally:
        _end(list(children.values()))


def _end(children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Tell all to end, and see that they do."""
    for child in children:
        child.terminate()
    until = time.monotonic() + END_S
    for child in children:
        try:
            child.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def worker_commands(settings: Settings, processes: int) -> list[list[str]]:
    """The commands of the processes that make one worker."""
    base = [sys.executable, "-m", "citewell.cli", "--home", str(settings.home), "worker"]
    shared = ["--processes", str(processes)]
    if settings.broker_url is None:
        parts = [[*base, "--part", "poll"] for _ in range(processes)]
    else:
        parts = [[*base, "--part", "serve", *shared], [*base, "--part", "sweep", *shared]]
    return [*parts, [*base, "--part", "literature"]] if settings.literature else parts


def process_count(settings: Settings) -> int:
    """How many processes a worker has: one a core."""
    return settings.worker_processes or os.cpu_count() or 1
