"""Long lists over HTTP: a part at a time, on pages with a link to the next one, and with few queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

import citewell
from citewell.adapters.store.schema import answers
from citewell.api.app import create_app
from citewell.app import App
from citewell.types import Role, Route, User
from tests.contracts.kept import ending

WORDS = {"question": "Where is it?", "claims": [], "evidence": [], "history": [], "answer": None}

ROUTE = Route("system", None, None, "No answer found in the documents", fallback=True)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with citewell.open(tmp_path / "home") as app:
        yield app


def _client(app: App, site: Any, name: str, role: Role) -> tuple[httpx.Client, User]:
    user = app.people.add(tenant="local", email=f"{name}@local.example", name=name, role=role, tags=())
    _, key = app.people.add_key(user.id, tenant="local", name="tests")
    headers = {"Authorization": f"Bearer {key}"}
    return TestClient(site, base_url="http://127.0.0.1", headers=headers), user.asker()


@contextmanager
def counted(app: App) -> Iterator[list[str]]:
    """The statements that read the audit log."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if f"FROM {answers.name}" in statement:
            seen.append(statement)

    event.listen(app.library.engine, "before_cursor_execute", note)
    yield seen
    event.remove(app.library.engine, "before_cursor_execute", note)


def _all(client: httpx.Client, path: str, name: str, *, limit: int) -> list[str]:
    """The ids of a whole list, read a part at a time."""
    found: list[str] = []
    after: str | None = None
    while True:
        given = {"limit": limit} if after is None else {"limit": limit, "after": after}
        told = client.get(path, params=given).json()
        assert len(told[name]) <= limit
        found += [one["id"] for one in told[name]]
        after = told["next"]
        if after is None:
            return found


def test_long_lists_are_read_in_parts_by_programs_and_on_pages(app: App) -> None:
    site = create_app(app, token="a-token-for-tests")
    (boss, _), (ann, asker) = _client(app, site, "boss", Role.ADMIN), _client(app, site, "ann", Role.MEMBER)
    for number in range(7):
        place = app.ask_service.conversations.begin(f"Where is it, {number}?", asker, conversation_id=None)
        app.ask_service.ledger.keep(
            ending(asker=asker, place=place, route=ROUTE, words={**WORDS, "question": f"{number}?"})
        )
    for client, path, name in (
        (boss, "/api/v1/inbox", "questions"),
        (ann, "/api/v1/asked", "questions"),
        (ann, "/api/v1/conversations", "conversations"),
    ):
        whole = [one["id"] for one in client.get(path).json()[name]]
        assert len(set(whole)) == 7
        assert _all(client, path, name, limit=3) == whole
        assert client.get(path, params={"after": "nowhere"}).status_code == 404
        assert client.get(path, params={"limit": 0}).status_code == 422
    numbers = [one["number"] for one in boss.get("/api/v1/audit", params={"limit": 3, "before": 5}).json()["records"]]
    assert numbers == [4, 3, 2]
    for client, path in ((boss, "/inbox"), (ann, "/asked"), (ann, "/conversations")):
        with counted(app) as seen:
            first = client.get(path, params={"limit": 5}).text
        assert ('rel="next"' in first, "Back to start" in first) == (True, False)
        assert len(seen) <= 1
    assert "Back to start" in boss.get("/audit", params={"before": 3}).text
