"""kill -9 of the web server, the worker, Redis and PostgreSQL in turn while documents come in and are searched.

None is lost, none is read twice, nothing half-read is found. `make soak` goes on for 25 minutes; the ordinary tests
until each was killed once.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.postgres import open_postgres
from citewell.ingest.retries import RETRIES, pause_s
from citewell.types import Filing, LifecycleState, Scope, Source
from tests.faults.network import Network, reached
from tests.postgres import Server, running_server, with_tables

OWNER = Scope.owner("local")
SECONDS = float(os.environ.get("CITEWELL_FAULT_S", "1"))


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


LONGEST_PAUSE_S = 1.5 * pause_s(RETRIES, chance=lambda: 0.5)
"""A document whose readers were killed one after another waits as long as this before it is tried a last time."""


def settled(library: SqlLibrary, ids: set[str]) -> bool:
    """Whether every document is read."""
    return not unsettled(library, ids)


def unsettled(library: SqlLibrary, ids: set[str]) -> list[tuple[str, int, str | None]]:
    """The documents that are not read: state, attempts and why."""
    found = {entry.id: entry for entry in library.entries(OWNER)}
    assert ids <= found.keys(), "what was taken in is gone"
    left = (found[one] for one in ids)
    return [(one.state.value, one.attempts, one.error) for one in left if one.state is not LifecycleState.COMPLETED]


def read_once(library: SqlLibrary, document_id: str) -> bool:
    """Whether a document was made current once, and not again."""
    changes = Counter(change.change for change in library.history(document_id, OWNER))
    return changes["completed"] == 1


def search(network: Network) -> None:
    """A search answers with whole passages or says that it cannot, whatever has just been killed."""
    try:
        with network.client() as client:
            found = client.get("/api/v1/search", params={"q": "which sentence is here to be kept"})
    except httpx.HTTPError:
        return
    assert found.status_code in (200, 503), found.text
    if found.status_code == 200:
        assert all("is here to be kept" in hit["text"] for hit in found.json()["hits"])


def revived(network: Network) -> bool:
    """Start again what ended by itself, as `citewell worker` does, such as a part that found no database."""
    network.revive()
    return True


class Store:
    """Where the library of a network is kept, and how that is killed."""

    def __init__(self, home: Path, server: Server | None) -> None:
        self.home, self.server = home, server
        self.url = None if server is None else server.new()

    def open(self) -> SqlLibrary:
        if self.url is None:
            return SqlLibrary(self.home / "library.sqlite")
        return SqlLibrary(self.home / "library", engine=open_postgres(self.url))

    @contextmanager
    def opened(self) -> Iterator[SqlLibrary]:
        library = self.open()
        try:
            yield library
        finally:
            library.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A file, or a database on a server of this test's own."""
    if request.param == "sqlite":
        yield Store(tmp_path, None)
        return
    with running_server() as server:
        yield Store(tmp_path, with_tables(server))


@pytest.mark.slow
def test_whatever_is_killed_nothing_is_lost_and_nothing_is_read_twice(store: Store, tmp_path: Path) -> None:
    chance = random.Random(7)
    victims = ("web", "serve", "redis", "sweep", *(("postgres",) if store.server else ()))
    kills: Counter[str] = Counter()
    taken: set[str] = set()
    with Network(tmp_path, database_url=store.url) as network:
        network.start("redis", "web", "serve", "sweep")
        assert reached(network.is_up)
        until = time.monotonic() + SECONDS
        number = 0
        while time.monotonic() < until or len(kills) < len(victims):
            for _ in range(5):
                number += 1
                document_id = send(network, number)
                taken |= set() if document_id is None else {document_id}
            victim = min(victims, key=lambda name: (kills[name], chance.random()))
            kills[victim] += 1
            if victim == "postgres" and store.server:
                store.server.kill()
                search(network)
                number += 1
                assert send(network, number) is None, "what cannot be kept is not taken in"
                store.server.start_again()
                continue
            network.kill(victim)
            search(network)
            if victim == "redis":  # the sweep reads in person while there is no broker
                document_id = send(network, number := number + 1)
                assert document_id is not None, "a broker that is down is no reason to refuse a document"
                taken.add(document_id)
                with store.opened() as library:
                    assert reached(lambda: revived(network) and settled(library, {document_id}))  # noqa: B023 -- right here
            network.start(victim)
            assert reached(network.is_up)
            search(network)
        with store.opened() as library:
            assert taken
            is_recovered = reached(lambda: revived(network) and settled(library, taken), within_s=60 + LONGEST_PAUSE_S)
            assert is_recovered, unsettled(library, taken)
            assert reached(lambda: library.due() == 0)
            entries = library.entries(OWNER)
            assert [entry.state for entry in entries if entry.state is not LifecycleState.COMPLETED] == []
            assert all(read_once(library, entry.id) for entry in entries)
            assert library.verify().problems == ()


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
