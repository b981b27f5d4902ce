"""`citewell guidelines` and `citewell assess`, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from citewell.cli.commands import app
from tests.cli.test_cli import Shell

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, shared_data: Path, model_cache: Path) -> Path:
    """A library with the real guideline."""
    folder = tmp_path_factory.mktemp("guidelines") / "home"
    file = shared_data / "guidelines" / "nice-ng12-2025-05.pdf"
    added = CliRunner().invoke(app, ["--home", str(folder), "guidelines", "add", str(file), "--json"])
    assert added.exit_code == 0, added.output
    shown = json.loads(added.output)
    assert (shown["name"], shown["rules"], shown["symptoms"], shown["was_there"]) == ("NG12", 110, 215, False)
    (folder / "patients").mkdir()
    (folder / "patients" / "one.json").write_text('{"patient_id": "P1", "age": 41, "symptoms": ["jaundice"]}', "utf-8")
    return folder


def _json(*words: str) -> dict[str, object]:
    result = CliRunner().invoke(app, [*words, "--json"])
    found = json.loads(result.output)
    assert isinstance(found, dict)
    return found


def test_check_shows_rules_rows_terms_and_problems(tmp_path: Path, shared_data: Path) -> None:
    found = _json(
        "--home", str(tmp_path), "guidelines", "check", str(shared_data / "guidelines" / "nice-ng12-2025-05.pdf")
    )
    rule = {"id", "section", "site", "page", "page_end", "text", "action", "criteria"}
    row = {"system", "group", "page", "symptom", "possible_cancer", "recommendation", "references"}
    assert {"title", "edition", "rules", "symptoms", "definitions", "problems"} <= set(found)
    rules, symptoms = found["rules"], found["symptoms"]
    assert isinstance(rules, list)
    assert isinstance(symptoms, list)
    assert all(rule <= set(one) for one in rules)
    assert all(row == set(one) for one in symptoms)


def test_a_patient_on_file_or_in_a_file_is_assessed(home: Path, shared_data: Path) -> None:
    found = _json("--home", str(home), "assess", "--patient", "P1")
    assert found["risk_level"] == "Urgent Referral"
    several = _json("--home", str(home), "assess", "--patient", str(shared_data / "patients" / "ng12-patients.json"))
    assessments = several["assessments"]
    assert isinstance(assessments, list)
    assert len(assessments) == 10
    told = CliRunner().invoke(app, ["--home", str(home), "assess", "--patient", "P1"])
    assert "✓ aged 40 and over — aged 41" in told.output


def test_no_criteria_met_is_shown_with_what_was_and_was_not_taken_into_account(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(home, capsys, monkeypatch)
    file = tmp_path / "one.json"
    file.write_text('{"patient_id": "P2", "age": 41, "symptoms": ["no jaundice", "zorbling", "runny nose"]}', "utf-8")
    status, told, _ = shell("assess", "--patient", str(file))
    lines = [line.strip() for line in told.splitlines()]
    assert (status, lines[:2]) == (0, ["P2: No NG12 Criteria Met", "taken into account:"])
    assert lines[2:4] == ["aged 41", "no jaundice — absent"]
    assert lines[lines.index("not understood:") + 1] == "zorbling (symptoms 2)"
    assert lines[lines.index("not used:") + 1] == "runny nose (symptoms 3) — not matched to any recommendation in NG12"
    file.write_text('{"Age": 60, "symptom": ["haemoptysis"]}', "utf-8")
    status, _, said = shell("assess", "--patient", str(file))
    assert status == 1
    assert "Unknown field “symptom”. Did you mean “symptoms”?" in said


def test_unknown_patients_and_libraries_without_guidelines_say_what_to_do(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Shell(home, capsys, monkeypatch).json("assess", "--patient", "P9")["error"]["kind"] == "NotFound"
    file = tmp_path / "one.json"
    file.write_text('{"age": 41}', "utf-8")
    status, _, said = Shell(tmp_path / "empty", capsys, monkeypatch)("assess", "--patient", str(file))
    assert (status, "guidelines add" in said) == (1, True)
    file.write_text('{"age": -4}', "utf-8")
    status, _, said = Shell(home, capsys, monkeypatch)("assess", "--patient", str(file))
    assert (status, "age" in said) == (1, True)


def test_what_is_no_guideline_is_refused_and_leaves_nothing(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(home, capsys, monkeypatch)
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Dr Quill,\n\nThank you for seeing this man with gout.\n", "utf-8")
    status, _, said = shell("guidelines", "add", str(letter))
    assert (status, "No numbered recommendations" in said) == (1, True)
    assert [one["name"] for one in shell.json("guidelines", "list")["guidelines"]] == ["NG12"]
    assert len(shell.json("list")["documents"]) == 1


GOUT = """# Gout

## Features

A hot, swollen, very painful joint, often the big toe.

## Treatment

Adults: naproxen 500 mg twice daily by mouth for 5 days.

## When to refer

Refer people with gout and fever to hospital the same day.
"""


def test_a_guideline_of_sections_answers_and_says_that_it_assesses_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path / "home", capsys, monkeypatch)
    (tmp_path / "gout.md").write_text(GOUT, "utf-8")
    status, told, _ = shell("guidelines", "add", str(tmp_path / "gout.md"))
    assert (status, "patients cannot be assessed" in told) == (0, True)
    (citation,) = shell.json("chat", "What dose of naproxen is given for gout?")["citations"]
    assert (citation["label"].split(", p.")[0], citation["excerpt"]) == (
        "Gout, Treatment",
        "Adults: naproxen 500 mg twice daily by mouth for 5 days.",
    )
    patient = tmp_path / "one.json"
    patient.write_text('{"patient_id": "P1", "age": 41, "symptoms": ["fever"]}', "utf-8")
    status, _, said = shell("assess", "--patient", str(patient))
    assert (status, "Patients cannot be assessed against Gout" in said) == (1, True)


def test_a_document_that_is_there_is_checked_before_it_is_filed_as_a_guideline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path / "home", capsys, monkeypatch)
    leaflet, rules = tmp_path / "leaflet.md", tmp_path / "rules.md"
    leaflet.write_text("# Iron\n\nTake one tablet with water.\n", "utf-8")
    rules.write_text("# 1.1 Spots\n\n1.1.1 Refer people if they have jaundice. [2020]\n", "utf-8")
    shell("add", str(leaflet))
    shell("add", str(rules), "--tag", "team")
    assert shell("guidelines", "add", str(leaflet))[0] == 1
    assert shell("guidelines", "add", str(rules))[0] == 0
    tags = {one["name"]: sorted(one["tags"]) for one in shell.json("list")["documents"]}
    assert tags == {"leaflet.md": ["public"], "rules.md": ["guideline", "team"]}
    patient = tmp_path / "patient.json"
    patient.write_text('{"symptoms": ["jaundice"]}', "utf-8")
    there = next(one for one in shell.json("list")["documents"] if one["name"] == "leaflet.md")
    assert shell("file", there["document_id"], "--tag", "guideline")[0] == 0  # tagged as one, and none
    assert shell.json("assess", "--patient", str(patient))["matched"][0]["rule"] == "1.1.1"
