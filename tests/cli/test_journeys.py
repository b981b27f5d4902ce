"""`citewell journeys` as a person and as a program use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_cli import LEAFLET, Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(tmp_path / "home", capsys, monkeypatch)


def test_journeys_are_added_filled_renamed_and_removed(shell: Shell, tmp_path: Path) -> None:
    leaflet = tmp_path / "iron.md"
    leaflet.write_text(LEAFLET)
    document_id = shell.json("add", str(leaflet))["added"][0]["document_id"]
    assert "No journeys yet" in shell("journeys", "list")[1]
    made = shell.json("journeys", "add", "Anaemia in adults", "--description", "Iron and more")["journey"]
    assert (made["slug"], made["revision"], made["documents"]) == ("anaemia-in-adults", 1, 0)
    filed = shell.json("journeys", "assign", "anaemia-in-adults", document_id[:8])["documents"]
    assert filed == [{"document_id": document_id, "journeys": ["anaemia-in-adults"]}]
    assert shell.json("search", "iron")["hits"] == []
    assert shell.json("journeys", "edit", "anaemia-in-adults", "--slug", "anaemia")["journey"]["slug"] == "anaemia"
    assert len(shell.json("search", "iron", "--journey", "anaemia")["hits"]) == 2
    asked = shell.json("journeys", "ask", "How many tablets are taken with water?", "--journey", "anaemia")
    assert (asked["citations"][0]["document_id"], asked["notes"]) == (document_id, {"journey": "anaemia"})
    again = shell("journeys", "ask", "Where are they kept?", "--conversation", asked["conversation_id"][:8])
    assert (again[0], f"To continue: --conversation {asked['conversation_id'][:8]}" in again[1]) == (0, True)
    assert shell.json("search", "iron", "--journey", "anemia")["error"]["kind"] == "NotFound"
    assert "anaemia                  Anaemia in adults  (1 document)" in shell("journeys", "list")[1]
    status, _, err = shell("journeys", "remove", "anaemia")
    assert (status, "Choose where to move them" in err) == (1, True)
    assert shell.json("journeys", "unassign", "anaemia", document_id)["documents"][0]["journeys"] == []
    assert shell.json("journeys", "remove", "anaemia") == {"removed": "anaemia", "documents": 0}
    assert shell.json("journeys", "assign", "nowhere", document_id)["error"]["kind"] == "NotFound"
    assert shell.json("journeys", "add", "Bad", "--slug", "no slug")["error"]["kind"] == "InputError"
