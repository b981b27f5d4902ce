"""kill -9 of the web server, the worker and Redis in turn while documents come in: none is lost, none is read twice.

`make faults-workers` goes on for 25 minutes; the ordinary tests for a few kills of each.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from citewell.adapters.store.library import SqlLibrary
from citewell.types import Filing, Scope, Source, State
from tests.faults.network import Network, reached

OWNER = Scope.owner("local")
SECONDS = float(os.environ.get("CITEWELL_FAULT_S", "10"))


def body(number: int) -> bytes:
    """A document of several passages that says which one it is."""
    sentences = " ".join(f"Sentence {at} of document {number} is here to be kept." for at in range(60))
    return f"Document {number}\n\n{sentences}".encode()


def send(network: Network, number: int) -> str | None:
    """The id of a document that the server says it has taken in; None where it did not answer."""
    try:
        with network.client() as client:
            sent = client.post("/api/v1/documents", files={"files": (f"{number}.txt", body(number))})
    except httpx.HTTPError:
        return None
    assert sent.status_code in (202, 503), sent.text
    return str(sent.json()["documents"][0]["document_id"]) if sent.status_code == 202 else None


def settled(library: SqlLibrary, ids: set[str]) -> bool:
    """Whether every document is read."""
    states = {entry.id: entry.state for entry in library.entries(OWNER)}
    return all(states.get(one) is State.COMPLETED for one in ids)


def read_once(library: SqlLibrary, document_id: str) -> bool:
    """Whether a document was made current once, and not again."""
    changes = Counter(change.change for change in library.history(document_id, OWNER))
    return changes["completed"] == 1


@pytest.mark.slow
def test_whatever_is_killed_nothing_is_lost_and_nothing_is_read_twice(tmp_path: Path) -> None:
    chance = random.Random(7)
    kills: Counter[str] = Counter()
    taken: set[str] = set()
    with Network(tmp_path) as network:
        network.start("redis", "web", "serve", "sweep")
        assert reached(network.is_up)
        until = time.monotonic() + SECONDS
        number = 0
        while time.monotonic() < until or len(kills) < 4:
            for _ in range(5):
                number += 1
                document_id = send(network, number)
                taken |= set() if document_id is None else {document_id}
            victim = min(("web", "serve", "redis", "sweep"), key=lambda name: (kills[name], chance.random()))
            kills[victim] += 1
            network.kill(victim)
            if victim == "redis":  # the sweep reads in person while there is no broker
                document_id = send(network, number := number + 1)
                assert document_id is not None, "a broker that is down is no reason to refuse a document"
                taken.add(document_id)
                library = SqlLibrary(tmp_path / "library.sqlite")
                assert reached(lambda: settled(library, {document_id}))  # noqa: B023 -- looked at right here
                library.close()
            network.start(victim)
            assert reached(network.is_up)
        library = SqlLibrary(tmp_path / "library.sqlite")
        try:
            assert taken
            assert reached(lambda: settled(library, taken), within_s=240)
            assert reached(lambda: library.due() == 0)
            entries = library.entries(OWNER)
            assert [entry.state for entry in entries if entry.state is not State.COMPLETED] == []
            assert all(read_once(library, entry.id) for entry in entries)
            assert library.verify().problems == ()
        finally:
            library.close()


@pytest.mark.slow
def test_duplicate_late_and_lost_nudges_change_nothing(tmp_path: Path) -> None:
    from citewell.adapters.queue.celery import CeleryQueue

    with Network(tmp_path) as network:
        library = SqlLibrary(tmp_path / "library.sqlite")
        early = [library.enqueue(Source(body(at), f"{at}.txt"), filing=Filing(), scope=OWNER) for at in range(3)]
        network.start("redis")
        queue = CeleryQueue(network.broker)
        assert reached(queue.nudge)
        for _ in range(20):  # far more nudges than documents, all before anybody listens
            queue.nudge()
        network.start("serve", "sweep")
        assert reached(lambda: settled(library, {one.id for one in early}))
        late = [library.enqueue(Source(body(at), f"{at}.txt"), filing=Filing(), scope=OWNER) for at in (7, 8)]
        assert reached(lambda: settled(library, {one.id for one in late})), "nobody was nudged: the sweep finds them"
        assert all(read_once(library, one.id) for one in (*early, *late))
        assert library.verify().problems == ()
        library.close()
