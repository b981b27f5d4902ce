"""Watched folders while the server runs: followed by itself, told to administrators, and named on a document's page."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import citewell
from citewell.operations.watch import watch_folder
from citewell.types import Role
from tests.api.conftest import serving_app

IRON = "Ferrous sulfate 200 mg is taken with water."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    (made / "iron.txt").write_text(IRON)
    (made / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (made / "half.part").write_bytes(b"x")
    return made


@pytest.fixture
def clients(
    samples_home: Path, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, httpx.Client]]:
    """Callers of each role at a server over a library with one watched folder."""
    monkeypatch.setenv("CITEWELL_WATCH_SECONDS", "0.2")
    monkeypatch.setenv("CITEWELL_WATCH_SETTLE_S", "0")
    monkeypatch.setenv("CITEWELL_ADMIN_EMAIL", "it@clinic.example")
    with citewell.open(shutil.copytree(samples_home, tmp_path / "home")) as app:
        watch_folder(app, str(folder), tags=frozenset({"ward"}))
        keys = {}
        for role in (Role.EDITOR, Role.READER):
            user = app.people.add(
                tenant=app.tenant, email=f"{role}@clinic.example", name=role, role=role, tags=["ward"]
            )
            keys[role] = app.people.add_key(user.id, tenant=app.tenant, name="test")[1]
        with serving_app(app) as owner:
            made = {role: {"Authorization": f"Bearer {key}"} for role, key in keys.items()}
            editor, reader = (
                httpx.Client(base_url=owner.base_url, headers=made[role], timeout=60)
                for role in (Role.EDITOR, Role.READER)
            )
            with editor, reader:
                yield {"owner": owner, "editor": editor, "reader": reader}


def test_a_folder_is_followed_while_the_server_runs(clients: dict[str, httpx.Client], folder: Path) -> None:
    owner = clients["owner"]
    while not (found := owner.get("/api/v1/search", params={"q": "ferrous sulfate"}).json()["hits"]) or (
        "iron" not in found[0]["document"]
    ):
        time.sleep(0.05)
    (told,) = owner.get("/api/v1/admin/watched").json()
    assert (told["address"], told["tags"], list(told["problems"])) == (str(folder), ["ward"], ["broken.pdf"])
    page = owner.get("/admin/queue").text
    assert "Watched folders" in page
    assert str(folder) in page
    assert "broken.pdf" in page
    assert "half.part: a temporary file" in page
    document_id = found[0]["document_id"]
    for address in ("/documents/{}", "/admin/documents/{}"):
        assert f"{folder}/iron.txt" in owner.get(address.format(document_id)).text
    assert str(folder) not in clients["reader"].get(f"/documents/{document_id}").text
    assert "iron.txt" in clients["reader"].get(f"/documents/{document_id}").text
    folder.rename(folder.parent / "elsewhere")
    while not owner.get("/api/v1/admin/watched").json()[0]["problem"]:
        time.sleep(0.05)
    assert f"The folder {folder} is not there. Nothing was changed." in owner.get("/admin/queue").text


def test_only_administrators_are_told_of_the_folders(clients: dict[str, httpx.Client], folder: Path) -> None:
    for name in ("editor", "reader"):
        assert clients[name].get("/api/v1/admin/watched").status_code == 403
    assert str(folder) not in clients["editor"].get("/admin/queue").text
