"""Logs hold ids, counts and times, never the words of a question, a document or a person: even at their loudest."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import CitewellError
from citewell.types import Filing, Role, Source
from tests.llm.servers import Anthropic, Google, Ollama, OpenAI, Script, Server, Vendor

pytestmark = pytest.mark.slow

WORDS = ("zanzibarium", "quokkaline", "xerophthalmol", "vexillology", "marzipanner", "kumquatly", "wobblewick")
TEXT = "# Zanzibarium\n\nGive quokkaline 5 mg once daily for xerophthalmology in adults."
QUESTION = "How much quokkaline for xerophthalmology? I am Vexillology Marzipanner."
REPLY = "Ask Kumquatly about it."
SCRIPT = Script(
    models=("some-model", "some-model:latest"),
    pieces=("Give quokkaline 5 mg once daily. [S1] ", "And wobblewick."),
    prompt_tokens=None,
)

WRITERS: dict[str, type[Vendor] | None] = {
    "extractive": None,
    "ollama:some-model": Ollama,
    "openai:some-model": OpenAI,
    "anthropic:some-model": Anthropic,
    "google:some-model": Google,
}


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest) -> Iterator[tuple[str, str | None]]:
    """The name of a writer, and the address of its server."""
    vendor = WRITERS[request.param]
    if vendor is None:
        yield request.param, None
        return
    server = Server(vendor, SCRIPT)
    yield request.param, server.url + ("/v1" if vendor is OpenAI else "")
    server.stop()


@pytest.fixture
def loud(
    tmp_path: Path, embedder: MiniLM, writer: tuple[str, str | None], caplog: pytest.LogCaptureFixture
) -> Iterator[App]:
    """A library under a root logger that lets everything through."""
    caplog.set_level(logging.DEBUG)
    model, url = writer
    allowed = ("some-model=8192/1024",)
    settings = Settings(home=tmp_path, model=model, model_url=url, model_key="sk-key", allowed_models=allowed)
    with build(settings) as app:
        app.__dict__["embedder"] = embedder
        yield app


def test_no_log_holds_a_word_of_a_question_a_document_or_a_person(loud: App, caplog: pytest.LogCaptureFixture) -> None:
    loud.add_source(Source(TEXT.encode(), "zanzibarium.md"), filing=Filing(tags=frozenset({"kumquatly"})))
    user = loud.people.add(
        tenant="local",
        email="vexillology@marzipanner.example",
        name="Vexillology",
        role=Role.MEMBER,
        tags=["kumquatly"],
    )
    loud.people.set_owner("kumquatly", tenant="local", owner_id=user.id)
    for question in (QUESTION, "Who is Marzipanner of Zanzibarium?", "and wobblewick?"):
        done = loud.ask_service.answer(question, asker=user.asker())
        loud.ask_service.replay(done.answer.id, user.asker())
        loud.ask_service.audit.read(done.answer.id, loud.owner())
        if done.routed_id:
            loud.ask_service.inbox.reply(done.routed_id, REPLY, loud.owner())
            loud.ask_service.case(done.routed_id, user.asker())
    assert loud.ask_service.audit.verify_chain("local").problems == ()
    with suppress(CitewellError):
        loud.add_source(Source(b"%PDF-1.7 wobblewick", "wobblewick.pdf"))
    for conversation in loud.ask_service.conversations.all(user.asker()):
        loud.ask_service.conversations.erase(conversation.id, user.asker())
    loud.delete(loud.entries()[0].id)
    _assert_no_words(caplog)


def test_no_log_of_a_failure_holds_a_word(tmp_path: Path, embedder: MiniLM, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = Server(OpenAI, Script(models=("some-model",), pieces=("Give quokkaline 5 mg once daily. [S1]",), end=None))
    settings = Settings(
        home=tmp_path, model="openai:some-model", model_url=server.url + "/v1", allowed_models=("some-model=8192/1024",)
    )
    with build(settings) as app:
        app.__dict__["embedder"] = embedder
        app.add_source(Source(TEXT.encode(), "zanzibarium.md"))
        with pytest.raises(CitewellError) as caught:
            app.ask(QUESTION)
    server.stop()
    assert not [word for word in WORDS if word in str(caught.value).lower()]
    _assert_no_words(caplog)


def _assert_no_words(caplog: pytest.LogCaptureFixture) -> None:
    for record in caplog.records:
        told = logging.Formatter().format(record).lower()
        assert not [word for word in WORDS if word in told], (record.name, record.levelname)
