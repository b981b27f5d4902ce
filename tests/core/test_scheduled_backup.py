"""Scheduled backups are made when due, proved by restoring them, and only so many are kept."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from citewell.api.app import create_app
from citewell.app import App, build
from citewell.cli.commands import app as commands
from citewell.config import Settings
from citewell.operations.backup import restore
from citewell.types import Source

pytestmark = pytest.mark.usefixtures("libraries_in_files")


@pytest.fixture
def schedule(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with a document and an answer, and a folder that its backups go to."""
    app.add_source(Source(b"Fever above 38 degrees is measured twice.", "fever.txt"))
    app.ask("How often is fever measured?")
    monkeypatch.setenv("CITEWELL_BACKUP_FOLDER", str(tmp_path / "backups"))
    monkeypatch.setenv("CITEWELL_BACKUP_KEEP", "2")
    return tmp_path / "backups"


def citewell(app: App, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(commands, ["--home", str(app.settings.home), *words])
    return result.exit_code, f"{result.output}{result.exception or ''}"


def folders(schedule: Path) -> list[str]:
    return sorted(path.name for path in schedule.iterdir() if path.name != ".lock")


def test_backups_are_made_when_due_and_the_oldest_are_removed(app: App, schedule: Path) -> None:
    assert citewell(app, "backup", "--due")[0] == 0
    first = folders(schedule)
    assert len(first) == 1
    assert citewell(app, "backup", "--due")[0] == 0  # not due yet
    assert folders(schedule) == first
    (schedule / "notes of the operator").mkdir()
    for _ in range(2):
        time.sleep(1.1)  # a backup is named by its second
        assert citewell(app, "backup")[0] == 0
    kept = folders(schedule)
    assert len(kept) == 3
    assert first[0] not in kept
    assert "notes of the operator" in kept
    home = schedule.parent / "new"
    restore(schedule / kept[0], home)
    with build(Settings(home=home)) as again:
        assert len(again.entries()) == 1


def test_a_backup_that_cannot_be_restored_is_not_kept(app: App, schedule: Path) -> None:
    with sqlite3.connect(app.library.path) as connection:
        connection.execute("UPDATE chunks SET text = text || ' and more'")
    code, output = citewell(app, "backup")
    assert code == 1
    assert "could not be restored" in output
    assert folders(schedule) == []


def test_a_backup_that_was_broken_off_leaves_nothing(app: App, schedule: Path) -> None:
    (schedule / ".citewell-20261119T000000Z").mkdir(parents=True)
    assert citewell(app, "backup")[0] == 0
    assert len(folders(schedule)) == 1


def test_what_cannot_be_is_said(app: App, schedule: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Leave out the folder" in citewell(app, "backup", "somewhere", "--due")[1]
    schedule.write_text("a file where the folder should be")
    assert "cannot be written to" in citewell(app, "backup")[1]
    monkeypatch.delenv("CITEWELL_BACKUP_FOLDER")
    assert "CITEWELL_BACKUP_FOLDER" in citewell(app, "backup")[1]


def test_the_server_makes_them_and_tells_how_old_the_newest_is(app: App, schedule: Path) -> None:
    app.__dict__["settings"] = Settings(home=app.settings.home)
    with TestClient(create_app(app, token="a-token-for-tests"), base_url="http://127.0.0.1") as client:
        bearer = {"Authorization": "Bearer a-token-for-tests"}
        assert "citewell_backup_age_seconds inf" in client.get("/metrics", headers=bearer).text
        deadline = time.monotonic() + 120
        while not list(schedule.glob("citewell-*")) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert len(list(schedule.glob("citewell-*"))) == 1
        assert "citewell_backup_age_seconds inf" not in client.get("/metrics", headers=bearer).text
    _, output = citewell(app, "doctor", "--json")
    checks: dict[str, Any] = {check["part"]: check for check in json.loads(output)["checks"]}
    assert checks["backups"]["state"] == "ok"
    assert "1 in " in checks["backups"]["detail"]
