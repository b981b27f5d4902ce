"""A real server over a real library, and a real Chromium in front of it."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, expect, sync_playwright

import citewell
from citewell.api.serve import bind, server
from citewell.app import App

TOKEN = "a-token-for-tests"
PATIENCE_MS = 20_000
"""How long a page may take to become what a test expects: a bound on waiting, never a measure."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass(frozen=True)
class Served:
    """A library and the address at which it is served."""

    app: App
    address: str

    @property
    def link(self) -> str:
        return f"{self.address}/?token={TOKEN}"


@contextmanager
def serving(home: Path) -> Iterator[Served]:
    with citewell.open(home) as app, bind("127.0.0.1", 0) as bound:
        running = server(app, bound, token=TOKEN)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not running.started:
                time.sleep(0.01)
            yield Served(app, f"http://127.0.0.1:{bound.getsockname()[1]}")
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def served(samples_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The samples, for tests that change nothing."""
    home = tmp_path_factory.mktemp("read") / "home"
    shutil.copytree(samples_home, home)
    with serving(home) as found:
        yield found


@pytest.fixture
def own(samples_home: Path, tmp_path: Path) -> Iterator[Served]:
    """The samples, for a test that changes them."""
    shutil.copytree(samples_home, tmp_path / "home")
    with serving(tmp_path / "home") as found:
        yield found


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Served]:
    """An empty library."""
    with serving(tmp_path / "home") as found:
        yield found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    playwright: Playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """What went wrong on the pages, and where they went."""

    problems: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)


Opening = Callable[..., Page]
ACTIONS = (
    "click",
    "dblclick",
    "fill",
    "press",
    "check",
    "uncheck",
    "select_option",
    "set_input_files",
    "hover",
    "focus",
)


@pytest.fixture(scope="session", autouse=True)
def settled() -> Iterator[None]:
    """Nobody acts on half a page: every action waits until its page is whole and its scripts have run."""

    def waiting(action: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(action)
        def acts(self: Page | Locator, *given: Any, **options: Any) -> Any:
            (self if isinstance(self, Page) else self.page).wait_for_load_state("load")
            return action(self, *given, **options)

        return acts

    expect.set_options(timeout=PATIENCE_MS)
    with pytest.MonkeyPatch.context() as patch:
        for kind in (Page, Locator):
            for name in ACTIONS:
                if hasattr(kind, name):
                    patch.setattr(kind, name, waiting(getattr(kind, name)))
        yield


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def visit(chromium: Browser, watched: Watched) -> Iterator[Opening]:
    """Opens the printed link in a fresh browser; afterwards no page may have complained or called elsewhere."""
    contexts: list[BrowserContext] = []
    homes: list[str] = []

    def opened(site: Served, **options: Any) -> Page:
        options.setdefault("viewport", {"width": 1280, "height": 800})
        context = chromium.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        homes.append(site.address)
        page = context.new_page()
        page.on("console", lambda message: watched.problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: watched.problems.append(str(error)))
        page.on("dialog", lambda dialog: watched.problems.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: watched.addresses.append(request.url))
        page.goto(site.link)
        return page

    yield opened
    for context in contexts:
        context.close()
    unexpected = [one for one in watched.problems if not any(words in one for words in watched.expected)]
    assert unexpected == []
    assert [one for one in watched.addresses if not one.startswith((*homes, "data:"))] == []


def follow(page: Page, link: str) -> None:
    """Click a link and wait until the page it leads to is whole and its scripts have run."""
    with page.expect_navigation():
        page.click(link)
