"""A backup is taken while the library is in use, and put back as it was, or not at all."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from citewell.adapters.blobs.folder import FolderBlobs
from citewell.app import App, build
from citewell.cli.commands import app as commands
from citewell.config import Settings
from citewell.errors import DamagedFile, InputError
from citewell.operations.backup import MANIFEST, back_up, restore
from citewell.types import Source

pytestmark = pytest.mark.usefixtures("libraries_in_files")


def text(number: int) -> Source:
    return Source(f"Note {number}. Fever above 38 degrees is measured twice.".encode(), f"note-{number}.txt")


def test_a_backup_taken_while_documents_come_in_is_whole_and_answers_the_same(app: App, tmp_path: Path) -> None:
    for number in range(3):
        app.add_source(text(number))
    asked = app.ask("How often is fever measured?")
    adding = threading.Thread(target=lambda: [app.add_source(text(number)) for number in range(3, 8)])
    adding.start()
    made = back_up(app, tmp_path / "copy")
    adding.join()
    assert {"library.sqlite", "seal.key", "audit.head"} <= set(made.files)
    assert restore(tmp_path / "copy", tmp_path / "new") == len(made.files)
    with build(Settings(home=tmp_path / "new")) as again:
        again.__dict__["embedder"] = app.embedder
        assert again.verify().problems == ()
        assert 3 <= len(again.entries()) <= 8
        assert again.replay(asked.id).is_same
        assert not again.ask_service.audit.verify_chain(again.tenant).problems
        assert (tmp_path / "new" / "library.sqlite").stat().st_mode & 0o077 == 0


def test_a_damaged_backup_or_a_home_that_is_taken_changes_nothing(app: App, tmp_path: Path) -> None:
    app.add_source(text(1))
    app.ask("How often is fever measured?")  # makes the key
    back_up(app, tmp_path / "copy")
    with pytest.raises(InputError, match="not empty"):
        back_up(app, tmp_path / "copy")
    with pytest.raises(InputError, match="already holds a library"):
        restore(tmp_path / "copy", app.settings.home)
    (tmp_path / "keyed").mkdir()
    (tmp_path / "keyed" / "seal.key").write_bytes(b"of another library")
    with pytest.raises(InputError, match=r"a different seal\.key"):
        restore(tmp_path / "copy", tmp_path / "keyed")
    assert [path.name for path in (tmp_path / "keyed").iterdir()] == ["seal.key"]
    library = tmp_path / "copy" / "library.sqlite"
    whole = library.read_bytes()
    library.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(DamagedFile, match=r"library\.sqlite"):
        restore(tmp_path / "copy", tmp_path / "new")
    told = json.loads((tmp_path / "copy" / MANIFEST).read_text("utf-8"))
    (tmp_path / "copy" / MANIFEST).write_text(json.dumps({**told, "files": {"../evil": "0"}}), "utf-8")
    with pytest.raises(DamagedFile):
        restore(tmp_path / "copy", tmp_path / "new")
    (tmp_path / "copy" / MANIFEST).unlink()
    with pytest.raises(InputError, match="is not a backup"):
        restore(tmp_path / "copy", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_both_are_commands(app: App, tmp_path: Path) -> None:
    app.add_source(text(1))
    home = str(app.settings.home)
    run = CliRunner()
    told = run.invoke(commands, ["--home", home, "backup", str(tmp_path / "copy"), "--json"])
    assert json.loads(told.output)["vaults"] == 0
    back = run.invoke(commands, ["--home", str(tmp_path / "new"), "restore", str(tmp_path / "copy")])
    assert "1 documents and 1 passages verified" in back.output


def test_a_backup_holds_the_originals_that_lie_outside_and_needs_their_store_no_more(app: App, tmp_path: Path) -> None:
    store = FolderBlobs(tmp_path / "papers")
    app.library.blobs = store
    kept, lost = app.add_source(text(1)).entry, app.add_source(text(2)).entry
    made = back_up(app, tmp_path / "whole")
    assert (made.lost, "seal.key" in made.files) == (0, False)
    restore(tmp_path / "whole", tmp_path / "new")
    with build(Settings(home=tmp_path / "new")) as again:
        assert again.verify().problems == ()
        assert again.library.original(kept.id, again.scope_of_owner()) == text(1)
        again.library.blobs = store
        again.library.erase(kept.id, again.scope_of_owner())
        assert again.library.clean_up() == 0
    assert app.verify().problems == (), "what is erased or cleaned up in the copy stays in the living library's store"
    with sqlite3.connect(app.settings.home / "library.sqlite") as library:
        query = "SELECT key FROM originals WHERE content_hash = ?"
        (key,) = library.execute(query, (lost.content_hash,)).fetchone()
    store.remove(key)
    assert back_up(app, tmp_path / "less").lost == 1


def test_a_log_that_a_moved_library_left_behind_is_not_taken_for_that_of_the_backup(app: App, tmp_path: Path) -> None:
    app.add_source(text(1))
    back_up(app, tmp_path / "copy")
    home, away = tmp_path / "crashed", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    app.add_source(text(2))
    for path in app.settings.home.glob("library.sqlite*"):  # as a machine leaves them that loses its power
        shutil.copy2(path, home)
    assert (home / "library.sqlite-wal").stat().st_size
    (home / "library.sqlite").rename(away / "library.sqlite")
    with pytest.raises(InputError, match=r"library\.sqlite-wal but not its library"):
        restore(tmp_path / "copy", home)
    for path in home.glob("library.sqlite-*"):
        path.rename(away / path.name)
    restore(tmp_path / "copy", home)
    for folder, count in ((home, 1), (away, 2)):
        with build(Settings(home=folder)) as opened:
            assert (len(opened.entries()), opened.verify().problems) == (count, ())
