"""`citewell vault`, as a person and as a program use it."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import Shell

pytestmark = pytest.mark.slow

PASSPHRASE = "three green bicycles"


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(tmp_path / "home", capsys, monkeypatch)


def send(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_a_vault_from_its_making_to_its_end(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def told(*words: str, lines: tuple[str, ...] = ()) -> dict[str, Any]:
        send(monkeypatch, *lines)
        return shell.json("vault", *words, *(["--passphrase-stdin"] if lines else []))

    made = told("create", "me", lines=(PASSPHRASE,))
    vault, phrase = made["vault"], made["recovery_phrase"]
    assert (set(vault), vault["label"], len(phrase.split())) == ({"id", "label", "made_at"}, "me", 12)
    assert told("list") == {"vaults": [vault], "unreadable": {}}
    whole = {"vault": vault, "documents": 0, "answers": 0, "problems": []}
    assert told("check", lines=(PASSPHRASE,)) == whole
    copy = tmp_path / "copy.vault"
    assert told("export", str(copy), lines=(PASSPHRASE,)) == {"vault": vault}
    assert told("passphrase", lines=(PASSPHRASE, "four yellow tandems")) == {"vault": vault}
    assert told("check", "--vault", "me", lines=("four yellow tandems",)) == whole
    assert told("recover", lines=(phrase, "five purple unicycles")) == {"vault": vault}
    other = told("phrase", lines=("five purple unicycles",))["recovery_phrase"]
    assert (len(other.split()), other == phrase) == (12, False)
    assert told("erase", "me", "--yes") == {"vault": vault}
    assert told("list") == {"vaults": [], "unreadable": {}}
    assert told("restore", str(copy)) == {"vault": vault}
    assert told("check", lines=(PASSPHRASE,)) == whole


def test_a_wrong_passphrase_is_one_sentence_on_the_command_line(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    send(monkeypatch, PASSPHRASE)
    shell("vault", "create", "me", "--passphrase-stdin")
    send(monkeypatch, "three green bicyclists")
    status, out, error = shell("vault", "check", "--passphrase-stdin")
    assert (status, out, error) == (1, "", "The passphrase or recovery words are wrong. Check them and try again.\n")


def test_without_a_terminal_the_way_to_send_it_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    send(monkeypatch)
    status, _out, error = shell("vault", "create", "me")
    assert status == 1
    assert "--passphrase-stdin" in error


def test_on_a_terminal_the_passphrase_is_asked_for_twice_and_not_shown(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "citewell.cli", "--home", str(tmp_path), "vault", "create", "me"]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b""
    for prompt in (b"A passphrase, ten characters or more: ", b"Repeat it: "):
        while prompt not in shown:  # the test's own time limit ends a program that does not ask
            shown += os.read(ours, 4096)
        os.write(ours, PASSPHRASE.encode() + b"\n")
    while b"keep them away from this computer" not in shown:
        shown += os.read(ours, 4096)
    assert child.wait() == 0
    os.close(ours)
    assert PASSPHRASE.encode() not in shown
    assert (
        len([line for line in shown.decode().splitlines() if len(line.split()) == 12 and line.startswith("    ")]) == 1
    )


def test_erasing_asks_for_the_label(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    send(monkeypatch, PASSPHRASE)
    shell("vault", "create", "me", "--passphrase-stdin")
    send(monkeypatch, "mum")
    assert shell("vault", "erase", "me")[0] == 1
    assert len(shell.json("vault", "list")["vaults"]) == 1


def test_no_verb_takes_a_passphrase_as_an_argument_or_from_the_environment() -> None:
    from typer.main import get_command

    from citewell.cli.commands import app
    from citewell.config import Settings

    group: Any = get_command(app)
    for name in ("vault", "records"):
        for command in group.get_command(None, name).commands.values():
            for option in command.params:
                assert option.envvar is None
                is_flag = getattr(option, "is_flag", False)
                assert is_flag or not {"passphrase", "password", "secret", "key"} & set(option.name.split("_"))
    assert not [name for name in Settings.model_fields if "passphrase" in name]
    assert not [name for name in os.environ if name.startswith("CITEWELL_PASS")]
