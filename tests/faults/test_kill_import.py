"""kill -9 in the middle of an import into a vault: a document with all of its facts, or neither."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from citewell.config import Settings
from citewell.vaults.vaults import Vaults
from tests.faults.importing import PASSPHRASE, RESULTS, opened

KILLS = int(os.environ.get("CITEWELL_KILLS", "2"))


def kill_at_random(home: Path, seed: int, first: int, kind: str) -> list[list[str]]:
    """Let it import for a moment, kill it, and return what it said."""
    command = [sys.executable, "-m", "tests.faults.importing", str(home), str(first), kind]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    lines = [child.stdout.readline()]
    while seed % 2 and not lines[-1].startswith("done"):  # every other time something has been finished
        lines.append(child.stdout.readline())
    time.sleep(random.Random(seed).uniform(0.0, 1.5))
    child.send_signal(signal.SIGKILL)
    lines += child.communicate()[0].splitlines()
    return [line.split() for line in lines if len(line.split()) == 2]


@pytest.mark.slow
def test_an_import_is_whole_or_not_there(tmp_path: Path) -> None:
    vaults = Vaults(Settings(home=tmp_path))
    vaults.create("me", PASSPHRASE)
    done: set[str] = set()
    number = 1
    for seed in range(KILLS):
        said = kill_at_random(tmp_path, seed, number, "bundle")
        done |= {f"{name}.json" for phase, name in said if phase == "done"}
        begun = {f"{name}.json" for phase, name in said if phase == "begin"}
        number += len(begun) + 1
        with opened(tmp_path) as profile:
            names = {entry.id: entry.name for entry in profile.app.entries()}
            assert done <= set(names.values()) <= done | begun, "what was acknowledged is there, and nothing else"
            facts = Counter(fact.origin.document_id for fact in profile.record.facts.all(profile.record.scope))
            assert facts == dict.fromkeys(names, RESULTS), "every document has all of its facts"
            assert profile.app.library.verify().problems == ()
            done = set(names.values())
    assert done
    vaults.close()
    folder = next(tmp_path.glob("vaults/*"))
    assert {path.name for path in folder.iterdir()} == {"vault.json", "vault.db"}


@pytest.mark.slow
def test_an_export_of_many_files_is_whole_or_not_there(tmp_path: Path) -> None:
    vaults = Vaults(Settings(home=tmp_path))
    vaults.create("me", PASSPHRASE)
    number, done = 1, set[str]()
    for seed in range(KILLS):
        said = kill_at_random(tmp_path, seed, number, "export")
        done |= {name for phase, name in said if phase == "done"}
        begun = {name for phase, name in said if phase == "begin"}
        number += len(begun) + 1
        with opened(tmp_path) as profile:
            names = {entry.id: entry.name for entry in profile.app.entries()}
            there = {name.removesuffix(".json") for name in names.values() if name.endswith(".json")}
            assert done <= there <= done | begun
            assert sorted(names.values()) == sorted(
                name for export in there for name in (f"{export}.json", f"{export}a.txt", f"{export}b.txt")
            )
            facts = Counter(fact.origin.document_id for fact in profile.record.facts.all(profile.record.scope))
            assert facts == {document: RESULTS for document, name in names.items() if name.endswith(".json")}
            assert profile.app.library.verify().problems == ()
            done = there
    assert done
    vaults.close()
