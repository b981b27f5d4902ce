"""kill -9 in the middle of a write: nothing acknowledged is lost, nothing is half there.

`make soak` kills it 200 times; the ordinary tests a few times, until a kill fell into a write.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.store.library import SqlLibrary
from tests.faults.churn import NAMES, SCOPE, Hashes

KILLS = int(os.environ.get("CITEWELL_KILLS", "4"))


def kill_at_random(home: Path, seed: int) -> list[list[str]]:
    """Let it change things for a moment, kill it, and return what it said."""
    command = [sys.executable, "-m", "tests.faults.churn", str(home), str(seed)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0.0, 0.9))
    child.send_signal(signal.SIGKILL)
    said, _ = child.communicate()
    return [line.split() for line in said.splitlines() if len(line.split()) == 4]


def possible(before: dict[str, int], said: list[list[str]]) -> list[dict[str, int]]:
    """The states that the library may be in: all that was acknowledged, with or without what was begun last."""
    state = dict(before)
    for phase, change, name, edition in said:
        if phase == "done":
            state[name] = int(edition) if change == "add" else 0
    states = [state]
    if said and said[-1][0] == "begin":
        _, change, name, edition = said[-1]
        states.append(state | {name: int(edition) if change == "add" else 0})
    return states


def current(library: SqlLibrary) -> dict[str, int]:
    """The edition of each document that answers now, as its own text says."""
    state = dict.fromkeys(NAMES, 0)
    for entry in library.entries(SCOPE):
        if entry.is_current:
            _, document, _ = library.opened(entry.id, SCOPE)
            name, edition = entry.title.split()
            assert f"Sentence 499 of {name} in edition {edition} is" in document.text
            assert state[name] == 0, "two versions answer"
            state[name] = int(edition)
    return state


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_acknowledged_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    state = dict.fromkeys(NAMES, 0)
    in_flight = 0
    for seed in count():
        if seed >= KILLS and (in_flight or seed >= 5 * KILLS):
            break
        said = kill_at_random(tmp_path, seed)
        in_flight += bool(said and said[-1][0] == "begin")
        library = SqlLibrary(tmp_path / "library.sqlite")
        try:
            assert library.verify().problems == ()
            found = current(library)
            assert found in possible(state, said)
            vector = Hashes().embed(["sentence"])[0]
            hits = ExactIndex(library).candidates(vector, {"edit": 1.0}, scope=SCOPE, limit=2_000)
            assert len({hit.generation for hit in hits}) == sum(edition > 0 for edition in found.values())
            state = found
        finally:
            library.close()
    assert in_flight > 0, "no kill fell into a write: the test proved nothing"
