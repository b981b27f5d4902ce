"""`citewell watch` as a person and as a program use it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_cli import Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("CITEWELL_WATCH_SETTLE_S", "0")
    return Shell(tmp_path / "home", capsys, monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    (made / "zinc").mkdir(parents=True)
    (made / "iron.txt").write_text("Ferrous sulfate 200 mg is taken with water.")
    (made / "zinc" / "zinc.txt").write_text("Zinc 20 mg is given once a day.")
    return made


def test_a_folder_is_watched_listed_confirmed_and_removed(shell: Shell, folder: Path) -> None:
    status, out, _ = shell("watch", str(folder), "--tag", "ward", "--rule", "zinc=metal", "--once")
    assert (status, out.splitlines()[0]) == (0, f"{folder} (ward; zinc: metal)")
    assert out.splitlines()[1].endswith("UTC: 2 added")
    assert {entry["title"]: entry["tags"] for entry in shell.json("list")["documents"]} == {
        "iron": ["ward"],
        "zinc": ["metal"],
    }
    (folder / "iron.txt").unlink()
    (folder / "zinc" / "zinc.txt").unlink()
    status, out, err = shell("watch", "--once")
    assert (status, "2 of 2 files are gone, so nothing was withdrawn" in err) == (1, True)
    (listed,) = shell.json("watch", "--list")["folders"]
    assert (listed["address"], listed["documents"], listed["look"]["withdrawn"]) == (str(folder), 2, 0)
    assert listed["problem"].startswith("2 of 2 files are gone")
    assert "2 withdrawn" in shell("watch", str(folder), "--confirm")[1]
    assert shell("watch", str(folder), "--remove")[1] == f"{folder} is no longer watched. Its documents stay.\n"
    assert shell("watch", "--list")[1] == "No folders are watched.\n"


def test_what_cannot_be_done_is_refused(shell: Shell, folder: Path) -> None:
    shell("watch", str(folder), "--once")
    for words, problem in (
        (("--tag", "ward"), "Name the folder"),
        ((str(folder / "zinc"), "--tag", "ward"), "lie inside each other"),
        ((str(folder.parent / "nowhere"), "--once"), "is not there"),
        ((str(folder / "zinc"), "--remove"), "is not watched"),
        ((str(folder / "zinc"), "--confirm"), "is not watched"),
        (("ftp://files.example", "--once"), "s3:// or https://"),
    ):
        status, _, err = shell("watch", *words)
        assert (status, problem in err) == (1, True), err


def test_it_watches_until_it_is_stopped(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_WATCH_SETTLE_S", "0")
    monkeypatch.setenv("CITEWELL_WATCH_SECONDS", "0.2")
    command = [sys.executable, "-u", "-m", "citewell.cli", "--home", str(home), "watch", str(folder), "--tag", "ward"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Watching. Stop with Ctrl-C.\n"
        assert process.stdout.readline() == f"{folder}: 2 added\n"
        (folder / "iron.txt").unlink()
        assert process.stdout.readline() == f"{folder}: 1 withdrawn\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
