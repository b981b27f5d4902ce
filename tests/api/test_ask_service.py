"""Conversations, the inbox, the audit log and people over HTTP: each sees their own, the rest is not there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

import citewell
from citewell.adapters.store.schema import answers
from citewell.api.app import create_app
from citewell.app import App
from citewell.types import Filing, Role, Scope

TOKEN = "a-token-for-tests"
ORS = "how much ORS for a 12 kg child with diarrhea"
WARFARIN = "Which nurse is in charge of warfarin today?"
"""Passages are near, and none of them answers it."""

Knock = Callable[..., httpx.Client]

pytestmark = pytest.mark.slow


@pytest.fixture
def app(samples_home: Path, tmp_path: Path) -> Iterator[App]:
    shutil.copytree(samples_home, tmp_path / "home")
    with citewell.open(tmp_path / "home") as app:
        yield app


@pytest.fixture
def knock(app: App) -> Knock:
    site = create_app(app, token=TOKEN)

    def client(name: str, role: Role = Role.MEMBER, *, tenant: str = "local", tags: tuple[str, ...] = ()) -> Any:
        user = app.people.add(tenant=tenant, email=f"{name}@{tenant}.example", name=name, role=role, tags=tags)
        _, key = app.people.add_key(user.id, tenant=tenant, name="tests")
        made = TestClient(
            site, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"}, follow_redirects=False
        )
        made.user_id = user.id  # type: ignore[attr-defined]
        return made

    return client


def test_a_conversation_is_its_owners_alone(knock: Knock) -> None:
    ann, bob, boss, far = (
        knock("ann"),
        knock("bob"),
        knock("boss", Role.ADMIN),
        knock("far", Role.ADMIN, tenant="other"),
    )
    asked = ann.post("/api/v1/ask", json={"question": ORS}).json()
    mine = asked["conversation_id"]
    ann.post("/api/v1/ask", json={"question": "and for a baby?", "conversation_id": mine})
    (listed,) = ann.get("/api/v1/conversations").json()["conversations"]
    assert (listed["id"], listed["title"]) == (mine, ORS)
    turns = ann.get(f"/api/v1/conversations/{mine}").json()["turns"]
    assert [(turn["role"], turn["text"]) for turn in turns[::2]] == [("user", ORS), ("user", "and for a baby?")]
    assert turns[1]["answer_id"] == asked["id"]
    for other in (bob, boss, far):
        assert other.get("/api/v1/conversations").json() == {"conversations": [], "next": None}
        tries = [
            other.get(f"/api/v1/conversations/{mine}"),
            other.delete(f"/api/v1/conversations/{mine}"),
            other.get(f"/conversations/{mine}"),
            other.post(f"/conversations/{mine}/delete"),
            other.post("/api/v1/ask", json={"question": ORS, "conversation_id": mine}),
            other.post("/api/v1/ask/stream", json={"question": ORS, "conversation_id": mine}),
            other.post("/ask", data={"question": ORS, "conversation_id": mine}),
        ]
        assert {answer.status_code for answer in tries} == {404}
    assert ann.delete(f"/api/v1/conversations/{mine}").json() == {"deleted": [mine]}
    assert ann.get(f"/api/v1/conversations/{mine}").status_code == 404


def test_a_question_goes_to_the_owner_of_its_tag_and_the_reply_to_who_asked(app: App, knock: Knock) -> None:
    for entry in app.entries():
        app.library.refile(entry.id, filing=Filing(tags=frozenset({"wards"})), scope=Scope.owner("local"))
    boss = knock("boss", Role.ADMIN)
    ann, bob = knock("ann", tags=("wards",)), knock("bob", tags=("wards",))
    owner, far = knock("owner", tags=("wards",)), knock("far", Role.ADMIN, tenant="other")
    put = boss.put("/api/v1/tags/wards", json={"owner_id": owner.user_id})  # type: ignore[attr-defined]
    assert put.json() == {"tag": "wards", "owner_id": owner.user_id}  # type: ignore[attr-defined]
    assert boss.get("/api/v1/tags").json()["tags"] == [put.json()]
    answer = ann.post("/api/v1/ask", json={"question": WARFARIN}).json()
    assert (answer["action"], answer["route"]["owner_email"]) == ("ROUTE", "owner@local.example")
    item = answer["inbox_id"]

    def seen(client: httpx.Client) -> list[tuple[str, str]]:
        return [(one["id"], one["question"]) for one in client.get("/api/v1/inbox").json()["questions"]]

    asked = (item, WARFARIN)
    assert (seen(owner), seen(boss), seen(ann), seen(bob), seen(far)) == ([asked], [asked], [], [], [])
    case = owner.get(f"/api/v1/inbox/{item}").json()
    assert (case["question"], case["may_answer"], case["state"]) == (WARFARIN, True, "open")
    assert case["evidence"]
    assert [one["text"] for one in ann.get(f"/api/v1/inbox/{item}").json()["draft"]] == [
        one["text"] for one in answer["withheld"]
    ]
    for other in (bob, far):
        assert other.get(f"/api/v1/inbox/{item}").status_code == 404
        assert other.get(f"/inbox/{item}").status_code == 404
    for other in (ann, bob, far):
        assert other.post(f"/api/v1/inbox/{item}/reply", json={"text": "Nobody."}).status_code == 404
        assert other.post(f"/api/v1/inbox/{item}/close").status_code == 404
        assert other.post(f"/inbox/{item}/reply", data={"text": "Nobody."}).status_code == 404
    replied = owner.post(f"/api/v1/inbox/{item}/reply", json={"text": "The workshop, 2nd floor."}).json()
    assert (replied["state"], replied["reply"]) == ("answered", "The workshop, 2nd floor.")
    (mine,) = ann.get("/api/v1/asked").json()["questions"]
    assert (mine["question"], mine["reply"]) == (WARFARIN, "The workshop, 2nd floor.")
    turns = ann.get(f"/api/v1/conversations/{answer['conversation_id']}").json()["turns"]
    assert [turn["reply"] for turn in turns] == [None, "The workshop, 2nd floor."]
    assert "The workshop, 2nd floor." in ann.get(f"/conversations/{answer['conversation_id']}").text
    assert owner.post(f"/api/v1/inbox/{item}/close").json()["state"] == "closed"
    again = owner.post(f"/api/v1/inbox/{item}/reply", json={"text": "Again."})
    assert (again.status_code, again.json()["kind"]) == (409, "DoesNotFit")


def test_one_damaged_record_does_not_hide_the_other_questions(app: App, knock: Knock) -> None:
    ann, boss = knock("ann"), knock("boss", Role.ADMIN)
    damaged, whole = (ann.post("/api/v1/ask", json={"question": WARFARIN}).json() for _ in range(2))
    assert (damaged["action"], whole["action"]) == ("ROUTE", "ROUTE")
    with app.library.engine.begin() as connection:
        connection.execute(update(answers).where(answers.c.id == damaged["id"]).values(record=b"x" * 64))
    for answer in (boss.get("/inbox"), ann.get("/asked")):
        assert answer.status_code == 200
        assert answer.text.count("(this record could not be opened)") == 1
        assert WARFARIN in answer.text
    page = ann.get(f"/conversations/{damaged['conversation_id']}")
    assert (page.status_code, WARFARIN in page.text) == (200, True)


def test_the_counts_of_the_server_are_for_who_runs_it(knock: Knock) -> None:
    assert knock("boss", Role.ADMIN).get("/metrics").status_code == 200
    assert knock("far", Role.ADMIN, tenant="other").get("/metrics").status_code == 403


def test_answers_are_on_record_for_who_asked_and_for_administrators(knock: Knock) -> None:
    ann, bob, boss = knock("ann"), knock("bob"), knock("boss", Role.ADMIN)
    far = knock("far", Role.ADMIN, tenant="other")
    answer = ann.post("/api/v1/ask", json={"question": ORS}).json()
    for client in (ann, boss):
        (record,) = client.get("/api/v1/audit").json()["records"]
        assert record["answer_id"] == answer["id"]
        assert client.get(f"/api/v1/audit/{answer['id']}").json()["question"] == ORS
        assert client.get(f"/audit/{answer['id']}").status_code == 200
        again = client.post(f"/api/v1/audit/{answer['id']}/replay").json()
        assert (again["is_same"], again["question"]) == (True, ORS)
    for client in (bob, far):
        assert client.get("/api/v1/audit").json() == {"records": []}
        tries = [
            client.get(f"/api/v1/audit/{answer['id']}"),
            client.post(f"/api/v1/audit/{answer['id']}/replay"),
            client.get(f"/audit/{answer['id']}"),
            client.post(f"/audit/{answer['id']}/replay"),
        ]
        assert {one.status_code for one in tries} == {404}
    proof = boss.get("/api/v1/audit/proof").json()
    assert (proof["ok"], proof["records"], proof["problems"]) == (True, 1, [])
    assert far.get("/api/v1/audit/proof").json()["records"] == 0
    assert ann.get("/api/v1/audit/proof").status_code == 403


def test_users_and_keys_are_an_administrators_of_the_same_tenant(app: App, knock: Knock) -> None:
    boss, ann = knock("boss", Role.ADMIN), knock("ann")
    far = knock("far", Role.ADMIN, tenant="other")
    made = boss.post(
        "/api/v1/users",
        json={"email": "Eve@local.example", "name": "Eve", "role": "editor", "tags": ["lung"], "password": "x" * 10},
    )
    assert made.status_code == 201
    eve = made.json()
    told = {"email": "eve@local.example", "name": "Eve", "role": "editor", "tags": ["lung"], "is_active": True}
    told |= {"registration": None, "has_own_password": False}
    assert eve == {"id": eve["id"], **told}
    assert "x" * 10 not in boss.get("/api/v1/users").text
    assert boss.post("/api/v1/users", json={"email": "eve@local.example"}).status_code == 409
    for anybody in (boss, ann, far):
        refused = anybody.post(f"/api/v1/users/{eve['id']}/keys", json={"name": "nightly"})
        assert (refused.status_code, refused.json()["kind"]) == (
            403,
            "NotThisRole" if anybody is ann else "OwnKeysOnly",
        )
    own = boss.post(f"/api/v1/users/{boss.user_id}/keys", json={"name": "mine"})  # type: ignore[attr-defined]
    assert own.status_code == 201
    key = dict(zip(("id", "key"), app.people.add_key(eve["id"], tenant="local", name="nightly"), strict=True))
    as_eve = {"Authorization": f"Bearer {key['key']}"}
    assert boss.get("/api/v1/me", headers=as_eve).json()["may"] == ["ask", "change", "read"]
    for other in (ann, far):
        answers = [
            other.get(f"/api/v1/users/{eve['id']}/keys"),
            other.delete(f"/api/v1/users/{eve['id']}/keys/{key['id']}"),
            other.patch(f"/api/v1/users/{eve['id']}", json={"role": "admin"}),
            other.put("/api/v1/tags/lung", json={"owner_id": eve["id"]}),
        ]
        assert {one.status_code for one in answers} == {403 if other is ann else 404}
    assert boss.delete(f"/api/v1/users/{eve['id']}/keys/{key['id']}").json() == {"deleted": [key["id"]]}
    assert boss.get("/api/v1/me", headers=as_eve).status_code == 401
    assert boss.patch(f"/api/v1/users/{eve['id']}", json={"is_active": False}).json()["is_active"] is False
    for own_harm in ({"role": "reader"}, {"is_active": False}):
        answer = boss.patch(f"/api/v1/users/{boss.user_id}", json=own_harm)  # type: ignore[attr-defined]
        assert (answer.status_code, answer.json()["kind"]) == (422, "InputError")


def test_everyone_keeps_their_own_keys_and_no_one_elses(knock: Knock) -> None:
    ann, bob = knock("ann", Role.READER), knock("bob")
    made = ann.post("/api/v1/keys", json={"name": "script"}).json()
    assert made["key"].startswith("cw_")
    assert [one["name"] for one in ann.get("/api/v1/keys").json()["keys"]] == ["tests", "script"]
    assert "cw_" not in ann.get("/api/v1/keys").text
    assert bob.delete(f"/api/v1/keys/{made['id']}").status_code == 404
    assert ann.delete(f"/api/v1/keys/{made['id']}").status_code == 200
    owner = {"Authorization": f"Bearer {TOKEN}"}
    assert ann.get("/api/v1/keys", headers=owner).json() == {"keys": []}
    assert ann.post("/api/v1/keys", json={"name": "mine"}, headers=owner).status_code == 403


def test_the_ask_page_offers_the_tags_that_a_person_holds_and_looks_only_there(app: App, knock: Knock) -> None:
    filed = sorted(app.entries(), key=lambda entry: entry.name)
    for entry, tags in zip(filed, ({"wards", "board"}, {"lung"}, {"board"}, {"public"}), strict=True):
        app.library.refile(entry.id, filing=Filing(tags=frozenset(tags)), scope=Scope.owner("local"))
    ann, boss = knock("ann", tags=("wards", "lung", "idle")), knock("boss", Role.ADMIN)

    def offered(client: httpx.Client) -> list[str]:
        return re.findall(r'name="tag" value="([a-z]+)"', client.get("/").text)

    assert (offered(ann), offered(boss)) == (["lung", "wards"], ["board", "lung", "wards"])
    for tags, looked in (
        ([], "Searched 3 documents: tagged “idle” or “lung” or “wards”, or for everyone."),
        (["lung"], "Searched 2 documents: tagged “lung”, or for everyone."),
        (["board"], "Searched 1 document: for everyone."),
    ):
        asked = ann.post("/ask", data={"question": WARFARIN, "tag": tags, "csrf": ""})
        page = ann.get(asked.headers["location"]).text
        assert looked in page
        assert re.findall(r'value="([a-z]+)" checked', page) == [tag for tag in tags if tag != "board"]
    whole = boss.post("/api/v1/ask", json={"question": WARFARIN}).json()
    assert whole["scope"] == {"tags": ["*"], "journey": None, "subject": None, "document": None, "documents": 4}


def test_nothing_is_handed_on_without_a_word_and_greetings_never(knock: Knock) -> None:
    ann, boss = knock("ann"), knock("boss", Role.ADMIN)
    asked = ann.post("/api/v1/ask", json={"question": WARFARIN, "hand_on": False}).json()
    greeting = ann.post("/api/v1/ask", json={"question": "hello"}).json()
    assert (asked["action"], asked["inbox_id"], greeting["inbox_id"]) == ("ROUTE", None, None)
    assert "not sent to anyone" in asked["text"]
    assert boss.get("/api/v1/inbox").json()["questions"] == []
    sent = ann.post("/api/v1/inbox", json={"answer_id": asked["id"]})
    again = ann.post("/api/v1/inbox", json={"answer_id": asked["id"]})
    assert (sent.status_code, again.json()["id"]) == (201, sent.json()["id"])
    assert ann.post("/api/v1/inbox", json={"answer_id": greeting["id"]}).status_code == 422
    assert boss.post("/api/v1/inbox", json={"answer_id": asked["id"]}).json()["asked_by"] != ann.user_id  # type: ignore[attr-defined]
    assert knock("bob").post("/api/v1/inbox", json={"answer_id": asked["id"]}).status_code == 404
    at_once = ann.post("/api/v1/ask", json={"question": WARFARIN}).json()
    assert at_once["inbox_id"]


def test_one_document_is_asked_by_those_who_may_read_it(app: App, knock: Knock) -> None:
    leaflet = next(entry for entry in app.entries() if entry.name.endswith(".html"))
    hidden = next(entry for entry in app.entries() if entry.name.endswith(".docx"))
    app.library.refile(hidden.id, filing=Filing(tags=frozenset({"board"})), scope=Scope.owner("local"))
    ann = knock("ann")
    question = "I missed a dose of my blood thinner"
    asked = ann.post("/api/v1/ask", json={"question": question, "document": leaflet.id}).json()
    assert {one["document_id"] for one in asked["evidence"]} == {leaflet.id}
    assert (asked["scope"]["document"], asked["scope"]["documents"]) == (leaflet.lineage, 1)
    assert ann.post("/api/v1/ask", json={"question": question, "document": hidden.id}).status_code == 404
    again = ann.post(f"/api/v1/audit/{asked['id']}/replay").json()
    assert again["is_same"]
    export = ann.get(f"/api/v1/audit/{asked['id']}/export")
    assert export.text.startswith("# I missed a dose")
    assert "## References" in export.text


def test_a_wrong_answer_is_reported_to_the_owner_of_its_sources(app: App, knock: Knock) -> None:
    ann, olga, bob = knock("ann", tags=("wards",)), knock("olga", Role.EDITOR, tags=("wards",)), knock("bob")
    for entry in app.entries():
        app.library.refile(entry.id, filing=Filing(tags=frozenset({"wards"})), scope=Scope.owner("local"))
    app.people.set_owner("wards", tenant="local", owner_id=olga.user_id)  # type: ignore[attr-defined]
    asked = ann.post("/api/v1/ask", json={"question": ORS}).json()
    assert asked["action"] in ("CITE", "QUALIFY")
    assert ann.post("/api/v1/inbox", json={"answer_id": asked["id"]}).status_code == 422
    sent = ann.post("/api/v1/inbox", json={"answer_id": asked["id"], "problem": "Out of date: it is 80 ml/kg now."})
    assert sent.status_code == 201
    (waiting,) = olga.get("/api/v1/inbox").json()["questions"]
    assert "Out of date: it is 80 ml/kg now." in waiting["reason"]
    assert bob.post("/api/v1/inbox", json={"answer_id": asked["id"], "problem": "x"}).status_code == 404
    olga.post(f"/api/v1/inbox/{waiting['id']}/reply", json={"text": "Thank you. The new edition is in."})
    page = ann.get(f"/conversations/{asked['conversation_id']}").text
    assert "The new edition is in." in page
    assert app.ask_service.audit.verify_chain("local").problems == ()
