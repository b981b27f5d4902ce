"""What is Ollama's own: tags, silent cuts, error lines and thoughts in a field of their own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewell.adapters.llm.remote import RemoteModel
from citewell.adapters.llm.vendors import make_model, make_server
from citewell.answer.replay import OTHER_MODEL
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import ModelError, ModelUnavailableError, ReplyCut, TokenBudgetExceededError
from citewell.ports import Prompt
from citewell.types import Answer, Filing, Message, Source
from tests.llm.servers import PIECES, Ollama, Script, Server

ASKED = Prompt("Be brief.", (Message("user", "word " * 600),), max_reply_tokens=200, context_window=4_096)
"""At least 602 tokens, by any tokenizer."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(Ollama, Script(models=("llama3.2:1b", "llama3.2:latest")))
    yield made
    made.stop()


@pytest.fixture
def model(server: Server) -> Iterator[RemoteModel]:
    made = make_model("ollama:llama3.2", url=server.url, sleep=lambda _: None)
    yield made
    made.close()


def test_a_name_without_a_tag_is_the_latest(server: Server, model: RemoteModel) -> None:
    server.script.prompt_tokens = 700
    assert list(model.stream(ASKED)) == list(PIECES)
    assert [chat["model"] for chat in server.chats] == ["llama3.2:latest"]


def test_another_tag_is_another_model(server: Server) -> None:
    server.script.models = ("llama3.2:1b",)
    lister = make_server("ollama", url=server.url)
    with pytest.raises(ModelUnavailableError, match=r"`ollama pull llama3\.2:latest`"):
        lister.check("llama3.2")
    assert lister.check("llama3.2:1b").digest == "digest of llama3.2:1b"
    lister.close()


@pytest.mark.parametrize("counted", [601, 4_096, 5_000], ids=["fewer than words", "a full window", "over the window"])
def test_a_prompt_that_was_cut_silently_is_an_error(server: Server, model: RemoteModel, counted: int) -> None:
    server.script.prompt_tokens = counted
    with pytest.raises(TokenBudgetExceededError, match="cut the prompt"):
        list(model.stream(ASKED))


@pytest.mark.parametrize("counted", [602, 800, None], ids=["one per word", "more", "not told"])
def test_a_prompt_that_was_read_whole_is_none(server: Server, model: RemoteModel, counted: int | None) -> None:
    server.script.prompt_tokens = counted
    assert list(model.stream(ASKED)) == list(PIECES)


def test_an_error_line_before_the_reply_is_told_in_its_own_words(server: Server, model: RemoteModel) -> None:
    server.script.pieces, server.script.line = (), '{"error": "model requires more system memory"}'
    with pytest.raises(ModelError, match="model requires more system memory") as met:
        list(model.stream(ASKED))
    assert type(met.value) is ModelError


def test_an_error_line_in_the_reply_is_a_cut(server: Server, model: RemoteModel) -> None:
    server.script.line = '{"error": "unexpected EOF"}'
    with pytest.raises(ReplyCut, match="was cut off after 21 characters"):
        list(model.stream(ASKED))


def test_a_page_of_a_proxy_is_not_repeated(server: Server, model: RemoteModel) -> None:
    server.script.statuses, server.script.body = [502] * 4, "<html>\n<b>Bad gateway</b></html>"
    with pytest.raises(ModelError, match=r"failed \(502\)"):
        list(model.stream(ASKED))


def test_thoughts_in_their_own_field_are_signs_of_life(server: Server, model: RemoteModel) -> None:
    thought = '{"message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": false}'
    last = '{"message": {"role": "assistant", "content": "5 mg."}, "done": true, "done_reason": "stop"}'
    server.script.pieces, server.script.line = (), f"{thought}\n{last}"
    assert list(model.stream(ASKED)) == ["5 mg."]


class Echo(Ollama):
    """Answers with the words of the question."""

    def chat(self, script: Script) -> Iterator[str]:
        return super().chat(replace(script, pieces=tuple(f"{word} " for word in self.asked.split())))

    def model_of(self, body: Any) -> str:
        self.asked = body["messages"][-1]["content"]
        return super().model_of(body)


def test_a_hundred_replies_at_once_lose_and_mix_nothing() -> None:
    server = Server(Echo, Script(models=("llama3.2:latest",)))
    model = make_model("ollama:llama3.2", url=server.url)
    questions = [" ".join(f"{number}-{word}" for word in range(20)) for number in range(100)]
    prompts = [Prompt("", (Message("user", question),), 200, 4_096) for question in questions]
    with ThreadPoolExecutor(100) as pool:
        replies = list(pool.map(lambda prompt: "".join(model.stream(prompt)).strip(), prompts))
    model.close()
    server.stop()
    assert replies == questions


NOTE = "# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
QUESTION = "How much ferrous sulfate for iron deficiency anaemia in adults?"


@pytest.fixture
def app(server: Server, tmp_path: Path) -> Iterator[App]:
    server.script.pieces, server.script.prompt_tokens = ("Give ferrous sulfate 200 mg once daily. [S1]",), None
    made = build(Settings(home=tmp_path, model="ollama:llama3.2", model_url=server.url))
    made.add_source(Source(NOTE.encode(), "iron.md"), filing=Filing(tags=frozenset({"public"})))
    yield made
    made.close()


def writer_of(app: App, answer: Answer) -> Any:
    return app.ask_service.audit.read(answer.id, app.owner()).words["setup"]["writer"]


def test_the_digest_is_on_record_and_a_replay_says_when_another_model_has_the_name(server: Server, app: App) -> None:
    server.script.digest = "sha256:first of {name}"
    first = app.ask(QUESTION)
    named = {"name": "ollama:llama3.2", "window": 8_192, "reply": 1_024}
    assert writer_of(app, first) == {**named, "digest": "sha256:first of llama3.2:latest"}
    assert (app.replay(first.id).is_same, app.replay(first.id).notes) == (True, ())
    server.script.digest = "sha256:second of {name}"
    assert app.replay(first.id).notes == (OTHER_MODEL.format(name="ollama:llama3.2"),)
    assert writer_of(app, app.ask(QUESTION))["digest"] == "sha256:second of llama3.2:latest"


class Unlisted(Ollama):
    """Answers, and does not say what it has."""

    def listing(self, script: Script) -> Any:
        return None


def test_a_server_that_does_not_say_what_it_has_still_answers() -> None:
    server = Server(Unlisted, Script(models=("llama3.2:latest",), prompt_tokens=None))
    model = make_model("ollama:llama3.2", url=server.url, sleep=lambda _: None)
    assert (list(model.stream(ASKED)), model.digest) == (list(PIECES), None)
    model.close()
    server.stop()


def test_a_server_that_tells_no_digest_answers_and_nothing_is_made_up(server: Server, app: App) -> None:
    told = app.ask(QUESTION)
    server.script.digest = None
    assert app.replay(told.id).notes == ()
    assert "digest" not in writer_of(app, app.ask(QUESTION))
