"""The whole product over a library in PostgreSQL: two servers over one database, asked, added to and taken from."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from citewell.app import build
from citewell.config import Settings
from citewell.operations.move_library import move_library
from tests.api.conftest import serving_app

QUESTION = "Can I take warfarin in pregnancy?"
GOUT = b"Gout\n\nColchicine 500 micrograms is given two to four times a day for an attack of gout."


@pytest.fixture
def servers(
    samples_home: Path, tmp_path: Path, postgres_url: str, opened_elsewhere: Callable[[Path], dict[str, str]]
) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Two web processes over one database, with one key."""
    home = tmp_path / "home"
    shutil.copytree(samples_home, home)
    if (home / "library.sqlite").exists():
        move_library(f"sqlite:///{home / 'library.sqlite'}", postgres_url, home=home, watch=lambda *_: None)
    url = opened_elsewhere(home).get("CITEWELL_DATABASE_URL", postgres_url)
    settings = Settings(home=home, database_url=SecretStr(url))
    with build(settings) as one, build(settings) as two, serving_app(one) as first, serving_app(two) as second:
        yield first, second


def finished(client: httpx.Client, document_id: str) -> dict[str, Any]:
    """The document, once it has been read."""
    while True:
        entry: dict[str, Any] = client.get(f"/api/v1/documents/{document_id}").json()
        if entry["state"] not in ("pending", "queued", "processing"):
            return entry
        time.sleep(0.05)


def found(client: httpx.Client, question: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = client.get("/api/v1/search", params={"q": question}).json()["hits"]
    return hits


@pytest.mark.slow
def test_two_servers_over_one_database_answer_alike_and_see_each_others_changes(
    servers: tuple[httpx.Client, httpx.Client],
) -> None:
    first, second = servers
    assert found(first, QUESTION) == found(second, QUESTION) != []
    answer = first.post("/api/v1/ask", json={"question": QUESTION}).json()
    assert answer["citations"]
    kept = second.get(f"/api/v1/audit/{answer['id']}")
    assert kept.status_code == 200
    (added,) = first.post("/api/v1/documents", files={"files": ("gout.txt", GOUT)}).json()["documents"]
    done = finished(second, added["document_id"])
    assert (done["state"], done["title"]) == ("completed", "Gout")
    for client in servers:
        assert found(client, "colchicine for gout")[0]["document_id"] == added["document_id"]
    assert first.post("/api/v1/documents", files={"files": ("gout.txt", GOUT)}).json()["documents"][0]["was_there"]
    assert second.delete(f"/api/v1/documents/{added['document_id']}").status_code == 200
    for client in servers:
        assert added["document_id"] not in {hit["document_id"] for hit in found(client, "colchicine for gout")}
    assert first.get("/api/v1/health").status_code == 200
    assert first.get("/").status_code == 200
