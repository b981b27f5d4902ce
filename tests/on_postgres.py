"""Runs any test on PostgreSQL: with CITEWELL_TESTS_ON=postgres every library that a test opens is in a database."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from citewell import wiring
from citewell.adapters.store.library import SqlLibrary
from citewell.config import Settings
from tests.postgres import Server

NOTE = "database.note"
"""Beside what else a home folder holds: the name of its database, and which folder that was said of."""
IS_ON_POSTGRES = os.environ.get("CITEWELL_TESTS_ON") == "postgres"


@pytest.fixture(scope="session", autouse=True)
def libraries_in_postgres(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing, unless the environment asks for it."""
    if not IS_ON_POSTGRES:
        yield
        return
    server: Server = request.getfixturevalue("postgres_server")
    opened = wiring.make_library

    def make_library(settings: Settings) -> SqlLibrary:
        if settings.database_url is None:
            settings = settings.model_copy(update={"database_url": SecretStr(_url(server, settings))})
        return opened(settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("citewell.app.make_library", make_library)
        yield


@pytest.fixture(scope="module")
def libraries_in_files() -> Iterator[None]:
    """For tests whose matter is the file itself: its backup, or its move into a database."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("citewell.app.make_library", wiring.make_library)
        yield


@pytest.fixture
def opened_elsewhere(request: pytest.FixtureRequest) -> Callable[[Path], dict[str, str]]:
    """What another process must be told, beside the home folder, to open the same library."""

    def told(home: Path) -> dict[str, str]:
        if not IS_ON_POSTGRES:
            return {}
        server: Server = request.getfixturevalue("postgres_server")
        return {"CITEWELL_DATABASE_URL": _url(server, Settings(home=home))}

    return told


def _url(server: Server, settings: Settings) -> str:
    """The database of a home folder; a folder that was copied gets a copy of the database."""
    home = settings.home.resolve()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError:  # whether that is told well is the test's matter
        return server.new()
    note = home / NOTE
    name, said_of = note.read_text().split("\n") if note.exists() else ("", "")
    if said_of == str(home):
        return server.url(name)
    url = server.new(like=name) if name else server.new()
    note.write_text(f"{url.rsplit('/', 1)[1]}\n{home}")
    return url
