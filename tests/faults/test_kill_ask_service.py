"""kill -9 while questions are answered: what was given is on record, whole; what was not is a question that waits."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from citewell.app import App, build
from citewell.config import Settings

KILLS = int(os.environ.get("CITEWELL_KILLS", "3"))


def kill_at_random(home: Path, seed: int, told: dict[str, str]) -> list[list[str]]:
    """Let it ask for a moment, kill it, and return what it said."""
    command = [sys.executable, "-m", "tests.faults.asking", str(home), str(seed)]
    here = Path(__file__).parents[2]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=here, env=os.environ | told)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0.0, 0.5))
    child.send_signal(signal.SIGKILL)
    said, _ = child.communicate()
    return [line.split() for line in said.splitlines(keepends=True) if line.endswith("\n")]


def check(app: App, said: list[list[str]]) -> int:
    """All that was given is there; how many questions wait."""
    service, owner = app.ask_service, app.owner()
    assert service.audit.verify_chain("local").problems == ()
    records = {entry.answer_id for entry in service.audit.entries(owner, limit=100_000)}
    inbox = {item.id: item.answer_id for item in service.inbox.waiting(owner, limit=100_000).items}
    turns = {one.id: service.conversations.turns(one.id, owner) for one in service.conversations.all(owner)}
    for kind, *ids in said:
        if kind == "kept":
            assert turns[ids[0]]
            continue
        answer_id, conversation_id, routed_id = ids
        assert answer_id in records
        assert routed_id == "None" or inbox[routed_id] == answer_id
        assert [turn.message.role for turn in turns[conversation_id] if turn.answer_id == answer_id] == [
            "user",
            "assistant",
        ]
    assert set(inbox.values()) <= records
    everything = [turn for one in turns.values() for turn in one]
    assert {turn.answer_id for turn in everything} - {None} == records
    waiting = [turn for turn in everything if turn.answer_id is None]
    assert {turn.message.role for turn in waiting} <= {"user"}
    return len(waiting)


@pytest.mark.slow
def test_a_killed_process_keeps_every_answer_that_it_gave_and_half_of_none(
    tmp_path: Path, opened_elsewhere: Callable[[Path], dict[str, str]]
) -> None:
    waiting = answers = 0
    for seed in count():
        if seed >= KILLS and ((answers and waiting) or seed >= 5 * KILLS):
            break
        said = kill_at_random(tmp_path, seed, opened_elsewhere(tmp_path))
        answers += sum(line[0] == "done" for line in said)
        with build(Settings(home=tmp_path)) as app:
            waiting = check(app, said)
    assert answers > 0, "nothing was answered: the test proved nothing"
    assert waiting > 0, "no kill fell between a question and its answer: the test proved nothing"
