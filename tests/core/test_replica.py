"""The copy in Qdrant, through the official client's local mode: like the library, within every scope, or not asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("qdrant_client", reason="needs the qdrant extra")

from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.index.qdrant import QdrantIndex
from citewell.adapters.index.replica import ALIAS, Replica, connect
from citewell.adapters.store.replica_feed import SqlFilings
from citewell.app import App
from citewell.errors import InputError, ReplicaUnavailable
from citewell.ports import Candidate
from citewell.types import EVERY, Filing, Scope, Source

QUESTIONS = {"fever": {"fever": 1.0}, "dose of paracetamol": {"dose": 1.0, "paracetamol": 2.0, "renal": 0.5}}
TEXTS = {
    "fever": "Fever in children. Give paracetamol at the usual dose. Renal disease needs a smaller dose.",
    "renal": "Renal disease. The dose of metformin is reduced.",
    "ward": "On ward five fever is measured twice a day.",
    "heart": "Heart failure. Weigh the patient every day.",
    "mine": "My own fever lasted for three days.",
}
FILINGS = {
    "fever": Filing(),
    "renal": Filing(tags=frozenset({"pharmacy"})),
    "ward": Filing(tags=frozenset({"ward"}), journeys=frozenset({"stay"})),
    "heart": Filing(journeys=frozenset({"heart", "stay"})),
    "mine": Filing(subject="ann"),
}
SCOPES = [
    Scope("local", frozenset(tags), journey, subject)
    for tags, journey, subject in product(
        ((EVERY,), (), ("ward",), ("pharmacy", "ward")), (EVERY, None, "stay", "heart"), (EVERY, None, "ann")
    )
]


@pytest.fixture
def filled(app: App) -> App:
    for name, text in TEXTS.items():
        app.add_source(Source(text.encode(), f"{name}.txt"), filing=FILINGS[name])
    return app


@pytest.fixture
def replica() -> Iterator[Replica]:
    made = connect("local::memory:")
    yield made
    made.client.close()


def both(app: App, replica: Replica, scope: Scope, words: str) -> tuple[list[Candidate], list[Candidate]]:
    """What the replica finds, nothing else to fall back on, and what the library's own index finds."""
    vector = app.embedder.embed([words])[0]
    index = QdrantIndex(SqlFilings(app.library), replica, _Nothing())
    own = ExactIndex(app.library)
    terms = QUESTIONS[words]
    return (
        index.candidates(vector, terms, scope=scope, limit=4),
        own.candidates(vector, terms, scope=scope, limit=4),
    )


class _Nothing:
    def candidates(self, *_: object, **__: object) -> list[Candidate]:
        raise AssertionError("the replica should have answered")

    def candidates_of_each(self, *_: object, **__: object) -> list[list[Candidate]]:
        raise AssertionError("the replica should have answered")


def told(found: list[Candidate]) -> list[tuple[object, ...]]:
    return [
        (
            *(one.generation, one.chunk_index, one.dense_rank, one.lexical_rank),
            *(round(number, 5) for number in (one.cosine, one.lexical_score, one.coverage)),
        )
        for one in found
    ]


def test_every_scope_finds_there_what_it_finds_here(filled: App, replica: Replica) -> None:
    shelf = SqlFilings(filled.library)
    assert replica.lag(shelf).documents == 5
    assert replica.feed(shelf) == 5
    assert replica.lag(shelf).is_current
    for scope, words in product(SCOPES, QUESTIONS):
        there, here = both(filled, replica, scope, words)
        assert told(there) == told(here), scope


def test_changes_arrive_and_an_old_copy_is_not_asked(filled: App, replica: Replica) -> None:
    shelf = SqlFilings(filled.library)
    replica.feed(shelf)
    wards = next(entry for entry in filled.entries() if entry.name == "ward.txt")
    filled.refile(wards.id, Filing(tags=frozenset({"icu"}), journeys=frozenset()))
    filled.delete(next(entry.id for entry in filled.entries() if entry.name == "mine.txt"))
    filled.add_source(Source(b"Fever after surgery is reported at once.", "surgery.txt"))
    lag = replica.lag(shelf)
    assert (lag.missing, lag.surplus, lag.is_current) == (2, 1, False)
    asked: list[str] = []

    class Own:
        def candidates(self, *_: object, **__: object) -> list[Candidate]:
            asked.append("own")
            return []

        def candidates_of_each(self, *_: object, **__: object) -> list[list[Candidate]]:
            raise AssertionError("one question was asked")

    vector = np.zeros(384, dtype=np.float32)
    QdrantIndex(shelf, replica, Own()).candidates(vector, {"fever": 1.0}, scope=SCOPES[0], limit=3)
    assert asked == ["own"]
    assert replica.feed(shelf) == 3
    assert replica.feed(shelf) == 0
    for scope, words in product(SCOPES[::7], QUESTIONS):
        there, here = both(filled, replica, scope, words)
        assert told(there) == told(here)


def test_it_is_begun_anew_beside_the_old_one_and_only_one_stays(filled: App, replica: Replica) -> None:
    shelf = SqlFilings(filled.library)
    replica.feed(shelf)
    before = {one.name for one in replica.client.get_collections().collections}
    assert replica.rebuild(shelf) == 5
    after = {one.name for one in replica.client.get_collections().collections}
    assert len(after) == 2
    assert not before & after
    there, here = both(filled, replica, SCOPES[0], "fever")
    assert told(there) == told(here)
    assert there


def test_a_replica_that_is_down_or_wiped_leaves_the_search_to_the_library(filled: App, replica: Replica) -> None:
    shelf = SqlFilings(filled.library)
    replica.feed(shelf)
    vector = filled.embedder.embed(["fever"])[0]
    own = ExactIndex(filled.library)
    wanted = told(own.candidates(vector, {"fever": 1.0}, scope=SCOPES[0], limit=4))
    index = QdrantIndex(shelf, replica, own)
    for one in replica.client.get_collections().collections:
        replica.client.delete_collection(one.name)
    assert told(index.candidates(vector, {"fever": 1.0}, scope=SCOPES[0], limit=4)) == wanted
    away = connect("http://127.0.0.1:9")
    index = QdrantIndex(shelf, away, own)
    assert told(index.candidates(vector, {"fever": 1.0}, scope=SCOPES[0], limit=4)) == wanted
    with pytest.raises(ReplicaUnavailable, match="library's own index"):
        away.feed(shelf)


def test_a_search_of_the_product_goes_through_it_and_the_command_feeds_it(filled: App, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from citewell.cli.commands import app as commands

    home = filled.settings.home
    place = {"CITEWELL_QDRANT_URL": f"local:{tmp_path / 'copy'}", "CITEWELL_HOME": str(home)}
    run = CliRunner(env=place)
    assert "5 document versions to send" in run.invoke(commands, ["replica", "status"]).output
    assert "5 document versions updated" in run.invoke(commands, ["replica", "feed"]).output
    assert "is in step with the library" in run.invoke(commands, ["replica", "status"]).output
    with_copy = run.invoke(commands, ["search", "fever in children", "--json"]).output
    without = (
        CliRunner(env={"CITEWELL_HOME": str(home)}).invoke(commands, ["search", "fever in children", "--json"]).output
    )
    assert with_copy.splitlines()[3:20] == without.splitlines()[3:20]


def test_without_an_address_there_is_none(app: App) -> None:
    from citewell.wiring import make_replica

    with pytest.raises(InputError, match="CITEWELL_QDRANT_URL"):
        make_replica(app.settings)
    assert ALIAS == "citewell"
