"""A record's question has one time, however often its reply is written again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from citewell.adapters.embedding.minilm import MiniLM
from citewell.app import build
from citewell.assistants.records.safety_filter import template
from citewell.config import Settings
from citewell.types import Source, User
from citewell.vaults.ask import make_record_service
from citewell.vaults.health_record import Record
from tests.llm.servers import OpenAI, Script, Server

LETTER = b"# Letter of 12 March 2025\n\nThe X-ray of the left knee shows mild osteoarthritis.\n"


class Slow(OpenAI):
    """Takes its time after the first piece of each reply."""

    def chat(self, script: Script) -> Iterator[str]:
        for number, line in enumerate(super().chat(script)):
            if number == 1:
                time.sleep(1.3)
            yield line


def test_replies_that_leave_their_bounds_share_one_time(tmp_path: Path, embedder: MiniLM) -> None:
    server = Server(Slow, Script(models=("small",), pieces=("BOUNDARY_CHECK: diagnosis\n", "You have gout. [S1]")))
    settings = Settings(
        home=tmp_path / "home",
        model="openai:small",
        model_url=f"{server.url}/v1",
        model_timeout_s=2,
        allowed_models=("small=2048/96",),
    )
    with build(settings) as app:
        app.__dict__["embedder"] = embedder
        record = Record(app)
        record.import_source(Source(LETTER, "letter.md"))
        service, asker = make_record_service(app, record.facts), User.owner(record.scope)
        answer = service.answer("What does the X-ray of my knee show?", asker=asker).answer
    server.stop()
    assert len(server.chats) == 2
    assert template("boundary", "en") in answer.text
    assert "gout" not in answer.text
    assert (answer.notes["replies"], answer.notes["filter"]) == (2, "blocked")  # what the filter did is kept
