"""The Consult pages, from the first message to a signed plan, over forms alone."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import TOKEN

GUIDELINE = b"""# Acute sinusitis

## Treatment in adults

Give amoxicillin 500 mg three times a day for 7 days to adults with acute bacterial sinusitis.

## People with penicillin allergy

Give doxycycline 100 mg twice a day to adults with acute sinusitis who are allergic to penicillin.
"""


def form(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    return client.post(path, data=fields, follow_redirects=True)


@pytest.fixture
def service(writer: httpx.Client) -> httpx.Client:
    files = {"files": ("sinusitis.md", GUIDELINE, "text/markdown")}
    assert writer.post("/api/v1/documents", files=files).status_code in (200, 201, 202)
    return writer


@pytest.mark.slow
def test_a_consult_goes_from_words_to_a_signed_plan_with_sources(service: httpx.Client) -> None:
    assert "No consultations yet" in service.get("/consult").text
    begun = form(service, "/consult", setting="primary care")
    here = str(begun.url.path)
    assert re.fullmatch(r"/consult/[0-9a-f-]{36}", here)
    told = form(
        service,
        f"{here}/say",
        text="I am a 34 year old man with facial pain for 10 days, no fever. Allergic to penicillin.",
    ).text
    assert "<q>" in told
    assert "not present" in told
    early = service.post(f"{here}/differentials", data={"condition": "Acute sinusitis"})
    if early.status_code != 303:
        assert "Reason for going ahead" in early.text
        form(service, f"{here}/differentials", condition="Acute sinusitis", despite="enough is known")
    plan = form(service, f"{here}/assess").text
    assert "Assessment and plan" in plan
    assert "data-panel" in plan
    assert "Signed by" not in plan
    edited = form(service, f"{here}/edits", statement="1.1", text="Give amoxicillin 500 mg.").text
    told = "The patient is allergic to penicillin"
    assert edited.count(told) >= 2, "beside the statement and before the signature"
    assert "Your signature needs your name and registration number." in edited
    assert told in service.post(f"{here}/sign", data={"password": TOKEN}).text
    reason = "penicillin was given since"
    assert "Enter your name" in service.post(f"{here}/sign", data={"password": TOKEN, "despite": reason}).text
    form(service, "/keys/profile", name="Dr Test", registration="GMC 1")
    assert "Reason for signing despite this" in service.get(here).text
    wrong = service.post(f"{here}/sign", data={"password": "guess", "despite": reason}).text
    assert "The token is wrong" in wrong
    signed = form(service, f"{here}/sign", password=f"http://127.0.0.1:8477/?token={TOKEN}", despite=reason).text
    assert "Signed by Dr Test (GMC 1)" in signed
    assert told in signed
    assert "penicillin was given since" in signed
    refused = service.post(f"{here}/say", data={"text": "more"})
    assert refused.status_code >= 400
    assert "Acute sinusitis" in service.get(f"/api/v1{here.replace('consult', 'consults')}/export?kind=txt").text
    assert "Signed" in service.get("/consult").text


def test_what_is_wrong_is_said_on_the_page_and_nothing_is_lost(writer: httpx.Client, shared_data: Path) -> None:
    bundle = next((shared_data / "fhir").glob("Estrella*.json")).read_bytes()
    refused = writer.post("/consult", files={"record": ("record.json", bundle, "application/json")})
    assert "must consent" in refused.text
    assert "No consultations yet" in writer.get("/consult").text, "nothing was begun"
    alone = b'{"resourceType": "Patient", "id": "p", "gender": "male"}'
    for nothing in (b"{}", alone, alone + b"\n" + alone.replace(b"male", b"female")):
        no_record = writer.post(
            "/consult", files={"record": ("record.json", nothing, "application/json")}, data={"consent": "true"}
        )
        assert "is not a FHIR R4 bundle" in no_record.text
    read = writer.post(
        "/consult",
        files={"record": ("record.json", bundle, "application/json")},
        data={"consent": "true"},
        follow_redirects=True,
    )
    assert "from the record" in read.text
    assert writer.get("/consult/00000000-0000-4000-8000-000000000000").status_code == 404


def test_a_patients_file_never_touches_a_disk(writer: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def rolled_over(_file: object) -> None:
        raise AssertionError("a record was written to the temporary folder")

    monkeypatch.setattr("tempfile.SpooledTemporaryFile.rollover", rolled_over)
    large = b'{"resourceType": "Bundle", "entry": [' + b" " * 3_000_000
    refused = writer.post("/consult", files={"record": ("record.json", large)}, data={"consent": "true"})
    assert "not complete JSON" in refused.text


def test_a_consult_left_for_a_week_says_so_on_its_page(writer: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(form(writer, "/consult").url.path)
    assert "left open" not in writer.get(here).text
    monkeypatch.setattr("citewell.assistants.consult.notebook.STALE_DAYS", 0)
    assert "This consultation was left open for 0 days." in writer.get(here).text


@pytest.mark.slow
def test_what_is_not_settled_stands_on_the_page_of_the_plan_and_before_the_signature(service: httpx.Client) -> None:
    here = str(form(service, "/consult").url.path)
    story = "I am a 34 year old man with facial pain for 10 days, no fever. No medicines. No known allergies."
    form(service, f"{here}/say", text=story)
    question = "Both “no known allergies” and an allergy (penicillin) were recorded. Which is right?"
    form(service, f"{here}/differentials", condition="Acute sinusitis", despite="")
    assert question in form(service, f"{here}/say", text="I am allergic to penicillin.").text
    plan = form(service, f"{here}/assess").text
    written = plan.partition("Assessment and plan")[2]
    assert f"Unresolved when this was written: {question}" in written
    assert "medicines are checked against both." in written
    refused = service.post(f"{here}/sign", data={"password": TOKEN}).text
    assert f"Resolve this before signing: {question}" in refused
    form(service, "/keys/profile", name="Dr Test", registration="GMC 1")
    assert "Reason for signing despite this" in service.get(here).text
    signed = form(service, f"{here}/sign", password=TOKEN, despite="the ward will ask").text
    assert "Signed despite an unresolved contradiction. Reason given: the ward will ask" in signed
