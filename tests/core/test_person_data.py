"""Everything about one person is exported or erased with a receipt, and a legal hold keeps it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from citewell.app import App
from citewell.cli.commands import app as commands
from citewell.errors import DoesNotFit, NotFound
from citewell.types import Filing, Source

pytestmark = pytest.mark.usefixtures("libraries_in_files")
SECRET = "Maria takes 17 mg of examplamine every night."


@pytest.fixture
def home(app: App) -> Path:
    """A library with a document, a question, and a patient file about Maria, and a document about nobody."""
    app.add_source(Source(SECRET.encode(), "maria.txt"), filing=Filing(subject="maria"))
    app.add_source(Source(b"Fever above 38 degrees is measured twice.", "fever.txt"))
    asked = app.ask("How much examplamine does she take?", asker=app.owner(subject="maria"))
    assert "17 mg" in asked.text
    app.ask("How often is fever measured?")
    folder = app.settings.home / "patients"
    folder.mkdir()
    (folder / "maria.json").write_text(json.dumps({"id": "maria", "age": 61, "gender": "Female", "symptoms": []}))
    return app.settings.home


def citewell(home: Path, *words: str, typed: str = "") -> str:
    result = CliRunner().invoke(commands, ["--home", str(home), *words], input=typed)
    return f"{result.output}{result.exception or ''}"


def test_everything_is_exported(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "maria.zip"
    assert "1 document versions, 1 patient files, 1 questions" in citewell(
        home, "person", "export", "maria", str(target)
    )
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
        assert any(name.startswith("documents/") and SECRET in archive.read(name).decode() for name in names)
        assert "patients/maria.json" in names
        answer = next(name for name in names if name.startswith("answers/"))
        assert "examplamine" in archive.read(answer).decode()
        assert "fever" not in "".join(archive.read(name).decode() for name in names)
    assert "is already there" in citewell(home, "person", "export", "maria", str(target))


def test_everything_is_erased_and_the_receipt_proves_it(app: App, home: Path, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    assert "does not match" in citewell(home, "person", "erase", "maria", typed="mario\n")
    output = citewell(home, "person", "erase", "maria", "--yes", "--receipt", str(receipt))
    assert "A second search found nothing" in output
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"examplamine" not in kept
    assert not (home / "patients" / "maria.json").exists()
    assert len(app.entries()) == 1
    assert len(app.ask_service.conversations.all(app.owner())) == 1
    proof = app.audit_log.verify_chain(app.tenant)
    assert (proof.records, proof.problems) == (2, ())
    told = json.loads(receipt.read_text())
    assert "maria" not in receipt.read_text()
    record = app.audit_log.read(told["answers"][0], app.owner())
    assert record.words["question"] == "(about a person whose data was erased)"
    assert "examplamine" not in json.dumps(dict(record.words))
    assert "genuine. Found about this person now: 0." in citewell(
        home, "person", "check", str(receipt), "--name", "maria"
    )
    assert "about somebody else" in citewell(home, "person", "check", str(receipt), "--name", "john")
    assert "cannot be asked again" in citewell(home, "replay", told["answers"][0])
    receipt.write_text(json.dumps({**told, "conversations": 5}))
    assert "was changed" in citewell(home, "person", "check", str(receipt))
    assert "Nothing about “maria” was found" in citewell(home, "person", "erase", "maria", "--yes")


def test_a_hold_keeps_everything_until_it_is_removed(app: App, home: Path) -> None:
    assert "Hold added." in citewell(home, "holds", "add", "--person", "maria", "--why", "Court order 12")
    assert "already" in citewell(home, "holds", "add", "--person", "maria", "--why", "again")
    assert "person maria" in citewell(home, "holds", "list")
    assert "legal hold" in citewell(home, "person", "erase", "maria", "--yes")
    held = next(entry for entry in app.entries() if entry.subject == "maria")
    with pytest.raises(DoesNotFit, match="legal hold"):
        app.delete(held.id)
    assert len(app.entries()) == 2
    assert b"Court order" not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    free = next(entry for entry in app.entries() if entry.subject is None)
    citewell(home, "holds", "add", "--document", free.id[:8], "--why", "Audit")
    with pytest.raises(DoesNotFit, match="legal hold"):
        app.delete(free.id)
    assert "Hold removed." in citewell(home, "holds", "remove", "--document", free.id)
    assert "Hold removed." in citewell(home, "holds", "remove", "--person", "maria")
    assert "No such hold" in citewell(home, "holds", "remove", "--everything")
    assert "✓ Erased" in citewell(home, "person", "erase", "maria", "--yes")
    app.delete(free.id)
    assert app.entries() == []


def test_bad_input_erases_nothing(app: App, home: Path, tmp_path: Path) -> None:
    both = [{"id": name, "age": 61, "gender": "Female", "symptoms": []} for name in ("maria", "john")]
    (home / "patients" / "both.json").write_text(json.dumps(both))
    assert "holds other patients too" in citewell(home, "person", "erase", "maria", "--yes")
    (home / "patients" / "both.json").write_text("{")
    assert "could not be read" in citewell(home, "person", "erase", "maria", "--yes")
    assert "Name one" in citewell(home, "holds", "add", "--why", "x")
    assert "Give a reason" in citewell(home, "holds", "add", "--everything", "--why", " ")
    assert "is not a receipt" in citewell(home, "person", "check", str(tmp_path / "none"))
    assert len(app.entries()) == 2
    with pytest.raises(NotFound):
        app.holds.remove("everything", "", tenant=app.tenant)  # type: ignore[arg-type]
