"""The guidelines chat over HTTP: answers with citations, sessions that are one person's, and clear refusals."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest
from starlette.testclient import TestClient

from citewell.api.app import create_app
from citewell.app import App
from citewell.types import Role, Source
from tests.assistants.test_guidelines_chat import JAUNDICE, SPOTS

TOKEN = "a-token-for-tests"
NOWHERE = "550e8400-e29b-41d4-a716-446655440000"
NAME = "Green spots: recognition and referral"

Knock = Callable[..., httpx.Client]


@pytest.fixture
def knock(app: App) -> Knock:
    """A client for a user of this role and name, over a library with one small guideline."""
    app.guidelines.add_source(Source(SPOTS.encode(), "spots.md"))
    site = create_app(app, token=TOKEN)

    def client(name: str = "ann", role: Role = Role.MEMBER, tenant: str = "local") -> httpx.Client:
        user = app.people.add(tenant=tenant, email=f"{name}@{tenant}.example", name=name, role=role, tags=[])
        _, key = app.people.add_key(user.id, tenant=tenant, name="tests")
        headers = {"Authorization": f"Bearer {key}"}
        return TestClient(site, base_url="http://127.0.0.1", headers=headers, follow_redirects=False)

    return client


@pytest.mark.parametrize("prefix", ["/api/v1", ""])
def test_a_message_is_answered_in_a_session_that_goes_on(knock: Knock, prefix: str) -> None:
    ann = knock()
    first = ann.post(f"{prefix}/chat", json={"message": JAUNDICE}).json()
    assert set(first) == {
        *("session_id", "answer_id", "answer", "citations", "emergency", "notices", "unused", "debug")
    }
    assert first["answer"].endswith(f"with unexplained jaundice. [{NAME} §1.1.1]")
    assert [(one["rule"], one["guideline"]) for one in first["citations"]] == [("1.1.1", NAME)]
    asked = {"document_id": first["citations"][0]["document_id"]}
    part = {"start": first["citations"][0]["start"], "end": first["citations"][0]["end"]}
    text = ann.get(f"/api/v1/documents/{asked['document_id']}/text", params=part).json()["text"]
    assert text == first["citations"][0]["excerpt"]
    assert first["debug"]["input_class"] == "proceed"
    assert set(first["debug"]) == {
        "input_class",
        "query_strategy",
        "search_query",
        "guardrail_result",
        "top_score",
        "chunks",
    }
    sent = {"message": "what about children?", "session_id": first["session_id"], "guideline": NAME.upper()}
    second = ann.post(f"{prefix}/chat", json=sent).json()
    assert second["session_id"] == first["session_id"]
    assert second["debug"]["query_strategy"] == "topic_enriched"
    history = ann.get(f"{prefix}/chat/{first['session_id']}/history").json()
    assert [(one["role"], one["content"]) for one in history["messages"]] == [
        ("user", JAUNDICE),
        ("assistant", first["answer"]),
        ("user", "what about children?"),
        ("assistant", second["answer"]),
    ]
    assert ann.get(f"/api/v1/audit/{first['answer_id']}").json()["question"] == JAUNDICE
    assert ann.delete(f"{prefix}/chat/{first['session_id']}").json() == {"deleted": [first["session_id"]]}
    assert ann.get(f"{prefix}/chat/{first['session_id']}/history").status_code == 404


def test_what_of_a_message_nothing_could_use_is_told(knock: Knock) -> None:
    def unused(message: str) -> dict[str, str]:
        answer = knock(f"ann{len(message)}").post("/api/v1/chat", json={"message": message}).json()
        return {one["words"]: one["why"] for one in answer["unused"]}

    assert unused(JAUNDICE) == {}
    told = unused("Should people with jaundice, a PSA of 12, a FIT of 45 ug/g, haemoptysis and grumblets be referred?")
    assert told["12"] == told["45 ug/g"]
    assert "does not use values" in told["12"]
    assert told["haemoptysis"] == f"not mentioned in {NAME}"
    assert told["grumblets"] == "not understood"


@pytest.mark.xfail(strict=True, reason="“wibbles” is one letter from “wobbles”, which is a name of unsteadiness")
def test_an_invented_word_near_a_lay_name_is_not_understood(knock: Knock) -> None:
    answer = knock("ann").post("/api/v1/chat", json={"message": "Should people with jaundice and wibbles be referred?"})
    assert {one["words"]: one["why"] for one in answer.json()["unused"]}["wibbles"] == "not understood"


def test_another_persons_session_is_not_there(knock: Knock) -> None:
    ann, bob, stranger = knock("ann"), knock("bob"), knock("cy", tenant="elsewhere")
    session = ann.post("/api/v1/chat", json={"message": JAUNDICE}).json()["session_id"]
    for other in (bob, stranger):
        assert other.get(f"/api/v1/chat/{session}/history").status_code == 404
        assert other.delete(f"/api/v1/chat/{session}/history").status_code == 404
    assert bob.post("/api/v1/chat", json={"message": "and cough?", "session_id": session}).status_code == 404
    assert ann.delete(f"/api/v1/chat/{session}/history").status_code == 200
    nothing = stranger.post("/api/v1/chat", json={"message": JAUNDICE})
    assert nothing.status_code == 404
    assert "No guidelines yet" in nothing.json()["detail"]


def test_what_is_wrong_is_said(knock: Knock) -> None:
    ann, reader = knock("ann"), knock("rea", role=Role.READER)
    assert reader.post("/api/v1/chat", json={"message": JAUNDICE}).status_code == 403
    wrong: list[tuple[dict[str, object], int]] = [
        ({}, 422),
        ({"message": "  "}, 422),
        ({"message": "x" * 4_001}, 422),
        ({"message": JAUNDICE, "nonsense": 1}, 422),
        ({"message": JAUNDICE, "guideline": " "}, 422),
        ({"message": JAUNDICE, "guideline": "NG99"}, 404),
        ({"message": JAUNDICE, "session_id": NOWHERE}, 404),
    ]
    for body, status in wrong:
        assert ann.post("/api/v1/chat", json=body).status_code == status, body
    assert ann.get(f"/api/v1/chat/{NOWHERE}/history").status_code == 404
    assert ann.get("/guidelines/chat").text.count('<li><a href="/guidelines/chat/') == 0, "nothing was kept of them"


def test_a_replay_of_a_chat_answer_comes_from_the_chat(knock: Knock) -> None:
    ann = knock()
    told = ann.post("/api/v1/chat", json={"message": JAUNDICE, "guideline": NAME}).json()
    again = ann.post(f"/api/v1/audit/{told['answer_id']}/replay").json()
    assert (again["is_same"], again["notes"]) == (True, [])
    assert again["text"]["now"] == told["answer"]


def test_the_rules_nearest_to_a_patient_come_in_the_order_that_the_record_gives(knock: Knock) -> None:
    ann = knock()
    patient = {"patient_id": "P1", "age": 45, "symptoms": ["jaundice"]}
    found = ann.post("/api/v1/guidelines/related", json=patient).json()["rules"]
    assert [one["rule"] for one in found] == ["1.1.1", "1.1.2"]
    assert [one["boost"] for one in found] == [0.25, 0.0], "an age that is reached, and a symptom in common"
    assert ann.post("/api/v1/guidelines/related", json={"patient_id": "P2"}).json() == {"rules": []}
    refused = ann.post("/api/v1/guidelines/related", json={"symptoms": [{"days": 3}]})
    assert refused.status_code == 422
    assert refused.json()["detail"] == "Unknown field “days”. Did you mean “duration_days”?"
    kept = ann.post("/api/v1/assess", json=patient).headers["X-Citewell-Answer-Id"]
    page = ann.get(f"/guidelines/assessments/{kept}/related").text
    assert page.index("§1.1.1") < page.index("§1.1.2")
    assert knock("bob").get(f"/guidelines/assessments/{kept}/related").status_code == 404


@pytest.mark.parametrize("prefix", ["/api/v1", ""])
def test_an_answer_comes_as_a_stream_the_way_to_care_first(knock: Knock, prefix: str) -> None:
    ann = knock()
    sent = {"message": "Ring 999? Which people with unexplained jaundice should be referred?"}
    with ann.stream("POST", f"{prefix}/chat/stream", json=sent) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        blocks = [block.splitlines() for block in "".join(response.iter_text()).split("\n\n") if block[:6] == "event:"]
    events = [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in blocks]
    assert [name for name, _ in events] == ["started", "told", *["working"] * 4, "sentence", "done"]
    told = dict(events)
    assert "Call 999" in told["told"]["text"]
    assert told["told"]["is_emergency"]
    assert told["done"]["emergency"]["text"] == told["told"]["text"]
    assert told["sentence"]["text"].endswith("with unexplained jaundice.")
    session = told["started"]["conversation_id"]
    history = ann.get(f"{prefix}/chat/{session}/history").json()["messages"]
    assert [one["content"] for one in history] == [sent["message"], told["done"]["text"]]
    assert knock("bob").post(f"{prefix}/chat/stream", json={**sent, "session_id": session}).status_code == 404


def test_a_rule_comes_with_the_table_that_it_refers_to(knock: Knock, app: App) -> None:
    app.guidelines.add_source(Source(TABLED.encode(), "stripes.md"))
    found = knock().post("/api/v1/chat", json={"message": "Who is referred by the PSA for their age?"}).json()
    assert [one["label"] for one in found["citations"]] == [
        "Stripes: referral §1.1.1",
        "Stripes: referral §1.1.1, table",
    ]
    assert [one["rule"] for one in found["citations"]] == ["1.1.1", "1.1.1"]
    assert "40 to 49" in found["citations"][1]["excerpt"]
    assert "More than 2.5" in found["answer"]


TABLED = """# Stripes: referral

## Recommendations

### 1.1 Prostate cancer

1.1.1 Refer people using a suspected cancer pathway referral for prostate cancer if their PSA levels are above the
threshold for their age in table 1. [2021]

| Age (years) | PSA threshold (micrograms/litre) |
|---|---|
| 40 to 49 | More than 2.5 |
| 50 to 59 | More than 3.5 |

1.1.2 Offer an urgent chest X-ray to people aged 40 and over with a persistent cough. [2021]
"""
