"""CDS Hooks as a record system calls it: signed requests, prefetched FHIR data, cards, and feedback."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from citewell.api.doors.readable import SAMPLE
from citewell.app import App
from citewell.types import Source
from tests.api.conftest import serving_app
from tests.doors.conftest import EHR, Door

AGE = 40
"""From which on the sample guideline wants haemoptysis looked at."""
pytestmark = pytest.mark.slow

PATIENT_VIEW, ORDER_SELECT = "/cds-services/citewell-patient-view", "/cds-services/citewell-order-select"


def signed(door: Door, path: str, key: Any = None, header: Mapping[str, str] | None = None, **claims: Any) -> str:
    """A token as the standard wants it, unless claims say otherwise."""
    now = int(time.time())
    usual = {"iss": EHR, "aud": f"{door.address}{path}", "iat": now, "exp": now + 300, "jti": str(uuid.uuid4())}
    head = {"alg": "ES384", "kid": "ehr-1", "typ": "JWT", **(header or {})}
    algorithms = ["ES384", "HS256"]
    return jwt.encode(head, {**usual, **claims}, key or door.ehr_key, algorithms=algorithms)


def call(door: Door, path: str, body: Any = None, token: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token or signed(door, path)}"}
    with httpx.Client(base_url=door.address, headers=headers, timeout=60) as client:
        return client.get(path) if body is None else client.post(path, json=body)


def searchset(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": "searchset", "entry": [{"resource": one} for one in resources]}


def about(kind: str, name: str, **more: Any) -> dict[str, Any]:
    """A resource about the patient, named in words."""
    return {
        "resourceType": kind,
        "id": str(uuid.uuid4()),
        "subject": {"reference": "Patient/p1"},
        "code": {"text": name},
        **more,
    }


def condition(name: str, **more: Any) -> dict[str, Any]:
    status = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": "active"}]}
    return about("Condition", name, clinicalStatus=status, **more)


def ordered(name: str, at: int = 1) -> dict[str, Any]:
    order = about("MedicationRequest", name, status="draft", intent="order", medicationCodeableConcept={"text": name})
    return {**order, "id": f"order-{at}"}


PATIENT = {"resourceType": "Patient", "id": "p1", "birthDate": "1955-03-02", "gender": "female"}


def hook(name: str, prefetch: Mapping[str, Any], **context: Any) -> dict[str, Any]:
    return {
        "hook": name,
        "hookInstance": str(uuid.uuid4()),
        "context": {"userId": "Practitioner/1", "patientId": "p1", **context},
        "prefetch": dict(prefetch),
    }


def test_discovery_lists_each_service_with_its_hook_and_prefetch(door: Door) -> None:
    services = call(door, "/cds-services").json()["services"]
    assert {service["hook"]: service["id"] for service in services} == {
        "patient-view": "citewell-patient-view",
        "order-select": "citewell-order-select",
    }
    for service in services:
        assert service["prefetch"]["patient"] == "Patient/{{context.patientId}}"
        assert {"title", "description"} <= set(service)


def test_a_patient_who_meets_a_criterion_gets_a_card_with_the_quoted_recommendation(door: Door) -> None:
    prefetch = {"patient": PATIENT, "conditions": searchset(condition("Haemoptysis")), "observations": searchset()}
    answer = call(door, PATIENT_VIEW, hook("patient-view", prefetch)).json()
    with door.client(door.nurse) as api:
        patient = {"age": 71, "sex": "female", "symptoms": ["Haemoptysis"]}
        expected = api.post("/api/v1/assess", json=patient).json()
    met = [rule for rule in expected["matched"] if any(one["state"] == "met" for one in rule["conditions"])]
    assert met
    cards = [card for card in answer["cards"] if card["indicator"] != "critical"]
    assert len(cards) == len(met)
    for card, rule in zip(cards, met, strict=True):
        assert len(card["summary"]) < 140
        assert f"§{rule['rule']}" in card["summary"]
        assert rule["quote"].replace("\n", " ")[:40] in card["detail"].replace("\\", "")
        assert card["source"]["label"].startswith(f"{SAMPLE}. {expected['guidelines'][0]['title']}")
        assert SAMPLE in card["detail"]
        link = card["links"][0]
        assert (link["type"], card["overrideReasons"][0]["code"]) == ("absolute", "done")
        uuid.UUID(card["uuid"])
        with door.client(door.nurse) as browser:
            assert browser.get(link["url"]).status_code == 200
    with door.client(door.nurse) as api:
        record = api.get(f"/api/v1/audit/{answer['extension']['citewell']['answer_id']}").json()
        assert record["assessment"]["patient"]["age"] == 71


def test_no_card_is_given_where_nothing_is_met_and_what_was_not_used_is_said(door: Door) -> None:
    prefetch = {"patient": PATIENT, "conditions": searchset(condition("Ingrowing toenail")), "observations": None}
    answer = call(door, PATIENT_VIEW, hook("patient-view", prefetch)).json()
    assert answer["cards"] == []
    assert "observations: not sent, so nothing of it was used" in answer["extension"]["citewell"]["unused"]


def viewed(door: Door, *conditions: dict[str, Any], **patient: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The cards and the extension for a patient whose resource says this."""
    person = {key: value for key, value in {**PATIENT, **patient}.items() if value is not None}
    prefetch = {"patient": person, "conditions": searchset(*conditions), "observations": searchset()}
    answer = call(door, PATIENT_VIEW, hook("patient-view", prefetch))
    assert answer.status_code == 200, answer.text
    return answer.json()["cards"], answer.json()["extension"]["citewell"]


def test_a_date_of_birth_is_used_as_exactly_as_it_is_known_or_named(door: Door) -> None:
    today = datetime.now(UTC).date()
    whole, _ = viewed(door, condition("Haemoptysis"))
    met = [card["summary"] for card in whole]
    assert met
    for partial in ("1955", "1955-03"):
        cards, told = viewed(door, condition("Haemoptysis"), birthDate=partial)
        assert [card["summary"] for card in cards] == met
        assert "aged" in cards[0]["detail"]
        assert not any(partial in note for note in told["unused"])
    cards, told = viewed(door, condition("Haemoptysis"), birthDate=str(today.year - AGE))
    conditional = [card for card in cards if "if confirmed" in card["summary"]]
    assert (
        f"aged {AGE - 1} or {AGE}" in "".join(card["detail"] for card in conditional)
        or today.strftime("%m%d") == "1231"
    )
    assert any(unknown["ask"] == "How old is the patient?" for unknown in told["unknowns"])
    for wrong, why in (
        ("1960-13-45", "is not a date"),
        (f"{today.year + 4}-01-01", "lies in the future"),
        ("1492", "gives an age over 125"),
        (None, ""),
    ):
        cards, told = viewed(door, condition("Haemoptysis"), birthDate=wrong)
        assert [card["indicator"] for card in cards if "How old is the patient?" in card["summary"]] == ["info"], wrong
        assert any(unknown["ask"] == "How old is the patient?" and unknown["rules"] for unknown in told["unknowns"])
        if wrong:
            assert any(note.startswith(f"{wrong}: {why}") for note in told["unused"]), told["unused"]


def test_a_bundle_that_is_assessed_over_the_api_reads_a_date_of_birth_alike(door: Door) -> None:
    with door.client(door.nurse) as api:
        for birth, ages in (("1955", None), ("1955-13", "1955-13: is not a date")):
            resources = [{**PATIENT, "birthDate": birth}, condition("Haemoptysis", recordedDate="2026-11-01")]
            answer = api.post("/api/v1/assess", json=searchset(*resources)).json()
            unused = [f"{item['words']}: {item['why']}" for item in answer["unused"]]
            if ages is None:
                assert answer["patient"]["ages"] == [70, 71]
                assert answer["matched"]
                assert "1955" not in "".join(unused)
            else:
                assert any(note.startswith(ages) for note in unused)
                assert "How old is the patient?" in [unknown["ask"] for unknown in answer["unknowns"]]


def test_conditions_without_a_name_or_a_status_are_told_and_none_counts_as_over(door: Door) -> None:
    bare = {"system": "http://snomed.info/sct", "code": "66857006"}
    known = {"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "R04.2"}
    cards, told = viewed(door, condition("", code={"coding": [bare]}))
    assert "Code 66857006 (SNOMED CT): has no name and was not read" in told["unused"]
    cards, told = viewed(door, condition("", code={"coding": [known]}))
    assert any("§" in card["summary"] for card in cards)
    without = {key: value for key, value in condition("Haemoptysis").items() if key != "clinicalStatus"}
    cards, told = viewed(door, without)
    assert any("§" in card["summary"] for card in cards)
    assert any("“Haemoptysis” is active" in note for note in told["to_confirm"])
    assert all("To confirm" in card["detail"] for card in cards)
    cards, told = viewed(door, {**without, "abatementDateTime": "2020-01-01"})
    assert cards == []
    assert "Haemoptysis: not active in the record" in told["unused"]


def test_nothing_is_recommended_for_somebody_who_has_died(door: Door) -> None:
    for died in ({"deceasedBoolean": True}, {"deceasedDateTime": "2026-01-02"}):
        cards, told = viewed(door, condition("Haemoptysis"), **died)
        assert cards == []
        assert "The record says that the patient has died, so no card is shown." in told["unused"]
    assert viewed(door, condition("Haemoptysis"), deceasedBoolean=False)[0]


def order(door: Door, *names: str, selected: list[str] | None = None, **prefetch: Any) -> dict[str, Any]:
    drafts = searchset(*(ordered(name, at) for at, name in enumerate(names, 1)))
    sent = {"patient": PATIENT, "conditions": searchset(), "observations": searchset()}
    sent |= {"medications": searchset(), "allergies": searchset(), **prefetch}
    selections = [f"MedicationRequest/order-{at}" for at, _ in enumerate(names, 1)] if selected is None else selected
    body = hook("order-select", sent, selections=selections, draftOrders=drafts)
    answer = call(door, ORDER_SELECT, body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_an_order_against_an_allergy_or_the_product_information_gets_a_card(door: Door) -> None:
    allergy = {
        "resourceType": "AllergyIntolerance",
        "id": "a1",
        "patient": {"reference": "Patient/p1"},
        "code": {"text": "Penicillin"},
        "clinicalStatus": {"coding": [{"code": "active"}]},
    }
    cards = order(door, "Amoxicillin 500 mg capsules", allergies=searchset(allergy))["cards"]
    assert any("allergic to penicillin" in card["detail"] and card["indicator"] == "warning" for card in cards)
    assert order(door, "Amoxicillin 500 mg capsules")["cards"] == []
    taken = {
        **about("MedicationRequest", "", status="active", intent="order"),
        "medicationCodeableConcept": {"text": "Simvastatin 20 mg"},
    }
    cards = order(door, "Clarithromycin 250 mg tablets", medications=searchset(taken))["cards"]
    printed = [card for card in cards if "because the level of simvastatin rises" in card["detail"]]
    assert len(printed) == 1
    assert printed[0]["source"]["label"].startswith("Clarithromycin 250 mg tablets")
    assert "version 1" in printed[0]["source"]["label"]
    with door.client(door.nurse) as browser:
        assert "simvastatin" in browser.get(printed[0]["links"][0]["url"]).text
    with door.client(door.nurse) as api:
        answer = order(door, "Clarithromycin 250 mg tablets", medications=searchset(taken))
        record = api.get(f"/api/v1/audit/{answer['extension']['citewell']['answer_id']}").json()
        assert record["question"] == "p1: orders checked: Clarithromycin 250 mg tablets"
        warnings = record["order_check"]["warnings"]
        assert [warning["card"] for warning in warnings] == [card["uuid"] for card in answer["cards"]]
        assert any("level of simvastatin rises" in warning["quote"] and warning["document_id"] for warning in warnings)
        assert api.get(f"/audit/{record['answer_id']}").status_code == 200
    unselected = order(door, "Clarithromycin", selected=["MedicationRequest/other"], medications=searchset(taken))
    assert unselected["cards"] == []
    unknown = order(door, "Zzyzx cordial")
    assert unknown["cards"] == []
    assert unknown["extension"]["citewell"]["unused"] == [
        "Zzyzx cordial: not known as a medicine, so nothing was checked"
    ]


def test_words_of_a_document_become_no_markup_in_a_card(door: Door) -> None:
    prefetch = {"patient": PATIENT, "conditions": searchset(condition("Haemoptysis <img src=x> [a](b)"))}
    answer = call(door, PATIENT_VIEW, hook("patient-view", prefetch)).json()
    details = "".join(card["detail"] for card in answer["cards"])
    assert "\\<img src=x\\>" in details
    assert "<img" not in details.replace("\\<", "")
    assert "[a](b)" not in details


def test_feedback_is_kept_on_record(door: Door) -> None:
    card = viewed(door, condition("Haemoptysis"))[0][0]["uuid"]
    sent = {
        "card": card,
        "outcome": "overridden",
        "outcomeTimestamp": "2026-11-19T20:00:00Z",
        "overrideReason": {"reason": {"code": "done"}, "userComment": "Referred yesterday."},
    }
    path = f"{PATIENT_VIEW}/feedback"
    assert call(door, path, {"feedback": [sent]}).status_code == 200
    with door.client(door.nurse) as api:
        newest = api.get("/api/v1/audit", params={"limit": 1}).json()["records"][0]
        record = api.get(f"/api/v1/audit/{newest['answer_id']}").json()
        assert record["question"] == f"Feedback on card {card}: overridden"
        assert record["cds_feedback"]["overrideReason"]["userComment"] == "Referred yesterday."
        assert api.post(f"/api/v1/audit/{newest['answer_id']}/replay").status_code == 422
    with door.client(door.owner) as api:
        assert api.get("/api/v1/audit/proof").json()["problems"] == []
    long = {**sent, "overrideReason": {"userComment": "y" * 4_001}}
    unknown = {**sent, "card": str(uuid.uuid4())}
    for bad in (unknown, {**sent, "card": "x"}, long, {**sent, "outcome": "liked"}):
        assert call(door, path, {"feedback": [sent, bad]}).status_code == 422
    with door.client(door.nurse) as api:
        assert api.get("/api/v1/audit", params={"limit": 1}).json()["records"][0] == newest
    for wrong in ({"feedback": []}, {}):
        assert call(door, path, wrong).status_code == 422
    assert call(door, "/cds-services/other/feedback", {"feedback": [sent]}).status_code == 404


def test_a_token_is_checked_in_full(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    now = int(time.time())
    good = signed(door, "/cds-services")
    assert call(door, "/cds-services", token=good).status_code == 200
    refused = {
        "used before": good,
        "for another address": signed(door, "/cds-services/other"),
        "signature": signed(door, "/cds-services", ECKey.generate_key("P-384", {"kid": "ehr-1"})),
        "expired": signed(door, "/cds-services", iat=now - 900, exp=now - 600),
        "over an hour": signed(door, "/cds-services", exp=now + 90_000),
        "has no `jti`": signed(door, "/cds-services", jti=None),
        "has no `exp`": signed(door, "/cds-services", exp=None),
        "algorithm": signed(door, "/cds-services", OctKey.import_key("secret" * 8), {"alg": "HS256"}),
    }
    for why, token in refused.items():
        caplog.clear()
        answer = call(door, "/cds-services", token=token)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), why
        assert why in answer.json()["detail"], answer.text
        assert f"The token of {EHR} was refused" in caplog.text
        assert why in caplog.text
        assert not any(part in caplog.text for part in token.split("."))
    caplog.clear()
    for token in (signed(door, "/cds-services", iss="https://other.example"), "a.b.c"):
        answer = call(door, "/cds-services", token=token)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "not in CITEWELL_CDS_CLIENTS" in caplog.text
    # Signed calls open this door and no other.
    assert call(door, "/api/v1/documents", token=signed(door, "/api/v1/documents")).status_code == 401


def test_calls_that_cannot_be_answered_are_refused_and_nothing_is_compared(door: Door) -> None:
    whole = {"patient": PATIENT, "conditions": searchset(), "observations": searchset()}
    other = condition("Haemoptysis", subject={"reference": "Patient/p2"})
    far = condition("Haemoptysis", subject={"reference": "https://ehr.example/fhir/Patient/p2"})
    failed = {"resourceType": "OperationOutcome", "issue": [{"severity": "error", "code": "exception"}]}
    for body, status in (
        (hook("patient-view", {}), 412),
        (hook("patient-view", {**whole, "patient": failed}), 412),
        (hook("patient-view", {**whole, "patient": {**PATIENT, "id": "p2"}}), 422),
        (hook("patient-view", {**whole, "conditions": searchset(other)}), 422),
        (hook("patient-view", {**whole, "conditions": searchset(far)}), 422),
        (hook("order-select", whole), 422),
        ({**hook("patient-view", whole), "context": {}}, 422),
        ({**hook("patient-view", whole), "context": {"patientId": "p1"}}, 422),
        ({"hook": "patient-view"}, 422),
    ):
        answer = call(door, PATIENT_VIEW, body)
        assert answer.status_code == status, answer.text
        assert "Haemoptysis" not in answer.text
    assert call(door, "/cds-services/other", hook("patient-view", whole)).status_code == 404
    with door.client(door.reader) as client:
        assert client.get("/cds-services").status_code == 403


def test_a_request_that_is_too_large_is_refused_with_the_limit_and_its_setting(door: Door) -> None:
    path = f"{PATIENT_VIEW}/feedback"
    answer = call(door, path, {"feedback": [], "more": "x" * (513 * 1024)})
    assert answer.status_code == 413
    assert "512 KiB (CITEWELL_MAX_REQUEST_KB)" in answer.json()["detail"]


OWN = """# Green spots: recognition and referral

## 1.1 Spots

### Spot cancer

1.1.1 Refer people by suspected cancer pathway for spot cancer if aged 40 and over with jaundice. [2020]

1.1.2 Consider an urgent ultrasound scan for spot cancer in people with haemoptysis. [2020]
"""


def test_samples_bring_no_cards_beside_a_real_guideline_and_every_door_marks_them(samples: App) -> None:
    document_id = next(entry.id for entry in samples.entries() if entry.name == "breathlessness-guideline.pdf")
    samples.guidelines.refresh(document_id, samples.scope_of_owner())
    sent = {"patient": PATIENT, "conditions": searchset(condition("Haemoptysis")), "observations": searchset()}
    patient = {"age": 71, "sex": "female", "symptoms": ["haemoptysis"]}

    def assessed_by_mcp(client: httpx.Client, **more: Any) -> str:
        call = {"name": "assess", "arguments": {"patient": patient, **more}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accept = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        return str(client.post("/mcp", json=body, headers=accept).json()["result"]["content"][0]["text"])

    def asked(client: httpx.Client) -> dict[str, Any]:
        messages = [{"role": "user", "content": "what does the guideline say about haemoptysis?"}]
        reply = client.post("/v1/chat/completions", json={"model": "citewell-guidelines", "messages": messages})
        return dict(reply.json()["choices"][0]["message"])

    with serving_app(samples) as client:
        cards = client.post(PATIENT_VIEW, json=hook("patient-view", sent)).json()["cards"]
        assert cards
        assert all(card["source"]["label"].startswith(SAMPLE) for card in cards if "§" in card["summary"])
        told = assessed_by_mcp(client)
        assert f"{SAMPLE}. NV14 §1.3" in told
        assert "Urgent Referral if confirmed" in told
        answer = asked(client)
        assert f"{SAMPLE}. " in answer["content"].partition("Sources:")[2]
        assert all(each["url_citation"]["title"].startswith(SAMPLE) for each in answer["annotations"])
        samples.guidelines.add_source(Source(OWN.encode(), "spots.md"))
        cards = client.post(PATIENT_VIEW, json=hook("patient-view", sent)).json()["cards"]
        assert any("§1.1.2" in card["summary"] for card in cards)
        assert "NV14" not in str(cards)
        assert SAMPLE not in str(cards)
        assert "NV14" not in assessed_by_mcp(client)
        assert SAMPLE in assessed_by_mcp(client, guidelines=[document_id])
