"""A real model words a record's answers: notice first, every shown sentence carried by the record, nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.answer.events import AnswerDone, AnswerStarted, Notice, SentenceChecked, StageStarted
from citewell.app import build
from citewell.assistants.records.safety_filter import SafeText, check_sentence, template
from citewell.assistants.records.source_sentences import Sources
from citewell.config import Settings
from citewell.types import Source, User, Verdict
from citewell.vaults.ask import make_record_service
from citewell.vaults.health_record import Record
from tests.llm.conftest import RealServer

pytestmark = pytest.mark.slow

CATEGORIES = ("alarming", "prescriptive", "diagnostic", "unattributed")
LETTER = (
    b"# Letter of 12 March 2025\n\nDr Chen saw you for knee pain. The X-ray of the left knee shows mild "
    b"osteoarthritis. Physiotherapy was advised, twice a week for six weeks.\n"
)


def test_a_model_is_heard_sentence_by_sentence_and_only_as_far_as_the_record_carries_it(
    tmp_path: Path, embedder: MiniLM, real_server: RealServer
) -> None:
    settings = Settings(
        home=tmp_path / "home",
        model=f"openai:{real_server.model_name}",
        model_url=real_server.url,
        model_timeout_s=120,
        allowed_models=(f"{real_server.model_name}=1024/96",),
    )
    with build(settings) as app:
        app.__dict__["embedder"] = embedder
        record = Record(app)
        record.import_source(Source(LETTER, "letter.md"))
        service, asker = make_record_service(app, record.facts), User.owner(record.scope)
        question = "I have chest pain. What does the X-ray of my knee show?"
        started, notice, searching, *rest, done = service.ask(question, asker=asker)
        assert (type(started), searching) == (AnswerStarted, StageStarted("searching"))
        assert isinstance(notice, Notice)
        assert isinstance(done, AnswerDone)
        answer = done.answer
        assert answer.text.startswith(notice.text)
        assert "BOUNDARY_CHECK" not in answer.text
        shown = [claim for claim in answer.claims if claim.is_shown]
        if answer.notes["filter"] == "blocked":  # what so small a model says differs with what it was asked before
            assert any(template(why, "en") in answer.text for why in ("boundary", *CATEGORIES))
        else:
            assert shown  # of the model's own, or quoted where none of its sentences could be shown
        assert {claim.check.verdict for claim in shown} <= {Verdict.SUPPORTED, Verdict.PARTLY}
        assert all(claim.citations for claim in shown)
        sources = Sources.of([LETTER.decode()])
        assert [one.text for one in shown if not isinstance(check_sentence(f"{one.text} [1]", sources), SafeText)] == []
        assert any(isinstance(event, SentenceChecked) for event in rest) == bool(answer.claims)
        assert 1 <= answer.notes["replies"] <= 3
        assert answer.notes["filter"] in ("passed", "rephrased", "blocked")
        (entry,) = app.entries(record.scope)
        proposed, change = record.propose(entry.id)  # so small a model finds little; what it finds must stand there
        assert change.added == len(proposed.facts)
        text = app.show(entry.id, record.scope)[1].text
        assert all(one.origin.end and text[one.origin.start : one.origin.end] for one in proposed.facts)
        assert record.facts.unverified(record.scope) == sorted(proposed.facts, key=lambda one: one.id)
        assert (
            service.audit.read(answer.id, asker).words["setup"]["writer"]["name"] == f"openai:{real_server.model_name}"
        )
