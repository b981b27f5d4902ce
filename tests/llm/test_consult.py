"""A model in a consult: what it adds is held against the message, and what is broken, cut or made up is left."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.llm.remote import RETRY_AFTER_S
from citewell.app import App, build
from citewell.assistants.consult.notebook import InterviewStep
from citewell.assistants.consult.service import ConsultService
from citewell.config import Settings
from citewell.errors import ModelNotAllowedError, ModelReply
from citewell.types import User
from citewell.types.consult import ConsultState, Finding, FindingSource, Polarity
from tests.assistants.consult_library import write_guidelines
from tests.llm.conftest import RealServer
from tests.llm.servers import OpenAI, Script, Server

SAID = "Fever for two days and I feel like a wet rag. No electric knees."
OPENING = "I am a 30-year-old man."

Opening = Callable[..., tuple[ConsultService, User]]


class Replying(OpenAI):
    """Answers each chat with the next of the replies of the test; “|” ends one in the middle."""

    def chat(self, script: Script) -> Iterator[str]:
        reply = self.server.replies.pop(0)  # type: ignore[attr-defined]
        script.pieces, script.end = (reply.rstrip("|"),), None if reply.endswith("|") else "stop"
        yield from super().chat(script)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(Replying, Script(models=("small",)))
    made.replies = []  # type: ignore[attr-defined]
    yield made
    made.stop()


@pytest.fixture
def opening(tmp_path: Path, embedder: MiniLM, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opening]:
    monkeypatch.setattr("citewell.adapters.llm.remote.RETRY_AFTER_S", tuple(0.0 for _ in RETRY_AFTER_S))
    opened: list[App] = []

    def make(
        url: str, name: str = "small", *, with_guidelines: bool = False, size: str = "4096/512"
    ) -> tuple[ConsultService, User]:
        chosen = {"model": f"openai:{name}", "model_url": url, "allowed_models": (f"{name}={size}",)}
        app = build(Settings.model_validate({"home": tmp_path / "home", **chosen}))
        app.__dict__["embedder"] = embedder
        for path in write_guidelines(tmp_path) if with_guidelines else ():
            app.add(path)
        opened.append(app)
        return app.consult.service, User.owner(app.scope_of_owner())

    yield make
    for app in opened:
        app.close()


def findings(*told: dict[str, str]) -> str:
    return json.dumps({"findings": list(told)})


def told(quote: str, polarity: str = "present", name: str = "", category: str = "associated") -> dict[str, str]:
    return {"quote": quote, "name": name or quote, "category": category, "polarity": polarity}


def said(server: Server, service: ConsultService, asker: User, *replies: str) -> InterviewStep:
    """What comes of two messages; the first one says who the patient is."""
    server.replies[:] = [findings(), *replies]  # type: ignore[attr-defined]
    consult_id = service.start(asker).consult.id
    service.say(consult_id, OPENING, asker)
    return service.say(consult_id, SAID, asker)


def by_model(turn: InterviewStep) -> list[Finding]:
    return [one for one in turn.consult.findings if one.by is FindingSource.MODEL]


def test_a_model_adds_what_the_rules_do_not_know_with_the_exact_words(server: Server, opening: Opening) -> None:
    service, asker = opening(f"{server.url}/v1")
    reply = findings(told("feel like a wet rag", name="exhaustion"), told("electric knees", name="paraesthesia"))
    turn = said(server, service, asker, reply)
    added = by_model(turn)
    assert [(one.name, one.polarity) for one in added] == [
        ("exhaustion", Polarity.PRESENT),
        ("paraesthesia", Polarity.ABSENT),  # the words deny it, whatever the model says
    ]
    for one in added:
        assert one.words is not None
        assert SAID[one.words.start : one.words.end] == one.words.text
    assert turn.troubles == ()
    shapes = [chat["response_format"]["json_schema"]["schema"] for chat in server.chats]
    assert all(shape["additionalProperties"] is False for shape in shapes)


@pytest.mark.parametrize(
    "broken",
    [
        findings(told("crushing chest pain")),
        findings(told("wet rag", polarity="certainly")),
        json.dumps({"findings": [{"quote": "wet rag"}]}),
        json.dumps([1, 2]),
        '{"findings": [',
        "I would say that the patient is tired.",
        findings(told("wet rag"))[:-9] + "|",
        "[" * 20_000,
        findings(told("wet rag", name="\ud800 rag")),
        findings(told("wet rag", name=" ")),
    ],
    ids=[
        "words that were not said", "unknown polarity", "fields missing", "a list", "cut JSON", "prose", "cut stream",
        "brackets without end", "half a character", "no name",
    ],
)  # fmt: skip
def test_a_broken_tool_call_is_tried_once_more_and_then_left(server: Server, opening: Opening, broken: str) -> None:
    service, asker = opening(f"{server.url}/v1")
    mended = said(server, service, asker, broken, findings(told("wet rag", name="exhaustion")))
    assert [one.name for one in by_model(mended)] == ["exhaustion"]
    left = said(server, service, asker, broken, broken)
    assert by_model(left) == []
    assert "the findings come from the rules alone" in left.troubles[0]
    assert "Fever" in {one.name for one in left.consult.findings}
    assert left.consult.messages[-2].text == SAID


def test_a_model_that_may_not_be_used_stops_neither_the_interview_nor_the_plan(
    server: Server, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, asker = opening(f"{server.url}/v1", with_guidelines=True)

    def refuse(*_: object, **__: object) -> None:
        raise ModelNotAllowedError("The model small is not allowed.")

    monkeypatch.setattr("citewell.adapters.llm.vendors.make_model", refuse)
    consult_id = service.start(asker).consult.id
    turn = service.say(consult_id, f"{OPENING} {SAID}", asker)
    assert "is not allowed), so the findings come from the rules alone" in turn.troubles[0]
    assert "Fever" in {one.name for one in turn.consult.findings}
    service.acknowledge(consult_id, asker)
    service.differentials(consult_id, [("Malaria", "high")], asker, despite="a test")
    plan: Any = service.assess(consult_id, asker).consult.plan
    assert any("is not allowed); the plan quotes" in note for note in plan["notes"])
    assert plan["diagnoses"][0]["offered"] != []
    assert server.chats == []


def test_differentials_of_a_model_name_findings_that_are_there_or_are_refused(server: Server, opening: Opening) -> None:
    service, asker = opening(f"{server.url}/v1", with_guidelines=True)
    turn = said(server, service, asker, findings())
    fever = next(one.id for one in turn.consult.findings if one.name == "Fever")

    def reply(finding: str) -> str:
        one = {"condition": "Malaria", "confidence": "moderate", "for": [finding], "against": []}
        return json.dumps({"differentials": [one]})

    server.replies[:] = [reply("f99"), reply("f98")]  # type: ignore[attr-defined]
    with pytest.raises(ModelReply, match="twice"):
        service.differentials(turn.consult.id, [], asker, despite="test", is_generated=True)
    assert service.look(turn.consult.id, asker).consult.state is ConsultState.INTERVIEWING
    server.replies[:] = [reply("f99"), reply(fever)]  # type: ignore[attr-defined]
    ready = service.differentials(turn.consult.id, [], asker, despite="test", is_generated=True)
    assert [(one.condition, one.confidence, one.by) for one in ready.consult.differentials] == [
        ("Malaria", "moderate", FindingSource.MODEL)
    ]


def test_prose_of_a_model_is_shown_only_as_far_as_the_guidelines_say_it(server: Server, opening: Opening) -> None:
    service, asker = opening(f"{server.url}/v1", with_guidelines=True)
    turn = said(server, service, asker, findings())
    service.differentials(turn.consult.id, [("Malaria", "high")], asker, despite="test")

    def statements(*replies: str) -> list[Any]:
        server.replies[:] = list(replies)  # type: ignore[attr-defined]
        plan: Any = service.assess(turn.consult.id, asker).consult.plan
        shown = [one["text"] for one in plan["diagnoses"][0]["offered"]]
        return [shown, plan["notes"]]

    true = "Test every suspected case with a rapid test or a blood film before treatment."
    mixed = (
        f"{true} [S1] [S2] [S3] [S4] [S5] Give paracetamol 30 mg/kg every 6 hours for fever. [S1] [S2] [S3] [S4] [S5]"
    )
    shown, notes = statements(mixed)
    assert shown == [true]
    marks = "[S1] [S2] [S3] [S4] [S5]"
    of_the_patient = f"The patient has suspected malaria. {marks} The patient has fever. {marks} {true} {marks}"
    shown, _ = statements(of_the_patient)
    assert shown == ["The patient has fever.", true]  # a finding says fever, and none says malaria
    nameless = "The dose is 15 mg/kg every 6 hours for fever (maximum 1 g per dose)."
    shown, _ = statements(f"{nameless} {marks} {true} {marks}")
    assert shown == [true]  # of what the dose is, it does not say
    shown, notes = statements("Give ivermectin 12 mg once. [S1]")
    assert "quoted instead" in " ".join(notes)
    assert shown
    assert "ivermectin" not in " ".join(shown)
    shown, notes = statements(f"{true} [S1] Give pa|")
    assert "The model failed" in " ".join(notes)
    assert len(shown) > 1


def test_a_model_points_at_who_the_patient_is_and_the_rules_read_it(server: Server, opening: Opening) -> None:
    service, asker = opening(f"{server.url}/v1")
    stated = json.dumps({"stated": [{"what": "age", "quote": "my tummy hurts"}]})
    server.replies[:] = [findings(), stated]  # type: ignore[attr-defined]
    turn = service.say(service.start(asker).consult.id, "Since yesterday my tummy hurts.", asker)
    assert "age" not in {one.name for one in turn.consult.findings}
    assert [chat["messages"][0]["content"].split("tool ")[1].split(".")[0] for chat in server.chats] == [
        "record_findings",
        "collect_demographics",
    ]


@pytest.mark.slow
def test_a_real_small_model_invents_nothing_whatever_it_replies(opening: Opening, real_server: RealServer) -> None:
    service, asker = opening(real_server.url, real_server.model_name, size="2048/96")
    turn = service.say(service.start(asker).consult.id, SAID, asker)
    assert {"Fever"} <= {one.name for one in turn.consult.findings}
    for one in turn.consult.findings:
        assert one.words is not None
        assert SAID[one.words.start : one.words.end] == one.words.text
