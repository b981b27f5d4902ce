"""A model words the reasons of an assessment: what the rules and the record carry is shown, and it decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.app import App, build
from citewell.assistants.guidelines.model_summary import UNCARRIED
from citewell.assistants.guidelines.read_patient import patient_from
from citewell.assistants.guidelines.saved_assessments import KEY, NOT_WORDED
from citewell.assistants.guidelines.service import Kept
from citewell.config import Settings
from citewell.errors import NoModel
from citewell.types import Source
from tests.assistants.test_guidelines_chat import SPOTS
from tests.llm.servers import OpenAI, Script, Server

pytestmark = pytest.mark.slow

PATIENT = patient_from({"patient_id": "P1", "age": 62, "symptoms": ["jaundice"]})
RULE = "People aged 40 and over with unexplained jaundice are referred [S1]. "
FACT = "The patient is aged 62 and has jaundice [S2]. "
INVENTED = "The patient has pancreatic cancer [S1]. The referral is for people aged 30 and over [S1]. "

Worded = Callable[..., tuple[App, Kept]]


@pytest.fixture
def worded(tmp_path: Path, embedder: MiniLM) -> Iterator[Worded]:
    """The patient assessed on a library of its own, with a model that says this."""
    closing: list[Callable[[], None]] = []

    def make(said: str, **script: object) -> tuple[App, Kept]:
        server = Server(OpenAI, Script(models=("small",), pieces=(said,), **script))  # type: ignore[arg-type]
        model = {"model": "openai:small", "model_url": f"{server.url}/v1", "allowed_models": ("small=4096/512",)}
        app = build(Settings.model_validate({"home": tmp_path / "home", **model}))
        app.__dict__["embedder"] = embedder
        app.guidelines.add_source(Source(SPOTS.encode(), "spots.md"))
        closing.extend((app.close, server.stop))
        return app, app.guidelines.assess_kept(PATIENT, asker=app.owner(), is_worded=True)

    yield make
    for close in closing:
        close()


def test_what_the_rules_and_the_record_carry_is_shown_and_what_is_made_up_is_not(worded: Worded) -> None:
    app, kept = worded(RULE + FACT + INVENTED)
    assert kept.wording is not None
    assert "aged 40 and over with unexplained jaundice" in kept.wording.text
    assert "§1.1.1]" in kept.wording.text
    assert "aged 62 and has jaundice. [the assessment]" in kept.wording.text
    assert "pancreatic" not in kept.wording.text
    assert "aged 30" not in kept.wording.text
    assert kept.wording.withheld == 2
    without = app.guidelines.assess_kept(PATIENT, asker=app.owner()).shown()
    assert kept.shown() | {"wording": None} == without


def test_the_wording_is_on_record_and_a_replay_says_that_it_was_not_asked_for_again(worded: Worded) -> None:
    app, kept = worded(RULE)
    record = app.ask_service.audit.read(kept.id, app.owner())
    assert kept.wording is not None
    assert record.words[KEY]["wording"] == kept.wording.shown()
    again = app.replay(kept.id)
    assert again.is_same
    assert NOT_WORDED in again.notes


@pytest.mark.parametrize(
    ("said", "script", "told"),
    [(INVENTED, {}, UNCARRIED), ("", {}, ""), (RULE, {"statuses": [401]}, "refused the key")],
    ids=["made up", "silent", "refused"],
)
def test_a_model_that_fails_leaves_the_assessment(
    worded: Worded, said: str, script: dict[str, object], told: str
) -> None:
    _app, kept = worded(said, **script)
    assert kept.wording is not None
    assert kept.wording.text == ""
    assert told in (kept.wording.problem or "")
    assert kept.assessment.matched


def test_wording_without_a_model_is_refused_with_what_to_do(app: App) -> None:
    app.guidelines.add_source(Source(SPOTS.encode(), "spots.md"))
    with pytest.raises(NoModel, match="Assess without it"):
        app.guidelines.assess_kept(PATIENT, asker=app.owner(), is_worded=True)
