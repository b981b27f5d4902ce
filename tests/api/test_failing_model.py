"""A model that does not answer: one calm sentence, the question is kept, and asking again works."""

from __future__ import annotations

import logging
import re
import shutil
import socket
import time
from pathlib import Path

import httpx
import pytest

from citewell.api import document_changes
from citewell.api.server_state import ServerState
from citewell.api.token_signer import TokenSigner
from citewell.api.visitor import Visitor
from citewell.app import build
from citewell.config import Settings
from citewell.errors import ModelError
from citewell.types import Filing, LifecycleState, Scope, Source
from tests.api.conftest import serving_app
from tests.api.test_ask import events
from tests.llm.servers import OpenAI, Script, Server

pytestmark = pytest.mark.slow

QUESTION = "who needs heparin bridging for AF"
DEAD = {"model": "openai:none", "model_url": "http://127.0.0.1:9/v1", "allowed_models": ("none=8192/512",)}


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once; the contract of models is about the pauses."""
    monkeypatch.setattr("citewell.adapters.llm.remote.RETRY_AFTER_S", (0.0, 0.0, 0.0))


def test_the_question_is_kept_and_can_be_asked_again_once_the_model_is_back(samples_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(samples_home, home)
    with build(Settings(home=home, **DEAD)) as app, serving_app(app) as client:  # type: ignore[arg-type]
        told = events(client.post("/api/v1/ask/stream", json={"question": QUESTION}))
        assert told[-1][0] == "failed"
        assert told[-1][1]["kind"] == "LLMConnectionError"
        assert "could not be reached" in told[-1][1]["message"]
        assert "127.0.0.1" not in told[-1][1]["message"]
        conversation_id = told[0][1]["conversation_id"]
        whole = client.post("/api/v1/ask", json={"question": QUESTION, "conversation_id": conversation_id})
        assert (whole.status_code, whole.json()["kind"]) == (503, "LLMConnectionError")
        assert whole.json()["conversation_id"] == conversation_id
        assert "127.0.0.1" not in whole.text
        turns = client.get(f"/api/v1/conversations/{conversation_id}").json()["turns"]
        assert [(turn["role"], turn["text"], turn["answer_id"]) for turn in turns] == [("user", QUESTION, None)]
        page = client.get(f"/conversations/{conversation_id}").text
        assert "was not answered" in page
        assert "Ask again" in page
        health = client.get("/api/v1/health").json()
        assert (health["status"], health["parts"]["model"]["state"]) == ("degraded", "failed")
        assert client.get("/metrics").text.count('citewell_failures_total{kind="LLMConnectionError"} 2') == 1
    with build(Settings(home=home)) as app, serving_app(app) as client:
        again = client.post("/api/v1/ask", json={"question": QUESTION, "conversation_id": conversation_id}).json()
        assert again["action"] in ("CITE", "QUALIFY")
        turns = client.get(f"/api/v1/conversations/{conversation_id}").json()["turns"]
        assert [turn["answer_id"] for turn in turns] == [again["id"]] * 2


def test_no_part_of_a_question_is_in_what_a_failure_tells(samples_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(samples_home, home)
    with build(Settings(home=home, **DEAD)) as app, serving_app(app) as client:  # type: ignore[arg-type]
        answer: httpx.Response = client.post("/api/v1/ask", json={"question": "heparin bridging for Mrs Zanamivir"})
        assert answer.status_code == 503
        assert "Zanamivir" not in answer.text
        page = client.post("/ask", data={"question": "heparin bridging for Mrs Zanamivir"}).text
        assert "Your question has been saved." in page
        again = re.search(r'name="conversation_id" value="([\w-]{36})"', page)
        assert again is not None
        assert f'/conversations/{again.group(1)}"' in page
        assert page.count('value="heparin bridging for Mrs Zanamivir"') == 1
        blank = client.post("/ask", data={"question": "  "}).text
        assert "Enter a question first." in blank


def test_marks_that_a_model_was_never_given_are_counted_in_the_log(
    samples_home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    shutil.copytree(samples_home, home)
    server = Server(OpenAI, Script(models=("some-model",), pieces=("Bridge them all. [S98] ", "Or none. [S99]")))
    settings = Settings(
        home=home, model="openai:some-model", model_url=f"{server.url}/v1", allowed_models=("some-model=8192/512",)
    )
    caplog.set_level(logging.INFO)
    try:
        with build(settings) as app, serving_app(app) as client:
            answer = client.post("/api/v1/ask", json={"question": QUESTION}).json()
    finally:
        server.stop()
    assert (answer["action"], answer["dropped_citations"]) == ("ROUTE", 2)
    assert "2 unknown marks" in caplog.text


def test_a_silent_model_does_not_hold_up_the_end(samples_home: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(samples_home, home)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        settings = Settings(home=home, **{**DEAD, "model_url": url, "model_timeout_s": 60})  # type: ignore[arg-type]
        with build(settings) as app:
            site = ServerState(app, TokenSigner("a-token-for-tests"))
            asking = site.writers.submit(lambda: list(site.loaded().ask_service.ask(QUESTION, asker=app.owner())))
            line, _ = silent.accept()
            with line:
                line.recv(1)  # the question has come, and nobody answers it
                site.stop()
                with pytest.raises(ModelError, match="was stopped"):  # and not that it took too long
                    asking.result(timeout=0)


def test_a_site_that_was_stopped_reads_again_once_it_is_started(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path)) as app:
        site = ServerState(app, TokenSigner("a-token-for-tests"))
        owner = Visitor.owner("local", way="link", csrf="")
        site.worker()
        site.stop()
        queued = document_changes.queue(site, Source(b"Take it with food.", "a.txt"), Filing(), owner).entry
        until_s = time.monotonic() + 30
        while (
            site.entry(queued.id, Scope.owner("local")).state is not LifecycleState.COMPLETED
            and time.monotonic() < until_s
        ):
            time.sleep(0.05)
        assert site.entry(queued.id, Scope.owner("local")).state is LifecycleState.COMPLETED
        site.stop()
