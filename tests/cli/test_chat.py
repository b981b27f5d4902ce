"""`citewell chat`, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from citewell.cli.commands import app
from citewell.errors import NotFound
from tests.assistants.test_guidelines_chat import JAUNDICE, SPOTS

pytestmark = pytest.mark.slow

NAME = "Green spots: recognition and referral"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with one small guideline."""
    folder = tmp_path_factory.mktemp("chat")
    (folder / "spots.md").write_text(SPOTS, "utf-8")
    added = CliRunner().invoke(app, ["--home", str(folder / "home"), "guidelines", "add", str(folder / "spots.md")])
    assert added.exit_code == 0, added.output
    return folder / "home"


def _json(home: Path, *words: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["--home", str(home), "chat", *words, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert isinstance(found, dict)
    return found


def test_a_session_goes_on_by_the_first_characters_of_its_id(home: Path) -> None:
    first = _json(home, JAUNDICE)
    assert set(first) == {
        *("session_id", "answer_id", "answer", "citations", "emergency", "notices", "unused", "debug")
    }
    assert first["answer"].endswith(f"[{NAME} §1.1.1]")
    second = _json(home, "what about children?", "--session", first["session_id"][:8], "--guideline", NAME)
    assert second["session_id"] == first["session_id"]
    assert second["debug"]["query_strategy"] == "topic_enriched"
    replayed = CliRunner().invoke(app, ["--home", str(home), "replay", second["answer_id"], "--json"])
    assert json.loads(replayed.output)["is_same"] is True


def test_text_shows_the_rule_and_how_to_go_on(home: Path) -> None:
    told = CliRunner().invoke(app, ["--home", str(home), "chat", "1.1.2"])
    assert told.exit_code == 0
    assert f"people with persistent cough. [{NAME} §1.1.2]" in told.output
    assert "To continue: --session " in told.output


def test_what_is_not_there_is_said(home: Path, tmp_path: Path) -> None:
    wrong = [(home, "--session", "ffffffff"), (home, "--guideline", "NG99"), (tmp_path,)]
    told = [CliRunner().invoke(app, ["--home", str(where), "chat", JAUNDICE, *words]) for where, *words in wrong]
    assert [type(one.exception) for one in told] == [NotFound] * 3
    assert [str(one.exception) for one in told] == [
        "Session not found or expired. Leave out --session to start a new one.",
        "Guideline not found. `citewell guidelines list` shows the names and IDs.",
        "No guidelines yet. Add one with `citewell guidelines add FILE`.",
    ]
