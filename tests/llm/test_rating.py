"""What a model says of its own answer: asked for within the answer's time, and counted only where it came whole."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.answer.confidence import overall
from citewell.answer.events import AnswerDone
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Confidence, Filing, Source
from tests.llm.servers import OpenAI, Script, Server

NOTE = "# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
QUESTION = "How much ferrous sulfate for iron deficiency anaemia in adults?"
ANSWER = "Give ferrous sulfate 200 mg once daily. [S1]"
TIMEOUT_S = 9.0
PAUSE_S = 5.0
"""A pause that fits the time of a model once, but not twice."""


class Rated(OpenAI):
    """Drafts as scripted, and rates what it is given to rate by a script of its own."""

    rating: Script
    pauses: tuple[float, float] = (0.0, 0.0)
    """Before the second line of a draft, and of a rating."""

    def chat(self, script: Script) -> Iterator[str]:
        is_rating = len(self.server.chats) % 2 == 0
        for number, line in enumerate(super().chat(self.rating if is_rating else script)):
            if number == 1:
                time.sleep(self.pauses[is_rating])
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
    made = build(settings)
    made.add_source(Source(NOTE.encode(), "iron.md"), filing=Filing(tags=frozenset({"public"})))
    yield made
    made.close()
    server.stop()


def asked(app: App) -> Confidence:
    """How sure the app is of its answer."""
    *_, last = app.knowledge.ask(QUESTION, scope=app.scope())
    assert isinstance(last, AnswerDone)
    return last.answer.confidence


def test_what_the_model_says_of_its_answer_is_told_and_moves_nothing(app: App, protocol: type[Rated]) -> None:
    found = {}
    for rating in (85, 5):
        protocol.rating = replace(protocol.rating, pieces=(f"{rating}",))
        confidence = asked(app)
        assert confidence.llm == rating / 100
        found[rating] = (confidence.overall, confidence.calibrated)
    assert found[85] == found[5]


@pytest.mark.parametrize("pieces", [("8",), ("85", " ")], ids=["in the number", "after it"])
@pytest.mark.parametrize(("end", "is_torn"), [(None, True), (None, False), ("length", False), ("filter", False)])
def test_a_rating_that_broke_off_is_none(
    app: App, protocol: type[Rated], pieces: tuple[str, ...], end: str | None, is_torn: bool
) -> None:
    protocol.rating = replace(protocol.rating, pieces=pieces, end=end, is_torn=is_torn)
    confidence = asked(app)
    similarities = [confidence.retrieval]
    assert (confidence.llm, confidence.overall) == (None, overall(similarities, confidence.coverage))


@pytest.mark.parametrize(
    ("pauses", "rating"),
    [((0.0, PAUSE_S), 0.85), ((PAUSE_S, PAUSE_S), None)],
    ids=["slow rating", "both slow"],
)
def test_draft_and_rating_share_one_time(
    app: App, protocol: type[Rated], pauses: tuple[float, float], rating: float | None
) -> None:
    protocol.rating = replace(protocol.rating, pieces=("8", "5"))
    assert asked(app).llm == 0.85, "all that is loaded once is loaded now"
    protocol.pauses = pauses
    assert asked(app).llm == rating
