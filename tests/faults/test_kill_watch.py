"""kill -9 in the middle of a look at a watched folder: nothing is lost, doubled or withdrawn that is there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from citewell.app import App, build
from citewell.config import Settings
from citewell.operations.watch import look_at_all, watch_folder

KILLS = int(os.environ.get("CITEWELL_KILLS", "4"))
FILES = 30


def kill_at_random(home: Path, seed: int) -> None:
    """Let it look for a while, and kill it once the first document of this look is stored, or a little later."""
    settings = {**os.environ, "CITEWELL_WATCH_SETTLE_S": "0"}
    command = [sys.executable, "-m", "citewell.cli", "--home", str(home), "watch", "--once"]
    with subprocess.Popen(command, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        with build(Settings(home=home)) as app:
            before = seen(app)
            while child.poll() is None and seen(app) == before:
                time.sleep(0.01)
        time.sleep(random.Random(seed).uniform(0.0, 0.3))
        child.send_signal(signal.SIGKILL)


def seen(app: App) -> int:
    """Grows with every change of what is current."""
    return sum(1 + entry.revision for entry in app.entries())


def contents(app: App) -> list[bytes]:
    """The bytes of all documents that answer now."""
    owner = app.scope_of_owner()
    return sorted(app.library.original(entry.id, owner).data for entry in app.entries() if entry.is_current)


@pytest.mark.slow
def test_what_is_there_is_current_once_whenever_a_look_was_broken_off(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.txt").write_text(f"Take {number} tablets of iron with water.")
    with build(Settings(home=home)) as app:
        watch_folder(app, str(folder), tags=frozenset({"ward"}))
    for seed in range(KILLS):
        drawn = random.Random(seed)
        kill_at_random(home, seed)
        for number in drawn.sample(range(FILES), 4):  # changed, removed, moved or new while nobody looked
            path = folder / f"{number}.txt"
            if not path.exists():
                path.write_text(f"Take {number} tablets again, since round {seed}.")
            elif number % 3 == 0:
                path.unlink()
            elif number % 3 == 1:
                path.rename(folder / f"moved-{number}-{seed}.txt")
            else:
                path.write_text(f"Take {number} tablets, changed in round {seed}.")
    with build(Settings(home=home, watch_settle_s=0)) as app:
        (looked,) = look_at_all(app)
        assert looked.problem is None
        assert contents(app) == sorted(path.read_bytes() for path in folder.iterdir())
        lineages = [entry.lineage for entry in app.entries() if entry.is_current]
        assert len(lineages) == len(set(lineages))
        known = {path: file for path, file in app.watched.files(looked.id).items() if not file.is_gone}
        assert set(known) == {path.name for path in folder.iterdir()}
        assert all(file.mark and file.is_ours for file in known.values()), "nothing is left half-known"
        assert app.library.verify().problems == ()
        for path in sorted(folder.iterdir())[: len(known) // 3]:
            path.unlink()
        (looked,) = look_at_all(app)
        assert looked.problem is None
        assert contents(app) == sorted(path.read_bytes() for path in folder.iterdir())
