"""`citewell models` as a person and as a program use it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from citewell.adapters.llm.vendors import VENDORS
from citewell.cli.models import app
from citewell.errors import (
    LLMConnectionError,
    MissingExtra,
    ModelError,
    ModelNotAllowedError,
    ModelReply,
    ModelUnavailableError,
)
from tests.llm.servers import Ollama, OpenAI, Script, Server

QWEN = {
    "name": "qwen3:8b",
    "is_allowed": True,
    "is_present": True,
    "is_chosen": True,
    "context_window": 32_768,
    "max_reply_tokens": 2_048,
    "digest": "digest of qwen3:8b",
    "size_bytes": 2_000_000_000,
}
ABSENT = {"is_present": False, "is_chosen": False, "digest": None, "size_bytes": None}


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server = Server(Ollama, Script(models=("llama3.2:1b", "qwen3:8b")))
    monkeypatch.setenv("CITEWELL_MODEL", "ollama:qwen3:8b")
    monkeypatch.setenv("CITEWELL_MODEL_URL", server.url)
    yield server
    server.stop()


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def run_json(*words: str) -> Any:
    result = run(*words, "--json")
    assert result.exception is None
    return json.loads(result.stdout)


def test_models_are_listed_by_what_is_allowed_and_what_is_there(ollama: Server) -> None:
    listed = run_json("list")
    kinds = listed.pop("kinds")
    assert [(one["name"], one["is_chosen"]) for one in kinds] == [
        *(("extractive", False), ("ollama", True), ("openai", False), ("anthropic", False), ("google", False))
    ]
    assert listed == {
        "server": "ollama",
        "problem": None,
        "models": [
            {"name": "llama3.2", "is_allowed": True, "context_window": 8_192, "max_reply_tokens": 1_024, **ABSENT},
            QWEN,
            {
                "name": "deepseek-r1:32b",
                "is_allowed": True,
                "context_window": 65_536,
                "max_reply_tokens": 4_096,
                **ABSENT,
            },
            {
                "name": "llama3.2:1b",
                "is_allowed": False,
                "is_present": True,
                "is_chosen": False,
                "context_window": 131_072,
                "max_reply_tokens": None,
                "digest": "digest of llama3.2:1b",
                "size_bytes": 2_000_000_000,
            },
        ],
    }
    assert run_json() == {**listed, "kinds": kinds}


def test_a_person_sees_a_table(ollama: Server) -> None:
    lines = run("list").stdout.splitlines()
    assert lines[0] == "extractive: quotes word for word; always available"
    assert lines[4].split() == [
        "qwen3:8b",
        "(in",
        "use)",
        "yes",
        "yes",
        "32,768",
        "2,048",
        "2.0",
        "GB",
        "digest",
        "of",
        "qw",
    ]


def test_what_is_allowed_is_listed_even_when_nothing_answers(ollama: Server) -> None:
    ollama.stop()
    listed = run_json("list")
    assert [row["name"] for row in listed["models"]] == ["llama3.2", "qwen3:8b", "deepseek-r1:32b"]
    assert listed["problem"].endswith("Start it with `ollama serve`, or set CITEWELL_MODEL_URL.")


def test_a_model_is_checked_by_its_exact_name(ollama: Server) -> None:
    assert run_json("check", "qwen3:8b") == {"server": "ollama", "model": QWEN}
    assert run_json("check", "ollama:qwen3:8b") == {"server": "ollama", "model": QWEN}
    missing = run("check", "llama3.2").exception
    assert isinstance(missing, ModelUnavailableError)
    assert "`ollama pull llama3.2:latest`" in str(missing)
    assert isinstance(run("check", "llama3.2:1b").exception, ModelNotAllowedError)


def test_a_window_larger_than_the_model_is_told(ollama: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", '["qwen3:8b=500000/2048"]')
    result = run("check", "qwen3:8b")
    assert "qwen3:8b supports 131072 tokens, but 500000 are allowed." in result.stderr
    assert run_json("check", "qwen3:8b")["model"]["context_window"] == 131_072


def test_a_model_is_fetched_if_it_is_allowed(ollama: Server) -> None:
    assert isinstance(run("pull", "mistral").exception, ModelNotAllowedError)
    assert [one for one in ollama.requests if one.path == "/api/pull"] == []
    assert run_json("pull", "llama3.2") == {
        "server": "ollama",
        "pulled": "llama3.2:latest",
        "digest": "digest of llama3.2:latest",
        "size_bytes": 2_000_000_000,
    }
    assert (
        run("pull", "llama3.2").stdout == "llama3.2:latest is available. Use it with CITEWELL_MODEL=ollama:llama3.2.\n"
    )


def test_a_fetch_that_fails_says_so(ollama: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", '["nothing=4096/512"]')
    assert "file does not exist" in str(run("pull", "nothing").exception)
    ollama.script.end = None
    assert isinstance(run("pull", "llama3.2").exception, ModelReply)
    ollama.stop()
    assert isinstance(run("pull", "llama3.2").exception, LLMConnectionError)


def test_the_key_of_one_vendor_never_goes_to_another(ollama: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_MODEL_KEY", "sk-very-secret")
    refused = run("list", "--server", "openai").exception
    assert isinstance(refused, ModelError)
    assert str(refused) == "Models from openai need a key. Set CITEWELL_MODEL_KEY, or CITEWELL_MODEL_URL."
    assert ollama.requests == []


def test_models_of_a_compatible_server_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(OpenAI, Script(models=("some-model",)))
    monkeypatch.setenv("CITEWELL_MODEL", "openai:some-model")
    monkeypatch.setenv("CITEWELL_MODEL_URL", f"{server.url}/v1")
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", '["some-model=16384/800"]')
    found = run_json("check", "some-model")["model"]
    server.stop()
    assert (found["name"], found["is_chosen"], found["context_window"]) == ("some-model", True, 16_384)


def test_without_the_extras_the_allowed_models_are_listed_with_the_ways_to_get_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ollama", "openai", "anthropic", "google.genai"):
        monkeypatch.setitem(sys.modules, name, None)
    told = run()
    assert told.exit_code == 0
    assert told.stdout.startswith("extractive (in use): quotes word for word; always available\n")
    assert "qwen3:8b" in told.stdout
    for vendor in VENDORS:
        assert f"  {vendor}: {sys.executable} -m pip install 'citewell[{vendor}]'\n" in told.stdout
    assert "Ollama's client is not installed." in told.stderr
    listed = run_json("list")
    assert [one["name"] for one in listed["models"]] == ["llama3.2", "qwen3:8b", "deepseek-r1:32b"]
    assert [(one["is_installed"], one["install"] is None) for one in listed["kinds"]] == [(True, True)] + 4 * [
        (False, False)
    ]
    for verb in ("check", "pull"):
        assert isinstance(run(verb, "qwen3:8b").exception, MissingExtra)


def test_trying_without_a_name_lists_and_what_cannot_be_tried_says_what_can(ollama: Server) -> None:
    assert run_json("try") == run_json("list")
    no_model = run("try", "extractive")
    assert "quotes word for word and is always available" in str(no_model.exception)
    foreign = run("try", "google:x")
    assert isinstance(foreign.exception, ModelNotAllowedError)
    assert "CITEWELL_ALLOWED_MODELS" in str(foreign.exception)
    assert "llama3.2" not in str(foreign.exception)
