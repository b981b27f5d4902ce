"""The trail of access: what each person opened, searched, exported or administered, and what was refused them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from citewell.api.app import API, DOORS, PAGES, create_app
from citewell.api.server_state import ServerState
from citewell.api.trail import action_of
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Filing, Role, Scope, Source

TOKEN = "a-token-for-tests"
PASSWORD = "a long enough password"
NOWHERE = "550e8400-e29b-41d4-a716-446655440000"


class Idle:
    """A worker that is never there."""

    def nudge(self) -> None:
        pass


Opened = Callable[..., App]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    monkeypatch.setattr(ServerState, "worker", lambda _site: Idle())
    made: list[App] = []

    def open_app(**settings: Any) -> App:
        made.append(build(Settings(home=tmp_path / "home", tenant="local", **settings)))
        return made[-1]

    yield open_app
    for app in made:
        app.close()


@pytest.fixture
def app(opened: Opened) -> App:
    return opened()


Knock = Callable[..., httpx.Client]


@pytest.fixture
def knock(app: App) -> Knock:
    site = create_app(app, token=TOKEN)

    def client(name: str, role: Role, *tags: str, tenant: str = "local") -> httpx.Client:
        email = f"{name}@{tenant}.example"
        user = app.people.add(tenant=tenant, email=email, name=name, role=role, tags=tags, password=PASSWORD)
        headers = {"Authorization": f"Bearer {app.people.add_key(user.id, tenant=tenant, name='tests')[1]}"}
        made = TestClient(site, base_url="http://127.0.0.1", headers=headers, follow_redirects=False)
        made.user_id = user.id  # type: ignore[attr-defined]
        return made

    return client


def put(app: App, name: str, *tags: str) -> str:
    filing = Filing(tags=frozenset(tags) or None)
    return app.library.enqueue(Source(name.encode(), name), filing=filing, scope=Scope.owner("local")).id


def told(boss: httpx.Client, **sought: Any) -> list[tuple[str, str, str]]:
    """Action, object and outcome, oldest first."""
    records = boss.get("/api/v1/trail", params=sought).json()["records"]
    return [(one["action"], one["object_id"], one["outcome"]) for one in reversed(records)]


def test_who_opened_searched_and_exported_what_is_on_the_trail(app: App, knock: Knock) -> None:
    boss, ann = knock("boss", Role.ADMIN), knock("ann", Role.EDITOR, "lung")
    mine, theirs = put(app, "mine.txt", "lung"), put(app, "theirs.txt", "heart")
    ann.get("/api/v1/search", params={"q": "secret words of a question"})
    ann.get(f"/api/v1/documents/{mine}")
    ann.get(f"/documents/{mine}")
    ann.get(f"/api/v1/documents/{mine}/file")
    ann.get(f"/api/v1/documents/{theirs}")
    ann.get(f"/api/v1/documents/{NOWHERE}")
    ann.get("/api/v1/documents/mrs-smith-has-cancer")
    ann.get("/api/v1/users")
    ann.delete(f"/api/v1/documents/{mine}")
    ann.get("/api/v1/health")
    found = told(boss, user=ann.user_id)  # type: ignore[attr-defined]
    hashed = found[5][1]
    assert found == [
        ("search.search", "", "done"),
        ("document.open", mine, "done"),
        ("document.export", mine, "done"),
        ("document.open", theirs, "refused"),
        ("document.open", NOWHERE, "refused"),
        ("document.open", hashed, "refused"),
        ("user.list", "", "refused"),
        ("document.delete", mine, "done"),
    ]
    assert hashed.startswith("h")
    assert ("document.delete", mine, "done") in told(boss, object=mine)
    exported = boss.get("/api/v1/trail/export").text
    assert [json.loads(line)["number"] for line in exported.splitlines()] == list(range(1, exported.count("\n") + 1))
    kept = b"".join(path.read_bytes() for path in app.settings.home.iterdir() if path.is_file())
    for words in ("secret words", "mrs-smith"):
        assert words not in exported
        assert words.encode() not in kept
    assert boss.get("/api/v1/trail/proof").json()["ok"] is True


def test_administration_is_on_the_trail_with_what_was_changed(app: App, knock: Knock) -> None:
    boss, ann = knock("boss", Role.ADMIN), knock("ann", Role.MEMBER)
    eve = boss.post("/api/v1/users", json={"email": "eve@local.example", "password": PASSWORD}).json()["id"]
    boss.patch(f"/api/v1/users/{eve}", json={"role": "admin", "password": "another long password"})
    boss.patch(f"/api/v1/users/{eve}", json={"is_active": False})
    key = boss.post("/api/v1/keys", json={"name": "k"}).json()["id"]
    boss.post(f"/api/v1/users/{eve}/keys", json={"name": "k"})
    boss.delete(f"/api/v1/keys/{key}")
    ann.patch(f"/api/v1/users/{eve}", json={"role": "reader"})
    assert told(boss, user=boss.user_id, limit=50) == [  # type: ignore[attr-defined]
        ("user.add", eve, "done"),
        ("user.role.admin", eve, "done"),
        ("user.password", eve, "done"),
        ("user.disable", eve, "done"),
        ("key.add", key, "done"),
        ("user.change", eve, "refused"),
        ("key.delete", key, "done"),
    ]
    assert told(boss, user=ann.user_id) == [("user.change", eve, "refused")]  # type: ignore[attr-defined]


def test_sign_ins_good_and_bad_are_on_the_trail(app: App, knock: Knock) -> None:
    boss, ann = knock("boss", Role.ADMIN), knock("ann", Role.MEMBER)
    form = {"email": "ann@local.example", "password": PASSWORD}
    ann.post("/sign-in", data={**form, "password": "guess"})
    ann.post("/sign-in", data={**form, "email": "nobody@local.example"})
    ann.post("/sign-in", data=form)
    ann.get("/", params={"token": "guess"})
    ann.get("/", params={"token": TOKEN})
    ann_id = ann.user_id  # type: ignore[attr-defined]
    records = boss.get("/api/v1/trail", params={"action": "session"}).json()["records"]
    found = [(one["user_id"], one["way"], one["outcome"]) for one in reversed(records)]
    assert found == [
        (ann_id, "session", "refused"),
        ("", "session", "refused"),
        (ann_id, "session", "done"),
        ("", "link", "refused"),
        ("owner", "link", "done"),
    ]
    assert "nobody@" not in json.dumps(records)


def test_only_administrators_of_the_tenant_read_its_trail(app: App, knock: Knock) -> None:
    boss, far = knock("boss", Role.ADMIN), knock("far", Role.ADMIN, tenant="other")
    document = put(app, "a.txt")
    boss.get(f"/api/v1/documents/{document}")
    for path in ("/api/v1/trail", "/api/v1/trail/export", "/api/v1/trail/proof", "/admin/trail"):
        assert document not in far.get(path).text
        for role in (Role.READER, Role.MEMBER, Role.EDITOR):
            assert knock(f"{role}{path.count('/')}{len(path)}", role).get(path).status_code == 403
    assert document in boss.get("/admin/trail").text
    assert "the trail is intact" in boss.get("/admin/trail?proof=1").text


TAMPERINGS = {
    "another person": "UPDATE trail SET user_id = 'x' WHERE number = 2",
    "another object": "UPDATE trail SET object_id = 'x' WHERE number = 2",
    "another outcome": "UPDATE trail SET outcome = 'refused' WHERE number = 1",
    "one gone": "DELETE FROM trail WHERE number = 2",
    "the last gone": "DELETE FROM trail WHERE number = 3",
    "all gone": "DELETE FROM trail",
    "all and the end gone": "DELETE FROM trail; DELETE FROM trail_heads",
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_with_the_trail_is_told(app: App, knock: Knock, name: str) -> None:
    boss = knock("boss", Role.ADMIN)
    for number in range(3):
        boss.get(f"/api/v1/documents/{put(app, f'{number}.txt')}")
    assert boss.get("/api/v1/trail/proof").json() == {
        "ok": True,
        "records": 3,
        "head": boss.get("/api/v1/trail/proof").json()["head"],
        "problems": [],
    }
    with app.library.engine.begin() as connection:
        for statement in TAMPERINGS[name].split("; "):
            connection.execute(text(statement))
    assert boss.get("/api/v1/trail/proof").json()["problems"]


def test_every_route_about_documents_and_people_is_named_on_the_trail() -> None:
    named = {
        f"{method} {route.path}": action_of(method, route.path)
        for part in (*API, *DOORS, *PAGES)
        for route in part.router.routes
        for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
    }
    silent = {route for route, action in named.items() if action is None}
    changing = {route for route in silent if not route.startswith("GET")}
    assert {route.split()[1] for route in changing} <= {
        "/sign-in",
        "/sign-in/code",
        "/audit/proof",
        "/guidelines/refresh",
        "/api/v1/guidelines/{document_id}/refresh",
        "/api/v1/guidelines/related",
    }
    shown = {route for route in silent if "{" in route}
    ends = ("/row", "/status", "/progress", "/boxes", "/related", "/diff", "/models/{name}")
    assert all(route.endswith((*ends, "/refresh")) for route in shown)
    assert named["GET /consult/{consult_id}"] == "consult.open"
    assert named["GET /api/v1/conversations/{conversation_id}"] == "conversation.open"
    assert named["GET /records/{vault}"] == "record.open"
    assert named["GET /api/v1/records/{vault}/export"] == "record.export"


def test_a_library_that_takes_no_record_for_a_while_still_answers(
    app: App, knock: Knock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.api.trail.WAIT_S", 0.05)
    boss = knock("boss", Role.ADMIN)
    documents = [put(app, f"{number}.txt") for number in range(3)]
    keep, is_broken = app.trail.keep, threading.Event()
    is_broken.set()

    def failing(events: Any) -> None:
        if is_broken.is_set():
            raise OSError
        keep(events)

    monkeypatch.setattr(app.trail, "keep", failing)
    for document in documents:
        assert boss.get(f"/api/v1/documents/{document}").status_code == 200
    is_broken.clear()
    boss.app.state.site.recorder.stop()  # type: ignore[attr-defined]
    opened_then = [object_id for action, object_id, _ in told(boss) if action == "document.open"]
    assert opened_then == documents


# ----------------------------------------------------------------------------------------------------------- outside


def test_the_trail_goes_to_a_file_by_which_a_library_that_was_set_back_is_told(
    opened: Opened, tmp_path: Path, knock: Knock
) -> None:
    from typer.testing import CliRunner

    from citewell.cli.commands import app as cli

    home, outside = tmp_path / "home", tmp_path / "outside.jsonl"
    sinks = json.dumps([f"file:{outside}"])

    def run(*words: str) -> Any:
        environment = {"CITEWELL_TRAIL_TO": sinks, "CITEWELL_TENANT": "local"}
        return CliRunner().invoke(cli, ["--home", str(home), *words], env=environment)

    for number in range(3):
        assert run("users", "add", f"u{number}@local.example").exit_code == 0
    assert run("audit", "verify", "--against", str(outside)).exit_code == 0
    lines = [json.loads(line) for line in outside.read_text().splitlines()]
    assert [line["action"] for line in lines if line["log"] == "trail"][:3] == ["users.add"] * 3
    # somebody with the machine puts everything back, notes and all, and the trail grows again
    with opened().library.engine.begin() as connection:
        connection.execute(text("DELETE FROM trail WHERE number >= 2"))
        connection.execute(text("DELETE FROM trail_heads"))
    (home / "audit.head").unlink()
    for number in range(3, 7):
        run("users", "add", f"u{number}@local.example")
    told = run("audit", "verify", "--against", str(outside))
    assert told.exit_code == 1
    assert "the head you gave says record 2" in told.output
    assert "audit.head beside the library was missing or damaged" in told.output


@pytest.mark.parametrize("scheme", ["udp", "tcp"])
def test_the_trail_goes_to_a_syslog_server(opened: Opened, scheme: str) -> None:
    kind = socket.SOCK_DGRAM if scheme == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        if scheme == "tcp":
            server.listen()
        app = opened(trail_to=(f"{scheme}://127.0.0.1:{server.getsockname()[1]}",))
        client = TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1")
        client.get("/", params={"token": TOKEN})
        if scheme == "udp":
            received = server.recv(65_536)
        else:
            with server.accept()[0] as connection:
                received = connection.recv(65_536)
    length, _, rest = received.partition(b" ")
    message = received if scheme == "udp" else rest
    assert scheme == "udp" or int(length) == len(message)
    head, _, body = message.decode().partition(" - ")
    assert head.startswith("<110>1 20")
    assert head.split()[3] == "citewell"
    told = json.loads(body)
    assert (told["log"], told["action"], told["user_id"], told["number"]) == ("trail", "session.open", "owner", 1)
