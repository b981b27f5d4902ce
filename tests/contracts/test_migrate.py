"""A library moves into PostgreSQL, and back, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from citewell.adapters.store import copy_rows as moving
from citewell.adapters.store.engine import open_engine
from citewell.adapters.store.postgres import open_postgres
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import InputError, LibraryError, SchemaTooNew
from citewell.operations.move_library import Moved, move_library
from citewell.samples import sample_files
from citewell.types import Role
from tests.postgres import Server

pytestmark = pytest.mark.usefixtures("libraries_in_files")

QUESTIONS = ("Can I take warfarin in pregnancy?", "How is dehydration in a child treated?")


@pytest.fixture(scope="module")
def lived_in(samples_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with documents, people, conversations and an audit log."""
    home = tmp_path_factory.mktemp("lived") / "home"
    if (samples_home / "library.sqlite").exists():
        shutil.copytree(samples_home, home)
    with build(Settings(home=home)) as app:
        list(app.add_all(sample_files()))  # where they are there already, nothing is done
        app.people.add(
            tenant="local", email="ann@clinic.example", name="Ann", role=Role.MEMBER, tags=["ward"], password="a" * 12
        )
        for question in QUESTIONS:
            app.ask(question)
    return home


@pytest.fixture
def home(lived_in: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lived_in, tmp_path / "home"))


@pytest.fixture
def server_app(home: Path, postgres_url: str) -> Iterator[App]:
    moved(home, postgres_url)
    with build(Settings(home=home, database_url=postgres_url)) as app:
        yield app


def moved(home: Path, url: str) -> Moved:
    return move_library(f"sqlite:///{home / 'library.sqlite'}", url, home=home, watch=lambda *_: None)


def shown(app: App, question: str) -> list[object]:
    return [(hit.source_id, hit.text, hit.rank_score, hit.tags) for hit in app.search(question).hits]


def test_everything_is_there_and_answers_as_before(home: Path, server_app: App) -> None:
    with build(Settings(home=home)) as before:
        for question in QUESTIONS:
            assert shown(server_app, question) == shown(before, question)
        assert server_app.entries() == before.entries()
        asker = before.owner()
        assert server_app.ask_service.audit.verify_chain("local") == before.ask_service.audit.verify_chain("local")
        assert server_app.ask_service.audit.verify_chain("local").records == len(QUESTIONS)
        assert server_app.ask_service.conversations.all(asker) == before.ask_service.conversations.all(asker)
        assert server_app.people.all(tenant="local") == before.people.all(tenant="local")
    assert server_app.verify().problems == ()
    answer = server_app.ask(QUESTIONS[0])
    assert answer.claims
    assert server_app.ask_service.audit.verify_chain("local").problems == ()
    assert server_app.people.sign_in(tenant="local", email="ann@clinic.example", password="a" * 12) is not None


def test_the_way_back_leads_to_the_same_file(home: Path, tmp_path: Path, postgres_url: str) -> None:
    there = moved(home, postgres_url)
    back = tmp_path / "back"
    back.mkdir()
    again = move_library(postgres_url, f"sqlite:///{back / 'library.sqlite'}", home=home, watch=lambda *_: None)
    assert again.rows == there.rows
    with build(Settings(home=home)) as first, build(Settings(home=back)) as second:
        assert second.entries() == first.entries()
        assert shown(second, QUESTIONS[0]) == shown(first, QUESTIONS[0])
        assert second.verify().problems == ()


KILLED = """
import os, signal, sys
from pathlib import Path
from citewell.adapters.store import copy_rows
from citewell.operations.move_library import move_library

copy_rows.BATCH_ROWS = 7
batches = 0

def watch(*_):
    global batches
    batches += 1
    if batches == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

move_library(f"sqlite:///{sys.argv[1]}/library.sqlite", sys.argv[2], home=Path(sys.argv[1]), watch=watch)
"""


def test_a_move_that_was_killed_goes_on_where_it_was(home: Path, postgres_url: str) -> None:
    for batch in (3, 5):
        killed = subprocess.run([sys.executable, "-c", KILLED, str(home), postgres_url, str(batch)], check=False)
        assert killed.returncode == -signal.SIGKILL
    with pytest.raises(LibraryError, match="interrupted"):
        build(Settings(home=home, database_url=postgres_url))
    done: list[tuple[str, int, int]] = []
    result = move_library(
        f"sqlite:///{home / 'library.sqlite'}", postgres_url, home=home, watch=lambda *step: done.append(step)
    )
    assert (result.resumed, result.problems) == (True, ())
    engine = open_postgres(postgres_url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM chunk_vectors")).scalar() == result.vectors
        assert connection.execute(text("SELECT count(*) FROM library WHERE key LIKE 'migrating%'")).scalar() == 0
    engine.dispose()
    assert result.rows["chunks"] == result.vectors
    with build(Settings(home=home, database_url=postgres_url)) as app:
        assert app.verify().problems == ()


def test_a_library_that_changed_between_two_attempts_is_moved_as_it_is_now(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move_library(f"sqlite:///{home / 'library.sqlite'}", postgres_url, home=home, watch=stop)
    with build(Settings(home=home)) as app:
        app.delete(app.entries()[0].id)
    result = moved(home, postgres_url)
    assert (result.resumed, result.rows["documents"]) == (False, 3)


def test_nothing_is_mixed_with_another_library(home: Path, postgres_url: str, tmp_path: Path) -> None:
    moved(home, postgres_url)
    other = tmp_path / "other"
    with build(Settings(home=other)) as app:
        app.people.add(tenant="local", email="bob@clinic.example", name="Bob", role=Role.MEMBER, tags=[])
    for source in (home, other):
        with pytest.raises(LibraryError, match="already holds a library"):
            moved(source, postgres_url)


def test_a_broken_off_move_is_not_taken_up_by_another_library(home: Path, postgres_url: str, tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move_library(f"sqlite:///{home / 'library.sqlite'}", postgres_url, home=home, watch=stop)
    other = tmp_path / "other"
    build(Settings(home=other)).close()
    with pytest.raises(LibraryError, match="already holds a library"):
        moved(other, postgres_url)


def test_rows_that_did_not_arrive_as_they_were_are_told(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proving = moving._same

    def tampered(old: object, new: object, table: object) -> int:
        new.execute(text("UPDATE documents SET title = 'Other'"))  # type: ignore[attr-defined]
        return proving(old, new, table)  # type: ignore[arg-type]

    monkeypatch.setattr(moving, "_same", tampered)
    with pytest.raises(LibraryError, match="did not arrive intact"):
        moved(home, postgres_url)


def test_nobody_writes_to_the_old_library_while_it_moves(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = []

    def write(*_: object) -> None:
        if not refused:
            with sqlite3.connect(home / "library.sqlite", timeout=0) as raw:
                try:
                    raw.execute("DELETE FROM users")
                except sqlite3.OperationalError as error:
                    refused.append(str(error))
            raw.close()

    move_library(f"sqlite:///{home / 'library.sqlite'}", postgres_url, home=home, watch=write)
    assert refused == ["database is locked"]


def test_a_newer_library_and_a_wrong_place_are_refused(home: Path, tmp_path: Path, postgres_server: Server) -> None:
    with pytest.raises(InputError, match="There is no library at"):
        move_library(f"sqlite:///{tmp_path}/none.sqlite", "postgresql://x/y", home=home, watch=lambda *_: None)
    with pytest.raises(InputError, match="Write the address as"):
        move_library(f"sqlite:///{home}/library.sqlite", "mysql://x/y", home=home, watch=lambda *_: None)
    with sqlite3.connect(home / "library.sqlite") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.close()
    with pytest.raises(SchemaTooNew):
        moved(home, postgres_server.url("never_looked_at"))


def test_every_table_is_moved(tmp_path: Path) -> None:
    """A table that a later migration adds is moved without a word here; this holds that there is none beside them."""
    engine = open_engine(tmp_path / "library.sqlite")
    with engine.connect() as connection:
        names = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars())
    engine.dispose()
    assert {table.name for table in moving._tables()} == names - {"alembic_version", "sqlite_sequence"}


def test_the_command_tells_what_was_moved(home: Path, postgres_url: str) -> None:
    words = ["--from", "sqlite", "--to", "postgresql", "--json"]
    command = [sys.executable, "-m", "citewell.cli", "--home", str(home), "migrate", *words]
    named = os.environ | {"CITEWELL_DATABASE_URL": postgres_url}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=named)
    told = json.loads(done.stdout)
    assert (told["rows"]["documents"], told["tenants"], told["problems"]) == (4, 1, [])
    again = subprocess.run([*command, "--to", postgres_url], capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "already holds a library" in json.loads(again.stdout)["error"]["message"]
