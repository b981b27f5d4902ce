"""The guidelines chat with a real, tiny model: what it says is checked, and the guideline speaks where it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.assistants.guidelines.chat_texts_filled import template
from citewell.types import Refuse, Source, Verdict
from tests.assistants.test_guidelines_chat import JAUNDICE, SPOTS
from tests.llm.conftest import RealServer
from tests.llm.test_real_ask_service import opened

pytestmark = pytest.mark.slow

RULE = "if aged 40 and over with unexplained jaundice. [Green spots: recognition and referral §1.1.1]"


def test_each_shown_sentence_of_a_real_model_is_cited_and_checked(
    tmp_path: Path, embedder: MiniLM, real_server: RealServer
) -> None:
    with opened(tmp_path, embedder, real_server) as app:
        app.guidelines.add_source(Source(SPOTS.encode(), "spots.md"))
        answer = app.chat.answer(JAUNDICE, asker=app.owner()).answer
    assert not isinstance(answer.action, Refuse)
    shown = [claim for claim in answer.claims if claim.is_shown]
    assert shown
    assert all(claim.citations and claim.check.verdict in (Verdict.SUPPORTED, Verdict.PARTLY) for claim in shown)
    assert answer.text.startswith(template("no_model").text) == (answer.model == "extractive")


def test_a_server_that_dies_leaves_the_guideline(tmp_path: Path, embedder: MiniLM, mortal_server: RealServer) -> None:
    with opened(tmp_path, embedder, mortal_server) as app:
        app.guidelines.add_source(Source(SPOTS.encode(), "spots.md"))
        mortal_server.kill()
        answer = app.chat.answer(JAUNDICE, asker=app.owner()).answer
    assert answer.text.startswith(template("no_model").text)
    assert answer.text.endswith(RULE)
