"""Every door refuses what the page refuses, and shows the way to help first: a table of doors, a test for each."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.app import build
from citewell.config import Settings
from tests.api.conftest import serving_app
from tests.doors.conftest import ATTACKED_QUESTION, EMERGENCY, TAINTED_QUESTION, WARD_QUESTION, Door

pytestmark = pytest.mark.slow

JSON_RPC = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@dataclass(frozen=True)
class Way:
    """A way to ask: where, in what shape, and where its words come back."""

    name: str
    path: str
    body: Callable[[str], dict[str, Any]]
    answer: Callable[[httpx.Response], str]
    headers: Mapping[str, str]
    refused: Callable[[httpx.Response], bool]
    """Whether an answer with status 200 is a refusal by the protocol's own means."""


def _mcp(question: str) -> dict[str, Any]:
    call = {"name": "ask", "arguments": {"question": question}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}


def _hook(words: str) -> dict[str, Any]:
    status = {"coding": [{"code": "active"}]}
    subject = {"reference": "Patient/p1"}
    condition = {"resourceType": "Condition", "subject": subject, "code": {"text": words}, "clinicalStatus": status}
    patient = {"resourceType": "Patient", "id": "p1", "birthDate": "1955-03-02", "gender": "female"}
    context = {"userId": "Practitioner/1", "patientId": "p1"}
    prefetch = {"patient": patient, "conditions": condition, "observations": None}
    return {"hook": "patient-view", "hookInstance": str(uuid.uuid4()), "context": context, "prefetch": prefetch}


def _never(_response: httpx.Response) -> bool:
    return False


API = Way("api", "/api/v1/ask", lambda words: {"question": words}, lambda reply: str(reply.json()["text"]), {}, _never)
MCP = Way(
    "mcp",
    "/mcp",
    _mcp,
    lambda reply: str(reply.json()["result"]["content"][0]["text"]),
    JSON_RPC,
    lambda reply: bool(reply.json()["result"].get("isError")),
)
OPENAI = Way(
    "openai",
    "/v1/chat/completions",
    lambda words: {"model": "citewell", "messages": [{"role": "user", "content": words}]},
    lambda reply: str(reply.json()["choices"][0]["message"]["content"]),
    {},
    _never,
)
CDS = Way(
    "cds-hooks",
    "/cds-services/citewell-patient-view",
    _hook,
    lambda reply: "\n".join(card["detail"].replace("\\", "") for card in reply.json()["cards"]),
    {},
    _never,
)
WAYS = [API, MCP, OPENAI, CDS]
ASKING = [API, MCP, OPENAI]


def ids(ways: list[Way]) -> list[str]:
    return [way.name for way in ways]


def send(door: Door, way: Way, words: str, key: str | None) -> httpx.Response:
    with door.client(key) as client:
        return client.post(way.path, json=way.body(words), headers=way.headers)


@pytest.mark.parametrize("way", WAYS, ids=ids(WAYS))
def test_nobody_comes_in_without_a_key_or_with_a_wrong_or_a_revoked_one(door: Door, way: Way) -> None:
    with door.client(door.nurse) as client:
        made = client.post("/api/v1/keys", json={"name": "to be revoked"}).json()
        client.delete(f"/api/v1/keys/{made['id']}").raise_for_status()
    for key in (None, "cw_wrong", made["key"]):
        reply = send(door, way, WARD_QUESTION, key)
        assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
        assert "zanfluoride" not in reply.text


@pytest.mark.parametrize("way", WAYS, ids=ids(WAYS))
def test_a_browsers_session_without_our_form_is_not_enough(door: Door, way: Way) -> None:
    with door.client(None) as browser:
        browser.get(f"/?token={door.owner}")
        assert browser.get("/api/v1/me").status_code == 200
        assert browser.post(way.path, json=way.body(WARD_QUESTION), headers=way.headers).status_code == 403
        foreign = {**way.headers, "Origin": "https://evil.example", "Authorization": f"Bearer {door.owner}"}
        assert browser.post(way.path, json=way.body(WARD_QUESTION), headers=foreign).status_code == 403
        elsewhere = {**way.headers, "Host": "evil.example", "Authorization": f"Bearer {door.owner}"}
        assert browser.post(way.path, json=way.body(WARD_QUESTION), headers=elsewhere).status_code == 421


@pytest.mark.parametrize("way", WAYS, ids=ids(WAYS))
def test_a_reader_may_not_ask(door: Door, way: Way) -> None:
    reply = send(door, way, WARD_QUESTION, door.reader)
    assert reply.status_code == 403 or way.refused(reply)
    assert "Your role does not allow this" in reply.text


@pytest.mark.parametrize("way", ASKING, ids=ids(ASKING))
def test_a_key_gets_words_only_of_what_it_may_see(door: Door, way: Way) -> None:
    assert "zanfluoride rinse 7 ml" in way.answer(send(door, way, WARD_QUESTION, door.nurse))
    assert "7 ml" not in send(door, way, WARD_QUESTION, door.member).text


@pytest.mark.parametrize("way", WAYS, ids=ids(WAYS))
def test_too_much_and_no_json_are_refused(door: Door, way: Way) -> None:
    size = 33 * 1024 * 1024 if way is CDS else 600_000
    assert send(door, way, "x" * size, door.nurse).status_code == 413
    with door.client(door.nurse) as client:
        headers = {**way.headers, "Content-Type": "application/json"}
        assert client.post(way.path, content=b"{", headers=headers).status_code in (400, 422)


@pytest.mark.parametrize("way", WAYS, ids=ids(WAYS))
def test_the_way_to_help_comes_first(door: Door, way: Way) -> None:
    text = way.answer(send(door, way, EMERGENCY, door.nurse))
    to_a_clinician = "This may be an emergency: thoughts of suicide or self-harm. Act now"
    assert (to_a_clinician if way is CDS else "Samaritans 116 123") in text.split("\n\n")[0]


@pytest.mark.parametrize("way", ASKING, ids=ids(ASKING))
def test_an_order_in_a_document_is_not_followed(door: Door, way: Way) -> None:
    text = way.answer(send(door, way, ATTACKED_QUESTION, door.nurse))
    assert "salt water every hour" in text
    assert "700 ml hourly" not in text


@pytest.mark.parametrize("way", ASKING, ids=ids(ASKING))
def test_what_is_left_out_for_an_order_in_it_is_named(door: Door, way: Way) -> None:
    reply = send(door, way, TAINTED_QUESTION, door.nurse)
    assert "chalk paste every hour" not in way.answer(reply)
    assert "700 ml hourly" not in reply.text
    if way is API:
        assert set(reply.json()["suspicious"]) == {
            "Gum care",
            "Mouth sores",
        }  # of the nearest, those that hold an order
    else:
        assert "Note: a passage of Gum care contains what looks like an instruction" in way.answer(reply)


@pytest.mark.parametrize(
    ("way", "more"),
    [*((way, {}) for way in ASKING), (OPENAI, {"stream": True})],
    ids=[*ids(ASKING), "openai streamed"],
)
def test_who_is_in_danger_is_told_so_where_the_work_is_stopped(
    samples_home: Path, tmp_path: Path, way: Way, more: dict[str, Any]
) -> None:
    home = shutil.copytree(samples_home, tmp_path / "home")
    asked = "I have crushing chest pain and cannot breathe. " + "I walked the dog this morning. " * 90
    with build(Settings(home=home, max_processor_s=0.05, max_long_processor_s=0.05)) as app, serving_app(app) as client:
        sending = {"headers": way.headers, "timeout": 60}
        client.post(way.path, json=way.body("What is the dose of warfarin?"), **sending)
        late = client.post(way.path, json={**way.body(asked), **more}, **sending)
    assert "This may be an emergency" in late.text
    assert "999" in late.text
    assert "Send a shorter text" in late.text


@pytest.mark.parametrize("way", ASKING, ids=ids(ASKING))
def test_each_answer_is_on_record_under_the_person_of_the_key(door: Door, way: Way) -> None:
    question = f"{WARD_QUESTION} ({way.name})"
    send(door, way, question, door.nurse).raise_for_status()
    with door.client(door.nurse) as client:
        me = client.get("/api/v1/me").json()["user_id"]
        newest = client.get("/api/v1/audit", params={"limit": 1}).json()["records"][0]
        record = client.get(f"/api/v1/audit/{newest['answer_id']}").json()
    assert (record["question"], record["asker"]["user_id"]) == (question, me)
    assert json.dumps(record["scope"]["tags"]) == '["ward"]'
