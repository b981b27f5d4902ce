"""Vaults and records over HTTP: for their owner alone, opened by a body, never told to a log, never on a disk."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import tempfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from citewell.adapters.embedding.minilm import MiniLM
from citewell.api.app import create_app
from citewell.api.routes import (
    records,
    records_facts_pages,
    records_pages,
    records_papers_pages,
    records_settings_pages,
    vaults,
)
from citewell.api.vault_sessions import in_use
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import VaultLocked
from citewell.types import Role
from citewell.vaults.vaults import Vaults
from tests.core.test_fhir_records import ALL, INR, PATIENT, bundle

pytestmark = pytest.mark.slow

TOKEN = "a-token-for-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PASSPHRASE = "three green bicycles"
PARTS = (records, vaults, records_pages, records_facts_pages, records_papers_pages, records_settings_pages)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[App]:
    with build(Settings(home=tmp_path_factory.mktemp("records") / "home", asks_per_minute=1_000)) as app:
        app.__dict__["embedder"] = embedder
        yield app


@pytest.fixture(scope="module")
def client(app: App) -> httpx.Client:
    return TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", headers=BEARER, follow_redirects=False)


def make(client: httpx.Client, label: str) -> str:
    """A vault that is open."""
    made = client.post("/api/v1/vaults", json={"label": label, "passphrase": PASSPHRASE})
    assert made.status_code == 201
    assert len(made.json()["recovery_phrase"].split()) == 12
    vault_id = str(made.json()["vault"]["id"])
    opened = client.post(f"/api/v1/vaults/{vault_id}/unlock", json={"passphrase": PASSPHRASE})
    assert (opened.status_code, opened.json()["is_open"]) == (200, True)
    return vault_id


@pytest.fixture(scope="module")
def vault(client: httpx.Client) -> str:
    """An open vault with one bundle in it."""
    vault_id = make(client, "mum")
    told = client.post(f"/api/v1/records/{vault_id}/import", files={"files": ("export.json", bundle(*ALL))})
    assert told.json()["imported"][0]["facts"] == {"added": 6, "changed": 0, "same": 0}
    return vault_id


def facts(client: httpx.Client, vault: str, **wanted: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/v1/records/{vault}/facts", params=wanted).json()["facts"]
    return found


@pytest.mark.parametrize("path", ["ask", "ask/stream"])
def test_a_question_that_is_far_too_long_is_refused_in_a_sentence_and_an_emergency_in_it_is_told(
    client: httpx.Client, vault: str, path: str
) -> None:
    address = f"/api/v1/records/{vault}/{path}"
    refused = client.post(address, json={"question": "what is my dose? " * 6_000})
    assert (refused.status_code, refused.json()["detail"]) == (
        422,
        "The question is too long. The limit is 4,000 characters.",
    )
    urgent = client.post(address, json={"question": "I cannot breathe. " + "what is my dose? " * 6_000})
    assert urgent.status_code == 422
    notice, _, told = urgent.json()["detail"].partition("The question is too long")
    assert ("emergency" in notice.lower(), told != "") == (True, True)
    assert client.get(f"/api/v1/records/{vault}/conversations").json()["conversations"] == []


def test_a_question_is_answered_from_the_record_with_its_place(client: httpx.Client, vault: str) -> None:
    answer = client.post(f"/api/v1/records/{vault}/ask", json={"question": "Who prescribed warfarin?"}).json()
    assert "Dr. Li Chen" in answer["text"]
    (medicine,) = facts(client, vault, kind="medication")
    (cited,) = answer["citations"]
    origin = medicine["origin"]
    assert (cited["document_id"], cited["start"], cited["end"]) == (
        origin["document_id"],
        origin["start"],
        origin["end"],
    )
    again = client.post(
        f"/api/v1/records/{vault}/ask",
        json={"question": "I cannot breathe and my face is swelling", "conversation_id": answer["conversation_id"]},
    ).json()
    assert again["text"].startswith("This may be an emergency.")
    assert again["conversation_id"] == answer["conversation_id"]


def test_what_of_a_question_nothing_could_use_is_told(client: httpx.Client, vault: str) -> None:
    def unused(question: str) -> dict[str, str]:
        answer = client.post(f"/api/v1/records/{vault}/ask", json={"question": question}).json()
        return {one["words"]: one["why"] for one in answer["unused"]}

    assert unused("Who prescribed warfarin?") == {}
    assert unused("Do I take ibuprofen?") == {"ibuprofen": "not mentioned in your record"}
    assert list(unused("Do I take warfarin 7.5 mg, and do I have asthma?")) == ["asthma", "7.5 mg"]


def test_an_answer_comes_as_a_stream_with_an_emergency_first(client: httpx.Client, vault: str) -> None:
    asked = {"question": "My chest hurts and my arm is numb. Who prescribed warfarin?"}
    sent = client.post(f"/api/v1/records/{vault}/ask/stream", json=asked)
    assert sent.headers["content-type"].startswith("text/event-stream")
    events = [
        (name, json.loads(data)) for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n", sent.content.decode())
    ]
    names = [name for name, _ in events]
    assert names[:3] == ["started", "told", "working"]
    stages = [data["stage"] for name, data in events if name == "working"]
    assert stages == ["searching", "reading", "writing", "checking"]
    assert events[1][1]["text"].startswith("This may be an emergency.")
    assert (names.count("sentence") >= 1, names[-1]) == (True, "done")
    done = events[-1][1]
    assert done["text"].startswith(events[1][1]["text"])
    page = client.get(f"/records/{vault}/answers/{done['id']}", params={"conversation_id": done["conversation_id"]})
    assert (page.status_code, page.text.count('class="notice bad emergency"')) == (200, 1)


def test_what_was_asked_is_listed_remembered_judged_and_forgotten(client: httpx.Client) -> None:
    base = f"/api/v1/records/{make(client, 'remembers')}"
    client.post(f"{base}/import", files={"files": ("export.json", bundle(*ALL))})
    first = client.post(f"{base}/ask", json={"question": "Who prescribed warfarin?"}).json()
    prepared = client.post(f"{base}/ask", json={"question": "What should I ask at my next appointment?"}).json()
    assert prepared["text"].endswith("You asked this before:\n• Who prescribed warfarin?")
    told = client.put(f"{base}/answers/{first['id']}/feedback", json={"is_helpful": True})
    assert told.json() == {"answer_id": first["id"], "is_helpful": True}
    here = f"{base}/conversations/{first['conversation_id']}"
    assert [one["is_helpful"] for one in client.get(here).json()["turns"]] == [True, True]
    client.put(f"{base}/answers/{first['id']}/feedback", json={"is_helpful": None})
    assert [one["is_helpful"] for one in client.get(here).json()["turns"]] == [None, None]
    assert client.put(f"{base}/answers/nothing/feedback", json={"is_helpful": True}).status_code == 404
    listed = client.get(f"{base}/conversations").json()["conversations"]
    assert [one["title"] for one in listed] == [
        "What should I ask at my next appointment?",
        "Who prescribed warfarin?",
    ]
    assert client.delete(here).status_code == 204
    assert client.get(here).status_code == 404


def test_a_person_sets_lock_time_language_and_model_for_their_record(client: httpx.Client) -> None:
    base = f"/api/v1/records/{make(client, 'set')}"
    as_served = {"lock_minutes": None, "language": None, "model": None}
    offered = {"models": ["extractive"], "in_use": "extractive", "sent_to": ""}
    assert client.get(f"{base}/settings").json() == {**as_served, **offered}
    chosen = {"lock_minutes": 5, "language": "de", "model": None}
    assert client.put(f"{base}/settings", json=chosen).json() == {**chosen, **offered}
    assert (
        client.post(f"{base}/ask", json={"question": "What is my dose?"})
        .json()["text"]
        .startswith("Ihre Akte ist leer")
    )
    refused = client.put(f"{base}/settings", json={"model": "google:gemini"})
    assert (refused.status_code, "not set up" in refused.json()["detail"]) == (422, True)


def test_papers_are_sorted_by_their_words_and_a_person_may_say_otherwise(client: httpx.Client) -> None:
    base = f"/api/v1/records/{make(client, 'sorted')}"
    letter = b"# Discharge summary\n\nAdmitted on 3 May 2024 under Dr. Ada Chen with pneumonia."
    client.post(f"{base}/import", files={"files": ("letter.md", letter)})
    (paper,) = client.get(f"{base}/papers").json()["papers"]
    read = {"kind": "discharge_summary", "professional": "Dr. Ada Chen", "ocr_confidence": None, "is_verified": False}
    assert paper == {"document_id": paper["document_id"], "title": "Discharge summary", **read}
    said = client.put(f"{base}/papers/{paper['document_id']}", json={"kind": "clinical_note"}).json()
    assert (said["kind"], said["is_verified"]) == ("clinical_note", True)
    assert client.get(f"{base}/papers").json()["papers"] == [said]
    assert client.put(f"{base}/papers/nothing", json={"kind": "other"}).status_code == 404


def test_a_locked_copy_is_taken_and_brought_back(client: httpx.Client) -> None:
    vault = make(client, "copied")
    client.post(f"/api/v1/records/{vault}/import", files={"files": ("export.json", bundle(*ALL))})
    wrong = client.post(f"/api/v1/vaults/{vault}/export", json={"passphrase": "another passphrase"})
    assert wrong.status_code == 403
    copy = client.post(f"/api/v1/vaults/{vault}/export", json={"passphrase": PASSPHRASE}).content
    assert b"Warfarin" not in copy
    octets = {"Content-Type": "application/octet-stream"}
    assert client.post("/api/v1/vaults/restore", content=copy, headers=octets).status_code == 422  # it is still here
    client.post(f"/api/v1/vaults/{vault}/erase", json={"label": "copied"})
    assert client.post("/api/v1/vaults/restore", content=b"no copy", headers=octets).status_code == 422
    back = client.post("/api/v1/vaults/restore", content=copy, headers=octets)
    assert (back.status_code, back.json()["id"], back.json()["is_open"]) == (201, vault, False)
    client.post(f"/api/v1/vaults/{vault}/unlock", json={"passphrase": PASSPHRASE})
    assert len(facts(client, vault)) == 6


def test_a_copy_larger_than_other_requests_is_brought_back_over_the_api_and_the_page(
    client: httpx.Client, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", lambda _file: pytest.fail("it touched a disk"))
    vault = make(client, "large")
    scan = {"resourceType": "Binary", "id": "b1", "data": base64.b64encode(os.urandom(1_200_000)).decode()}
    client.post(f"/api/v1/records/{vault}/import", files={"files": ("export.json", bundle(*ALL, scan))})
    copy = client.post(f"/api/v1/vaults/{vault}/export", json={"passphrase": PASSPHRASE}).content
    assert len(copy) > 2 * app.settings.max_request_kb * 1024

    client.post(f"/api/v1/vaults/{vault}/erase", json={"label": "large"})
    octets = {"Content-Type": "application/octet-stream"}
    assert client.post("/api/v1/vaults/restore", content=copy, headers=octets).status_code == 201
    client.post(f"/api/v1/vaults/{vault}/erase", json={"label": "large"})
    on_page = client.post("/records/restore", files={"copy": ("large.vault", copy)})
    assert (on_page.status_code, on_page.headers["location"]) == (303, f"/records/{vault}/unlock")
    client.post(f"/api/v1/vaults/{vault}/unlock", json={"passphrase": PASSPHRASE})
    assert len(facts(client, vault)) == 6

    object.__setattr__(app.settings, "max_file_mb", 1)
    try:
        refused = client.post("/api/v1/vaults/restore", content=copy, headers=octets)
        assert (refused.status_code, "citewell vault restore" in refused.json()["detail"]) == (413, True)
    finally:
        object.__setattr__(app.settings, "max_file_mb", Settings().max_file_mb)


def test_results_alerts_and_what_waits_are_told_and_decided(client: httpx.Client) -> None:
    vault = make(client, "reviewed")
    base = f"/api/v1/records/{vault}"
    earlier = {**INR, "id": "o2", "effectiveDateTime": "2024-02-01", "valueQuantity": {"value": 2.5}}
    client.post(f"{base}/import", content=bundle(*ALL, earlier), headers={"Content-Type": "application/octet-stream"})
    assert [one["value"] for one in client.get(f"{base}/labs").json()["facts"]] == [9.1]
    assert [one["value"] for one in client.get(f"{base}/labs", params={"test": "inr"}).json()["facts"]] == [2.5, 9.1]
    critical = client.get(f"{base}/labs", params={"critical": True}).json()["facts"]
    assert [(one["value"], one["flag"]) for one in critical] == [(9.1, "critical_high"), (2.5, "critical_high")]
    added = client.post(f"{base}/facts", json={"kind": "medication", "fields": {"generic_name": "Penicillin V"}})
    assert (added.status_code, added.json()["fact"]["origin"]) == (201, {"via": "patient_reported"})
    found = client.get(f"{base}/alerts").json()["alerts"]
    (allergy,) = [one for one in found if one["kind"] == "allergy"]
    assert added.json()["fact"]["id"] in allergy["fact_ids"]
    assert client.post(f"{base}/alerts/{allergy['id']}/dismiss", json={"why": "checked"}).json() == {"alert": allergy}
    assert allergy not in client.get(f"{base}/alerts").json()["alerts"]
    assert allergy in client.get(f"{base}/alerts", params={"dismissed": True}).json()["alerts"]
    (waiting,) = client.get(f"{base}/review").json()["facts"]
    wrong = client.patch(f"{base}/facts/{waiting['id']}", json={"fields": {"status": "perhaps"}})
    assert (wrong.status_code, "status must be one of" in wrong.json()["detail"]) == (422, True)
    right = client.patch(f"{base}/facts/{waiting['id']}", json={"fields": {"status": "resolved"}}).json()["fact"]
    assert (right["status"], right["is_verified"]) == ("resolved", True)
    assert client.get(f"{base}/review").json() == {"facts": []}
    assert client.post(f"{base}/facts/{waiting['id']}/reject").status_code == 200
    assert facts(client, vault, kind="diagnosis") == []


def test_a_record_that_is_exported_comes_in_again_as_the_same(client: httpx.Client, vault: str) -> None:
    other = make(client, "copy")
    exported = client.get(f"/api/v1/records/{vault}/export")
    assert exported.headers["content-type"] == "application/fhir+json"
    client.post(f"/api/v1/records/{other}/import", content=exported.content)

    def told(vault_id: str) -> list[dict[str, Any]]:
        found = facts(client, vault_id)
        return [{name: value for name, value in one.items() if name != "origin"} for one in found]

    assert told(other) == told(vault)
    summary = client.get(f"/api/v1/records/{vault}/export?format=ips").json()
    assert (summary["type"], summary["entry"][0]["resource"]["resourceType"]) == ("document", "Composition")
    assert client.get(f"/api/v1/records/{vault}/export?format=pdf").status_code == 422


def test_each_file_has_its_own_outcome_and_none_touches_a_disk(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rollover(_file: Any) -> None:
        raise AssertionError("a file went to a disk in plain words")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", rollover)
    vault = make(client, "files")
    letter = b"Dr Chen saw Ann Roe on 12 March 2025 for her heart.\n" + b" " * 3_000_000
    sent = [("files", ("letter.txt", letter)), ("files", ("broken.json", b'{"resourceType": "Bundle", "entry": ['))]
    told = client.post(f"/api/v1/records/{vault}/import", files=sent).json()
    assert [one["name"] for one in told["imported"]] == ["letter.txt"]
    assert [(one["name"], one["kind"]) for one in told["refused"]] == [("broken.json", "DamagedFile")]
    again = client.post(f"/api/v1/records/{vault}/import", files=sent[1:])
    assert again.status_code == 422
    stranger = {**PATIENT, "birthDate": "1999-09-09"}
    assert client.post(f"/api/v1/records/{vault}/import", files={"files": ("a.json", bundle(*ALL))}).status_code == 200
    refused = client.post(f"/api/v1/records/{vault}/import", files={"files": ("b.json", bundle(stranger))})
    assert (refused.status_code, "date of birth in this file does not match" in refused.json()["detail"]) == (422, True)
    assert [one["title"] for one in client.get(f"/api/v1/records/{vault}/documents").json()["documents"]] == [
        "Health record of Ann Roe",
        "letter",
    ]


def test_a_locked_vault_says_so_and_a_wrong_passphrase_nothing_else(client: httpx.Client) -> None:
    vault = make(client, "locked")
    assert client.post(f"/api/v1/vaults/{vault}/lock").json()["is_open"] is False
    locked = client.get(f"/api/v1/records/{vault}/facts")
    assert (locked.status_code, locked.json()["kind"]) == (423, "VaultLocked")
    page = client.get(f"/records/{vault}/facts")
    assert (page.status_code, page.headers["location"]) == (303, f"/records/{vault}/unlock")
    panel = client.get(f"/records/{vault}/documents/x/panel")
    assert (panel.status_code, "locked" in panel.text) == (423, True)
    wrong: list[httpx.Response] = []
    while len(wrong) < 12 and (not wrong or wrong[-1].status_code != 429):  # a slow try may outlast the first waits
        wrong.append(client.post(f"/api/v1/vaults/{vault}/unlock", json={"passphrase": f"wrong {len(wrong)}"}))
    *before, last = wrong
    assert len(before) >= 3
    assert {(one.status_code, one.json()["detail"]) for one in before} == {
        (403, "The passphrase or recovery words are wrong. Check them and try again.")
    }
    assert (last.status_code, int(last.headers["retry-after"]) >= 1) == (429, True)


def test_the_things_of_one_vault_are_not_in_another(client: httpx.Client, vault: str) -> None:
    other = make(client, "other")
    asked = client.post(f"/api/v1/records/{vault}/ask", json={"question": "Am I allergic to anything?"}).json()
    fact = facts(client, vault)[0]
    document = client.get(f"/api/v1/records/{vault}/documents").json()["documents"][0]["document_id"]
    for base in (f"/records/{vault}", f"/records/{other}"):
        wanted = 200 if base.endswith(vault) else 404
        assert client.get(f"{base}/documents/{document}/source").status_code == wanted
        assert client.get(f"{base}/documents/{document}/file").status_code == wanted
        assert client.get(f"{base}/conversations/{asked['conversation_id']}").status_code == wanted
    assert client.post(f"/api/v1/records/{other}/facts/{fact['id']}/confirm").status_code == 404
    following = {"question": "And since when?", "conversation_id": asked["conversation_id"]}
    assert client.post(f"/api/v1/records/{other}/ask", json=following).status_code == 404
    assert client.get(f"/documents/{document}").status_code == 404
    assert client.get(f"/api/v1/audit/{asked['id']}").status_code == 404


def test_nobody_but_the_owner_knows_of_any_vault(app: App, client: httpx.Client, vault: str) -> None:
    user = app.people.add(tenant="local", email="ann@local.example", name="Ann", role=Role.ADMIN, tags=[])
    _key, secret = app.people.add_key(user.id, tenant="local", name="program")
    theirs = {"Authorization": f"Bearer {secret}"}
    routes = [route for part in PARTS for route in part.router.routes if isinstance(route, APIRoute)]
    assert len(routes) > 40
    for route in routes:
        path = route.path.replace("{vault}", vault).replace("{", "").replace("}", "").replace("number", "1")
        for method in route.methods:
            sent: dict[str, Any] = {"json": {"passphrase": PASSPHRASE}} if "/api/" in path and method != "GET" else {}
            answer = client.request(method, path, headers=theirs, **sent)
            assert answer.status_code == 404, (method, path)
            assert "mum" not in answer.text
    assert "My records" not in client.get("/search", headers=theirs).text
    assert "My records" in client.get("/search").text


def test_every_page_says_where_words_are_sent_and_nothing_where_they_stay(
    client: TestClient, vault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = client.app.state.safe.vaults.profile(vault).app  # type: ignore[attr-defined]
    pages = [f"/records/{vault}{part}" for part in ("", "/facts", "/labs", "/timeline", "/documents", "/settings")]
    assert [page for page in pages if "are sent to" in client.get(page).text] == []
    monkeypatch.setitem(record.__dict__, "settings", record.settings.model_copy(update={"model": "openai:gpt"}))
    assert [page for page in pages if "are sent to openai:gpt." not in client.get(page).text] == []


def test_no_word_of_a_record_or_a_passphrase_is_logged(
    client: httpx.Client, vault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client.post(f"/api/v1/vaults/{vault}/unlock", json={"passphrase": PASSPHRASE})
    client.post(f"/api/v1/vaults/{vault}/unlock", json={"passphrase": "marmalade sky"})
    client.post(f"/api/v1/records/{vault}/ask", json={"question": "Which medicines do I take?"})
    client.post(f"/api/v1/records/{vault}/import", files={"files": ("roe.json", bundle(*ALL))})
    client.get(f"/records/{vault}/facts")
    told = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("citewell"))
    assert "answer " in told
    assert not [word for word in (PASSPHRASE, "marmalade", "arfarin", "medicines", "Roe", "roe.json") if word in told]


def test_all_vaults_are_locked_when_the_server_ends(app: App) -> None:
    site = create_app(app, token=TOKEN)
    with TestClient(site, base_url="http://127.0.0.1", headers=BEARER) as running:
        vault = make(running, "ending")
        profile = site.state.safe.vaults.profile(vault)
        assert not profile.is_locked
    assert profile.is_locked
    assert not site.state.safe.is_open(vault)


def test_work_that_breaks_since_the_vault_was_locked_says_that_it_is_locked(client: httpx.Client, app: App) -> None:
    vaults_here = Vaults(app.settings)
    profile = vaults_here.open(make(client, "two windows"), PASSPHRASE)
    with pytest.raises(ZeroDivisionError), in_use(profile):
        raise ZeroDivisionError
    profile.lock()
    with pytest.raises(VaultLocked), in_use(profile):
        raise ZeroDivisionError
    vaults_here.close()


def test_an_erased_vault_is_gone_and_only_its_label_erases_it(client: httpx.Client, app: App) -> None:
    vault = make(client, "short-lived")
    again = client.post("/api/v1/vaults", json={"label": "Short-lived", "passphrase": PASSPHRASE})
    assert (again.status_code, again.json()["kind"]) == (409, "LabelTaken")
    assert client.post(f"/api/v1/vaults/{vault}/erase", json={"label": "mum"}).status_code == 422
    changed = {"passphrase": PASSPHRASE, "new": "four yellow scooters"}
    assert client.post(f"/api/v1/vaults/{vault}/passphrase", json=changed).status_code == 200
    client.post(f"/api/v1/vaults/{vault}/lock")
    assert client.post(f"/api/v1/vaults/{vault}/unlock", json={"passphrase": PASSPHRASE}).status_code == 403
    assert client.post(f"/api/v1/vaults/{vault}/unlock", json={"passphrase": changed["new"]}).status_code == 200
    assert client.post(f"/api/v1/vaults/{vault}/erase", json={"label": "short-lived"}).json() == {"erased": vault}
    assert client.get(f"/api/v1/records/{vault}/facts").status_code == 404
    assert not (app.settings.home / "vaults" / vault).exists()
    assert vault not in json.dumps(client.get("/api/v1/vaults").json())
