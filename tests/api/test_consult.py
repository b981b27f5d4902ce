"""A consult over HTTP: every step of it, the gates between them, and nobody sees another's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from citewell.adapters.embedding.minilm import MiniLM
from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Role
from tests.assistants.consult_library import write_guidelines

STORY = (
    "28-year-old woman, 9 weeks pregnant, fever for 3 days with rigors, no cough. Temp 101.3 F, weighs 130 lb. "
    "Allergic to penicillin. Takes no medication."
)
BUNDLE = {
    "resourceType": "Bundle",
    "type": "collection",
    "entry": [
        {"resource": {"resourceType": "Patient", "id": "p", "birthDate": "1990-01-02", "gender": "male"}},
        {
            "resource": {
                "resourceType": "AllergyIntolerance",
                "id": "a",
                "clinicalStatus": {"coding": [{"code": "active"}]},
                "code": {"text": "Amoxicillin"},
                "patient": {"reference": "Patient/p"},
            }
        },
    ],
}

Knock = Callable[..., httpx.Client]
PASSWORD = "a long enough password"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("consult")
    with build(Settings(home=folder / "home")) as made:
        made.__dict__["embedder"] = embedder
        for path in write_guidelines(folder / "guidelines"):
            made.add(path)
        yield made


@pytest.fixture(scope="module")
def knock(app: App) -> Knock:
    site = create_app(app, token="a-token-for-tests")

    def client(name: str, role: Role = Role.MEMBER) -> Any:
        user = app.people.add(
            tenant="local", email=f"{name}@local.example", name=name, role=role, tags=("public",), password=PASSWORD
        )
        _, key = app.people.add_key(user.id, tenant="local", name="tests")
        return TestClient(site, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"})

    return client


def ask(client: httpx.Client, method: str, path: str, status: int = 200, **body: Any) -> Any:
    answer = client.request(
        method, f"/api/v1/consults{path}", json=body or ({} if (method, path) == ("POST", "") else None)
    )
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_consult_goes_from_the_first_word_to_a_signature_and_a_document(knock: Knock, app: App) -> None:
    ann = knock("ann")
    made = ask(ann, "POST", "", 201, setting="primary care")
    here = f"/{made['id']}"
    assert (made["state"], made["question"]["key"]) == ("interviewing", "complaint")
    told = ask(ann, "POST", f"{here}/messages", text=STORY)
    assert {one["name"]: one["polarity"] for one in told["findings"]}["Cough"] == "absent"
    assert told["red_flags"][0]["id"] == "fever-pregnancy"
    for one in told["findings"]:
        words = one["words"]
        assert STORY[words["start"] : words["end"]] == words["text"]
    entered = [{"condition": "Malaria", "confidence": "high"}]
    stopped = ask(ann, "PUT", f"{here}/differentials", 422, entered=entered)
    assert "Fever in pregnancy" in stopped["detail"]
    ask(ann, "POST", f"{here}/acknowledged")
    ready = ask(ann, "PUT", f"{here}/differentials", entered=entered)
    assert ready["state"] == "differentials_ready"
    assert {one["name"] for one in ready["differentials"][0]["supports"]} == {"Fever", "Rigors"}
    draft = ask(ann, "POST", f"{here}/assess")
    assert draft["state"] == "draft"
    edited = ask(ann, "POST", f"{here}/edits", statement="1.1", text="Start treatment today.", why="seen")
    assert edited["edits"][0]["was"] == draft["plan"]["diagnoses"][0]["offered"][0]["text"]
    signed = sign_as_ann(ann, app, here)
    assert "signed" in ask(ann, "POST", f"{here}/messages", 422, text="one more thing")["detail"]
    document = ask(ann, "GET", f"{here}/export?kind=json")
    composition, author = document["entry"][0]["resource"], document["entry"][1]["resource"]
    assert composition["status"] == "final"
    assert composition["attester"][0]["party"]["reference"] == document["entry"][1]["fullUrl"]
    assert author["identifier"][0]["value"] == "GMC 7654321"
    assert author["identifier"][1]["value"] == signed["signature"]["user_id"]
    assert ann.get(f"/api/v1/consults{here}/export?kind=pdf").content.startswith(b"%PDF")
    assert "Start treatment today." in ann.get(f"/api/v1/consults{here}/export?kind=txt").text
    assert app.replay(signed["answer_id"]).is_same


def sign_as_ann(ann: httpx.Client, app: App, here: str) -> Any:
    """Every reason to refuse a signature, then one that is given; the record holds what was signed."""
    user_id = ann.get("/api/v1/me").json()["user_id"]
    nameless = ask(ann, "POST", f"{here}/sign", 422, password=PASSWORD)
    assert "registration number" in nameless["detail"]
    app.people.change(user_id, tenant="local", name="Dr Ann Hill", registration="GMC 7654321")
    assert "An administrator set your password" in ask(ann, "POST", f"{here}/sign", 422, password=PASSWORD)["detail"]
    own = "my very own password"
    changed = ann.post("/api/v1/me/password", json={"current": PASSWORD, "new": own})
    assert changed.status_code == 204
    for given in ({"password": ""}, {"password": PASSWORD}, {"password": own, "name": "Dr Somebody Else"}):
        assert ask(ann, "POST", f"{here}/sign", 422, **given)["detail"].endswith((". Nothing was changed.", "signed."))
    assert ask(ann, "GET", here)["state"] == "draft"
    signed = ask(ann, "POST", f"{here}/sign", password=own)
    assert (signed["state"], signed["signed_by"]) == ("signed", "Dr Ann Hill")
    told = signed["signature"]
    assert (told["user_id"], told["registration"], told["confirmed_by"]) == (user_id, "GMC 7654321", "password")
    held = ann.get(f"/api/v1/audit/{signed['answer_id']}").json()["consult"]
    content = {key: value for key, value in held.items() if key not in ("signed_by", "signature")}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == told["sha256"] == held["signature"]["sha256"]
    return signed


def test_a_finding_is_added_corrected_and_taken_back_with_its_history(knock: Knock) -> None:
    bob = knock("bob")
    here = f"/{ask(bob, 'POST', '', 201)['id']}"
    ask(bob, "POST", f"{here}/messages", text="A cough for a week.")
    told = ask(bob, "POST", f"{here}/findings", name="weight", value=44, unit="lb")
    weight = next(one for one in told["findings"] if one["name"] == "weight")
    assert (weight["value"], weight["arithmetic"]) == (19.96, "44 lb × 0.453592 = 19.96 kg")
    cough = next(one for one in told["findings"] if one["name"] == "Cough")
    told = ask(bob, "PATCH", f"{here}/findings/{cough['id']}", polarity="absent")
    assert [(one["finding"]["id"], one["why"]) for one in told["gone"]] == [(cough["id"], "corrected by the clinician")]
    assert [one["polarity"] for one in told["findings"] if one["name"] == "Cough"] == ["absent"]
    told = ask(bob, "DELETE", f"{here}/findings/{weight['id']}")
    assert "weight" not in {one["name"] for one in told["findings"]}
    assert len(told["gone"]) == 2
    ask(bob, "DELETE", f"{here}/findings/f99", 404)
    ask(bob, "PATCH", f"{here}/findings/{cough['id']}", 404, polarity="present")


def test_a_vital_sign_without_a_value_is_refused_and_hides_no_consult(knock: Knock) -> None:
    eve = knock("eve-vital")
    here = f"/{ask(eve, 'POST', '', 201)['id']}"
    for body in ({"name": "temperature", "unit": "°C"}, {"name": "temperature"}, {"name": "rash"}):
        assert "Enter a value" in ask(eve, "POST", f"{here}/findings", 422, category="vital", **body)["detail"]
    told = ask(eve, "POST", f"{here}/messages", text="A cough for a week.")
    cough = next(one["id"] for one in told["findings"] if one["name"] == "Cough")
    ask(eve, "PATCH", f"{here}/findings/{cough}", 422, category="vital")
    assert [one["name"] for one in ask(eve, "GET", here)["findings"] if one["category"] == "vital"] == []
    assert ask(eve, "GET", "")


def test_what_is_unclear_or_intended_is_told_as_that(knock: Knock) -> None:
    ann = knock("ann-unsure")
    made = ask(ann, "POST", "", 201)
    told = ask(ann, "POST", f"/{made['id']}/messages", text="Possible fever since Monday. She plans to take ibuprofen.")
    polarities = {finding["name"]: finding["polarity"] for finding in told["findings"]}
    assert (polarities["Fever"], polarities["ibuprofen"]) == ("unclear", "intended")


def test_a_record_is_read_only_with_consent_which_is_kept(knock: Knock) -> None:
    cho = knock("cho")
    here = f"/{ask(cho, 'POST', '', 201)['id']}"
    refused = ask(cho, "POST", f"{here}/record", 422, bundle=BUNDLE)
    assert "consent" in refused["detail"]
    assert "Nothing is sent anywhere" in refused["detail"]
    assert ask(cho, "GET", here)["findings"] == []
    made = ask(cho, "POST", f"{here}/record", bundle=BUNDLE, consent=True)
    assert made["consent"]["source"] == "the record that was sent"
    known = {(one["category"], one["name"], one["unit"], one["by"]) for one in made["findings"]}
    assert ("allergy", "amoxicillin", None, "record") in known
    assert ("demographic", "sex", "male", "record") in known
    ask(cho, "POST", f"{here}/record", 403, vault="any", consent=True)
    ask(cho, "POST", f"{here}/record", 422, bundle={"resourceType": "Patient"}, consent=True)
    ask(cho, "POST", f"{here}/record", 422, consent=True)


def test_the_owner_begins_from_an_open_vault_once_the_patient_agrees(app: App) -> None:
    site = create_app(app, token="a-token-for-tests")
    owner = TestClient(
        site, base_url="http://127.0.0.1", headers={"Authorization": "Bearer a-token-for-tests"}, follow_redirects=True
    )
    passphrase = "three green bicycles"
    made = owner.post("/api/v1/vaults", json={"label": "Mr Example", "passphrase": passphrase}).json()["vault"]["id"]
    here = f"/{ask(owner, 'POST', '', 201)['id']}"
    assert "Mr Example" not in owner.get("/consult").text, "a locked vault is not offered"
    ask(owner, "POST", f"{here}/record", 423, vault=made, consent=True)
    owner.post(f"/api/v1/vaults/{made}/unlock", json={"passphrase": passphrase})
    added = owner.post(f"/api/v1/records/{made}/facts", json={"kind": "allergy", "fields": {"allergen": "latex"}})
    assert added.status_code == 201, added.text
    assert "Nothing is sent anywhere" in ask(owner, "POST", f"{here}/record", 422, vault=made)["detail"]
    read = ask(owner, "POST", f"{here}/record", vault=made, consent=True)
    assert ("allergy", "latex") in {(one["category"], one["name"].lower()) for one in read["findings"]}
    assert read["consent"]["source"] == "the patient's vault"
    assert "Mr Example" in owner.get("/consult").text
    both = owner.post("/consult", data={"vault": made, "consent": "true"}, files={"record": ("a.json", b"{}")})
    assert "Choose either a file or a record" in both.text
    begun = owner.post("/consult", data={"vault": made, "consent": "true"})
    assert "from the record" in begun.text
    assert "reads from the patient" in begun.text


def test_pregnancy_beside_a_record_that_says_male_is_asked_about_and_not_used(knock: Knock) -> None:
    eve = knock("eve")
    here = f"/{ask(eve, 'POST', '', 201)['id']}"
    ask(eve, "POST", f"{here}/record", bundle=BUNDLE, consent=True)
    told = ask(eve, "POST", f"{here}/messages", text="Fever for two days, 20 weeks pregnant.")
    assert "The record says male, but a pregnancy was recorded" in told["question"]["text"]
    assert told["patient"]["is_pregnant"] is None
    assert told["patient"]["sex"] is None
    ask(eve, "POST", f"{here}/acknowledged")
    refused = ask(eve, "PUT", f"{here}/differentials", 422, entered=[{"condition": "Flu"}])["detail"]
    assert "Resolve this before differentials: The record says male, but a pregnancy was recorded" in refused


def test_nobody_sees_or_changes_the_consult_of_another(knock: Knock) -> None:
    dan, fay, ray = knock("dan"), knock("fay"), knock("ray", Role.READER)
    here = f"/{ask(dan, 'POST', '', 201)['id']}"
    ask(fay, "GET", here, 404)
    ask(fay, "POST", f"{here}/messages", 404, text="hello")
    assert ask(fay, "GET", "") == {"consults": []}
    ask(ray, "GET", "", 403)


def test_a_clinician_goes_through_the_list_and_confirms_it(knock: Knock) -> None:
    ida = knock("ida")
    here = f"/{ask(ida, 'POST', '', 201)['id']}"
    told = ask(ida, "POST", f"{here}/messages", text="3 year old boy, 160 lb, cough for 2 days")
    assert not any(one["is_confirmed"] for one in told["findings"])
    assert told["patient"]["weight_kg"] is None
    cough = next(one["id"] for one in told["findings"] if one["name"] == "Cough")
    one = ask(ida, "POST", f"{here}/confirmed", findings=[cough])
    assert [two["id"] for two in one["findings"] if two["is_confirmed"]] == [cough]
    every = ask(ida, "POST", f"{here}/confirmed", findings=[])
    assert all(two["is_confirmed"] for two in every["findings"])
    assert every["patient"]["weight_kg"] == 72.57, "what was doubted holds once the clinician says so"
    assert every["contradictions"] == []
    ask(ida, "POST", f"{here}/confirmed", 404, findings=["f99"])


def test_what_was_said_and_could_not_be_used_is_listed_with_its_words(knock: Knock) -> None:
    ann = knock("uma")
    here = f"/{ask(ann, 'POST', '', 201)['id']}"
    text = "Hello, thanks. Fever for 3 days, frobnicase 12 zots, cough. The parking meter ate the ticket."
    told = ask(ann, "POST", f"{here}/messages", text=text)
    assert {one["name"] for one in told["findings"]} >= {"Fever", "Cough"}
    assert [(one["text"], one["why"]) for one in told["unused"]] == [
        ("frobnicase 12 zots", "the value 12 was not used"),
        ("The parking meter ate the ticket.", "not understood"),
    ]
    assert all(text[one["start"] : one["end"]] == one["text"] for one in told["unused"])
    assert ask(ann, "GET", here)["unused"] == told["unused"]
    more = ask(ann, "POST", f"{here}/messages", text="I don't know")
    assert more["unused"] == told["unused"]


def test_the_clinician_adds_takes_out_and_moves_lines_of_the_draft(knock: Knock) -> None:
    ann = knock("pen")
    here = f"/{ask(ann, 'POST', '', 201)['id']}"
    ask(ann, "POST", f"{here}/messages", text="30-year-old man, fever for 3 days, 70 kg. No medicines. No allergies.")
    entered = [{"condition": "Malaria", "confidence": "high"}]
    ask(ann, "PUT", f"{here}/differentials", entered=entered, despite="a test")
    ask(ann, "POST", f"{here}/assess")
    added = ask(ann, "POST", f"{here}/lines", diagnosis=1, text="Ring on Friday.", why="lives alone")
    assert (added["own"][0]["id"], added["own"][0]["text"]) == ("own1", "Ring on Friday.")
    moved = ask(ann, "POST", f"{here}/moves", statement="1.own1", before="1.1")
    assert moved["moves"] == [["1.own1", "1.1"]]
    assert ask(ann, "POST", f"{here}/removals", statement="1.1", why="done")["removed"] == [["1.1", "done"]]
    text = ann.get(f"/api/v1/consults{here}/export?kind=txt").text
    assert "1.own1 Ring on Friday." in text
    assert "removed by the clinician: " in text
    assert ask(ann, "POST", f"{here}/removals", statement="1.1", restore=True)["removed"] == []
    ask(ann, "POST", f"{here}/lines", 422, diagnosis=0, text="Rest.")
    ask(ann, "POST", f"{here}/moves", 422, statement="1.own1", before="2.1")
