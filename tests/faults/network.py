"""A small clinic network to break: Redis, a web server and a worker, each a process that can be killed and started."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import httpx
import pytest

from tests.faults.working import TOKEN

ROOT = Path(__file__).parents[2]
WAIT_S = 120.0


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def reached(is_so: Callable[[], bool], *, within_s: float = WAIT_S) -> bool:
    """Whether something comes about in time."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if is_so():
            return True
        time.sleep(0.1)
    return False


def redis_server() -> str:
    """The program, or a reason to skip."""
    found = shutil.which("redis-server")
    if found is None:
        pytest.skip("redis-server is not installed (make system)")
    return found


class Network:
    """Processes by name; all of them end with it."""

    def __init__(self, home: Path, *, database_url: str | None = None) -> None:
        self.home = home
        self._environment = os.environ | ({"CITEWELL_DATABASE_URL": database_url} if database_url else {})
        self.redis_port, self.web_port = free_port(), free_port()
        self.broker = f"redis://127.0.0.1:{self.redis_port}/0"
        (home / "redis").mkdir(parents=True, exist_ok=True)
        kept = ["--save", "", "--appendonly", "no", "--dir", str(home / "redis")]
        here = [str(home), self.broker, str(self.web_port)]
        part = [sys.executable, "-m", "tests.faults.working"]
        self._commands = {
            "redis": [redis_server(), "--bind", "127.0.0.1", "--port", str(self.redis_port), *kept],
            "web": [*part, "web", *here],
            "serve": [*part, "serve", *here],
            "sweep": [*part, "sweep", *here],
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.log = home / "log"

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._running):
            self.kill(name)

    def start(self, *names: str) -> None:
        """Start processes, each in a group of its own."""
        for name in names:
            with self.log.open("ab") as log:
                command = self._commands[name]
                self._running[name] = subprocess.Popen(
                    command, stdout=log, stderr=log, cwd=ROOT, start_new_session=True, env=self._environment
                )

    def revive(self) -> None:
        """Start again what ended by itself, as a supervisor does."""
        self.start(*[name for name, child in self._running.items() if child.poll() is not None])

    def kill(self, *names: str) -> None:
        """kill -9, with all that a process has started."""
        for name in names:
            child = self._running.pop(name)
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def kill_child(self, name: str, chance: random.Random) -> None:
        """kill -9 one of the processes that a process has started."""
        parent = self._running[name].pid
        told = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if told:
            with suppress(ProcessLookupError):
                os.kill(int(chance.choice(told)), signal.SIGKILL)

    def client(self) -> httpx.Client:
        """A client of the web server that knows its token."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.web_port}", headers=headers, timeout=30)

    def is_up(self) -> bool:
        """Whether the web server answers."""
        try:
            with self.client() as client:
                return client.get("/api/v1/health/live").status_code == 200
        except httpx.HTTPError:
            return False
