"""A library may be encrypted on the disk: from the start, later, and back; without its key nothing opens it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from citewell.app import App, build
from citewell.cli.commands import app as commands
from citewell.config import Settings
from citewell.errors import CitewellError
from citewell.operations.backup import restore
from citewell.types import Source

pytestmark = pytest.mark.usefixtures("libraries_in_files")
WORDS = b"Fever above 38 degrees is measured twice."


@pytest.fixture
def home(app: App, tmp_path: Path) -> Path:
    """The folder of a library with a document and an answer, closed."""
    app.add_source(Source(WORDS, "fever.txt"))
    assert "twice" in app.ask("How often is fever measured?").text
    app.close()
    return app.settings.home


def citewell(home: Path, *words: str) -> str:
    result = CliRunner().invoke(commands, ["--home", str(home), *words])
    return f"{result.output}{result.exception or ''}"


def found_in(home: Path, words: bytes) -> list[str]:
    return [path.name for path in home.rglob("*") if path.is_file() and words in path.read_bytes()]


def test_a_library_is_encrypted_used_backed_up_and_decrypted(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_in(home, b"measured twice") == ["library.sqlite"]
    key = tmp_path / "library.key"
    assert "✓ Encrypted" in citewell(home, "encrypt", "--new-key", str(key))
    assert key.stat().st_mode & 0o077 == 0
    assert found_in(home, b"measured twice") == []
    monkeypatch.setenv("CITEWELL_LIBRARY_KEY_FILE", str(key))
    with build(Settings(home=home)) as app:
        answer = app.ask("How often is fever measured?")
        assert "twice" in answer.text
        assert app.verify().problems == ()
        assert not app.ask_service.audit.verify_chain(app.tenant).problems
    assert "✓" in citewell(home, "backup", str(tmp_path / "copy"))
    assert found_in(tmp_path / "copy", b"measured twice") == []
    restore(tmp_path / "copy", tmp_path / "new")
    with build(Settings(home=tmp_path / "new")) as again:
        assert again.replay(answer.id).is_same
    assert "encrypted already" in citewell(home, "encrypt")
    assert "✓ Decrypted" in citewell(home, "decrypt")
    monkeypatch.delenv("CITEWELL_LIBRARY_KEY_FILE")
    with build(Settings(home=home)) as app:
        assert len(app.entries()) == 1


def test_a_new_library_is_encrypted_from_the_start(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "library.key"
    key.write_text(f"{os.urandom(32).hex()}\n")
    monkeypatch.setenv("CITEWELL_LIBRARY_KEY_FILE", str(key))
    with build(Settings(home=tmp_path / "new")) as new:
        new.__dict__["embedder"] = app.embedder
        new.add_source(Source(WORDS, "fever.txt"))
        assert found_in(tmp_path / "new", b"measured twice") == []  # its log and its shared memory neither
    assert found_in(tmp_path / "new", b"measured twice") == []
    assert found_in(tmp_path / "new", b"SQLite format 3") == []


def test_without_the_right_key_nothing_opens_and_nothing_changes(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, other, broken = tmp_path / "library.key", tmp_path / "other.key", tmp_path / "broken.key"
    other.write_text(os.urandom(32).hex())
    broken.write_text("a key, surely")
    monkeypatch.setenv("CITEWELL_LIBRARY_KEY_FILE", str(other))
    assert "is not encrypted. Run `citewell encrypt`" in citewell(home, "list")
    monkeypatch.delenv("CITEWELL_LIBRARY_KEY_FILE")
    citewell(home, "encrypt", "--new-key", str(key))
    before = (home / "library.sqlite").read_bytes()
    assert "is encrypted. Set CITEWELL_LIBRARY_KEY_FILE" in citewell(home, "list")
    for file, message in (
        (other, "does not open the library"),
        (broken, "does not hold a library key"),
        (tmp_path / "none", "could not be read"),
    ):
        monkeypatch.setenv("CITEWELL_LIBRARY_KEY_FILE", str(file))
        assert message in citewell(home, "list")
        assert message in citewell(home, "decrypt")
    assert (home / "library.sqlite").read_bytes() == before
    with pytest.raises(CitewellError, match="could not be read"):
        build(Settings(home=home)).entries()


def test_a_library_in_use_is_left_alone(home: Path, tmp_path: Path) -> None:
    with build(Settings(home=home)) as app:
        assert len(app.entries()) == 1
        command = [
            sys.executable,
            "-m",
            "citewell.cli",
            "--home",
            str(home),
            "encrypt",
            "--new-key",
            str(tmp_path / "key"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, "is in use" in done.stderr) == (1, True)
        assert len(app.entries()) == 1


@pytest.mark.slow
def test_a_kill_leaves_the_old_file_or_the_new_one(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "library.key"
    key.write_text(os.urandom(32).hex())
    for number in range(4):
        command = [sys.executable, "-m", "citewell.cli", "--home", str(home), "encrypt"]
        environment = {**os.environ, "CITEWELL_LIBRARY_KEY_FILE": str(key)}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            draft = home / "library.sqlite.part"
            deadline = time.monotonic() + 60
            while not draft.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.002 * number)
            process.send_signal(signal.SIGKILL)
        is_plain = (home / "library.sqlite").read_bytes().startswith(b"SQLite format 3")
        with build(Settings(home=home, library_key_file=None if is_plain else key)) as app:
            assert app.verify().problems == ()
        if not is_plain:
            monkeypatch.setenv("CITEWELL_LIBRARY_KEY_FILE", str(key))
            citewell(home, "decrypt")
