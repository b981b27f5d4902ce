"""Journeys, conversations in them, and the admin pages over HTTP: by role, by tenant, and the same for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import event, insert, update
from starlette.testclient import TestClient

from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import document_tags, documents
from citewell.answer.cite import Marks
from citewell.api.app import API, create_app
from citewell.api.server_state import ServerState
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Filing, Role, Scope, Source

TOKEN = "a-token-for-tests"
CLINIC = Scope.owner("local")
BACK = "Back pain\n\nPeople with low back pain should stay active and avoid bed rest for more than two days."
GENERAL = "Pain relief\n\nIbuprofen 400 mg may be taken up to three times a day with food for pain."
REST = "Should people with low back pain rest in bed?"

Knock = Callable[..., httpx.Client]


class Idle:
    """A worker that is never there."""

    def nudge(self) -> None:
        pass


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    monkeypatch.setattr(ServerState, "worker", lambda _site: Idle())
    with build(Settings(home=tmp_path)) as made:
        yield made


@pytest.fixture
def knock(app: App) -> Knock:
    """A client for a user of this role, tenant and tags."""
    site = create_app(app, token=TOKEN)

    def client(role: Role, *tags: str, tenant: str = "local") -> httpx.Client:
        email = f"{role}-{'-'.join(tags)}@{tenant}.example"
        user = app.people.add(tenant=tenant, email=email, name="", role=role, tags=tags)
        _, key = app.people.add_key(user.id, tenant=tenant, name="tests")
        headers = {"Authorization": f"Bearer {key}"}
        return TestClient(site, base_url="http://127.0.0.1", headers=headers, follow_redirects=False)

    return client


def put(app: App, text: str, name: str, **filing: object) -> str:
    return app.add_source(Source(text.encode(), name), filing=Filing(**filing)).entry.id  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------------- journeys


def test_journeys_are_kept_over_the_api_and_a_second_editor_is_told(app: App, knock: Knock) -> None:
    admin = knock(Role.ADMIN)
    made = admin.post("/api/v1/journeys", json={"name": "Back pain", "description": "Adults"})
    assert (made.status_code, made.json()["slug"], made.json()["revision"]) == (201, "back-pain", 1)
    back = put(app, BACK, "back.txt")
    filed = admin.post("/api/v1/journeys/back-pain/assign", json={"documents": [back]}).json()
    assert filed == {"documents": [{"document_id": back, "journeys": ["back-pain"]}]}
    edit = {"name": "Low back pain", "slug": "spine", "revision": 1}
    assert admin.patch("/api/v1/journeys/back-pain", json=edit).json()["documents"] == 1
    late = admin.patch("/api/v1/journeys/spine", json={"name": "Backs", "revision": 1})
    assert (late.status_code, late.json()["kind"]) == (409, "ChangedMeanwhile")
    page = admin.post("/admin/journeys/spine", data={"name": "Backs", "slug": "spine", "revision": "1"})
    assert (page.status_code, "You had entered: Backs; spine" in page.text) == (409, True)
    assert page.text.count("<details open>") == 1, "the form of this journey, and no other"
    assert admin.get("/api/v1/journeys/back-pain").json()["slug"] == "spine"  # as it was written down once
    refused = admin.delete("/api/v1/journeys/spine")
    assert (refused.status_code, "Choose where to move them" in refused.json()["detail"]) == (409, True)
    gone = admin.delete("/api/v1/journeys/spine", params={"universal": True})
    assert gone.json() == {"removed": "spine", "documents": 1}
    for path in ("/api/v1/journeys/spine", "/api/v1/journeys/hip"):
        assert admin.get(path).status_code == 404
    assert admin.post("/api/v1/journeys", json={"name": "x", "slug": "a b"}).status_code == 422


@pytest.mark.parametrize("role", list(Role))
def test_each_role_does_what_it_includes(app: App, knock: Knock, role: Role) -> None:
    app.journeys.add("Back pain", scope=CLINIC, by="owner")
    client = knock(role, "lung")
    mine = put(app, BACK, "back.txt", tags=frozenset({"lung"}))
    foreign = put(app, GENERAL, "all.txt")
    asked = {"question": REST, "journey": "back-pain"}
    assign = "/api/v1/journeys/back-pain/assign"
    tries = {
        "read": client.get("/api/v1/journeys").status_code,
        "ask": client.post("/api/v1/evidence/ask", json=asked).status_code,
        "page": client.get("/evidence?journey=back-pain").status_code,
        "assign": client.post(assign, json={"documents": [mine]}).status_code,
        "foreign": client.post(assign, json={"documents": [foreign]}).status_code,
        "documents": client.get("/admin/documents").status_code,
        "withdraw": client.post(
            "/api/v1/admin/documents/actions", json={"action": "withdraw", "documents": [foreign]}
        ).status_code,
        "name": client.post("/api/v1/journeys", json={"name": "Hip pain"}).status_code,
        "audit": client.get("/api/v1/admin/audit").status_code,
    }
    may = {
        Role.READER: {"read"},
        Role.MEMBER: {"read", "ask", "page"},
        Role.EDITOR: {"read", "ask", "page", "assign", "documents"},
        Role.ADMIN: set(tries),
    }[role]
    assert {name for name, status in tries.items() if status < 300} == may
    assert {status for name, status in tries.items() if name not in may} <= {403}
    shown = client.get("/", follow_redirects=True).text
    assert ('href="/evidence?journey=back-pain"' in shown, "Admin" in shown) == ("ask" in may, "documents" in may)


MARKS = {
    "n": r"\[1\]",
    "alias": r"\[S1\]",
    "source_id": r"\[SourceId: [0-9a-f-]{36}:\d+\]",
    "source": r"\[Source 1\]",
    "doc": r"\[Doc: [0-9a-f-]{36}\]",
}


@pytest.mark.parametrize("marks", list(Marks))
@pytest.mark.parametrize("path", ["ask", "ask/stream", "evidence/ask", "evidence/ask/stream"])
def test_a_text_cites_as_it_was_asked_to_whole_and_as_a_stream(app: App, knock: Knock, path: str, marks: Marks) -> None:
    put(app, BACK, "back.txt")
    told = knock(Role.MEMBER).post(f"/api/v1/{path}", json={"question": REST, "marks": marks})
    answer = json.loads(told.text.rpartition("data: ")[2])
    assert answer["action"] in ("CITE", "QUALIFY")
    assert re.findall(r"\[[^\]]*\]", answer["text"])
    assert re.fullmatch(f"[^[]*{MARKS[marks]}(?:[^[]*{MARKS[marks]})*", answer["text"])
    assert answer["sentences"][0]["citations"] == [answer["citations"][0]["n"]] == [1]


def test_an_editor_moves_no_version_that_is_not_theirs_to_another_journey(app: App, knock: Knock) -> None:
    app.journeys.add("Back pain", scope=CLINIC, by="owner")
    filed = frozenset({"back-pain"})
    mine = put(app, BACK, "back.txt", tags=frozenset({"lung"}), journeys=filed)
    hidden = put(app, GENERAL, "back.txt", tags=frozenset({"secret"}), journeys=filed, replaces=mine)
    editor = knock(Role.EDITOR, "lung")
    for deed in ("assign", "unassign"):
        refused = editor.post(f"/api/v1/journeys/back-pain/{deed}", json={"documents": [mine]})
        assert (refused.status_code, hidden in refused.text) == (403, False)
    entry = app.library.entry(hidden, CLINIC)
    assert (entry.journeys, entry.revision) == (("back-pain",), 0)
    assert knock(Role.ADMIN).post("/api/v1/journeys/back-pain/unassign", json={"documents": [mine]}).status_code == 200
    assert app.library.entry(hidden, CLINIC).journeys == ()


def test_whoever_names_an_id_does_not_learn_whether_a_hidden_document_has_it(app: App, knock: Knock) -> None:
    hidden, erased = put(app, BACK, "back.txt", tags=frozenset({"secret"})), put(app, GENERAL, "all.txt")
    app.delete(erased)
    client = knock(Role.MEMBER)
    for rest in ("source", "panel", "file", "pages/1.png"):
        told = [
            client.get(f"/evidence/in/universal/documents/{one}/{rest}")
            for one in (hidden, erased, "11111111-1111-4111-8111-111111111111")
        ]
        assert {(one.status_code, one.text) for one in told} == {(404, told[0].text)}


def test_no_tenant_sees_anothers_journeys_documents_or_conversations(app: App, knock: Knock) -> None:
    app.journeys.add("Back pain", scope=CLINIC, by="owner")
    back = put(app, BACK, "back.txt", journeys=frozenset({"back-pain"}))
    mine = knock(Role.ADMIN)
    talk = mine.post("/api/v1/evidence/ask", json={"question": REST, "journey": "back-pain"}).json()
    other = knock(Role.ADMIN, tenant="other")
    assert other.get("/api/v1/journeys").json() == {"journeys": []}
    assert other.get("/api/v1/admin/documents").json() == {"documents": [], "total": 0}
    assert "Back pain" not in other.get("/evidence").text + other.get("/admin/documents").text
    assert sum(other.get("/api/v1/queue").json()["states"].values()) == 0
    assert other.get("/api/v1/admin/audit").json()["records"] == []
    for method, path, body in (
        ("GET", f"/api/v1/evidence/conversations/{talk['conversation_id']}", None),
        ("GET", f"/evidence/in/back-pain/documents/{back}/panel?chunk=0", None),
        ("GET", f"/evidence/in/universal/documents/{back}/file", None),
        ("GET", f"/api/v1/admin/documents/{back}", None),
        ("GET", f"/api/v1/admin/documents/{back}/chunks", None),
        ("PATCH", f"/api/v1/admin/documents/{back}", {"title": "Mine"}),
        ("POST", "/api/v1/admin/documents/actions", {"action": "erase", "documents": [back]}),
        ("POST", "/api/v1/evidence/ask", {"question": REST, "journey": "back-pain"}),
        ("GET", f"/admin/documents/{back}", None),
    ):
        assert other.request(method, path, json=body).status_code == 404, path
    assert app.library.entry(back, CLINIC).is_current


# --------------------------------------------------------------------------------------------------- conversations


def test_a_turn_keeps_its_citations_and_their_links_honour_the_journey(app: App, knock: Knock) -> None:
    for name in ("Back pain", "Knee pain"):
        app.journeys.add(name, scope=CLINIC, by="owner")
    back = put(app, BACK, "back.txt", journeys=frozenset({"back-pain"}))
    client = knock(Role.MEMBER)
    stream = client.post("/api/v1/evidence/ask/stream", json={"question": REST, "journey": "back-pain"}).text
    assert re.findall(r"event: (\w+)", stream) == ["started", *["working"] * 4, "sentence", "done"]
    (listed,) = client.get("/api/v1/evidence/conversations").json()["conversations"]
    assert (listed["journey"], listed["title"]) == ("back-pain", REST)
    address = f"/api/v1/evidence/conversations/{listed['id']}"
    told = client.get(address).json()
    (turn,) = told["turns"]
    (cited,) = turn["citations"]
    assert (cited["index"], cited["document_id"], cited["standing"], cited["title"]) == (1, back, "open", "Back pain")
    assert cited["excerpt"] == BACK.splitlines()[-1] == turn["text"].removesuffix(" [1]")
    page = client.get(cited["url"].partition("#")[0])
    assert (
        page.status_code,
        'id="marked"' in page.text,
        f"/evidence/in/back-pain/documents/{back}/file" in page.text,
    ) == (
        200,
        True,
        True,
    )
    for journey in ("knee-pain", "universal"):
        for rest in ("source", "panel", "file", "pages/1.png"):
            shut = client.get(f"/evidence/in/{journey}/documents/{back}/{rest}")
            assert (shut.status_code, "no longer in this journey" in shut.text) == (404, True)
    app.library.withdraw(back, CLINIC, by="owner")
    (cited,) = client.get(address).json()["turns"][0]["citations"]
    assert (cited["standing"], cited["url"], "has since been withdrawn" in cited["note"]) == ("withdrawn", None, True)
    assert "has since been withdrawn" in client.get(f"/evidence/in/back-pain/documents/{back}/panel?chunk=0").text
    assert "has since been withdrawn" in client.get(f"/evidence/conversations/{listed['id']}").text
    assert knock(Role.MEMBER, "other").get(address).status_code == 404
    replayed = client.post(f"/api/v1/audit/{turn['answer_id']}/replay").json()
    assert replayed["is_same"] is True
    assert client.delete(address).json() == {"deleted": [listed["id"]]}
    assert client.get(address).status_code == 404


def test_without_a_script_a_question_is_answered_on_a_page_and_a_missing_journey_is_told(
    app: App, knock: Knock
) -> None:
    app.journeys.add("Back pain", scope=CLINIC, by="owner")
    put(app, BACK, "back.txt", journeys=frozenset({"back-pain"}))
    client = knock(Role.MEMBER)
    answer = client.post("/evidence/ask", data={"question": REST, "journey": "back-pain"})
    assert answer.status_code == 303
    page = client.get(answer.headers["location"].partition("#")[0]).text
    assert "avoid bed rest" in page
    assert 'data-panel="/evidence/in/back-pain/documents/' in page
    again = {"question": "And ibuprofen?", "conversation_id": page.partition('name="conversation_id" value="')[2][:36]}
    assert client.post("/evidence/ask", data=again).status_code == 303
    for answer in (
        client.post("/evidence/ask", data={"question": REST, "journey": "hip"}),
        client.get("/evidence", params={"journey": "hip"}),
        client.post("/api/v1/evidence/ask", json={"question": REST, "journey": "hip"}),
        client.post("/api/v1/ask", json={"question": REST, "journey": "hip"}),
        client.get("/api/v1/search", params={"q": REST, "journey": "hip"}),
    ):
        assert (answer.status_code, "journey" in answer.text.lower()) == (404, True)
    app.journeys.remove("back-pain", universal=True, scope=CLINIC, by="owner")
    conversation = again["conversation_id"]
    assert "This journey has been removed" in client.get(f"/evidence/conversations/{conversation}").text
    assert client.post("/evidence/ask", data=again).status_code == 404


# ------------------------------------------------------------------------------------------------------ the admin pages


def test_of_two_who_edit_a_document_the_second_is_told_and_nothing_is_lost(app: App, knock: Knock) -> None:
    app.journeys.add("Back pain", scope=CLINIC, by="owner")
    back = put(app, BACK, "back.txt")
    admin = knock(Role.ADMIN)
    path = f"/api/v1/admin/documents/{back}"
    revision = admin.get(path).json()["revision"]
    first = admin.patch(path, json={"title": "Backs", "journeys": ["back-pain"], "revision": revision}).json()
    assert (first["title"], first["journeys"], first["revision"]) == ("Backs", ["back-pain"], revision + 1)
    late = admin.patch(path, json={"title": "Spines", "tags": ["lung"], "revision": revision})
    assert (late.status_code, "Someone else" in late.json()["detail"]) == (409, True)
    form = {"title": "Spines", "tags": "public", "revision": str(revision)}
    page = admin.post(f"/admin/documents/{back}", data=form)
    assert (page.status_code, "Someone else" in page.text, "You had entered: Spines" in page.text) == (409, True, True)
    kept = admin.get(path).json()
    assert (kept["title"], kept["tags"], kept["journeys"]) == ("Backs", ["public"], ["back-pain"])
    assert [one["change"] for one in kept["history"]][-1] == "refiled"
    saved = admin.post(
        f"/admin/documents/{back}", data=form | {"revision": str(revision + 1), "journey": ["back-pain"]}
    )
    assert saved.headers["location"] == f"/admin/documents/{back}?saved=1"
    unknown = admin.patch(path, json={"journeys": ["hip"]})
    assert (unknown.status_code, "Journey not found" in unknown.json()["detail"]) == (404, True)
    cut = {"chunking": {"strategy": "characters", "size": 500, "overlap": 50}}
    assert admin.patch(path, json=cut).json()["chunking"]["size"] == 500


def test_a_tag_is_found_in_whichever_case_and_as_an_old_library_holds_it(app: App, knock: Knock) -> None:
    new, old = put(app, BACK, "back.txt", tags=frozenset({"HR"})), put(app, GENERAL, "all.txt", tags=frozenset({"x"}))
    with app.library.engine.begin() as connection:
        connection.execute(update(document_tags).where(document_tags.c.tag == "x").values(tag="Old Tag"))
    admin = knock(Role.ADMIN)
    for tag, document_id in (("HR", new), ("hr", new), ("Old Tag", old)):
        page = admin.get("/admin/documents", params={"tag": tag}).text
        assert [one for one in (new, old) if one in page] == [document_id]
        found = admin.get("/api/v1/search", params={"q": "pain", "tag": tag}).json()["hits"]
        assert {hit["document_id"] for hit in found} == {document_id}
        assert {hit.document_id for hit in app.search("pain", scope=app.scope(tags=[tag])).hits} == {document_id}


def test_a_selection_is_withdrawn_restored_read_again_and_erased_after_a_word(app: App, knock: Knock) -> None:
    ids = [put(app, BACK, "back.txt"), put(app, GENERAL, "general.txt")]
    admin = knock(Role.ADMIN)
    listed = admin.get("/api/v1/admin/documents", params={"sort": "name", "down": False}).json()
    assert [one["document_id"] for one in listed["documents"]] == ids
    asked = admin.get("/admin/documents/confirm", params={"action": "withdraw", "id": ids}).text
    assert "Withdraw 2 documents?" in asked
    assert "you can restore" in asked
    done = admin.post("/admin/documents/actions", data={"action": "withdraw", "id": ids})
    assert "2 of 2 documents: withdrawn from search" in done.text
    assert app.search("pain", scope=app.scope()).hits == ()
    again = admin.post("/api/v1/admin/documents/actions", json={"action": "withdraw", "documents": ids[:1]}).json()
    assert (again["outcomes"][0]["is_done"], "Only a document in use" in again["outcomes"][0]["detail"]) == (
        False,
        True,
    )
    for action, told in (("restore", "in use again"), ("ingest", "queued for re-processing; stays in use until then")):
        body = {"action": action, "documents": ids[:1]}
        (outcome,) = admin.post("/api/v1/admin/documents/actions", json=body).json()["outcomes"]
        assert (outcome["is_done"], outcome["detail"]) == (True, told)
    assert len(app.search("back pain", scope=app.scope()).hits) == 1
    erased = admin.post("/api/v1/admin/documents/actions", json={"action": "erase", "documents": ids}).json()
    assert [one["detail"] for one in erased["outcomes"]] == ["erased", "erased"]
    assert app.entries(CLINIC) == []
    queries = ({"action": "erase"}, {"action": "erase", "id": "nothing"}, {"action": "burn", "id": ids[0]})
    statuses = [admin.get("/admin/documents/confirm", params=query).status_code for query in queries]
    assert statuses == [422, 404, 422]


def test_a_thousand_documents_come_a_page_at_a_time_with_as_few_queries_as_ten(app: App, knock: Knock) -> None:
    admin = knock(Role.ADMIN)
    admin.get("/admin/documents")

    def fill(first: int, last: int) -> None:
        fixed = {"tenant": "local", "version": 1, "is_current": True, "state": "completed", "media_type": "text/plain"}
        fixed |= {"size_bytes": 1, "page_count": 0, "identifiers": [], "notes": [], "added_at": now()}
        cut = {"chunk_strategy": "", "chunk_size": 0, "chunk_overlap": 0, "chunk_unit": ""}
        rows = [
            {"id": f"d{n:05}", "lineage": f"d{n:05}", "name": f"{n}.txt", "title": f"Paper {n:05}", **fixed, **cut}
            | {"content_hash": str(n)}
            for n in range(first, last)
        ]
        with app.library.engine.begin() as connection:
            connection.execute(insert(documents), rows)
            connection.execute(insert(document_tags), [{"document_id": row["id"], "tag": "public"} for row in rows])

    def queries(path: str) -> tuple[int, str]:
        seen: list[str] = []
        note = lambda *told: seen.append(told[2])  # noqa: E731
        event.listen(app.library.engine, "before_cursor_execute", note)
        text = admin.get(path).text
        event.remove(app.library.engine, "before_cursor_execute", note)
        assert not any("FROM chunks" in one for one in seen)
        return len(seen), text

    fill(0, 10)
    few, _ = queries("/admin/documents?sort=name&down=false")
    fill(10, 1_000)
    many, text = queries("/admin/documents?sort=name&down=false")
    assert many == few
    assert (text.count("<tr data-id="), "1–50 of 1,000" in text) == (50, True)
    last = admin.get("/admin/documents?sort=name&down=false&first=950").text
    assert (last.count("<tr data-id="), "Paper 00999" in last, 'rel="next"' in last) == (50, True, False)
    found = admin.get("/api/v1/admin/documents", params={"words": "paper 0042", "limit": 5}).json()
    assert (found["total"], len(found["documents"])) == (11, 5)
    assert admin.get("/api/v1/admin/documents", params={"journey": "universal"}).json()["total"] == 1_000
    assert admin.get("/api/v1/admin/documents", params={"state": "failed"}).json()["total"] == 0


def test_the_audit_log_is_searched_by_words_person_assistant_and_day(app: App, knock: Knock) -> None:
    put(app, GENERAL, "general.txt")
    member, admin = knock(Role.MEMBER), knock(Role.ADMIN)
    asked = member.post("/api/v1/evidence/ask", json={"question": "How often may ibuprofen be taken?"}).json()
    admin.post("/api/v1/ask", json={"question": "Is ibuprofen taken with food?"})
    path = "/api/v1/admin/audit"

    def questions(**query: str) -> list[str]:
        return [one["question"] for one in admin.get(path, params=query).json()["records"]]

    both = ["Is ibuprofen taken with food?", "How often may ibuprofen be taken?"]
    assert questions(words="IBUPROFEN taken") == both
    assert questions(words="often") == questions(assistant="evidence") == both[1:]
    assert questions(user="member-@local.example") == both[1:]
    assert questions(until="2020-01-01") == questions(words="paracetamol") == []
    page = admin.get("/admin/audit", params={"words": "often"}, follow_redirects=True).text
    assert f'href="/audit/{asked["id"]}"' in page
    assert admin.get("/audit", params={"since": "soon"}).status_code == 422


class Forms(HTMLParser):
    """The forms of a page that change something: where they go."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = dict(attributes)
        if tag == "form" and told.get("method") == "post":
            self.found.add(re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/journeys/)[a-z-]+", "{}", told["action"] or ""))


SAME_OVER_THE_API = {
    "/admin/documents/actions": ("POST", "/api/v1/admin/documents/actions"),
    "/admin/documents/{}": ("PATCH", "/api/v1/admin/documents/{document_id}"),
    "/documents/{}/version": ("POST", "/api/v1/documents"),
    "/library": ("POST", "/api/v1/documents"),
    "/admin/journeys": ("POST", "/api/v1/journeys"),
    "/admin/journeys/{}": ("PATCH", "/api/v1/journeys/{slug}"),
    "/admin/journeys/{}/remove": ("DELETE", "/api/v1/journeys/{slug}"),
    "/admin/users": ("POST", "/api/v1/users"),
    "/admin/users/{}": ("PATCH", "/api/v1/users/{user_id}"),
    "/admin/users/{}/sign-out": ("DELETE", "/api/v1/users/{user_id}/sessions"),
    "/admin/users/{}/second-factor/off": ("DELETE", "/api/v1/users/{user_id}/second-factor"),
    "/admin/queue/reingest": ("POST", "/api/v1/queue/reingest"),
    "/admin/tags": ("PUT", "/api/v1/tags/{tag}"),
    "/audit/proof": ("GET", "/api/v1/audit/proof"),
    "/evidence/ask": ("POST", "/api/v1/evidence/ask"),
    "/evidence/conversations/{}/delete": ("DELETE", "/api/v1/evidence/conversations/{conversation_id}"),
}


def test_everything_that_a_form_does_can_be_done_over_the_api(app: App, knock: Knock) -> None:
    app.journeys.add("Back pain", scope=CLINIC, by="owner")
    back = put(app, BACK, "back.txt", tags=frozenset({"lung"}))
    admin = knock(Role.ADMIN)
    talk = admin.post("/api/v1/evidence/ask", json={"question": REST}).json()["conversation_id"]
    seen = Forms()
    for path in (
        "/admin",
        "/admin/documents",
        f"/admin/documents/confirm?action=erase&id={back}",
        f"/admin/documents/{back}",
        "/admin/upload",
        "/admin/journeys",
        "/admin/queue",
        "/audit",
        "/admin/health",
        f"/evidence/conversations/{talk}",
    ):
        page = admin.get(path)
        assert page.status_code == 200, path
        seen.feed(page.text)
    assert seen.found == set(SAME_OVER_THE_API)
    routes = {
        (method, route.path)
        for part in API
        for route in part.router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    assert set(SAME_OVER_THE_API.values()) <= routes
