"""`citewell worker` as an operator runs it: woken through a real Redis, ended by a signal, refused where it misfits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import update

from citewell.adapters.queue.celery import CeleryQueue
from citewell.adapters.store.schema import library as facts
from citewell.app import build
from citewell.config import Settings
from citewell.operations.workers import REFUSED
from citewell.types import Filing, LifecycleState, Source
from tests.faults.network import free_port, reached, redis_server

CITEWELL = [sys.executable, "-m", "citewell.cli"]


@contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process with all that it starts, gone at the end."""
    with log.open("ab") as told:
        child = subprocess.Popen(
            command, stdout=told, stderr=told, env=os.environ | environment, start_new_session=True
        )
    try:
        yield child
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


@pytest.mark.slow
def test_a_worker_reads_what_is_queued_ends_when_told_and_refuses_another_embedder(
    home: Path, tmp_path: Path, opened_elsewhere: Callable[[Path], dict[str, str]]
) -> None:
    port = free_port()
    broker = f"redis://127.0.0.1:{port}/0"
    settings = Settings(home=home)
    kept = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(tmp_path)]
    names = {"CITEWELL_HOME": str(home), "CITEWELL_BROKER_URL": broker, **opened_elsewhere(home)}
    with running([redis_server(), "--port", str(port), *kept], tmp_path / "redis.log"), build(settings) as app:
        scope = app.scope_of_owner()
        source = Source(b"# Iron\n\nTake 200 mg with water.", "iron.md")
        queued = app.library.enqueue(source, filing=Filing(), scope=scope)
        with running([*CITEWELL, "worker", "--processes", "1"], tmp_path / "log", **names) as worker:
            assert reached(CeleryQueue(broker).nudge)
            assert reached(lambda: app.library.entry(queued.id, scope).state is LifecycleState.COMPLETED)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(60) == 0, (tmp_path / "log").read_text()
        assert app.library.verify().problems == ()
        with running([*CITEWELL, "worker", "--part", "sweep"], tmp_path / "late", **names) as sweep:
            assert reached(lambda: len(app.library.status(scope).workers) == 1)
            with app.library.engine.begin() as connection:
                connection.execute(update(facts).where(facts.c.key == "embedder").values(value="another:1"))
            assert sweep.wait(60) == REFUSED
        assert (tmp_path / "late").read_text().count("it processes nothing") == 1, "the library changed while it worked"
        for command in (["worker"], ["worker", "--drain"]):
            refused = subprocess.run(
                [*CITEWELL, *command], capture_output=True, text=True, env=os.environ | names, check=False
            )
            assert refused.returncode != 0
            assert "it processes nothing" in refused.stderr
            assert "citewell evidence reingest" in refused.stderr
