"""Guidelines over HTTP: patients are assessed on record, editions compared, and nobody sees another's."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from citewell.adapters.embedding.minilm import MiniLM
from citewell.api.app import create_app
from citewell.api.routes.assess import ANSWER_ID
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Filing, Role
from tests.assistants.printed import FIRST, SECOND, print_edition
from tests.assistants.printed_indented import SCORED, print_indented

TOKEN = "a-token-for-tests"
PATIENT = {"patient_id": "P9", "age": 45, "symptoms": ["weight loss"]}

Knock = Callable[..., httpx.Client]


@pytest.fixture
def app(tmp_path: Path, embedder: MiniLM) -> Iterator[App]:
    with build(Settings(home=tmp_path / "home")) as made:
        made.__dict__["embedder"] = embedder
        made.guidelines.add(print_edition(tmp_path / "spots-2015.pdf", "1 June 2015", FIRST))
        folder = tmp_path / "home" / "patients"
        folder.mkdir()
        (folder / "one.json").write_text(json.dumps({"patient_id": "PT-1", "age": 62, "symptoms": ["jaundice"]}))
        yield made


@pytest.fixture
def knock(app: App) -> Knock:
    site = create_app(app, token=TOKEN)

    def client(name: str, role: Role = Role.MEMBER, *, tenant: str = "local", tags: tuple[str, ...] = ()) -> Any:
        user = app.people.add(tenant=tenant, email=f"{name}@{tenant}.example", name=name, role=role, tags=tags)
        _, key = app.people.add_key(user.id, tenant=tenant, name="tests")
        return TestClient(site, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"})

    return client


@pytest.mark.parametrize("base", ["/api/v1", ""])
def test_a_patient_on_file_or_in_the_body_is_assessed_on_record(knock: Knock, app: App, base: str) -> None:
    ann = knock("ann", Role.ADMIN)
    listed = ann.get(f"{base}/assess/patients").json()
    assert listed == {"patients": [{"id": "PT-1", "name": None, "age": 62, "sex": None}], "unreadable": []}
    on_file = ann.post(f"{base}/assess/PT-1")
    assert on_file.status_code == 200
    assert on_file.json()["risk_level"] == "Consider Referral"
    sent, again = (ann.post(f"{base}/assess", json=PATIENT) for _ in range(2))
    assert sent.json()["risk_level"] == "Urgent Referral"
    assert sent.content == again.content
    (citation,) = sent.json()["citations"]
    document = app.show(citation["document_id"])[1]
    assert document.text[citation["start"] : citation["end"]] == citation["excerpt"]
    record = ann.get(f"/api/v1/audit/{sent.headers[ANSWER_ID]}").json()
    assert record["assessment"]["risk_level"] == "Urgent Referral"
    replay = ann.post(f"/api/v1/audit/{sent.headers[ANSWER_ID]}/replay").json()
    assert replay["is_same"]


def test_reasons_are_worded_only_where_there_is_a_model(knock: Knock) -> None:
    ann = knock("ann")
    assert ann.post("/api/v1/assess", json=PATIENT).json()["wording"] is None
    refused = ann.post("/api/v1/assess?worded=true", json=PATIENT)
    assert refused.status_code == 409
    assert "Assess without it" in refused.json()["detail"]


def test_a_fhir_bundle_may_be_the_body(knock: Knock) -> None:
    bundle: dict[str, Any] = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [
            {"resource": {"resourceType": "Patient", "id": "f1", "gender": "female", "birthDate": "1950-01-01"}},
            {
                "resource": {
                    "resourceType": "Condition",
                    "clinicalStatus": {"coding": [{"code": "active"}]},
                    "code": {"text": "Weight loss"},
                    "recordedDate": "2020-01-01",
                }
            },
        ],
    }
    ann = knock("ann")
    found = ann.post("/assess", json=bundle).json()
    assert (found["risk_level"], found["patient"]["age"]) == ("Urgent Referral", 70)
    bundle["entry"][1]["resource"]["verificationStatus"] = {"coding": [{"code": "entered-in-error"}]}
    assert ann.post("/assess", json=bundle | {"timestamp": "2020-01-01"}).json()["matched"] == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"age": -3}, "“age” of a patient must be a number from 0 to 125."),
        ({"age": 45.5}, "Enter the age as a whole number of years."),
        ({"symptoms": "cough"}, "“symptoms” of a patient must be a list"),
        ({"symptoms": ["weight loss " * 100] * 10}, "over 10,000 characters in total"),
        ({"resourceType": "Bundle", "entry": 7}, ""),
        ([1, 2], "Check these parts of the request"),
        ({"Age": 60, "symptom": ["jaundice"]}, "Unknown field “Age”. Did you mean “age”? Unknown field “symptom”."),
        ({"age": 60, "smoker": "yes"}, "Unknown field “smoker”. Did you mean “smoking”?"),
        ({"symptoms": [{"text": "cough", "duration": 3}]}, "Unknown field “duration”. Did you mean “duration_days”?"),
        ({"tests": [{"name": "PSA", "units": "ng/mL"}]}, "Unknown field “units”. Did you mean “unit”?"),
        ({"tests": [{"name": "PSA", "flag": "enormous"}]}, "The flag of a test must be low, normal or high"),
        ({"gender": "masculin"}, "“gender” of a patient must be female or male"),
        ({"symptoms": [{"text": "cough", "name": "fever"}]}, "either “text” or “name”"),
    ],
)
def test_a_patient_that_cannot_be_is_refused_in_one_sentence(knock: Knock, body: Any, told: str) -> None:
    answer = knock("ann").post("/assess", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert told in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/api/v1/guidelines/related", {"symptom": ["cough"]}, "“symptoms”"),
        ("/api/v1/guidelines/related", {"tests": [{"name": "PSA", "units": "ng/mL"}]}, "“unit”"),
        ("/api/v1/chat", {"message": "cough?", "session": "x"}, "“session_id”"),
        ("/api/v1/ask", {"question": "cough?", "Tag": ["a"]}, "“tags”"),
        ("/api/v1/consults", {"Country": "GB"}, "“country”"),
        ("/api/v1/chat", {"message": "cough?", "zzz": 1}, "The fields are: message, session_id, guideline."),
    ],
)
def test_an_unknown_field_is_refused_with_the_nearest_known_one(
    knock: Knock, path: str, body: dict[str, Any], told: str
) -> None:
    answer = knock("ann").post(path, json=body)
    assert (answer.status_code, answer.json()["kind"]) == (422, "InputError")
    assert answer.json()["detail"].startswith("Unknown field “")
    assert told in answer.json()["detail"]


def test_what_is_not_there_is_404_for_everyone(knock: Knock, app: App) -> None:
    ann = knock("ann")
    assert ann.post("/assess/NOBODY").status_code == 404
    assert ann.post("/assess", json=PATIENT, params={"guideline": "nothing"}).status_code == 404
    (entry,) = app.guidelines.entries(app.scope_of_owner())
    stranger = knock("bob", tenant="elsewhere")
    assert stranger.post("/assess/PT-1").status_code == 404
    assert stranger.get("/assess/patients").json()["patients"] == []
    assert stranger.get(f"/api/v1/guidelines/{entry.id}").status_code == 404
    assert stranger.post("/assess", json=PATIENT).status_code == 404  # no guideline of their own
    app.refile(entry.id, Filing(tags=frozenset({"guideline", "secret"})))
    assert ann.post("/assess", json=PATIENT).status_code == 404
    assert knock("sue", tags=("secret",)).post("/assess", json=PATIENT).status_code == 200


def test_a_reader_may_look_and_not_assess(knock: Knock) -> None:
    reader = knock("rita", Role.READER)
    assert reader.get("/api/v1/guidelines").status_code == 200
    assert reader.post("/assess", json=PATIENT).status_code == 403
    assert reader.get("/assess/patients").status_code == 403


def test_who_has_not_signed_in_gets_a_problem_not_a_page(app: App) -> None:
    site = TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1")
    answer = site.post("/assess", json=PATIENT)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"


def test_one_bad_file_among_the_patients_hides_nobody_and_is_named(knock: Knock, app: App) -> None:
    (app.settings.home / "patients" / "bad.json").write_text("{")
    ann = knock("ann", Role.ADMIN)
    listed = ann.get("/assess/patients").json()
    assert (len(listed["patients"]), listed["unreadable"]) == (1, ["bad.json"])
    assert ann.post("/assess/PT-1").status_code == 200


def test_patients_on_file_are_closed_to_other_users_of_the_machine(knock: Knock, app: App, tmp_path: Path) -> None:
    folder = app.settings.home / "patients"
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"patient_id": "PT-9", "age": 50}')
    (folder / "link.json").symlink_to(elsewhere)
    for path in (folder, folder / "one.json", elsewhere):
        path.touch()
        path.chmod(0o755)
    knock("ann", Role.ADMIN).get("/assess/patients")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "one.json", elsewhere)]
    assert modes == [0o700, 0o700, 0o755]


def test_guidelines_rules_and_editions_can_be_read(knock: Knock, app: App, tmp_path: Path) -> None:
    ann = knock("ann")
    (listed,) = ann.get("/api/v1/guidelines").json()["guidelines"]
    assert (listed["rules"], listed["edition"]) == (3, "1 June 2015")
    old = listed["document_id"]
    whole = ann.get(f"/api/v1/guidelines/{old}").json()
    rule = ann.get(f"/api/v1/guidelines/{old}/rules/1.1.2").json()
    assert rule == whole["rules"][1]
    assert ann.get(f"/api/v1/guidelines/{old}/rules/9.9.9").status_code == 404
    kept = ann.post("/assess", json=PATIENT).headers[ANSWER_ID]
    new = app.guidelines.add(print_edition(tmp_path / "spots-2025.pdf", "1 May 2025", SECOND)).entry.id
    found = ann.get("/api/v1/guidelines/diff", params={"old": old, "new": new}).json()
    assert [one["answer_id"] for one in found["assessments"]] == [kept]
    other = knock("olga").get("/api/v1/guidelines/diff", params={"old": old, "new": new}).json()
    assert other["assessments"] == []
    assert other["changed"] == found["changed"]


def test_a_score_is_worked_out_over_http_and_on_the_page_of_the_assessment(
    knock: Knock, app: App, tmp_path: Path
) -> None:
    added = app.guidelines.add(print_indented(tmp_path / "score.pdf", SCORED))
    ann = knock("ann")
    sent = ann.post("/api/v1/assess", json={"patient_id": "P3", "age": 70, "symptoms": ["confusion"]})
    (score,) = sent.json()["scores"]
    assert (score["guideline"], score["total"], score["highest"]) == ("NG999", 2, 4)
    page = ann.get(f"/guidelines/assessments/{sent.headers[ANSWER_ID]}").text
    assert "Box 1 Purple score: 2 to 4" in page
    assert "raised respiratory rate (30 breaths per minute or more)" in page
    rules = ann.get(f"/guidelines/rules?document={added.entry.id}").text
    assert "2 of 2 numbered recommendations; no text left unread" in rules
    coverage = ann.get(f"/api/v1/guidelines/{added.entry.id}").json()["coverage"]
    assert (coverage["recommendations"], coverage["numbered"], coverage["unread"]) == (2, 2, [])
