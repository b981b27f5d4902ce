"""The life of documents over HTTP: followed, tried again, withdrawn, read anew; two operators notice each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from citewell.api.app import create_app
from citewell.api.server_state import ServerState
from citewell.app import App, build
from citewell.config import Settings
from citewell.ingest.worker import Worker
from citewell.types import Filing, Role, Scope, Source
from citewell.types.lifecycle import SYSTEM
from tests.api.test_roles import PASSWORD, TOKEN, Idle
from tests.faults.churn import Hashes

IRON = {"files": ("iron.md", b"# Iron\n\nTake 200 mg with water.")}
BROKEN = {"files": ("x.pdf", b"%PDF-1.7 nonsense")}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """A library whose worker works when the test says so."""
    monkeypatch.setattr(ServerState, "worker", lambda _site: Idle())
    with build(Settings(home=tmp_path)) as app:
        app.__dict__["embedder"] = Hashes()
        yield app


@pytest.fixture
def worker(app: App) -> Worker:
    return Worker(app.library, app.reader)


@pytest.fixture
def owner(app: App) -> httpx.Client:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", headers=headers)


def sent(client: httpx.Client, files: dict[str, tuple[str, bytes]], **data: str) -> str:
    """The id of a document that was taken in, and queued by that."""
    answer = client.post("/api/v1/documents", files=files, data=data)
    assert answer.status_code == 202
    (document,) = answer.json()["documents"]
    assert document["state"] == "queued"
    return str(document["document_id"])


def test_a_document_is_followed_withdrawn_restored_and_read_anew(owner: httpx.Client, worker: Worker, app: App) -> None:
    document_id = sent(owner, IRON)
    base = f"/api/v1/documents/{document_id}"
    waiting = owner.get(f"{base}/status").json()
    assert (waiting["state"], waiting["attempts"], waiting["progress"]["stage"]) == ("queued", 0, "waiting")
    queue = owner.get("/api/v1/queue").json()
    assert (queue["states"]["queued"], queue["states"]["completed"]) == (1, 0)
    assert queue["oldest_waiting_at"] is not None
    worker.look_round()
    assert worker.work()
    assert owner.get(f"{base}/status").json()["state"] == "completed"
    assert [one["name"] for one in owner.get("/api/v1/queue").json()["workers"]] == [worker.name]
    assert owner.post(f"{base}/withdraw").json()["state"] == "withdrawn"
    assert owner.get("/api/v1/search", params={"q": "iron"}).json()["hits"] == []
    assert owner.post(f"{base}/withdraw").status_code == 422
    assert owner.post(f"{base}/restore").json()["state"] == "completed"
    again = owner.post(f"{base}/reingest")
    assert (again.status_code, again.json()["state"], again.json()["rework"]) == (202, "completed", "queued")
    assert worker.work()
    dry = owner.post("/api/v1/queue/reingest", json={"dry_run": True}).json()
    assert dry == {
        "documents": [document_id],
        "embedder": Hashes.fingerprint,
        "is_new_embedder": False,
        "is_queued": False,
    }
    assert owner.post("/api/v1/queue/reingest").json()["is_queued"] is True
    assert owner.get("/api/v1/queue").json()["rereading"] == 1
    assert worker.work()
    assert owner.delete(base).json() == {"deleted": [document_id]}
    history = owner.get(f"{base}/history").json()["history"]
    assert [one["change"] for one in history] == [
        *("added", "queued", "processing", "completed", "withdrawn", "completed"),
        *("reread queued", "rereading", "reread") * 2,
        "erased",
    ]
    assert {one["by"] for one in history} == {"web", worker.name, "owner"}
    assert app.verify().problems == ()


def test_two_operators_who_edit_one_document_notice_each_other(owner: httpx.Client, worker: Worker) -> None:
    document_id = sent(owner, IRON)
    assert worker.work()
    base = f"/api/v1/documents/{document_id}"
    seen = owner.get(base).json()["revision"]
    assert owner.patch(base, json={"tags": ["iron"], "revision": seen}).status_code == 200
    for answer in (
        owner.patch(base, json={"tags": ["other"], "revision": seen}),
        owner.post(f"{base}/withdraw", json={"revision": seen}),
        owner.post(f"{base}/reingest", json={"revision": seen}),
    ):
        assert (answer.status_code, answer.json()["kind"]) == (409, "ChangedMeanwhile")
        assert "Reload it" in answer.json()["detail"]
    now = owner.get(base).json()
    assert (now["tags"], now["state"], now["rework"]) == (["iron"], "completed", None)
    assert owner.post(f"{base}/withdraw", json={"revision": now["revision"]}).status_code == 200


def test_what_could_not_be_read_is_tried_again_on_request(owner: httpx.Client, worker: Worker) -> None:
    document_id = sent(owner, BROKEN)
    assert worker.work()
    base = f"/api/v1/documents/{document_id}"
    failed = owner.get(f"{base}/status").json()
    assert (failed["state"], "damaged" in failed["error"]) == ("failed", True)
    assert owner.post(f"{base}/retry").json()["state"] == "queued"
    assert owner.post(f"{base}/reingest").status_code == 422


def test_only_those_who_may_change_a_document_do(app: App, owner: httpx.Client, worker: Worker) -> None:
    document_id = sent(owner, IRON)
    assert worker.work()
    tenants = {"reader": "local", "editor": "local", "admin": "another"}
    site = create_app(app, token=TOKEN)
    for role, tenant in tenants.items():
        user = app.people.add(
            tenant=tenant, email=f"{role}@x.example", name="", role=Role(role), tags=("lung",), password=PASSWORD
        )
        _, key = app.people.add_key(user.id, tenant=tenant, name="tests")
        client = TestClient(site, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"})
        base = f"/api/v1/documents/{document_id}"
        expected = 404 if tenant == "another" else 403
        deeds = [client.post(f"{base}/{deed}") for deed in ("withdraw", "restore", "retry", "reingest")]
        assert [answer.status_code for answer in deeds] == [expected] * 4, role
        if role == "admin":
            assert client.get(f"{base}/history").status_code == 404
            assert client.get("/api/v1/queue").json()["states"]["completed"] == 0
        else:
            assert client.post("/api/v1/queue/reingest").status_code == 403
    assert owner.get(f"/api/v1/documents/{document_id}").json()["state"] == "completed"


Caller = Callable[..., httpx.Client]


@pytest.fixture
def called(app: App) -> Caller:
    """A client with the key of a user of this role, tags and tenant."""
    site = create_app(app, token=TOKEN)

    def client(role: Role, *tags: str, tenant: str = "local") -> httpx.Client:
        user = app.people.add(tenant=tenant, email=f"{role}@{tenant}.example", name="", role=role, tags=tags)
        _, key = app.people.add_key(user.id, tenant=tenant, name="tests")
        return TestClient(site, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"})

    return client


def test_an_editor_replaces_no_version_that_was_taken_from_them_meanwhile(
    app: App, owner: httpx.Client, worker: Worker, called: Caller
) -> None:
    editor = called(Role.EDITOR, "lung")
    first = sent(owner, IRON, tags="lung")
    assert worker.work()
    next_one = {"files": ("iron.md", b"# Iron\n\nTake 100 mg with water.")}
    second = sent(editor, next_one, tags="lung", replaces=first)
    owner.patch(f"/api/v1/documents/{first}", json={"tags": ["secret"]})
    assert worker.work(), "it was theirs when they sent it, and is no more"
    failed = editor.get(f"/api/v1/documents/{second}/status").json()
    assert (failed["state"], "given other tags" in failed["error"]) == ("failed", True)
    assert editor.post(f"/api/v1/documents/{second}/retry").status_code == 403
    wish = {"action": "ingest", "documents": [second]}
    (outcome,) = editor.post("/api/v1/admin/documents/actions", json=wish).json()["outcomes"]
    assert (outcome["is_done"], "Ask an administrator" in outcome["detail"]) == (False, True)
    assert not worker.work()
    assert owner.get(f"/api/v1/documents/{first}").json()["is_current"] is True
    (outcome,) = owner.post("/api/v1/admin/documents/actions", json=wish).json()["outcomes"]
    assert (outcome["is_done"], worker.work()) == (True, True)
    assert owner.get(f"/api/v1/documents/{first}").json()["state"] == "superseded"


def test_an_administrator_of_another_tenant_learns_and_changes_nothing_of_this_one(
    app: App, owner: httpx.Client, worker: Worker, called: Caller
) -> None:
    document_id = sent(owner, IRON)
    assert worker.work()
    app.library.beat("machine-17", Hashes.fingerprint, done=41)
    other = called(Role.ADMIN, tenant="another")
    theirs = app.library.enqueue(
        Source(b"# Zinc\n\nTake 10 mg.", "zinc.md"), filing=Filing(), scope=Scope.owner("another")
    )
    assert app.library.claim("machine-17") is not None
    (told,) = owner.get("/api/v1/queue").json()["workers"]
    assert (told["name"], told["is_reading"], told["document_id"]) == ("machine-17", True, None), "it is another's"
    page = owner.get("/admin/queue").text
    assert ("machine-17" in page, "another organisation’s" in page, theirs.id in page) == (True, True, False)
    app.library.put_back(theirs.id, "machine-17")
    assert worker.work()
    assert other.get("/api/v1/queue").json()["workers"] == []
    page = other.get("/admin/queue").text
    assert ("machine-17" in page, document_id in page) == (False, False)
    assert other.post("/api/v1/queue/reingest").json()["documents"] == [theirs.id]
    assert worker.work()

    class Other(Hashes):
        fingerprint = "other:8"

    app.__dict__["embedder"] = Other()
    for wish in ({"dry_run": True}, {}):
        refused = other.post("/api/v1/queue/reingest", json=wish)
        assert (
            refused.status_code,
            "every organisation's documents" in refused.json()["detail"],
            document_id in refused.text,
        ) == (
            403,
            True,
            False,
        )
    assert app.library.entry(document_id, Scope.owner("local")).rework is None
    assert owner.post("/api/v1/queue/reingest").json()["documents"] == [document_id]
    assert app.library.entry(theirs.id, Scope.owner("another")).rework == "queued", "their vectors change too"
    assert app.library.history(theirs.id, Scope.owner("another"))[-1].by == SYSTEM


def test_an_upload_is_refused_at_once_where_this_server_could_not_read_it(app: App, owner: httpx.Client) -> None:
    document_id = sent(owner, IRON)
    assert Worker(app.library, app.reader).work()

    class Other(Hashes):
        fingerprint = "other:8"

    app.__dict__["embedder"] = Other()
    refused = owner.post("/api/v1/documents", files={"files": ("zinc.md", b"# Zinc")})
    assert (refused.status_code, refused.json()["kind"]) == (409, "EmbedderMismatch")
    assert "citewell evidence reingest" in refused.json()["detail"]
    assert [entry.id for entry in app.entries()] == [document_id]
