"""A library with the samples in it, and servers over libraries."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import citewell
from citewell.api.app import create_app
from citewell.api.serve import bind, server
from citewell.app import App

TOKEN = "a-token-for-tests"

Serving = Callable[[Path], "contextmanager[httpx.Client]"]


@contextmanager
def serving(home: Path) -> Iterator[httpx.Client]:
    """A real server over the library in `home`, and a client that knows its token."""
    with citewell.open(home) as app, serving_app(app) as client:
        yield client


@contextmanager
def serving_app(app: App) -> Iterator[httpx.Client]:
    """The same over an open library."""
    with bind("127.0.0.1", 0) as bound:
        running = server(app, bound, token=TOKEN)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not running.started:
                time.sleep(0.01)
            address = f"http://127.0.0.1:{bound.getsockname()[1]}"
            headers = {"Authorization": f"Bearer {TOKEN}"}
            with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
                yield client
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def reader(samples_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server for tests that change nothing."""
    home = tmp_path_factory.mktemp("read") / "home"
    shutil.copytree(samples_home, home)
    with serving(home) as client:
        yield client


@pytest.fixture
def writer(samples_home: Path, tmp_path: Path) -> Iterator[httpx.Client]:
    """A server of its own for a test that changes the library."""
    shutil.copytree(samples_home, tmp_path / "home")
    with serving(tmp_path / "home") as client:
        yield client


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[httpx.Client]:
    """The site over an empty library, called in memory; no worker runs and no model is loaded."""
    from starlette.testclient import TestClient

    with citewell.open(tmp_path) as app:
        yield TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1:8477", follow_redirects=False)
