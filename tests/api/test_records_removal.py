"""What a person takes back: a paper that does not belong into a record, and recovery words that somebody saw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from citewell.adapters.embedding.minilm import MiniLM
from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from tests.api.test_records import BEARER, PASSPHRASE, TOKEN, facts, make
from tests.cli.test_records import Record, record  # noqa: F401
from tests.core.test_fhir_records import ALL, FIBRILLATION, PATIENT, bundle

pytestmark = pytest.mark.slow

LETTER = b"Dear Mr Lee,\n\nyour knee is better. Allergies: latex (rash).\n"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[App]:
    with build(Settings(home=tmp_path_factory.mktemp("removal") / "home", asks_per_minute=1_000)) as app:
        app.__dict__["embedder"] = embedder
        yield app


@pytest.fixture(scope="module")
def client(app: App) -> httpx.Client:
    return TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", headers=BEARER, follow_redirects=False)


def _added(client: httpx.Client, vault: str, name: str, data: bytes) -> str:
    told = client.post(f"/api/v1/records/{vault}/import", files={"files": (name, data)})
    return str(told.json()["imported"][0]["document_id"])


def test_a_paper_goes_with_its_facts_but_not_with_what_a_person_decided(client: httpx.Client) -> None:
    vault = make(client, "removal")
    base = f"/api/v1/records/{vault}"
    export = _added(client, vault, "export.json", bundle(*ALL))
    newer = _added(client, vault, "newer.json", bundle(PATIENT, FIBRILLATION))
    letter = _added(client, vault, "letter.txt", LETTER)
    asked = client.post(f"{base}/ask", json={"question": "What does the letter say about my knee?"}).json()
    assert "your knee is better" in asked["text"]
    (medicine,) = facts(client, vault, kind="medication")[:1]
    (wrong,) = facts(client, vault, kind="allergy")[:1]
    client.post(f"{base}/facts/{medicine['id']}/confirm")
    client.post(f"{base}/facts/{wrong['id']}/reject")

    page = client.get(f"/records/{vault}/documents/{export}/remove").text
    assert "permanently" in page
    assert medicine["generic_name"] in page
    told = client.delete(f"{base}/papers/{export}").json()
    assert (told["removed"], told["facts_kept"]) == (True, [medicine["id"]])
    left = {one["id"]: one for one in facts(client, vault)}
    assert left[medicine["id"]]["origin"] == {"via": "patient_reported"}
    assert {one["origin"].get("document_id") for one in left.values()} == {None, newer}
    assert {one["kind"] for one in left.values()} == {"medication", "person", "diagnosis"}
    assert client.delete(f"{base}/papers/{export}").json() == {
        "removed": False,
        "document_id": export,
        "facts_removed": 0,
        "facts_kept": [],
    }
    again = _added(client, vault, "export.json", bundle(*ALL))
    assert wrong["id"] not in {one["id"] for one in facts(client, vault)}

    assert "Remove…" in client.get(f"/records/{vault}/documents").text
    assert client.delete(f"{base}/papers/{letter}").json()["removed"] is True
    titles = [one["document_id"] for one in client.get(f"{base}/papers").json()["papers"]]
    assert titles == [again, newer]
    assert "knee is better" not in client.post(f"{base}/ask", json={"question": "What of my knee?"}).json()["text"]
    kept = client.get(f"{base}/conversations/{asked['conversation_id']}")
    assert "your knee is better" not in kept.text


def test_other_recovery_words_make_the_old_ones_worthless(client: httpx.Client) -> None:
    vault = make(client, "words")
    wrong = client.post(f"/records/{vault}/words", data={"passphrase": "not that one at all"})
    assert "New recovery words" in wrong.text  # the settings again, with what was wrong
    page = client.post(f"/records/{vault}/words", data={"passphrase": PASSPHRASE}).text
    words = re.findall(r"<li>(\w+)</li>", page)
    assert len(words) == 12
    new = {"new": "six blue tandems", "again": "six blue tandems"}
    assert client.post(f"/records/{vault}/recover", data={"words": " ".join(words), **new}).status_code == 303


def test_a_paper_is_removed_on_the_command_line_once(record: Record, tmp_path: Path) -> None:  # noqa: F811
    letter = tmp_path / "letter.txt"
    letter.write_bytes(LETTER)
    (added,) = record.json("import", str(letter))["imported"]
    assert "Nothing to confirm." in record("records", "review")[1]
    code, out, _ = record("records", "remove", added["document_id"][:8], "--yes")
    assert (code, out) == (0, "Removed “letter” and 0 facts.\n")
    assert record.json("papers")["papers"] == []
    code, out, _ = record("records", "remove", added["document_id"][:8], "--yes")
    assert code == 0
    assert "nothing was removed" in out
