"""Users see what is theirs and do what their role includes; what they may not see is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from citewell.api.app import API, DOORS, PAGES, create_app
from citewell.api.guard import FROM_ELSEWHERE
from citewell.api.routes import status
from citewell.api.server_state import ServerState
from citewell.api.vault_sessions import owner_only
from citewell.api.visitor import MAY, Visitor, must
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import InputError, ScopeRefused
from citewell.ingest.library_changes import unwatched
from citewell.ingest.retries import RETRIES
from citewell.types import EVERY, Filing, Role, Scope, Source

TOKEN = "a-token-for-tests"
PASSWORD = "a long enough password"


class Idle:
    """A worker that is never there."""

    def nudge(self) -> None:
        pass


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    monkeypatch.setattr(ServerState, "worker", lambda _site: Idle())
    with build(Settings(home=tmp_path)) as app:
        yield app


Knock = Callable[..., httpx.Client]


@pytest.fixture
def knock(app: App) -> Knock:
    """A client for a user of this role, tenant and tags, by a key of theirs."""
    site = create_app(app, token=TOKEN)

    def client(role: Role, *tags: str, tenant: str = "local") -> httpx.Client:
        email = f"{role}-{'-'.join(tags)}@{tenant}.example"
        user = app.people.add(tenant=tenant, email=email, name="", role=role, tags=tags, password=PASSWORD)
        _, key = app.people.add_key(user.id, tenant=tenant, name="tests")
        headers = {"Authorization": f"Bearer {key}"}
        return TestClient(site, base_url="http://127.0.0.1", headers=headers, follow_redirects=False)

    return client


def put(app: App, name: str, *tags: str, tenant: str = "local", subject: str | None = None) -> str:
    filing = Filing(tags=frozenset(tags) or None, subject=subject)
    return app.library.enqueue(Source(name.encode(), name), filing=filing, scope=Scope.owner(tenant)).id


def paths(document_id: str) -> list[str]:
    return [
        f"/api/v1/documents/{document_id}",
        f"/api/v1/documents/{document_id}/file",
        f"/api/v1/documents/{document_id}/text",
        f"/api/v1/documents/{document_id}/boxes?start=0&end=1",
        f"/api/v1/documents/{document_id}/pages/1.png",
        f"/documents/{document_id}",
        f"/documents/{document_id}/row",
        f"/documents/{document_id}/source",
        f"/documents/{document_id}/panel",
    ]


def test_a_user_sees_public_documents_and_those_of_their_tags_only(app: App, knock: Knock) -> None:
    mine, public = put(app, "mine.txt", "lung"), put(app, "all.txt")
    others = [
        put(app, "heart.txt", "heart"),
        put(app, "far.txt", tenant="other"),
        put(app, "far-lung.txt", "lung", tenant="other"),
        put(app, "person.txt", "lung", subject="p-1"),
    ]
    client = knock(Role.EDITOR, "lung")
    listed = {one["document_id"] for one in client.get("/api/v1/documents").json()["documents"]}
    assert listed == {mine, public}
    assert client.get(f"/api/v1/documents/{mine}/file").content == b"mine.txt"
    library = client.get("/library").text
    assert all(name not in library for name in ("heart.txt", "far", "person.txt"))
    for document_id in [*others, "550e8400-e29b-41d4-a716-446655440000"]:
        answers = [client.get(path) for path in paths(document_id)]
        answers += [
            client.delete(f"/api/v1/documents/{document_id}"),
            client.patch(f"/api/v1/documents/{document_id}", json={"tags": ["lung"]}),
            client.post(f"/documents/{document_id}/retry"),
            client.get("/documents/delete", params={"id": document_id}),
            client.post("/documents/delete", data={"id": document_id}),
            client.post(f"/documents/{document_id}/version", files={"files": ("a.txt", b"words")}),
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.json()["detail"] for answer in answers if "json" in answer.headers["content-type"]}) <= 2
    assert len(app.entries(Scope.owner("local"))) == 4
    assert len(app.entries(Scope.owner("other"))) == 2


def test_an_administrator_sees_all_of_their_tenant_and_nothing_of_another(app: App, knock: Knock) -> None:
    mine = {put(app, "heart.txt", "heart"), put(app, "person.txt", subject="p-1")}
    put(app, "far.txt", tenant="other")
    listed = knock(Role.ADMIN).get("/api/v1/documents").json()["documents"]
    assert {one["document_id"] for one in listed} == mine
    assert [one["name"] for one in knock(Role.ADMIN, tenant="other").get("/api/v1/documents").json()["documents"]] == [
        "far.txt"
    ]


WANTED = {
    Role.READER: {"read"},
    Role.MEMBER: {"read", "ask"},
    Role.EDITOR: {"read", "ask", "change"},
    Role.ADMIN: {"read", "ask", "change", "govern"},
}


def test_the_table_of_roles_says_what_was_agreed() -> None:
    assert {role: set(deeds) for role, deeds in MAY.items()} == WANTED


TRIES = [
    ("read", "GET", "/api/v1/documents", {}),
    ("read", "GET", "/search", {}),
    ("read", "GET", "/library", {}),
    ("ask", "POST", "/api/v1/ask", {"json": {"question": " "}}),
    ("ask", "POST", "/api/v1/check", {"json": {"text": " "}}),
    ("ask", "GET", "/check", {}),
    ("ask", "GET", "/conversations", {}),
    ("change", "POST", "/api/v1/documents", {"files": {"files": ("a.txt", b"words")}, "data": {"tags": "lung"}}),
    ("change", "POST", "/library/samples", {}),
    ("govern", "GET", "/metrics", {}),
]


@pytest.mark.parametrize("role", list(Role))
def test_a_role_lets_do_what_it_includes_and_nothing_else(knock: Knock, role: Role) -> None:
    client = knock(role, "lung")
    refused = {
        (deed, path)
        for deed, method, path, body in TRIES
        if client.request(method, path, **body).status_code == 403  # type: ignore[arg-type]
        and "Your role" in client.request(method, path, **body).text  # type: ignore[arg-type]
    }
    assert refused == {(deed, path) for deed, _, path, _ in TRIES if deed not in WANTED[role]}


def gone_through(dependant: Dependant) -> Iterator[str]:
    """The names of all that a request goes through before its route."""
    for dependency in dependant.dependencies:
        if dependency.call:
            yield dependency.call.__name__
        yield from gone_through(dependency)


def test_every_route_says_which_role_it_asks_for() -> None:
    gates = {must(deed).__name__ for deed in WANTED[Role.ADMIN]} | {owner_only.__name__}
    open_to_all = {"/api/v1/health", "/api/v1/health/live", "/api/v1/health/ready", *FROM_ELSEWHERE}
    routes = [route for part in (*API, *DOORS, *PAGES) for route in part.router.routes] + status.exposition.routes
    for route in routes:
        assert isinstance(route, APIRoute)
        asked = set(gone_through(route.dependant))
        assert bool(asked & gates) != (route.path in open_to_all), route.path


def test_someone_who_may_only_read_starts_at_the_search(knock: Knock) -> None:
    answer = knock(Role.READER).get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/search")
    answer = knock(Role.MEMBER).get("/ask")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


# ------------------------------------------------------------------------------------------------------- filing


def editor(*tags: str) -> Visitor:
    return Visitor("u", "local", "U", None, Role.EDITOR, frozenset(tags), "key", "")


def test_an_editor_files_under_tags_they_hold_and_leaves_the_others_alone() -> None:
    mine = editor("lung", "heart")
    assert mine.filed(frozenset({"LUNG"}), before=None) == {"lung"}
    assert mine.filed(None, before=frozenset({"lung"})) is None
    assert mine.filed(frozenset({"lung"}), before=frozenset({"heart"})) == {"lung"}
    for tags, before in (
        (None, None),
        (None, {"public"}),
        (None, {"lung", "bone"}),
        ({"lung", "bone"}, {"heart", "bone"}),
        ({"lung", "public"}, {"lung", "public"}),
        ({"public"}, None),
        ({"bone"}, None),
        ({"lung"}, {"lung", "bone"}),
        ({"lung", "public"}, {"lung"}),
    ):
        with pytest.raises(ScopeRefused):
            mine.filed(tags and frozenset(tags), before=before and frozenset(before))
    with pytest.raises(ScopeRefused):
        mine.filed(frozenset({"lung"}), before=None, subject="p-1")
    with pytest.raises(InputError):
        mine.filed(frozenset({EVERY}), before=None)


def test_what_an_editor_uploads_is_not_public(app: App, knock: Knock) -> None:
    client = knock(Role.EDITOR, "lung")
    assert client.post("/api/v1/documents", files={"files": ("a.txt", b"a")}).status_code == 403
    sent = client.post("/api/v1/documents", data={"tags": "lung"}, files={"files": ("a.txt", b"a")})
    assert sent.json()["documents"][0]["tags"] == ["lung"]
    for tags in (["public"], ["heart"], ["lung", "public"]):
        answer = client.patch(f"/api/v1/documents/{sent.json()['documents'][0]['document_id']}", json={"tags": tags})
        assert (answer.status_code, answer.json()["kind"]) == (403, "ScopeRefused")


def test_who_may_change_a_document_is_told_by_all_of_its_tags() -> None:
    mine = editor("lung", "heart", "public")
    assert mine.may_change({"lung"})
    assert mine.may_change({"lung", "heart"})
    assert not any(mine.may_change(tags) for tags in ((), {"public"}, {"lung", "public"}, {"lung", "bone"}))


def test_reserved_tags_are_an_administrators_alone_to_file_under(app: App, knock: Knock) -> None:
    """Also where an editor holds them."""
    client, admin = knock(Role.EDITOR, "lung", "public", "system"), knock(Role.ADMIN)
    for tags in ("system", "System", "lung, system", "public"):
        sent = client.post("/api/v1/documents", data={"tags": tags}, files={"files": ("a.txt", b"a")})
        assert (sent.status_code, sent.json()["kind"]) == (403, "ScopeRefused")
        assert "Only an administrator can use" in sent.json()["detail"]
    assert app.entries(Scope.owner("local")) == []
    sent = admin.post("/api/v1/documents", data={"tags": "System"}, files={"files": ("a.txt", b"a")})
    (document,) = sent.json()["documents"]
    assert document["tags"] == ["system"]
    path = f"/api/v1/documents/{document['document_id']}"
    assert client.get(path).status_code == 200
    assert client.patch(path, json={"tags": ["lung"]}).status_code == 403
    assert client.delete(path).status_code == 403
    assert admin.patch(path, json={"tags": ["lung"]}).json()["tags"] == ["lung"]
    assert client.patch(path, json={"tags": ["lung", "system"]}).status_code == 403
    assert admin.get(path).json()["tags"] == ["lung"]


def test_deleting_twice_is_no_error_for_who_did_it_and_tells_nobody_else(app: App, knock: Knock) -> None:
    mine, other, admin = knock(Role.EDITOR, "lung"), knock(Role.EDITOR, "heart"), knock(Role.ADMIN)
    far = knock(Role.ADMIN, tenant="elsewhere")
    entry = app.add_source(Source(b"Some words.", "a.txt"), filing=Filing(tags=frozenset({"lung"}))).entry
    path = f"/api/v1/documents/{entry.id}"
    assert [client.delete(path).status_code for client in (other, far)] == [404, 404]
    assert mine.delete(path).json() == {"deleted": [entry.id]}
    for client in (mine, admin):
        again = client.delete(path)
        assert (again.status_code, again.json()) == (200, {"deleted": []})
    never = "/api/v1/documents/00000000-0000-0000-0000-000000000000"
    for client in (other, far):
        told = client.delete(path)
        assert (told.status_code, told.json()["kind"], told.json()["detail"]) == (
            404,
            client.delete(never).json()["kind"],
            client.delete(never).json()["detail"],
        )
    assert [client.delete(never).status_code for client in (mine, admin)] == [404, 404]
    assert not Visitor("u", "local", "U", None, Role.MEMBER, frozenset({"lung"}), "key", "").may_change({"lung"})
    assert Visitor.owner("local", way="link", csrf="").may_change({"public"})


def fail(app: App, document_id: str) -> None:
    """A worker takes the oldest document and cannot read it."""
    claim = app.library.claim("tests")
    assert claim is not None
    assert claim.document_id == document_id
    app.library.fail(document_id, "unreadable", "tests")


@pytest.mark.parametrize("tags", [(), ("lung", "heart")])
def test_an_editor_sees_but_does_not_change_what_is_not_all_theirs(
    app: App, knock: Knock, tags: tuple[str, ...]
) -> None:
    client = knock(Role.EDITOR, "lung")
    document_id = put(app, "all.txt", *tags)
    assert client.get(f"/api/v1/documents/{document_id}").status_code == 200
    sent = {"files": ("b.txt", b"other words")}
    answers = [
        client.delete(f"/api/v1/documents/{document_id}"),
        client.patch(f"/api/v1/documents/{document_id}", json={"journeys": ["nobody"]}),
        client.patch(f"/api/v1/documents/{document_id}", json={"tags": ["lung"]}),
        client.get("/documents/delete", params={"id": document_id}),
        client.post("/documents/delete", data={"id": document_id}),
        client.post(f"/documents/{document_id}/version", files=sent),
        client.post("/api/v1/documents", data={"tags": "lung", "replaces": document_id}, files=sent),
        client.post(
            "/api/v1/documents", data={"tags": "lung", "journeys": "nobody"}, files={"files": ("c.txt", b"all.txt")}
        ),
    ]
    fail(app, document_id)
    answers.append(client.post(f"/documents/{document_id}/retry"))
    assert [answer.status_code for answer in answers] == [403] * len(answers)
    assert all("Ask an administrator" in answer.text for answer in answers)
    (kept,) = app.entries(Scope.owner("local"))
    assert (kept.id, kept.tags, kept.journeys) == (document_id, tuple(sorted(tags)) or ("public",), ())
    assert "Delete…" not in client.get(f"/documents/{document_id}").text
    assert 'type="checkbox"' not in client.get("/library").text


def test_an_editor_changes_what_is_theirs(app: App, knock: Knock) -> None:
    client = knock(Role.EDITOR, "lung", "heart")
    first, second = put(app, "mine.txt", "lung"), put(app, "too.txt", "lung", "heart")
    assert client.patch(f"/api/v1/documents/{first}", json={"tags": ["heart"]}).json()["tags"] == ["heart"]
    sent = client.post(f"/documents/{second}/version", files={"files": ("b.txt", b"other words")})
    assert sent.headers["location"] == "/library?queued=1"
    fail(app, first)
    assert client.post(f"/documents/{first}/retry").headers["location"] == "/library?queued=1"
    ids = [entry.id for entry in app.entries(Scope.owner("local"))]
    assert 'type="checkbox"' in client.get("/library").text
    assert client.post("/documents/delete", data={"id": ids}).status_code == 303
    assert app.entries(Scope.owner("local")) == []


def test_an_editor_deletes_no_version_that_is_not_theirs(app: App, knock: Knock) -> None:
    client = knock(Role.EDITOR, "lung")
    with_public = app.add_source(Source(b"First words.", "a.txt"), filing=Filing()).entry
    lung = Filing(tags=frozenset({"lung"}), replaces=with_public.id)
    mine = app.add_source(Source(b"Second words.", "a.txt"), filing=lung).entry
    assert mine.lineage == with_public.lineage
    assert client.delete(f"/api/v1/documents/{mine.id}").status_code == 403
    public = Filing(tags=frozenset({"public"}), replaces=mine.id)
    later = app.add_source(Source(b"Third words.", "a.txt"), filing=public).entry
    sent = {"data": {"tags": "lung", "replaces": mine.id}, "files": {"files": ("b.txt", b"other")}}
    assert client.post("/api/v1/documents", **sent).status_code == 403
    assert {entry.id for entry in app.entries(Scope.owner("local"))} == {with_public.id, mine.id, later.id}


def test_the_name_and_title_of_a_public_document_do_not_retire_it(app: App, knock: Knock) -> None:
    source = Source(b"# Guide\n\nTake it with food.", "guide.md")
    public = app.add_source(source, filing=Filing(title="Guide")).entry
    client = knock(Role.EDITOR, "lung")
    for title in ({"title": "Guide"}, {}):
        words = f"# Guide\n\nTake it {len(title)} times.".encode()
        sent = client.post("/api/v1/documents", data={"tags": "lung", **title}, files={"files": ("guide.md", words)})
        assert sent.status_code == 202
        read_all(app)
    entries = {entry.id: entry for entry in app.entries(Scope.owner("local"))}
    assert entries[public.id].is_current
    assert sorted(entry.version for entry in entries.values()) == [1, 1, 2]


def read_all(app: App) -> None:
    """Read what is queued, as the worker does."""
    while (claim := app.library.claim("tests")) is not None:
        reading = app.reader.read(claim.source, chunking=None, watch=unwatched)
        assert app.library.complete(claim.document_id, reading, "tests") is not None


def test_no_scope_is_wider_than_its_visitor() -> None:
    mine = editor("lung")
    assert mine.scope(tags=["lung", "heart", EVERY]).tags == {"lung"}
    assert mine.scope(tags=["LUNG"]).tags == {"lung"}
    assert mine.scope(journey=EVERY).journey is None
    assert mine.whole == Scope("local", frozenset({"lung"}), EVERY, None)
    with pytest.raises(ScopeRefused):
        mine.scope(subject="p-1")


def test_only_who_runs_the_site_is_told_of_its_settings_and_what_cannot_heal_is_not_tried_again(
    app: App, knock: Knock
) -> None:
    editor, boss = knock(Role.EDITOR, "lung"), knock(Role.ADMIN)
    mine = put(app, "mine.txt", "lung")
    claim = app.library.claim("tests")
    assert claim is not None
    app.library.fail(mine, "It is too long. Split it and add the parts, or raise CITEWELL_MAX_CHARACTERS.", "tests")
    seen = [client.get(path).text for client in (editor, boss) for path in (f"/documents/{mine}", "/library")]
    assert ["Split it and add the parts" in page for page in seen] == [True] * 4
    assert ["CITEWELL_MAX_CHARACTERS" in page for page in seen] == [False, False, True, True]
    assert [f"/documents/{mine}/retry" in page for page in seen] == [False] * 4


def test_what_was_only_given_up_after_many_tries_may_be_tried_again(app: App, knock: Knock) -> None:
    editor, mine = knock(Role.EDITOR, "lung"), put(app, "mine.txt", "lung")
    for _ in range(RETRIES):
        assert app.library.claim("tests") is not None
        app.library.retry_later(mine, "The disk is full.", "tests", pause_s=0.0)
    assert app.library.claim("tests") is not None
    app.library.fail(mine, "The disk is full. It was tried 4 times.", "tests")
    assert f"/documents/{mine}/retry" in editor.get(f"/documents/{mine}").text


def test_an_editor_whose_file_is_too_large_is_told_to_split_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServerState, "worker", lambda _site: Idle())
    with build(Settings(home=tmp_path, max_file_mb=1)) as app:
        site, told = create_app(app, token=TOKEN), []
        for role in (Role.EDITOR, Role.ADMIN):
            user = app.people.add(tenant="local", email=f"{role}@x.example", name="", role=role, tags=["lung"])
            bearer = {"Authorization": f"Bearer {app.people.add_key(user.id, tenant='local', name='tests')[1]}"}
            client = TestClient(site, base_url="http://127.0.0.1", headers=bearer)
            sent = {"data": {"tags": "lung"}, "files": {"files": ("large.txt", b"x" * 1_100_000)}}
            told.append(client.post("/api/v1/documents", **sent).json()["detail"])
    begins = "The file is larger than the 1 MiB limit. Split it and add the parts"
    assert told == [f"{begins}.", f"{begins}, or raise CITEWELL_MAX_FILE_MB and start again."]
