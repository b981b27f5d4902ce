"""No statement of SQL runs on the loop that serves everybody: a slow disk holds up one request, not all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine
from starlette.testclient import TestClient

from citewell.api.app import create_app
from citewell.app import build
from citewell.config import Settings
from citewell.types import Filing, Role, Source

IRON = b"# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
PASSWORD = "ten letters!"
ASKED = {"question": "How much ferrous sulfate for iron deficiency anaemia in adults?"}


@pytest.fixture
def on_loop() -> Iterator[dict[str, list[str]]]:
    """The statements that ran, by whether a loop ran in their thread."""
    ran: dict[str, list[str]] = {"on the loop": [], "beside it": []}

    def note(_connection: Any, _cursor: Any, statement: str, *_given: Any) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            ran["beside it"].append(statement)
        else:
            ran["on the loop"].append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield ran
    event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture
def client(tmp_path: Path, on_loop: dict[str, list[str]]) -> Iterator[httpx.Client]:
    """An administrator's client, in front of a server that has begun."""
    with build(Settings(home=tmp_path)) as app:
        app.add_source(Source(IRON, "iron.md"), filing=Filing(tags=frozenset({"public"})))
        user = app.people.add(
            tenant=app.tenant, email="ann@x.example", name="Ann", role=Role.ADMIN, tags=[], password=PASSWORD
        )
        headers = {"Authorization": f"Bearer {app.people.add_key(user.id, tenant=app.tenant, name='tests')[1]}"}
        site = create_app(app, token="a-token-for-tests")
        with TestClient(site, base_url="http://127.0.0.1", headers=headers) as made:
            for statements in on_loop.values():
                statements.clear()
            yield made


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("POST", "/api/v1/ask", {"json": ASKED}),
        ("POST", "/api/v1/ask/stream", {"json": ASKED}),
        ("POST", "/api/v1/evidence/ask", {"json": ASKED}),
        ("POST", "/api/v1/evidence/ask/stream", {"json": ASKED}),
        ("POST", "/api/v1/check", {"json": {"text": "Give ferrous sulfate 200 mg once daily."}}),
        ("GET", "/api/v1/search", {"params": {"q": "iron"}}),
        ("GET", "/api/v1/documents", {}),
        ("POST", "/api/v1/documents", {"files": {"file": ("zinc.md", b"# Zinc\n\nGive zinc.")}}),
        ("GET", "/api/v1/health", {}),
        ("GET", "/api/v1/models", {}),
        ("GET", "/api/v1/inbox", {}),
        ("GET", "/api/v1/audit", {}),
        ("GET", "/api/v1/conversations", {}),
        ("GET", "/", {}),
        ("POST", "/ask", {"data": ASKED}),
        ("GET", "/inbox", {}),
        ("GET", "/admin", {}),
        ("POST", "/sign-in", {"data": {"email": "ann@x.example", "password": PASSWORD}}),
    ],
)
def test_no_statement_runs_on_the_loop(
    client: httpx.Client, on_loop: dict[str, list[str]], method: str, path: str, sent: dict[str, Any]
) -> None:
    answer = client.request(method, path, **sent)
    assert answer.status_code < 400, answer.text
    assert on_loop["on the loop"] == []
    assert on_loop["beside it"], "a request that asks the library nothing proves nothing"
