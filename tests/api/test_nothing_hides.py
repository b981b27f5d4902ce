"""A stored thing that cannot be shown hides no other; an unexpected error says truly whether something was kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Role

TOKEN = "a-token-for-tests"
PATIENT = '{"patient_id": "PT-1", "name": "Jo Smith", "age": 60, "gender": "Female", "symptoms": ["cough"]}'


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with build(Settings(home=tmp_path)) as app:
        yield app


@pytest.fixture
def client(app: App) -> httpx.Client:
    return TestClient(
        create_app(app, token=TOKEN),
        base_url="http://127.0.0.1",
        headers={"Authorization": f"Bearer {TOKEN}"},
        raise_server_exceptions=False,
    )


def change(app: App, statement: str, **values: Any) -> None:
    with app.library.engine.begin() as connection:
        connection.execute(text(statement), values)


@pytest.mark.parametrize("damage", ["sealed", "broken"])
def test_a_consult_that_cannot_be_shown_hides_no_other(
    app: App, client: httpx.Client, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [client.post("/api/v1/consults", json={"setting": f"ward {number}"}).json()["id"] for number in range(3)]
    if damage == "sealed":
        change(app, "UPDATE consult_events SET body = zeroblob(64) WHERE consult_id = :id", id=ids[1])
    else:
        from citewell.assistants.consult import view

        told = view.summary

        def summary(consult: Any) -> str:
            if consult.id == ids[1]:
                raise ZeroDivisionError
            return told(consult)

        monkeypatch.setattr(view, "summary", summary)
    listed = client.get("/api/v1/consults")
    assert listed.status_code == 200
    known = {one["id"]: one["summary"] for one in listed.json()["consults"]}
    assert set(known) == set(ids)
    assert "cannot be shown" in known[ids[1]]
    page = client.get("/consult")
    assert page.status_code == 200
    assert all(consult_id in page.text for consult_id in ids)
    assert [client.get(f"/api/v1/consults/{consult_id}").status_code for consult_id in (ids[0], ids[2])] == [200, 200]


def test_a_conversation_whose_title_was_altered_hides_no_other(app: App, client: httpx.Client) -> None:
    for number in range(2):
        app.ask_service.conversations.begin(f"Question {number}?", app.owner(), conversation_id=None)
    first = client.get("/api/v1/conversations").json()["conversations"][0]["id"]
    change(app, "UPDATE conversations SET title = zeroblob(64) WHERE id = :id", id=first)
    titles = [one["title"] for one in client.get("/api/v1/conversations").json()["conversations"]]
    assert len(titles) == 2
    assert titles.count("(title altered outside Citewell)") == 1


def test_patients_on_file_are_an_administrators(app: App, client: httpx.Client) -> None:
    folder = app.settings.home / "patients"
    folder.mkdir()
    (folder / "one.json").write_text(PATIENT)
    assert len(client.get("/api/v1/assess/patients").json()["patients"]) == 1
    for role in (Role.MEMBER, Role.EDITOR):
        user = app.people.add(tenant=app.tenant, email=f"{role}@x.example", name="", role=role, tags=[])
        key = app.people.add_key(user.id, tenant=app.tenant, name="k")[1]
        bearer = {"Authorization": f"Bearer {key}"}
        for path in ("/api/v1/assess/patients", "/assess/patients", "/guidelines"):
            answer = client.get(path, headers=bearer)
            assert answer.status_code == 200
            assert "Jo Smith" not in answer.text
            assert "PT-1" not in answer.text
        assert client.post("/api/v1/assess/PT-1", headers=bearer).status_code == 404


def test_an_unexpected_error_says_whether_something_was_kept(
    app: App, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("citewell.api.routes.people.added", fails)
    before = client.post("/api/v1/users", json={"email": "ann@x.example"})
    assert (before.status_code, "nothing was changed" in before.json()["detail"]) == (500, True)
    monkeypatch.setattr("citewell.api.routes.consult.turn_json", fails)
    after = client.post("/api/v1/consults", json={})
    assert (after.status_code, "after some of this was saved" in after.json()["detail"]) == (500, True)
    monkeypatch.undo()
    assert len(client.get("/api/v1/consults").json()["consults"]) == 1
    assert app.people.all(tenant=app.tenant) == []
