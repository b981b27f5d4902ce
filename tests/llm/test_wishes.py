"""A model and a number of passages named with one question: allowed, there, on record and replayed, or told why not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.adapters.llm import shared_request as once
from citewell.adapters.llm.model_presence import Presence
from citewell.adapters.llm.vendors import make_server
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import (
    InputError,
    LLMConnectionError,
    LLMTimeoutError,
    ModelNotAllowedError,
    ModelUnavailableError,
    NoModel,
)
from citewell.types import AskOptions, Filing, Source
from tests.api.conftest import serving_app
from tests.api.test_ask import events
from tests.cli.test_cli import Shell
from tests.llm.servers import Ollama, Script, Server

IRON = "# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
WARDS = [
    f"# Ward {n}\n\nWard {n} gives ferrous sulfate for iron deficiency anaemia at {n} o'clock." for n in range(2, 9)
]
QUESTION = "How much ferrous sulfate for iron deficiency anaemia in adults?"
ANSWER = "Give ferrous sulfate 200 mg once daily. [S1]"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(Ollama, Script(models=("small:latest", "other:1b"), pieces=(ANSWER,), prompt_tokens=None))
    yield made
    made.stop()


@contextmanager
def library(home: Path, **chosen: Any) -> Iterator[App]:
    """A library of eight notes that all speak of the same."""
    with build(Settings.model_validate({"home": home, **chosen})) as app:
        for number, text in enumerate([IRON, *WARDS]):
            app.add_source(Source(text.encode(), f"{number}.md"), filing=Filing(tags=frozenset({"public"})))
        yield app


def behind(url: str) -> dict[str, Any]:
    allowed = ("small=4096/256", "other:1b=2048/128", "away:7b=2048/128")
    return {"model": "ollama:small", "model_url": url, "allowed_models": allowed}


@pytest.fixture
def app(server: Server, tmp_path: Path) -> Iterator[App]:
    with library(tmp_path / "home", **behind(server.url)) as made:
        yield made


def test_what_was_named_is_on_record_and_replayed(app: App, server: Server) -> None:
    named = AskOptions("other:1b", 2)
    answer = app.ask(QUESTION, options=named)
    assert (answer.model, len(answer.evidence)) == ("ollama:other:1b", 2)
    assert (server.chats[0]["model"], server.chats[0]["options"]["num_ctx"]) == ("other:1b", 2048)
    words = app.ask_service.audit.read(answer.id, app.owner()).words
    assert words["wishes"] == {"model": "other:1b", "max_context_chunks": 2}
    assert words["setup"]["writer"]["name"] == "ollama:other:1b"
    assert words["setup"]["limits"]["chunks"] == 2
    before = len(server.chats)
    again = app.replay(answer.id)
    assert (again.is_same, again.notes) == (True, ())
    assert {chat["model"] for chat in server.chats[before:]} == {"other:1b"}
    assert app.ask(QUESTION).model == "ollama:small"


def test_more_passages_than_are_usual_can_be_asked_for(tmp_path: Path) -> None:
    with library(tmp_path / "home") as app:
        counts = [len(app.ask(QUESTION, options=AskOptions(None, one)).evidence) for one in (1, 3, None, 8)]
        assert counts == [1, 3, 5, 8]


@pytest.mark.parametrize("count", [0, -1, 51])
def test_a_number_of_passages_that_makes_no_sense_is_refused(count: int) -> None:
    with pytest.raises(InputError, match="1 to 50"):
        AskOptions(None, count)


@pytest.mark.parametrize("name", ["unheard-of", "other", "other:7b", "openai:small", "extractive", "ollama:unheard-of"])
def test_a_model_that_is_not_allowed_is_refused_before_anything_is_kept_or_sent(
    app: App, server: Server, name: str
) -> None:
    with pytest.raises(ModelNotAllowedError):
        app.ask(QUESTION, options=AskOptions(name))
    assert server.requests == []
    assert app.ask_service.conversations.page(app.owner(), limit=1).items == ()


def test_a_model_that_is_not_there_says_how_to_get_it(app: App, server: Server) -> None:
    with pytest.raises(ModelUnavailableError, match="ollama pull away:7b"):
        app.ask(QUESTION, options=AskOptions("away:7b"))
    assert server.chats == []


def test_where_no_model_is_set_up_none_can_be_named(tmp_path: Path) -> None:
    with library(tmp_path / "home") as app:
        with pytest.raises(NoModel, match="CITEWELL_MODEL"):
            app.ask(QUESTION, options=AskOptions("llama3.2"))
        assert app.ask(QUESTION, options=AskOptions("extractive")).model == "extractive"
        assert app.model_choice.names() == ()


def test_over_http_whole_and_as_a_stream(app: App) -> None:
    asked: dict[str, Any] = {"question": QUESTION, "model": "other:1b", "max_context_chunks": 2}
    with serving_app(app) as client:
        whole = client.post("/api/v1/ask", json=asked).json()
        assert (whole["model"], len(whole["evidence"]), whole["grounded"]) == ("ollama:other:1b", 2, True)
        *_, (name, done) = events(client.post("/api/v1/ask/stream", json=asked))
        assert (name, done["model"], len(done["evidence"])) == ("done", "ollama:other:1b", 2)
        record = client.get(f"/api/v1/audit/{whole['id']}").json()
        assert record["wishes"] == {"model": "other:1b", "max_context_chunks": 2}

        def refused(**changed: object) -> tuple[int, str]:
            answer = client.post("/api/v1/ask", json=asked | changed)
            return answer.status_code, answer.json()["kind"]

        assert refused(model="unheard-of") == (422, "ModelNotAllowedError")
        assert refused(model="away:7b") == (503, "ModelUnavailableError")
        assert refused(max_context_chunks=51) == (422, "InputError")
        assert refused(max_context_chunks=0) == (422, "InputError")
        assert refused(model="") == (422, "InputError")
        last = events(client.post("/api/v1/ask/stream", json=asked | {"model": "away:7b"}))[-1]
        assert (last[0], last[1]["kind"]) == ("failed", "ModelUnavailableError")


def test_the_page_lets_choose_among_the_allowed_models(app: App, tmp_path: Path) -> None:
    with serving_app(app) as client:
        page = client.get("/").text
        assert '<select id="model" name="model" data-sent="model"><option value="">small</option>' in page
        assert '<option value="other:1b">other:1b</option>' in page
        answer = client.post("/ask", data={"question": QUESTION, "model": "other:1b"}, follow_redirects=True)
        assert "worded by ollama:other:1b" in answer.text
        refused = client.post("/ask", data={"question": QUESTION, "model": "unheard-of"}).text
        assert "is not allowed" in refused
    with library(tmp_path / "extractive") as quoting, serving_app(quoting) as client:
        assert "<select" not in client.get("/").text


def test_on_the_command_line(
    app: App, server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(app.settings.home, capsys, monkeypatch)
    monkeypatch.setenv("CITEWELL_MODEL", "ollama:small")
    monkeypatch.setenv("CITEWELL_MODEL_URL", server.url)
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", '["small=4096/256", "other:1b=2048/128"]')
    told = shell.json("ask", QUESTION, "--model", "other:1b", "--max-passages", "2")
    assert (told["model"], len(told["evidence"])) == ("ollama:other:1b", 2)
    assert len(shell.json("ask", QUESTION, "--max-context-chunks", "3")["evidence"]) == 3
    assert shell.json("replay", told["id"])["is_same"]
    code, _, words = shell("ask", QUESTION, "--model", "unheard-of")
    assert (code, "is not allowed" in words) == (1, True)


class Silent:
    """A server that takes every connection and never says a word."""

    def __init__(self) -> None:
        self.lines: list[socket.socket] = []
        self.is_asked = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        try:
            while True:
                self.lines.append(self._listening.accept()[0])
                self.is_asked.set()
        except OSError:
            return

    def hang_up(self) -> None:
        with suppress(OSError):  # it has hung up already
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for line in self.lines:
            line.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    made = Silent()
    yield made
    made.hang_up()


@pytest.mark.slow
def test_sixty_requests_to_a_silent_server_hold_up_nobody_else(
    silent: Silent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "LIMIT_S", 600.0)  # they wait until the server hangs up, however slow the machine
    asked = {"question": QUESTION, "model": "other:1b"}
    with (
        library(tmp_path / "home", **behind(silent.url)) as app,
        serving_app(app) as client,
        ThreadPoolExecutor(60) as people,
    ):
        search = {"q": QUESTION}
        assert client.get("/api/v1/search", params=search).status_code == 200
        paths = ["/api/v1/ask", "/api/v1/ask/stream", "/api/v1/models"] * 20
        address, key = client.base_url, client.headers

        def ask(path: str) -> httpx.Response:
            method, body = ("GET", None) if path.endswith("models") else ("POST", asked)
            return httpx.request(method, address.join(path), json=body, headers=key, timeout=600)

        waiting = [people.submit(ask, path) for path in paths]
        assert silent.is_asked.wait(60)
        try:
            for path in ("/api/v1/search", "/api/v1/health", "/", "/api/v1/conversations"):
                answer = client.get(path, params=search if path.endswith("search") else None)
                assert answer.status_code == 200, path
            assert client.get("/api/v1/search", params=search).json()["hits"]
            assert not any(one.done() for one in waiting)
        finally:  # else a failure would wait for those who wait
            silent.hang_up()
        told = [one.result() for one in waiting]
    kinds = {one.json()["kind"] for one in told[::3]} | {events(one)[-1][1]["kind"] for one in told[1::3]}
    assert kinds == {"LLMConnectionError"}
    kept = [one.json()["conversation_id"] for one in told[::3]]
    assert len(set(kept)) == 20  # each is told its own
    assert {one.json()["problem"] is None for one in told[2::3]} == {False}


def test_a_silent_server_is_asked_once_and_no_longer_than_it_may_take(
    silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "LIMIT_S", 0.3)
    asking = Presence(lambda: make_server("ollama", url=silent.url, timeout_s=60))

    def check(_: int) -> str:
        with pytest.raises(LLMTimeoutError) as told:
            asking.check("other:1b")
        return str(told.value)

    with ThreadPoolExecutor(20) as people:
        assert len(set(people.map(check, range(40)))) == 1
    assert len(silent.lines) == 1


def test_each_is_told_by_an_error_of_their_own() -> None:
    asking = Presence(lambda: make_server("ollama", url="http://127.0.0.1:9"))
    met = []
    for _ in range(2):
        with pytest.raises(LLMConnectionError) as told:
            asking.check("other:1b")
        met.append(told.value)
    assert met[0] is not met[1]
    assert str(met[0]) == str(met[1])


def test_a_server_is_asked_again_once_what_it_said_is_old(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Presence(lambda: make_server("ollama", url=server.url))
    asking.check("other:1b")
    server.script.models = ("small:latest",)
    asking.check("other:1b")
    monkeypatch.setattr(once, "KEPT_S", -1.0)
    with pytest.raises(ModelUnavailableError):
        asking.check("other:1b")
