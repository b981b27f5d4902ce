"""CDS Hooks as a record system calls it: signed requests, prefetched FHIR data, cards, and feedback."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from tests.doors.conftest import EHR, Door

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
        assert card["source"]["label"].startswith(expected["guidelines"][0]["title"])
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
    card = str(uuid.uuid4())
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
    for wrong in ({"feedback": []}, {"feedback": [{**sent, "outcome": "liked"}]}, {}):
        assert call(door, path, wrong).status_code == 422
    assert call(door, "/cds-services/other/feedback", {"feedback": [sent]}).status_code == 404


def test_a_token_is_checked_in_full(door: Door) -> None:
    now = int(time.time())
    good = signed(door, "/cds-services")
    assert call(door, "/cds-services", token=good).status_code == 200
    refused = {
        "used before": good,
        "for another address": signed(door, "/cds-services/other"),
        "of another system": signed(door, "/cds-services", iss="https://other.example"),
        "signed by another": signed(door, "/cds-services", ECKey.generate_key("P-384", {"kid": "ehr-1"})),
        "expired": signed(door, "/cds-services", iat=now - 900, exp=now - 600),
        "valid for too long": signed(door, "/cds-services", exp=now + 90_000),
        "without a name": signed(door, "/cds-services", jti=None),
        "by a shared secret": signed(door, "/cds-services", OctKey.import_key("secret" * 8), {"alg": "HS256"}),
        "no token at all": "a.b.c",
    }
    for why, token in refused.items():
        answer = call(door, "/cds-services", token=token)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), why
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
        ({"hook": "patient-view"}, 422),
    ):
        answer = call(door, PATIENT_VIEW, body)
        assert answer.status_code == status, answer.text
        assert "Haemoptysis" not in answer.text
    assert call(door, "/cds-services/other", hook("patient-view", whole)).status_code == 404
    with door.client(door.reader) as client:
        assert client.get("/cds-services").status_code == 403
