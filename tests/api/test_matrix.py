"""Who is a stranger to something gets neither its words nor its id, at any address of the site."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from citewell.api.app import API, DOORS, PAGES, create_app
from citewell.api.routes.status import exposition
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Filing, Role, Source
from tests.api.things import UNANSWERED, Things

pytestmark = pytest.mark.slow

TOKEN = "a-token-for-tests"
SECRET = "zorbilant"
"""A word of every private thing."""
MOST_BY_CHANCE = 16
"""A shorter id may stand in a page by chance."""
STRANGERS = {
    "nobody": None,
    "a reader": ("local", Role.READER),
    "a member": ("local", Role.MEMBER),
    "an editor": ("local", Role.EDITOR),
    "a member of another tenant": ("elsewhere", Role.MEMBER),
    "an administrator of another tenant": ("far-away", Role.ADMIN),
}


@pytest.fixture(scope="module")
def app(samples_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    home = tmp_path_factory.mktemp("matrix") / "home"
    shutil.copytree(samples_home, home)
    with build(Settings(home=home, tenant="local", requests_per_minute=1_000_000, asks_per_minute=1_000_000)) as app:
        yield app


@pytest.fixture(scope="module")
def site(app: App) -> Iterator[TestClient]:
    with TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", follow_redirects=False) as site:
        yield site


@pytest.fixture(scope="module")
def private(app: App, site: TestClient) -> dict[str, str]:
    """The id of a private thing of each kind, by the name that paths give to it: the owner's, or for few eyes."""
    text = f"# {SECRET}\n\nGive {SECRET} 3 mg twice a day."
    document = app.add_source(Source(text.encode(), f"{SECRET}.md"), filing=Filing(tags=frozenset({"ward"})))
    app.people.add(tenant="local", email=f"{SECRET}@local.example", name=SECRET, role=Role.MEMBER, tags=["ward"])
    app.ask(UNANSWERED)
    things = Things(app, TestClient(site.app, base_url="http://127.0.0.1", headers=bearer(TOKEN)))
    found = {"document_id": document.entry.id}
    for path in ("{vault}/{fact_id}", "{consult_id}/{finding_id}", "{user_id}/{key_id}", "{answer_id}/{routed_id}"):
        ids = things.ids(path)
        assert all(ids.values()), (path, ids)
        found |= {name: values[0] for name, values in ids.items()}
    return found | {"conversation_id": things.ids("{conversation_id}")["conversation_id"][0]}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def routes() -> list[tuple[str, str]]:
    """Every method of every address, of other protocols too; the trail first, which later tells of these tries."""
    parts = [*(part.router for part in (*API, *DOORS, *PAGES)), exposition]
    every = [route for router in parts for route in router.routes if isinstance(route, APIRoute)]
    named = sorted((method, route.path) for route in every for method in route.methods)
    return sorted(named, key=lambda way: "trail" not in way[1])


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_stranger_gets_neither_words_nor_ids_at_any_address(
    app: App, site: TestClient, private: dict[str, str], stranger: str
) -> None:
    who = STRANGERS[stranger]
    headers: dict[str, str] = {}
    if who is not None:
        tenant, role = who
        email = f"{role}@{tenant}.example"
        user = app.people.add(tenant=tenant, email=email, name="", role=role, tags=["lung"], password=None)
        headers = bearer(app.people.add_key(user.id, tenant=tenant, name="tests")[1])
    client = TestClient(site.app, base_url="http://127.0.0.1", headers=headers, follow_redirects=False)
    telling = {name: each for name, each in private.items() if len(each) > MOST_BY_CHANCE}
    leaks, changed, count = [], [], 0
    for method, path in routes():
        named = re.findall(r"{(\w+)}", path)
        address = re.sub(r"{(\w+)}", lambda match: private.get(match[1], "1"), path)
        answer = client.request(method, address, json={} if method in ("POST", "PUT", "PATCH") else None)
        count += 1
        text = answer.text.replace(address, "")
        if SECRET in text or any(each in text for name, each in telling.items() if name not in named):
            leaks.append(f"{method} {path}")
        if set(named) & set(private) and answer.status_code < 400 and not is_sign_in(answer):
            changed.append(f"{method} {path} {answer.status_code}")
    assert count > 250
    assert leaks == []
    assert changed == []


def is_sign_in(answer: httpx.Response) -> bool:
    return answer.status_code == 303 and answer.headers["location"].startswith("/sign-in")


def test_the_owner_gets_them(site: TestClient, private: dict[str, str]) -> None:
    """The same addresses show what the others were refused."""
    client = TestClient(site.app, base_url="http://127.0.0.1", headers=bearer(TOKEN))
    for path in (
        "/api/v1/documents/{document_id}",
        "/api/v1/conversations/{conversation_id}",
        "/api/v1/audit/{answer_id}",
        "/api/v1/inbox/{routed_id}",
        "/api/v1/consults/{consult_id}",
        "/api/v1/records/{vault}/facts",
        "/api/v1/users/{user_id}/sessions",
        "/api/v1/trail",
    ):
        answer = client.get(path.format(**private))
        assert answer.status_code == 200, path
    trail = json.dumps(client.get("/api/v1/trail?limit=1000").json())
    assert private["document_id"] in trail
