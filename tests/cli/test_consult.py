"""A consult from the command line, from the first word to the files it is exported to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from citewell.cli.commands import app
from citewell.errors import CitewellError
from tests.assistants.consult_library import write_guidelines

Run = Callable[..., Result]
TOKEN = "a-token-for-tests"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("CITEWELL_TOKEN", TOKEN)

    def verb(*words: str, input: str | None = None) -> Result:
        return CliRunner().invoke(app, ["--home", str(tmp_path / "home"), *words], input=input)

    return verb


@pytest.mark.slow
def test_findings_of_every_status_are_shown(run: Run) -> None:
    consult_id = json.loads(run("consult", "start", "--json").output)["id"]
    told = run(
        "consult", "say", consult_id, "Cough, no fever, ?DVT, plan physio, mother had asthma, pneumonia in 2019."
    )
    assert told.exit_code == 0
    marks = {line.split("“")[-1].rstrip("”"): line.split()[1] for line in told.output.splitlines() if "“" in line}
    assert (marks["DVT"], marks["fever"], marks["asthma"], marks["pneumonia"]) == ("?", "−", "family", "past")
    assert marks["physio"] == "plan"


@pytest.mark.slow
def test_a_consult_is_held_assessed_signed_and_exported(run: Run, tmp_path: Path) -> None:
    for path in write_guidelines(tmp_path / "guidelines"):
        assert run("add", str(path)).exit_code == 0
    consult_id = json.loads(run("consult", "start", "--json").output)["id"]
    told = run(
        "consult", "say", consult_id[:8],
        "A boy aged 4, 35 pounds, earache for 2 days. No allergies. Takes no medicines.",
    )  # fmt: skip
    assert "15.88 kg [35 lb × 0.453592 = 15.88 kg]" in told.output
    assert (
        "Acute otitis media (high"
        in run("consult", "differentials", consult_id, "--add", "Acute otitis media:high").output
    )
    plan = run("consult", "assess", consult_id).output
    assert "DRAFT" in plan
    assert "dose: 40 mg/kg per day × 15.88 kg = 635.2 mg per day" in plan
    assert "for adults; the patient is 4" in plan
    assert "f99" not in run("consult", "findings", consult_id).output
    assert "Enter your name" in str(run("consult", "sign", consult_id).exception)
    assert run("users", "profile", "--name", "Dr Ada", "--registration", "GMC 1").exit_code == 0
    typed = run("consult", "sign", consult_id, "--as", "Dr Bob", "--token-stdin", input=f"{TOKEN}\n")
    assert "You sign as Dr Ada" in str(typed.exception)
    wrong = run("consult", "sign", consult_id, "--token-stdin", input="guess\n")
    assert "The token is wrong" in str(wrong.exception)
    told = run("consult", "sign", consult_id, "--token-stdin", input=f"{TOKEN}\n").output
    assert "Signed by Dr Ada (GMC 1)" in told
    for suffix, begins in ((".json", b"{"), (".pdf", b"%PDF"), (".txt", b"CONSULT")):
        path = tmp_path / f"note{suffix}"
        written = run("consult", "export", consult_id, "--to", str(path), "--json")
        assert json.loads(written.stdout) == {"file": str(path), "bytes": path.stat().st_size}
        assert (tmp_path / f"note{suffix}").read_bytes().startswith(begins)
    assert "signed" in run("consult", "list").output
    refused = run("consult", "say", consult_id, "more")
    assert isinstance(refused.exception, CitewellError)
    assert "signed" in str(refused.exception)


def test_a_record_is_named_only_with_consent(run: Run, tmp_path: Path) -> None:
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"resource": {"resourceType": "Patient", "id": "p", "birthDate": "1990-01-02", "gender": "female"}}],
    }
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(bundle))
    refused = run("consult", "start", "--record", str(path))
    assert "Ask the patient" in str(refused.exception)
    assert json.loads(run("consult", "list", "--json").output) == {"consults": []}
    made = json.loads(run("consult", "start", "--record", str(path), "--consent", "--json").output)
    assert made["consent"]["source"] == "the file bundle.json"
    assert made["patient"]["sex"] == "female"
    (tmp_path / "letter.txt").write_text("Dear colleague")
    refused = run("consult", "start", "--record", str(tmp_path / "letter.txt"), "--consent")
    assert "not a FHIR R4 bundle" in str(refused.exception)


def test_what_could_not_be_used_is_printed(run: Run) -> None:
    consult_id = json.loads(run("consult", "start", "--json").output)["id"]
    told = run("consult", "say", consult_id, "Fever, sodium 128 mmol/L.").output
    assert "not used: “sodium 128 mmol/L” (the value 128 was not used)" in told
    assert "Not used: “sodium 128 mmol/L”" in run("consult", "show", consult_id).output
