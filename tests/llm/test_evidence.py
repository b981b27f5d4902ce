"""A conversation in a journey with a real model: numbered blocks in, and only what they carry out."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.app import build
from citewell.config import Settings
from citewell.types import Filing, Scope, Source
from tests.llm.conftest import RealServer

pytestmark = pytest.mark.slow

OWNER = Scope.owner("local")
BACK = b"# Back pain\n\nPeople with low back pain should stay active and avoid bed rest for more than two days."
KNEE = b"# Knee pain\n\nPeople with knee pain should do strengthening exercise twice a week."
QUESTION = "Should people with low back pain stay in bed?"


def test_a_real_model_sees_only_its_journey_and_nothing_unsupported_passes(
    tmp_path: Path, real_server: RealServer
) -> None:
    settings = Settings(
        home=tmp_path,
        model=f"openai:{real_server.model_name}",
        model_url=real_server.url,
        model_timeout_s=300,
        allowed_models=(f"{real_server.model_name}=1024/48",),
    )
    with build(settings) as app:
        for slug, text in (("back", BACK), ("knee", KNEE)):
            app.journeys.add(slug, scope=OWNER, by="owner")
            app.add_source(Source(text, f"{slug}.md"), filing=Filing(journeys=frozenset({slug})))
        first = app.evidence.answer(QUESTION, asker=app.owner(), journey="back")
        answer = first.answer
        assert {(one.alias, one.hit.document) for one in answer.evidence} == {("1", "Back pain")}
        assert all(claim.citations and claim.check.span is not None for claim in answer.claims if claim.is_shown)
        assert all(citation.quote in BACK.decode() for citation in answer.citations)
        app.evidence.answer("And how long?", asker=app.owner(), journey=None, conversation_id=first.conversation_id)
        talk = app.evidence.talk(first.conversation_id or "", app.owner())
        assert (talk.journey, [turn.question for turn in talk.turns]) == ("back", [QUESTION, "And how long?"])
        assert {told for turn in talk.turns if turn.answer for told in [turn.answer["model"]]} == {answer.model}
        replayed = app.replay(answer.id)
        assert (replayed.record.words["scope"]["journey"], replayed.erased) == ("back", ())
