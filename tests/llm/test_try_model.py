"""`citewell models try`: a model and the word-for-word writer get the same questions about the samples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from citewell.cli.models import app
from citewell.errors import LLMConnectionError, ModelNotAllowedError, ModelUnavailableError
from citewell.operations.try_model import TRIAL_QUESTIONS
from citewell.samples import sample_files
from tests.llm.conftest import RealServer
from tests.llm.servers import Ollama, OpenAI, Script, Server

pytestmark = pytest.mark.slow

LOPERAMIDE = "Do not give loperamide or other antidiarrhoeal medicines to children under 12 years."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server = Server(OpenAI, Script(models=("some-model",), pieces=(LOPERAMIDE, " [S1] [S2] [S3] [S4] [S5]")))
    monkeypatch.setenv("CITEWELL_MODEL", "openai:some-model")
    monkeypatch.setenv("CITEWELL_MODEL_URL", f"{server.url}/v1")
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", '["some-model=16384/800", "absent=16384/800"]')
    yield server
    server.stop()


def run(home: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["try", *words, "--home", str(home)])


def trials(result: Result) -> list[dict[str, Any]]:
    assert result.exception is None
    return list(json.loads(result.stdout)["trials"])


def test_a_model_is_right_where_it_cites_and_says_what_it_must(server: Server, tmp_path: Path) -> None:
    quoted, tried = trials(run(tmp_path, "some-model", "--questions", "2", "--json"))
    assert quoted["writer"] == "extractive"
    assert [reply["outcome"] for reply in quoted["replies"]] == ["right", "right"]
    assert tried["writer"] == "openai:some-model"
    ors, loperamide = tried["replies"]
    assert ors["outcome"] in ("wrong", "not answered")
    assert (loperamide["outcome"], loperamide["sentences"], loperamide["passed"]) == ("right", 1, 1)
    assert (tried["right"], tried["sentences"]) == (1, 2)
    assert tried["tokens_per_s"] > 0
    assert tried["memory_bytes"] > 1e6  # of the process that listens, which is this one


def test_nothing_but_the_questions_and_the_samples_is_sent_or_kept(server: Server, tmp_path: Path) -> None:
    trials(run(tmp_path, "some-model", "--questions", "1", "--json"))
    (asked, *_) = [chat["messages"][-1]["content"] for chat in server.chats]
    assert asked.endswith(f"Question: {TRIAL_QUESTIONS[0].text}")
    assert not (tmp_path / "library.sqlite").exists()


def test_a_person_sees_two_tables(server: Server, tmp_path: Path) -> None:
    lines = run(tmp_path, "some-model", "--questions", "1").stdout.splitlines()
    assert lines[0].split() == ["question", "extractive", "openai:some-model"]
    heads = next(line for line in lines if "sentences that pass" in line)
    assert [word for word in ("right", "tokens/s", "s/answer", "memory") if word not in heads] == []
    assert lines[-2].split()[:4] == ["extractive", "1", "of", "1"]
    assert lines[-1].startswith("openai:some-model")


def test_a_reply_that_breaks_off_is_a_result_and_a_server_that_is_gone_an_error(server: Server, tmp_path: Path) -> None:
    server.script.end = None
    _, tried = trials(run(tmp_path, "some-model", "--questions", "1", "--json"))
    assert tried["replies"][0]["outcome"] == "ReplyCut"
    assert isinstance(run(tmp_path, "absent").exception, ModelUnavailableError)
    assert isinstance(run(tmp_path, "other").exception, ModelNotAllowedError)
    server.stop()
    assert isinstance(run(tmp_path, "some-model").exception, LLMConnectionError)


def test_ollama_tells_the_memory_of_its_model_and_what_it_does_not_count_is_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = Server(Ollama, Script(models=("qwen3:8b",), pieces=(LOPERAMIDE, " [S1]"), prompt_tokens=None))
    monkeypatch.setenv("CITEWELL_MODEL_URL", server.url)
    result = run(tmp_path, "ollama:qwen3:8b", "--questions", "1")
    server.stop()
    assert result.exception is None
    assert result.stdout.splitlines()[-1].split()[-4:][0] == "unknown"
    assert result.stdout.splitlines()[-1].endswith("2.0 GB")


def test_every_trial_question_can_be_judged_by_the_samples(tmp_path: Path) -> None:
    """What an answer must cite stands in a sample, word for word."""
    import citewell

    with citewell.open(tmp_path) as library:
        for path in sample_files():
            library.add(path)
        texts = ["".join(library.show(entry.id)[1].text.split()).casefold() for entry in library.entries()]
    for question in TRIAL_QUESTIONS:
        quotes = ["".join(quote.split()).casefold() for quote in question.quotes]
        assert all(any(quote in text for text in texts) for quote in quotes), question.text


def test_a_real_small_model_is_tried(real_server: RealServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CITEWELL_MODEL", f"openai:{real_server.model_name}")
    monkeypatch.setenv("CITEWELL_MODEL_URL", real_server.url)
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", f'["{real_server.model_name}=2048/64"]')
    _, tried = trials(run(tmp_path, real_server.model_name, "--questions", "1", "--json"))
    assert tried["replies"][0]["outcome"] in ("right", "wrong", "not answered")
    assert tried["tokens_per_s"] > 0
    assert tried["memory_bytes"] > 100e6
