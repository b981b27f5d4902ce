"""What is peculiar to one vendor, and what holds before any of them is asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from citewell.adapters.llm.remote import RemoteModel
from citewell.adapters.llm.vendors import VENDORS, make_model, make_server
from citewell.errors import InputError, MissingExtra, ModelError, ModelUnavailableError, TokenBudgetExceededError
from citewell.ports import Prompt
from citewell.types import Message
from tests.llm.servers import PIECES, Google, OpenAI, Script, Server, Vendor

ASKED = Prompt("Be brief.", (Message("user", "How much?"),), max_reply_tokens=200, context_window=4_096)
ALLOWED = ("some-model=8192/1024", "other-model=8192/1024")


class Started:
    """Servers and models that are stopped after the test."""

    def __init__(self) -> None:
        self.servers: list[Server] = []
        self.models: list[RemoteModel] = []

    def __call__(self, vendor: type[Vendor], spec: str, path: str = "") -> tuple[Server, RemoteModel]:
        server = Server(vendor, Script(models=("some-model",)))
        model = make_model(spec, url=server.url + path, key="sk-very-secret", allowed=ALLOWED, sleep=lambda _: None)
        self.servers.append(server)
        self.models.append(model)
        return server, model


@pytest.fixture
def started() -> Iterator[Started]:
    made = Started()
    yield made
    for model in made.models:
        model.close()
    for server in made.servers:
        server.stop()


class AnyName(OpenAI):
    """A server with one model, which answers whatever name is asked for."""

    def model_of(self, body: object) -> str:
        return "some-model"


class NoList(AnyName):
    """A server that does not list its models."""

    def listing(self, script: Script) -> Any:
        return None


def test_a_server_that_answers_to_any_name_is_not_asked_for_another_model(started: Started) -> None:
    server, model = started(AnyName, "openai:other-model", "/v1")
    with pytest.raises(ModelUnavailableError, match="other-model"):
        list(model.stream(ASKED))
    assert server.chats == []


def test_a_server_without_a_list_is_taken_at_its_word(started: Started) -> None:
    _, model = started(NoList, "openai:other-model", "/v1")
    assert list(model.stream(ASKED)) == list(PIECES)


def test_parameters_that_a_model_refuses_are_left_out(started: Started) -> None:
    class Picky(OpenAI):
        def error(self, status: int) -> Any:
            refused = ("temperature", "max_tokens")[len(self.server.script.statuses)]
            return {"error": {"message": "unsupported", "param": refused}}

    server, model = started(Picky, "openai:some-model", "/v1")
    server.script.statuses = [400, 400]
    assert list(model.stream(ASKED)) == list(PIECES)
    assert list(model.stream(ASKED)) == list(PIECES)
    sent = [sorted({"temperature", "max_tokens", "max_completion_tokens"} & set(chat)) for chat in server.chats]
    assert sent == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def test_a_prompt_that_the_server_finds_too_long_is_a_matter_of_budget(started: Started) -> None:
    server, model = started(OpenAI, "openai:some-model", "/v1")
    server.script.statuses = [400]
    server.script.body = json.dumps({"error": {"message": "too long", "code": "context_length_exceeded"}})
    with pytest.raises(TokenBudgetExceededError):
        list(model.stream(ASKED))


def test_a_wrong_key_at_google_is_told_as_such(started: Started) -> None:
    server, model = started(Google, "google:some-model")
    server.script.statuses = [400]
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    server.script.body = json.dumps({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": details}})
    with pytest.raises(ModelError, match="CITEWELL_MODEL_KEY"):
        list(model.stream(ASKED))


def test_a_question_that_google_blocks_is_a_withheld_reply(started: Started) -> None:
    server, model = started(Google, "google:some-model")
    server.script.pieces, server.script.line = (), json.dumps({"promptFeedback": {"blockReason": "SAFETY"}})
    with pytest.raises(ModelError, match="blocked the reply"):
        list(model.stream(ASKED))


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_missing_client_is_named_with_the_command_that_installs_it(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, vendor, None)
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(MissingExtra, match=rf"pip install 'citewell\[{vendor}\]'"):
        make_model(f"{vendor}:llama3.2", url="http://127.0.0.1:9")


@pytest.mark.parametrize("spec", ["", "llama3.2", "ollama:", "ollama", "mistral:7b", "extractive"])
def test_a_model_must_name_its_vendor(spec: str) -> None:
    with pytest.raises(InputError, match="ollama:NAME, openai:NAME, anthropic:NAME, google:NAME"):
        make_model(spec)


@pytest.mark.parametrize("url", ["127.0.0.1:11434", "ftp://host", "http://", "localhost"])
def test_an_address_must_be_whole(url: str) -> None:
    with pytest.raises(InputError, match="CITEWELL_MODEL_URL"):
        make_model("ollama:llama3.2", url=url)


@pytest.mark.parametrize("vendor", ["openai", "anthropic", "google"])
def test_a_vendor_on_the_internet_needs_a_key_of_ours(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "a key of the environment")
    with pytest.raises(ModelError, match="CITEWELL_MODEL_KEY"):
        make_model(f"{vendor}:llama3.2")
    with pytest.raises(ModelError, match="CITEWELL_MODEL_KEY"):
        make_server(vendor)


def test_an_unknown_server_is_refused() -> None:
    with pytest.raises(InputError, match="ollama, openai, anthropic, google"):
        make_server("mistral")
