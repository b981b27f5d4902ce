"""What a model says of its own answer: asked for within the answer's time, and counted only where it came whole."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.answer.score import overall
from citewell.answer.stream import Done
from citewell.bootstrap import App
from citewell.config import Settings
from citewell.types import Answer, Filing, Source
from tests.llm.servers import OpenAI, Script, Server

NOTE = "# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
QUESTION = "How much ferrous sulfate for iron deficiency anaemia in adults?"
ANSWER = "Give ferrous sulfate 200 mg once daily. [S1]"
TIMEOUT_S = 3.0


class Rated(OpenAI):
    """Drafts as scripted, and rates what it is given to rate by a script of its own."""

    rating: Script
    draft_takes_s = 0.0

    def chat(self, script: Script) -> Iterator[str]:
        if len(self.server.chats) % 2 == 0:
            yield from super().chat(self.rating)
            return
        for number, line in enumerate(super().chat(script)):
            if number == 1:
                time.sleep(self.draft_takes_s)
            yield line


@pytest.fixture
def protocol() -> type[Rated]:
    return type("OfThisTest", (Rated,), {"rating": Script(models=("small",), pieces=("85",))})


@pytest.fixture
def app(tmp_path: Path, protocol: type[Rated]) -> Iterator[App]:
    server = Server(protocol, Script(models=("small",), pieces=(ANSWER,)))
    settings = Settings(
        home=tmp_path,
        model="openai:small",
        model_url=f"{server.url}/v1",
        model_timeout_s=TIMEOUT_S,
        allowed_models=("small=2048/256",),
    )
    made = App(settings)
    made.add_source(Source(NOTE.encode(), "iron.md"), filing=Filing(tags=frozenset({"public"})))
    yield made
    made.close()
    server.stop()


def timed(app: App) -> tuple[Answer, float]:
    """An answer, and how long it took from when it began to be written."""
    events = iter(app.knowledge.ask(QUESTION, scope=app.scope()))
    assert [next(events) for _ in range(2)]
    begun_at = time.monotonic()
    *_, last = events
    assert isinstance(last, Done)
    return last.answer, time.monotonic() - begun_at


def test_what_the_model_says_of_its_answer_counts_in_the_score(app: App, protocol: type[Rated]) -> None:
    found = {}
    for rating in (85, 5):
        protocol.rating = replace(protocol.rating, pieces=(f"{rating}",))
        confidence = timed(app)[0].confidence
        similarities = [confidence.retrieval]
        assert (confidence.llm, confidence.overall) == (
            rating / 100,
            overall(similarities, confidence.coverage, rating / 100),
        )
        found[rating] = confidence.overall
    assert found[85] - found[5] == pytest.approx(0.24, abs=0.011)


@pytest.mark.parametrize("pieces", [("8",), ("85", " ")], ids=["in the number", "after it"])
@pytest.mark.parametrize(("end", "is_torn"), [(None, True), (None, False), ("length", False), ("filter", False)])
def test_a_rating_that_broke_off_is_none(
    app: App, protocol: type[Rated], pieces: tuple[str, ...], end: str | None, is_torn: bool
) -> None:
    protocol.rating = replace(protocol.rating, pieces=pieces, end=end, is_torn=is_torn)
    confidence = timed(app)[0].confidence
    similarities = [confidence.retrieval]
    assert (confidence.llm, confidence.overall) == (None, overall(similarities, confidence.coverage, None))


def test_draft_and_rating_share_one_time(app: App, protocol: type[Rated]) -> None:
    assert timed(app)[0].confidence.llm is not None, "all that is loaded once is loaded now"
    protocol.draft_takes_s = 2.0
    protocol.rating = replace(protocol.rating, pieces=("", "85"), stalls_at=1)
    answer, took_s = timed(app)
    assert answer.confidence.llm is None
    assert 2.0 <= took_s < TIMEOUT_S + 1.5
