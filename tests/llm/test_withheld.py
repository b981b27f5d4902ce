"""What a model wrote and the check held back: who asked, who answers and who keeps the log may open it, nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from citewell.adapters.store.schema import answers
from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Filing, Role, Source
from tests.api.test_ask import events
from tests.llm.servers import OpenAI, Script, Server

NOTE = "# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
QUESTION = "How much ferrous sulfate for iron deficiency anaemia in adults?"
WRONG = "Give ferrous sulfate 20 mg once daily."
DRAFT = f"{WRONG} [SourceId: nothing] [S1]"

Knock = Callable[..., TestClient]


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(OpenAI, Script(models=("small",), pieces=(DRAFT[:9], DRAFT[9:])))
    yield made
    made.stop()


@pytest.fixture
def app(server: Server, tmp_path: Path) -> Iterator[App]:
    chosen = {"model": "openai:small", "model_url": f"{server.url}/v1", "allowed_models": ("small=2048/256",)}
    with build(Settings.model_validate({"home": tmp_path / "home", **chosen})) as made:
        made.add_source(Source(NOTE.encode(), "iron.md"), filing=Filing(tags=frozenset({"ward"})))
        yield made


@pytest.fixture
def knock(app: App) -> Knock:
    site = create_app(app, token="a-token-for-tests")

    def client(name: str, role: Role = Role.MEMBER, *, tags: tuple[str, ...] = ("ward",)) -> TestClient:
        user = app.people.add(tenant="local", email=f"{name}@local.example", name=name, role=role, tags=tags)
        if name == "owner":
            app.people.set_owner("ward", tenant="local", owner_id=user.id)
        key = app.people.add_key(user.id, tenant="local", name="tests")[1]
        return TestClient(site, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"})

    return client


def asked(client: TestClient) -> dict[str, Any]:
    told: dict[str, Any] = client.post("/api/v1/ask", json={"question": QUESTION}).json()
    assert (told["action"], told["route"]["owner_email"], told["grounded"]) == ("ROUTE", "owner@local.example", False)
    return told


def test_who_asked_who_answers_and_administrators_open_it_and_nobody_else(knock: Knock) -> None:
    owner, ann, bob, boss = knock("owner"), knock("ann"), knock("bob"), knock("boss", Role.ADMIN)
    told = asked(ann)
    assert (told["raw_text"], [one["text"] for one in told["withheld"]]) == (DRAFT, [WRONG])
    assert WRONG not in told["text"]
    case, record = f"/api/v1/inbox/{told['inbox_id']}", f"/api/v1/audit/{told['id']}"
    for may_open in (ann, owner, boss):
        found = may_open.get(case).json()
        assert (found["raw_text"], [one["text"] for one in found["draft"]]) == (DRAFT, [WRONG])
    for may_read in (ann, boss):
        assert may_read.get(record).json()["answer"]["raw_text"] == DRAFT
    assert {one.get(record).status_code for one in (owner, bob)} == {404}
    assert bob.get(case).status_code == 404


def test_the_asker_sees_a_closed_line_that_opens(knock: Knock) -> None:
    knock("owner")
    ann = knock("ann")
    page = ann.get(f"/conversations/{asked(ann)['conversation_id']}").text
    assert '<details class="withheld">' in page
    assert "<summary>1 sentence withheld: " in page
    *_, (name, done) = events(ann.post("/api/v1/ask/stream", json={"question": QUESTION}))
    assert (name, done["raw_text"]) == ("done", DRAFT)


def test_who_answers_opens_no_draft_of_documents_that_they_may_not_see(knock: Knock) -> None:
    owner, ann = knock("owner", tags=()), knock("ann")
    found = owner.get(f"/api/v1/inbox/{asked(ann)['inbox_id']}").json()
    assert (found["raw_text"], found["draft"], found["hidden_draft"], found["hidden_evidence"]) == (None, [], 1, 1)


def test_the_draft_is_sealed(app: App, knock: Knock) -> None:
    knock("owner")
    told = asked(knock("ann"))
    assert app.ask_service.audit.read(told["id"], app.owner()).words["answer"]["raw_text"] == DRAFT
    with app.library.engine.connect() as connection:
        (row,) = connection.execute(select(answers).where(answers.c.id == told["id"])).all()
    assert b"ferrous" not in b"".join(str(value).encode() for value in row)
