"""`citewell records`, as a person and as a program use it."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import Shell
from tests.core.test_fhir_records import ALL, FIBRILLATION, PATIENT, bundle

pytestmark = pytest.mark.slow

PASSPHRASE = "three green bicycles"


class Record:
    """A vault with a passphrase, and the verbs that are used on it."""

    def __init__(self, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shell, self.monkeypatch = shell, monkeypatch
        self("vault", "create", "me")

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(PASSPHRASE + "\n"))
        return self.shell(*words, "--passphrase-stdin")

    def json(self, *words: str) -> Any:
        return json.loads(self("records", *words, "--json")[1])


@pytest.fixture
def record(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Record:
    return Record(Shell(tmp_path / "home", capsys, monkeypatch), monkeypatch)


def test_a_record_is_imported_looked_at_and_reviewed(record: Record, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.json", tmp_path / "broken.json"
    whole.write_bytes(bundle(*ALL))
    broken.write_bytes(bundle({**PATIENT, "birthDate": "soon"}, FIBRILLATION))
    told = record.json("import", str(whole), str(broken))
    (done,), (failed,) = told["imported"], told["failed"]
    assert (done["title"], done["was_there"], done["facts"]) == (
        "Health record of Ann Roe",
        False,
        {"added": 6, "changed": 0, "same": 0},
    )
    assert failed["message"].startswith("Entry 1 (Patient) is invalid: Enter a date as")
    assert record.json("import", str(whole))["imported"][0]["facts"] == {"added": 0, "changed": 0, "same": 6}

    (medicine,) = record.json("facts", "--kind", "medication")["facts"]
    assert (medicine["generic_name"], medicine["prescriber"]) == ("Warfarin Sodium", "Dr. Li Chen")
    assert medicine["origin"]["document_id"] == done["document_id"]
    assert [one["test_name"] for one in record.json("labs", "--critical")["facts"]] == ["INR"]
    assert [one["value"] for one in record.json("labs", "inr")["facts"]] == [9.1]

    (waiting,) = record.json("review")["facts"]
    assert (waiting["name"], waiting["is_verified"]) == ("Atrial fibrillation", False)
    corrected = record.json("correct", waiting["id"][:8], "status=resolved", "ended=2020")["fact"]
    assert (corrected["status"], corrected["ended"], corrected["is_verified"]) == ("resolved", "2020", True)
    assert record.json("review") == {"facts": []}
    assert record.json("confirm", waiting["id"])["fact"] == corrected
    assert record.json("reject", waiting["id"])["fact"]["name"] == "Atrial fibrillation"
    assert record.json("facts", "--kind", "diagnosis") == {"facts": []}


def test_own_words_alerts_and_their_end(record: Record) -> None:
    allergy = record.json("add", "allergy", "Penicillin", "--reaction", "rash", "--severity", "mild")["fact"]
    assert (allergy["allergen"], allergy["origin"]) == ("Penicillin", {"via": "patient_reported"})
    medicine = record.json("add", "medication", "Amoxicillin", "--dose", "500 mg", "--as-needed")["fact"]
    symptom = record.json("add", "symptom", "itch", "--severity", "2", "--medication", medicine["id"][:8])["fact"]
    assert (symptom["medication_id"], symptom["still_active"]) == (medicine["id"], True)
    (alert,) = record.json("alerts")["alerts"]
    assert (alert["kind"], set(alert["fact_ids"])) == ("allergy", {allergy["id"], medicine["id"]})
    assert record.json("dismiss", alert["id"][:8], "--why", "it was checked")["alert"] == alert
    assert record.json("alerts") == {"alerts": []}
    assert record.json("alerts", "--all") == {"alerts": [alert]}
    status, out, _error = record("records", "facts", "--kind", "symptom")
    assert (status, out.partition("  ")[2].partition(";")[0]) == (0, "itch: 2 of 5")


def test_everything_goes_out_as_fhir_and_comes_in_again(record: Record, tmp_path: Path) -> None:
    fact = record.json("add", "allergy", "Latex")["fact"]
    target = tmp_path / "record.json"
    assert record.json("export", str(target)) == {"path": str(target), "size_bytes": target.stat().st_size}
    assert target.stat().st_mode & 0o777 == 0o600
    (told,) = record.json("import", str(target))["imported"]
    assert (told["document_id"], told["facts"]) == (None, {"added": 0, "changed": 0, "same": 1})
    assert record.json("facts") == {"facts": [fact]}
    assert record("records", "export", str(target))[0] == 1
    summary = tmp_path / "summary.json"
    record.json("export", str(summary), "--format", "ips")
    assert json.loads(summary.read_text())["entry"][0]["resource"]["resourceType"] == "Composition"


def test_a_zip_comes_in_at_once_and_says_what_became_of_each_file(record: Record, tmp_path: Path) -> None:
    target = tmp_path / "export.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("README.TXT", "Open the files.")
        archive.writestr("letters/letter.txt", "Dear Maria, please take the tablets with water. Dr Chen")
        archive.writestr("film.mp4", b"\0\0\0\x18ftypmp42")
    (told,) = record.json("import", str(target))["imported"]
    assert [(file["name"], file["is_read"]) for file in told["files"]] == [
        ("README.TXT", False),
        ("film.mp4", False),
        ("letters/letter.txt", True),
    ]
    code, output, _ = record("records", "import", str(target))
    assert (code, "1 of 3 files read" in output) == (0, True)


def test_what_cannot_be_done_is_one_sentence(record: Record) -> None:
    for words, told in (
        (("facts", "--kind", "dream"), "--kind must be one of person"),
        (("confirm", "zzzz"), "Fact not found in this record"),
        (("dismiss", "zzzz"), "Alert not found"),
        (("correct", "zzzz", "dose"), "FIELD=VALUE"),
        (("add", "allergy", "Latex", "--since", "spring"), "Enter a date as"),
    ):
        status, out, error = record("records", *words)
        assert (status, out, error.count("\n")) == (1, "", 1)
        assert told in error


def test_what_was_asked_is_kept_judged_and_forgotten(record: Record, tmp_path: Path) -> None:
    whole = tmp_path / "whole.json"
    whole.write_bytes(bundle(*ALL))
    (imported,) = record.json("import", str(whole))["imported"]
    assert record("records", "conversations")[1] == "No questions yet.\n"
    answer = record.json("ask", "Who prescribed warfarin?")
    assert "Dr. Li Chen" in answer["text"]
    talk = answer["conversation_id"]
    (kept,) = record.json("conversations")["conversations"]
    assert (kept["id"], bool(kept["title"])) == (talk, True)
    said = record.json("conversations", talk)["turns"]
    assert [(one["role"], one["is_helpful"]) for one in said] == [("user", None), ("assistant", None)]
    assert said[0]["text"] == "Who prescribed warfarin?"

    judged = record.json("feedback", said[1]["answer_id"], "helpful")
    assert judged == {"answer_id": said[1]["answer_id"], "is_helpful": True}
    assert record.json("conversations", talk)["turns"][1]["is_helpful"] is True
    record("records", "feedback", said[1]["answer_id"], "none")
    assert record.json("conversations", talk)["turns"][1]["is_helpful"] is None

    assert record.json("forget", talk) == {"erased": talk}
    assert record.json("conversations") == {"conversations": []}
    assert record("records", "conversations", talk)[0] == 1

    (paper,) = record.json("papers")["papers"]
    assert paper["document_id"] == imported["document_id"]
    status, out, error = record("records", "propose", imported["document_id"][:8])
    assert (status, out) == (1, "")
    assert "model" in error


def test_what_is_set_for_a_record_stays_set_and_says_that_nothing_leaves(record: Record) -> None:
    before = record.json("settings")
    assert (before["language"], before["in_use"], before["sent_to"]) == (None, "extractive", "")
    after = record.json("settings", "--language", "fr", "--lock-minutes", "5")
    assert (after["language"], after["lock_minutes"]) == ("fr", 5)
    assert record.json("settings") == after
    _status, out, _error = record("records", "settings")
    assert "Locks after 5 idle minutes; language: fr." in out
    assert "Nothing leaves this computer." in out
    assert record.json("settings", "--language", "default")["language"] is None
    status, _out, error = record("records", "settings", "--language", "elvish")
    assert (status, "--language must be en, fr, de or default." in error) == (1, True)
