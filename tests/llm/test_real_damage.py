"""A real model on bad days: the real server's own stream, damaged on its way, comes to the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.llm.remote import RETRY_AFTER_S
from citewell.answer.events import AnswerDone, AnswerStarted
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import ModelReply
from citewell.types import Cite, Qualified, Route, Source, Verdict
from tests.llm.conftest import RealServer
from tests.llm.proxy import Damage, Proxy, before, broken_json, emptied, instead, proxied, unmarked, untouched

pytestmark = pytest.mark.slow

TEXT = b"# Oral rehydration\n\nGive ORS 75 ml/kg over 4 hours to children with some dehydration."
TRUE = "Give ORS 75 ml/kg over 4 hours to children with some dehydration."
QUESTION = "How much ORS for children with some dehydration?"


@pytest.fixture
def proxy(real_server: RealServer) -> Iterator[Proxy]:
    with proxied(real_server.url) as made:
        yield made


@pytest.fixture
def app(
    tmp_path: Path, embedder: MiniLM, real_server: RealServer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> Iterator[App]:
    monkeypatch.setattr("citewell.adapters.llm.remote.RETRY_AFTER_S", tuple(0.0 for _ in RETRY_AFTER_S))
    settings = Settings(
        home=tmp_path,
        model=f"openai:{real_server.model_name}",
        model_url=proxy.url,
        model_timeout_s=120,
        allowed_models=(f"{real_server.model_name}=1024/48",),
    )
    with build(settings) as made:
        made.__dict__["embedder"] = embedder
        made.add_source(Source(TEXT, "ors.md"))
        yield made


def check_answered(done: AnswerDone) -> None:
    """The true sentence is shown, first and with its words; nothing else of the model's is shown uncited."""
    answer = done.answer
    assert isinstance(answer.action, Cite | Qualified)
    first = answer.claims[0]
    assert (first.text, first.is_shown, first.check.verdict) == (TRUE, True, Verdict.SUPPORTED)
    assert answer.text.startswith(f"{TRUE} [1]")
    assert [one.quote for one in answer.citations if one.n in first.citations] == [TRUE]
    assert all(one.citations for one in answer.claims if one.is_shown)
    assert done.routed_id is None


def check_passed_on(app: App, done: AnswerDone) -> None:
    """No sentence is shown or cited, and the question waits in the inbox."""
    answer = done.answer
    assert isinstance(answer.action, Route)
    assert not any(one.is_shown for one in answer.claims)
    assert (answer.citations, answer.is_grounded, "75 ml" in answer.text) == ((), False, False)
    assert [one.id for one in app.ask_service.inbox.asked(app.owner()).items] == [done.routed_id]


@pytest.mark.parametrize("damage", [broken_json, emptied], ids=["malformed JSON", "empty answer"])
def test_a_reply_that_cannot_be_read_is_one_calm_sentence_and_the_question_is_answered_when_asked_again(
    app: App, proxy: Proxy, damage: Damage
) -> None:
    proxy.damage = damage
    events = app.ask_service.ask(QUESTION, asker=app.owner())
    started = next(events)
    assert isinstance(started, AnswerStarted)
    with pytest.raises(ModelReply) as told:
        list(events)
    assert proxy.passed_on, "the real model sent no word"
    assert str(told.value).endswith(".")
    assert "ORS" not in str(told.value)
    (waiting,) = app.ask_service.conversations.turns(started.conversation_id, app.owner())
    assert (waiting.message.text, waiting.answer_id) == (QUESTION, None)
    proxy.damage = before(f"{TRUE} [S1]")
    again = app.ask_service.answer(QUESTION, asker=app.owner(), conversation_id=started.conversation_id)
    check_answered(again)
    turns = app.ask_service.conversations.turns(started.conversation_id, app.owner())
    assert [turn.answer_id for turn in turns] == [again.answer.id] * 2


def test_an_answer_of_a_real_model_that_cites_nothing_is_passed_on(app: App, proxy: Proxy) -> None:
    proxy.damage = before(TRUE, then=unmarked)
    done = app.ask_service.answer(QUESTION, asker=app.owner())
    assert proxy.passed_on, "the real model sent no word"
    assert done.answer.claims[0].text == TRUE
    assert done.answer.dropped_citations == 0
    check_passed_on(app, done)


def test_an_answer_of_a_real_model_that_cites_what_it_was_not_given_is_passed_on(app: App, proxy: Proxy) -> None:
    proxy.damage = before(f"{TRUE} [S99]", then=unmarked)
    done = app.ask_service.answer(QUESTION, asker=app.owner())
    assert proxy.passed_on, "the real model sent no word"
    assert (done.answer.claims[0].text, done.answer.dropped_citations) == (TRUE, 1)
    check_passed_on(app, done)


def test_a_true_and_cited_sentence_in_a_real_stream_is_shown_with_its_words(app: App, proxy: Proxy) -> None:
    proxy.damage = instead(f"{TRUE} [S1]")
    done = app.ask_service.answer(QUESTION, asker=app.owner())
    check_answered(done)
    assert isinstance(done.answer.action, Cite)
    assert (len(done.answer.claims), done.answer.model) == (1, app.writer.name)


def test_what_a_real_model_adds_to_a_true_sentence_is_shown_only_as_far_as_it_is_carried(
    app: App, proxy: Proxy
) -> None:
    proxy.damage = before(f"{TRUE} [S1] Give ORS 750 ml/kg. [S1]")
    done = app.ask_service.answer(QUESTION, asker=app.owner())
    check_answered(done)
    assert (done.answer.claims[1].text, done.answer.claims[1].is_shown) == ("Give ORS 750 ml/kg.", False)
    assert "750" not in done.answer.text
    shown = {one.check.verdict for one in done.answer.claims if one.is_shown}
    assert shown <= {Verdict.SUPPORTED, Verdict.PARTLY}


def test_the_proxy_passes_on_what_the_real_server_sends(app: App, proxy: Proxy) -> None:
    """Without damage the draft on record is the real model's, to the byte."""
    proxy.damage = untouched
    answer = app.ask_service.answer(QUESTION, asker=app.owner()).answer
    assert answer.raw_text
    assert b"".join(proxy.passed_on).decode().lstrip().startswith(answer.raw_text)
