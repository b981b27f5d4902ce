"""Logs hold no id as it is, only its hash; the command line takes that hash and finds what it stands for."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from citewell.adapters.embedding.minilm import MiniLM
from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Role
from citewell.types.hashed_ids import logged
from tests.cli.test_cli import Shell

TOKEN = "a-token-for-tests"
PASSWORD = "a long enough password"
TEXT = b"# Zinc\n\nGive zinc 20 mg once daily for 14 days to children with diarrhoea."
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture
def app(tmp_path: Path, embedder: MiniLM, caplog: pytest.LogCaptureFixture) -> Iterator[App]:
    caplog.set_level(logging.DEBUG)
    with build(Settings(home=tmp_path)) as app:
        app.__dict__["embedder"] = embedder
        yield app


def read(client: httpx.Client) -> str:
    """Upload a document and wait until it is read; its id."""
    made = client.post("/api/v1/documents", files={"file": ("zinc.md", TEXT)}).json()["documents"][0]
    for _ in range(600):
        if client.get(f"/api/v1/documents/{made['document_id']}").json()["state"] == "completed":
            break
        time.sleep(0.05)
    return str(made["document_id"])


def test_a_log_holds_hashes_of_ids_and_the_command_line_finds_them(
    app: App, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    user = app.people.add(
        tenant="local", email="ann@clinic.example", name="Ann", role=Role.ADMIN, tags=[], password=PASSWORD
    )
    site = create_app(app, token=TOKEN)
    with TestClient(site, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        document_id = read(client)
        answer = client.post("/api/v1/ask", json={"question": "How much zinc for children with diarrhoea?"}).json()
        client.post("/sign-in", data={"email": user.email, "password": PASSWORD}, headers={"Authorization": ""})
    lines = [logging.Formatter().format(record) for record in caplog.records if record.name.startswith("citewell")]
    assert not [line for line in lines if UUID.search(line)]
    for one in (document_id, answer["id"], user.id):
        assert [line for line in lines if logged(one) in line], "a line about it names its hash"

    tell = Shell(app.settings.home, capsys, monkeypatch).json
    assert tell("show", logged(document_id))["document"]["document_id"] == document_id
    assert tell("audit", "show", logged(answer["id"])[:8])["answer_id"] == answer["id"]
    assert tell("replay", logged(answer["id"]))["answer_id"] == answer["id"]
    talk = answer["conversation_id"]
    assert tell("conversations", "show", logged(talk))["id"] == talk
    key_id, _ = app.people.add_key(user.id, tenant="local", name="script")
    assert [one["id"] for one in tell("users", "keys", logged(user.id))["keys"]] == [key_id]
