"""A real model whose server dies in the middle: one calm sentence, nothing lost, and a retry that answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.answer.events import AnswerDone, AnswerStarted, Event, StageStarted
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import ModelError
from citewell.types import Source
from tests.llm.conftest import RealServer

pytestmark = pytest.mark.slow

TEXT = b"# Oral rehydration\n\nGive ORS 75 ml/kg over 4 hours to children with some dehydration."
QUESTION = "How much ORS for some dehydration?"


def opened(home: Path, embedder: MiniLM, server: RealServer) -> App:
    """The library, with the model behind this server."""
    settings = Settings(
        home=home,
        model=f"openai:{server.model_name}",
        model_url=server.url,
        model_timeout_s=120,
        allowed_models=(f"{server.model_name}=1024/128",),
    )
    app = build(settings)
    app.__dict__["embedder"] = embedder
    return app


def test_the_question_survives_the_server_and_a_retry_answers_it(
    tmp_path: Path, embedder: MiniLM, mortal_server: RealServer, real_server: RealServer
) -> None:
    seen: list[Event] = []
    with opened(tmp_path, embedder, mortal_server) as app:
        app.add_source(Source(TEXT, "ors.md"))
        events = app.ask_service.ask(QUESTION, asker=app.owner())
        for event in events:
            seen.append(event)
            if isinstance(event, StageStarted) and event.stage == "writing":
                mortal_server.kill()
                break
        with pytest.raises(ModelError) as caught:
            seen.extend(events)
    assert "ORS" not in str(caught.value)
    started = seen[0]
    assert isinstance(started, AnswerStarted)
    with opened(tmp_path, embedder, real_server) as app:
        (waiting,) = app.ask_service.conversations.turns(started.conversation_id, app.owner())
        assert (waiting.message.text, waiting.answer_id) == (QUESTION, None)
        done = app.ask_service.answer(QUESTION, asker=app.owner(), conversation_id=started.conversation_id)
        assert isinstance(done, AnswerDone)
        turns = app.ask_service.conversations.turns(started.conversation_id, app.owner())
        assert [turn.answer_id for turn in turns] == [done.answer.id, done.answer.id]
        words = app.ask_service.audit.read(done.answer.id, app.owner()).words
        assert words["setup"]["writer"] == {"name": f"openai:{real_server.model_name}", "window": 1024, "reply": 128}
        assert app.ask_service.audit.verify_chain("local").problems == ()
