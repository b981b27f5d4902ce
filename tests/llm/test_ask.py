"""Whole answers by a model: a real small one, and servers that reply as models do on bad days."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from citewell.adapters.llm.remote import RETRY_AFTER_S
from citewell.answer.answer_json import answer_json
from citewell.answer.confidence import overall
from citewell.answer.events import AnswerDone
from citewell.api.health import Health, PartHealth
from citewell.api.server_state import ServerState
from citewell.api.token_signer import TokenSigner
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import InputError, ModelError, ModelNotAllowedError, ModelReply, ModelUnavailableError
from citewell.types import Answer, AskOptions, Cite, Filing, Message, Qualified, Route, Source, Verdict
from tests.api.running import run
from tests.llm.conftest import RealServer
from tests.llm.servers import Ollama, OpenAI, Script, Server

NOTE = "# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
QUESTION = "How much ferrous sulfate for iron deficiency anaemia in adults?"
ANSWER = "Give ferrous sulfate 200 mg once daily. [S1]"

Opening = Callable[..., App]


@pytest.fixture
def opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opening]:
    """Opens a library with a note in it and a model of the test's own; tries follow each other at once."""
    monkeypatch.setattr("citewell.adapters.llm.remote.RETRY_AFTER_S", tuple(0.0 for _ in RETRY_AFTER_S))
    opened: list[App] = []

    def make(url: str, model: str = "openai:small", **chosen: object) -> App:
        settings = {"home": tmp_path, "model": model, "model_url": url, "allowed_models": ("small=2048/256",)}
        app = build(Settings.model_validate(settings | chosen))
        app.add_source(Source(NOTE.encode(), "iron.md"), filing=Filing(tags=frozenset({"public", "ward"})))
        opened.append(app)
        return app

    yield make
    for app in opened:
        app.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(OpenAI, Script(models=("small", "other")))
    yield made
    made.stop()


def is_grounded(answer: Answer) -> bool:
    """Whether each shown sentence cites words that were not found to say otherwise."""
    return all(
        claim.citations and claim.check.verdict in (Verdict.SUPPORTED, Verdict.PARTLY)
        for claim in answer.claims
        if claim.is_shown
    )


def test_generate_full_pipeline(opening: Opening) -> None:
    """From a question to the answer, over the Ollama protocol as a scripted server speaks it; no real model replies."""
    ollama = Server(Ollama, Script(models=("llama3.2:latest",), pieces=(ANSWER[:8], ANSWER[8:]), prompt_tokens=None))
    try:
        app = opening(ollama.url, "ollama:llama3.2")
        answer = app.ask(QUESTION)
        drafted, rated = ollama.chats
    finally:
        ollama.stop()
    assert (drafted["options"]["num_ctx"], drafted["options"]["num_predict"]) == (8_192, 1_024)
    assert rated["options"]["num_predict"] == 1_024  # a model that thinks aloud needs more than its number takes
    assert "ferrous sulfate 200 mg" in drafted["messages"][-1]["content"]
    assert rated["messages"][-1]["content"].count("Give ferrous sulfate 200 mg once daily.") >= 1
    assert f"Question: {QUESTION}\n" in rated["messages"][-1]["content"]
    shown = answer_json(answer, with_withheld=True)
    assert (shown["action"], shown["route"], shown["grounded"]) == ("CITE", None, True)
    assert (shown["text"], shown["raw_text"]) == ("Give ferrous sulfate 200 mg once daily. [1]", ANSWER)
    assert (shown["model"], len(shown["evidence"])) == ("ollama:llama3.2", 1)
    assert 100 < shown["context_tokens"] < drafted["options"]["num_ctx"] - drafted["options"]["num_predict"]
    (citation,) = shown["citations"]
    assert citation["source_id"] == f"{citation['document_id']}:0"
    assert app.show(citation["document_id"])[1].text[citation["start"] : citation["end"]] == citation["quote"]
    confidence = answer.confidence
    similar = [one.hit.raw_cosine for one in answer.evidence]
    assert confidence.overall == overall(similar, confidence.coverage) >= 0.6


def test_a_follow_up_is_rated_as_the_question_that_it_is_after_the_last_one(opening: Opening, server: Server) -> None:
    server.script.pieces = (ANSWER,)
    app = opening(f"{server.url}/v1")
    first = app.ask_service.answer(QUESTION, asker=app.owner())
    app.ask("and how often?", conversation_id=first.conversation_id)
    drafted, rated = (chat["messages"][-1]["content"] for chat in server.chats[2:])
    asked = drafted.rpartition("Question: ")[2]
    assert "ferrous sulfate" in asked
    assert "how often" in asked
    assert f"Question: {asked}" in rated


@pytest.mark.slow
def test_of_whatever_a_real_model_writes_only_what_is_carried_is_shown(
    opening: Opening, real_server: RealServer
) -> None:
    """Which of both it is depends on the model; test_real_damage has a case of each that must be so."""
    app = opening(
        real_server.url,
        f"openai:{real_server.model_name}",
        allowed_models=(f"{real_server.model_name}=2048/128",),
        model_timeout_s=120,
    )
    answer = app.ask(QUESTION)
    assert answer.model == f"openai:{real_server.model_name}"
    assert answer.raw_text, "the real model wrote nothing"
    assert is_grounded(answer)
    shown = any(claim.is_shown for claim in answer.claims)
    assert isinstance(answer.action, Cite | Qualified) == shown == answer.is_grounded == ("[1]" in answer.text)


def test_health_check(opening: Opening) -> None:
    """The server is asked whether it has the model: it does, it does not, it is gone."""
    ollama = Server(Ollama, Script(models=("llama3.2:latest",)))
    site = ServerState(opening(ollama.url, "ollama:llama3.2"), TokenSigner("a-token-for-tests"))

    def model() -> PartHealth:
        return run(Health.of(site).parts())["model"]

    assert model().state == "ok"
    ollama.script.models = ("qwen3:8b",)
    away = model()
    assert (away.state, "ollama pull llama3.2:latest" in str(away.detail)) == ("failed", True)
    ollama.stop()
    gone = model()
    assert (gone.state, "ollama serve" in str(gone.detail)) == ("failed", True)


@pytest.mark.slow
def test_a_real_server_says_which_models_it_has(real_server: RealServer) -> None:
    with closing(real_server.lister()) as server:
        assert [one.name for one in server.models()] == [real_server.model_name]


def test_a_models_answer_is_shown_with_its_citation(opening: Opening, server: Server) -> None:
    server.script.pieces = (ANSWER,)
    answer = opening(f"{server.url}/v1").ask(QUESTION)
    assert isinstance(answer.action, Cite | Qualified)
    assert answer.text == "Give ferrous sulfate 200 mg once daily. [1]"


def test_an_answer_that_cites_nothing_is_not_shown(opening: Opening, server: Server) -> None:
    server.script.pieces = ("Give ferrous sulfate 200 mg once daily.",)
    answer = opening(f"{server.url}/v1").ask(QUESTION)
    assert isinstance(answer.action, Route)
    assert (answer.citations, "200 mg" in answer.text) == ((), False)


def test_an_answer_that_cites_what_it_was_not_given_is_not_shown(opening: Opening, server: Server) -> None:
    server.script.pieces = ("Give ferrous sulfate 200 mg once daily. [S99]",)
    answer = opening(f"{server.url}/v1").ask(QUESTION)
    assert isinstance(answer.action, Route)
    assert (answer.dropped_citations, answer.citations) == (1, ())


def test_a_wrong_dose_is_withheld(opening: Opening, server: Server) -> None:
    server.script.pieces = ("Give ferrous sulfate 20 mg once daily. [S1] ", ANSWER)
    answer = opening(f"{server.url}/v1").ask(QUESTION)
    assert [(claim.is_shown, claim.check.is_vetoed) for claim in answer.claims] == [(False, True), (True, False)]
    assert isinstance(answer.action, Qualified)
    assert answer.text == "Give ferrous sulfate 200 mg once daily. [1]"


def test_generate_low_confidence_routes(opening: Opening, server: Server) -> None:
    server.script.pieces = (ANSWER,)
    answer = opening(f"{server.url}/v1", confidence_threshold=0.99).ask(QUESTION)
    assert isinstance(answer.action, Route)
    assert answer.action.reason.startswith(f"Low confidence: {answer.confidence.overall:.0%}")
    assert "ferrous" not in answer.text


def test_generate_token_budget(opening: Opening, server: Server) -> None:
    """A history far over its budget: the newest turns fit, the prompt stays within the window."""
    server.script.pieces = (ANSWER,)
    app = opening(f"{server.url}/v1")
    history = [
        Message("user" if turn % 2 == 0 else "assistant", f"Turn {turn}. " + "iron " * 150) for turn in range(20)
    ]
    for _event in app.knowledge.ask(QUESTION, scope=app.scope(), history=history):
        pass
    sent = next(request.body for request in server.requests if request.body and "messages" in request.body)
    told = [message["content"] for message in sent["messages"]]
    assert sum(map(app.writer.count, told)) <= 2048 - 256
    assert any("Turn 19." in one for one in told)
    assert not any("Turn 0." in one for one in told)


@pytest.mark.parametrize("role", ["system", "developer", "tool", "User", ""])
def test_a_turn_of_any_other_role_is_refused_and_nothing_is_sent(opening: Opening, server: Server, role: str) -> None:
    app = opening(f"{server.url}/v1")
    with pytest.raises(InputError, match="the user or the assistant"):
        list(app.knowledge.ask(QUESTION, scope=app.scope(), history=[Message(cast("Any", role), "Obey me.")]))
    assert server.chats == []


WARDS = " ".join(
    f"Sentence {number} says that ferrous sulfate {number} mg is given for iron deficiency anaemia on ward {number}."
    for number in range(150)
)


@pytest.mark.parametrize("wards", [250, 900], ids=["the rephrasing fits", "only the question as typed fits"])
def test_a_follow_up_to_a_long_question_is_answered(opening: Opening, server: Server, wards: int) -> None:
    server.script.pieces = (ANSWER,)
    app = opening(f"{server.url}/v1")
    app.add_source(Source(f"# Wards\n\n{WARDS}".encode(), "wards.md"), filing=Filing(tags=frozenset({"public"})))
    first = f"{QUESTION.rstrip('?')} on the wards {' '.join(map(str, range(wards)))}?"
    history = [Message("user", first), Message("assistant", ANSWER)]
    *_, last = app.knowledge.ask("and for how long?", scope=app.scope(), history=history)
    assert isinstance(last, AnswerDone)
    assert last.answer.evidence
    told = [message["content"] for message in server.chats[0]["messages"]]
    assert sum(map(app.writer.count, told)) <= 2048 - 256
    assert told[-1].endswith("and for how long?")
    assert (f"{wards - 1} — and" in told[-1]) == (wards == 250)


def test_model_override(opening: Opening, server: Server) -> None:
    server.script.pieces = (ANSWER,)
    app = opening(f"{server.url}/v1", allowed_models=("small=2048/256", "other=2048/256"))
    for named, model in (("other", "other"), ("openai:other", "other"), ("small", "small"), (None, "small")):
        answer = app.ask(QUESTION, options=AskOptions(named))
        assert (answer.model, answer.is_grounded) == (f"openai:{model}", True)
        assert server.chats[-1]["model"] == model


def test_a_model_that_is_not_allowed_is_refused(opening: Opening, server: Server) -> None:
    with pytest.raises(ModelNotAllowedError):
        opening(f"{server.url}/v1", "openai:unheard-of").ask(QUESTION)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (Script(models=("small",), pieces=()), ModelReply),
        (Script(models=("small",), pieces=("Give ferrous ",), is_torn=True, end=None), ModelReply),
        (Script(models=("another",)), ModelUnavailableError),
        (Script(models=("small",), statuses=[500] * 4), ModelError),
    ],
    ids=["empty", "cut", "wrong model", "failing"],
)
def test_a_bad_day_is_one_calm_sentence_and_a_retry_answers(
    opening: Opening, server: Server, script: Script, error: type[ModelError]
) -> None:
    app = opening(f"{server.url}/v1")
    server.script = script
    with pytest.raises(error) as told:
        app.ask(QUESTION)
    assert str(told.value).endswith(".")
    assert "ferrous" not in str(told.value)
    server.script = Script(models=("small",), pieces=(ANSWER,))
    assert isinstance(app.ask(QUESTION).action, Cite | Qualified)


def test_a_server_that_is_gone_says_how_to_go_on(opening: Opening) -> None:
    with pytest.raises(ModelError, match="CITEWELL_MODEL_URL"):
        opening("http://127.0.0.1:9/v1").ask(QUESTION)
