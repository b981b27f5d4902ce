"""The command line as a person and as a program use it."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from citewell.adapters.store.library import SqlLibrary
from citewell.cli import main
from citewell.cli.commands import app
from citewell.cli.common import NO_DOCUMENTS
from citewell.errors import DiskFull
from citewell.samples import sample_files
from citewell.types import chunk_id
from tests.on_postgres import IS_ON_POSTGRES, NOTE

LEAFLET = "# Iron tablets\n\nTake one tablet of 200 mg with water.\n\n## Storage\n\nKeep below 25 degrees.\n"


class Shell:
    """Runs commands on one library in this process."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.capsys, self.monkeypatch = home, capsys, monkeypatch

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["citewell", "--home", str(self.home), *words])
        try:
            main()
            status = 0
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        out, err = self.capsys.readouterr()
        return status, out, err

    def json(self, *words: str) -> Any:
        _, out, _ = self(*words, "--json")
        return json.loads(out)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(tmp_path / "home", capsys, monkeypatch)


@pytest.fixture
def leaflet(tmp_path: Path) -> Path:
    path = tmp_path / "iron.md"
    path.write_text(LEAFLET)
    return path


def test_files_that_were_not_tried_are_told(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object, **_named: object) -> None:
        raise DiskFull("The disk is full.")

    monkeypatch.setattr(SqlLibrary, "add", refuse)
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nRest.")
    files = [str(tmp_path / f"{name}.md") for name in "abc"]
    assert shell("add", *files) == (1, "", "✗ a.md: The disk is full.\n2 more files not tried.\n")
    assert shell.json("add", *files) == {
        "added": [],
        "failed": [{"path": files[0], "kind": "DiskFull", "message": "The disk is full."}],
        "not_tried": files[1:],
    }


def test_a_file_is_added_found_shown_and_deleted(shell: Shell, leaflet: Path) -> None:
    added = shell.json("add", str(leaflet))
    (row,) = added["added"]
    assert (row["title"], row["version"], row["was_there"], added["failed"]) == ("Iron tablets", 1, False, [])
    document_id = row["document_id"]
    assert (row["chunks_indexed"], row["replaced_existing"]) == (row["chunks"], False)
    assert min(row["embedding_ms"], row["indexing_ms"]) > 0

    hit = shell.json("search", "where to keep the tablets")["hits"][0]
    assert hit["source_id"] == f"{document_id}:1"
    assert hit["chunk_id"] == chunk_id(document_id, 1)
    assert hit["section"] == "Iron tablets > Storage"
    assert {key: hit[key] for key in ("document_id", "document", "version", "page")} == {
        "document_id": document_id,
        "document": "Iron tablets",
        "version": 1,
        "page": None,
    }
    shown = shell.json("show", document_id[:8], "--text")
    assert shown["text"][hit["start"] : hit["end"]] == hit["text"]
    assert shown["chunks"][1]["text"] == hit["text"]

    assert [one["document_id"] for one in shell.json("list")["documents"]] == [document_id]
    assert shell.json("verify")["ok"] is True
    assert shell.json("delete", document_id)["deleted"] == [{"document_id": document_id, "version": 1}]
    assert shell.json("list") == {"documents": []}


def test_people_get_words_not_json(shell: Shell, leaflet: Path) -> None:
    for words in (("search", "iron"), ("ask", "how much iron?"), ("check", "Iron."), ("mcp",)):
        status, _, err = shell(*words)
        assert (status, "There is no library in" in err) == (1, True)
        assert not shell.home.exists()
    assert NO_DOCUMENTS in shell("list")[1]
    assert NO_DOCUMENTS in shell("search", "iron")[1]
    assert re.match(r"✓ Iron tablets \([0-9a-f]{8}\): 2 passages", shell("add", str(leaflet))[1])
    assert "already in the library" in shell("add", str(leaflet))[1]
    status, out, _ = shell("search", "iron dose")
    assert (status, "200 mg" in out) == (0, True)
    assert "Iron tablets" in shell("list")[1]
    assert "characters 0–" in shell("show", shell.json("list")["documents"][0]["document_id"])[1]
    assert "all consistent" in shell("verify")[1]


def test_one_bad_file_does_not_stop_the_others(shell: Shell, leaflet: Path, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(b"%PDF-1.7 truncated")
    (folder / "b.txt").write_bytes(b"")
    (folder / "c.md").write_text(LEAFLET)
    status, out, _ = shell("add", str(folder), "--json")
    result = json.loads(out)
    assert status == 1
    assert [Path(row["path"]).name for row in result["added"]] == ["c.md"]
    assert {Path(row["path"]).name: row["kind"] for row in result["failed"]} == {
        "a.pdf": "DamagedFile",
        "b.txt": "EmptyFile",
    }
    assert len(shell.json("list")["documents"]) == 1
    assert shell.json("verify")["ok"] is True


def test_a_new_edition_supersedes_the_old_one(shell: Shell, leaflet: Path) -> None:
    shell("add", str(leaflet))
    leaflet.write_text(LEAFLET.replace("200 mg", "100 mg"))
    (row,) = shell.json("add", str(leaflet))["added"]
    assert (row["version"], row["replaced_existing"]) == (2, True)
    (again,) = shell.json("add", str(leaflet))["added"]
    assert (again["was_there"], again["replaced_existing"], again["embedding_ms"]) == (True, False, 0.0)
    texts = [hit["text"] for hit in shell.json("search", "dose of iron tablets")["hits"]]
    assert any("100 mg" in text for text in texts)
    assert not any("200 mg" in text for text in texts)
    assert [one["version"] for one in shell.json("list", "--all")["documents"]] == [2, 1]


def test_scope_options_decide_what_is_found(shell: Shell, leaflet: Path) -> None:
    shell("add", str(leaflet), "--tag", "pharmacy", "--journey", "anaemia")
    assert shell.json("search", "iron")["hits"] == []
    assert shell.json("search", "iron", "--journey", "anaemia", "--tag", "nobody")["hits"] == []
    assert len(shell.json("search", "iron", "--journey", "anaemia", "--tag", "pharmacy")["hits"]) == 2
    document_id = shell.json("list")["documents"][0]["document_id"]
    assert shell.json("file", document_id, "--tag", "public", "--journey", "all")["document"]["tags"] == ["public"]
    assert len(shell.json("search", "iron")["hits"]) == 2


def test_tags_are_one_and_the_same_in_whichever_case_they_are_written(shell: Shell, leaflet: Path) -> None:
    (row,) = shell.json("add", str(leaflet), "--tag", "HR")["added"]
    assert shell.json("list")["documents"][0]["tags"] == ["hr"]
    for tag in ("HR", "hr"):
        assert len(shell.json("search", "iron", "--tag", tag)["hits"]) == 2
    assert shell.json("ask", "How many tablets are taken with water?", "--tag", "HR")["citations"]
    assert shell.json("file", row["document_id"], "--tag", "Ward-5")["document"]["tags"] == ["ward-5"]


def test_a_malformed_tag_is_refused_at_every_door_and_nothing_is_changed(
    shell: Shell, leaflet: Path, tmp_path: Path
) -> None:
    (row,) = shell.json("add", str(leaflet))["added"]
    before = shell.json("list")
    other = tmp_path / "other.txt"
    other.write_text("Other words.")
    for words in (
        ("add", str(other), str(leaflet)),
        ("add", "--samples"),
        ("file", row["document_id"]),
        ("guidelines", "embed", str(tmp_path)),
    ):
        status, out, err = shell(*words, "--tag", "ward", "--tag", "no_such tag!")
        assert (status, out) == (1, "")
        assert (
            err
            == "“no_such tag!” is not a valid tag. Use up to 64 lower-case letters, digits and single hyphens inside.\n"
        )
    assert shell.json("list") == before


def test_deleting_twice_is_no_error(shell: Shell, leaflet: Path) -> None:
    (row,) = shell.json("add", str(leaflet))["added"]
    assert shell("delete", row["document_id"], "--yes")[0] == 0
    assert shell("delete", row["document_id"]) == (0, "Already erased: nothing to do.\n", "")
    assert shell.json("evidence", "delete", row["document_id"]) == {"deleted": []}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("search", "  "), "InputError"),
        (("search", "x" * 5_000), "InputError"),
        (("show", "nothing"), "NotFound"),
        (("delete", "00000000-0000-0000-0000-000000000000"), "NotFound"),
        (("add",), "InputError"),
        (("add", "x.txt", "--size", "100"), "InputError"),
        (("add", "x.txt", "--tag", "*"), "InputError"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(shell: Shell, words: tuple[str, ...], kind: str) -> None:
    status, out, err = shell(*words)
    assert status == 1
    assert len((out + err).strip().splitlines()) == 1
    told = shell.json(*words)
    reported = told["error"]["kind"] if "error" in told else told["failed"][0]["kind"]
    assert reported == kind


def test_a_passage_size_can_be_chosen(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text(" ".join(f"Sentence number {number} is here." for number in range(200)))
    (row,) = shell.json("add", str(path), "--strategy", "characters", "--size", "300", "--overlap", "50")["added"]
    chunks = shell.json("show", row["document_id"])["chunks"]
    assert max(len(one["text"]) for one in chunks) <= 300
    assert all(later["start"] < earlier["end"] for earlier, later in pairwise(chunks))


@pytest.mark.slow
def test_the_doctor_finds_all_well_and_nothing_leaving(shell: Shell) -> None:
    report = shell.json("doctor", "--no-egress")
    assert report["ok"] is True
    states = {check["part"]: check["state"] for check in report["checks"]}
    assert {part: states[part] for part in ("library", "embedder", "index", "vocabulary", "egress")} == dict.fromkeys(
        ("library", "embedder", "index", "vocabulary", "egress"), "ok"
    )


@pytest.mark.slow
def test_the_samples_answer_their_questions(shell: Shell) -> None:
    from citewell.samples import EXAMPLE_QUESTIONS, sample_files

    added = shell.json("add", "--samples")
    names = {row["document_id"]: Path(row["path"]).name for row in added["added"]}
    assert set(names.values()) == {path.name for path in sample_files()}
    for question in EXAMPLE_QUESTIONS:
        hits = shell.json("search", question.text)["hits"]
        assert names[hits[0]["document_id"]] == question.file, question.text
        found = [hit for hit in hits[:5] if question.words in hit["text"]]
        assert found, question.text
        assert found[0]["page"] == question.page or question.page is None


def test_a_folder_is_read_without_links_and_hidden_files(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("secret token")
    (tmp_path / "outside.txt").write_text("Not to be read.")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "iron.md").write_text(LEAFLET)
    assert [Path(row["path"]).name for row in shell.json("add", str(folder))["added"]] == ["iron.md"]


def test_a_title_cannot_give_the_terminal_orders(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "t.md"
    path.write_text("# Dose [/b] of \x1b[2J[link=x]iron[/link]\n\nTake 5 mg of iron.")
    shell("add", str(path))
    document_id = shell.json("list")["documents"][0]["document_id"]
    for words in (("add", str(path)), ("list",), ("search", "iron"), ("show", document_id)):
        status, out, err = shell(*words)
        assert (status, "\x1b" in out + err) == (0, False), words
    assert "[/b]" in shell("list")[1]


def test_the_library_is_readable_by_its_owner_alone(shell: Shell, leaflet: Path) -> None:
    shell.home.mkdir(mode=0o755)
    shell("add", str(leaflet))
    shell("ask", "How much iron?")
    written = {path.name: path.stat().st_mode for path in shell.home.rglob("*") if path.is_file() and path.name != NOTE}
    assert written.keys() >= {"seal.key", "audit.head"} | (set() if IS_ON_POSTGRES else {"library.sqlite"})
    assert [name for name, mode in written.items() if mode & 0o077] == []


@pytest.mark.parametrize(
    "words", [("show",), ("evidence", "history"), ("delete",), ("search",), ("ask",), ("audit", "show")]
)
def test_bytes_that_are_no_text_are_refused_in_a_sentence(shell: Shell, leaflet: Path, words: tuple[str, ...]) -> None:
    shell("add", str(leaflet))
    status, _, told = shell(*words, "iron\udcff")
    assert "unexpected error" not in told
    assert (status, told.count("\n")) == ((0, 0) if words == ("search",) else (1, 1))


def test_a_missing_file_does_not_stop_the_others(shell: Shell, leaflet: Path) -> None:
    result = shell.json("add", "nowhere.txt", str(leaflet))
    assert [row["kind"] for row in result["failed"]] == ["InputError"]
    assert len(result["added"]) == 1


@pytest.mark.parametrize("words", [("ask", "How much iron?"), ("check", "Take one tablet of 200 mg.")])
def test_an_empty_library_says_how_to_begin(shell: Shell, words: tuple[str, ...]) -> None:
    shell("list")  # makes the library
    assert shell(*words) == (1, "", NO_DOCUMENTS + "\n")
    assert shell.json("conversations") == {"conversations": [], "next": None}
    assert shell("check", "Iron is red.", "--evidence", "Iron is red.")[0] == 0


@pytest.mark.parametrize("given", ["/tmp/nosuch.txt", "./no such file.md", "leaflet.docx"])
def test_a_missing_file_is_not_checked_as_a_sentence(shell: Shell, leaflet: Path, given: str) -> None:
    shell("add", str(leaflet))
    for words in (("check", given), ("check", "Take one tablet.", "--evidence", given)):
        status, out, err = shell(*words)
        assert (status, out) == (1, "")
        assert err.startswith(f"File not found: {given}.")


SAID = {
    "anticoagulants-policy.docx": "Zebras fly.",
    "breathlessness-guideline.pdf": "Zebras fly.",
}


@pytest.mark.parametrize("name", SAID)
def test_a_text_is_held_against_any_file_that_can_be_added(shell: Shell, name: str) -> None:
    (path,) = [one for one in sample_files() if one.name == name]
    told = shell.json("check", SAID[name], "--evidence", str(path))
    assert [one["verdict"] for one in told["sentences"]] == ["not_found"]


def test_a_text_in_a_word_file_is_checked(shell: Shell) -> None:
    (path,) = [one for one in sample_files() if one.suffix == ".docx"]
    told = shell.json("check", str(path), "--evidence", "Zebras fly.")
    assert len(told["sentences"]) > 5


def _typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


def test_a_text_is_read_from_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    held = "Iron is red. Take 200 mg once a day."
    _typed(monkeypatch, "Iron is red.\n\nTake 400 mg once a day.\n")
    told = shell.json("check", "-", "--evidence", held)["sentences"]
    assert [(one["text"], one["verdict"]) for one in told] == [
        ("Iron is red.", "supported"),
        ("Take 400 mg once a day.", "contradicted"),
    ]
    _typed(monkeypatch, held)
    (one,) = shell.json("check", "Iron is red.", "--evidence", "-")["sentences"]
    assert one["verdict"] == "supported"


def test_standard_input_is_read_once(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    _typed(monkeypatch, "Iron is red.")
    status, out, err = shell("check", "-", "--evidence", "-")
    assert (status, out) == (1, "")
    assert err == "Standard input can be used only once. Give the text or the evidence as a file.\n"


@pytest.mark.parametrize("typed", ["", " \n\n"])
def test_nothing_on_standard_input_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    _typed(monkeypatch, typed)
    status, out, err = shell("check", "-", "--evidence", "Iron is red.")
    assert (status, out) == (1, "")
    assert err == "Standard input is empty. Pipe in a text, or give the text itself.\n"


def test_too_much_on_standard_input_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_MAX_FILE_MB", "1")
    _typed(monkeypatch, "Iron is red. " * 100_000)
    status, out, err = shell("check", "-", "--evidence", "Iron is red.")
    assert (status, out) == (1, "")
    assert err == "Standard input is over the limit of 1 MiB. Split it, or raise CITEWELL_MAX_FILE_MB.\n"


def test_a_text_is_held_against_one_thing_at_a_time(shell: Shell, leaflet: Path) -> None:
    (added,) = shell.json("add", str(leaflet))["added"]
    status, out, err = shell("check", "Iron.", "--against", added["document_id"], "--evidence", "Iron.")
    assert (status, out) == (1, "")
    assert "not both" in err


def test_a_document_speaks_under_its_name_whether_it_is_named_or_found(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "asthma.txt"
    path.write_text("Give prednisolone 40 mg once daily for five days.")
    (added,) = shell.json("add", str(path))["added"]
    claim = "In asthma, give prednisolone 40 mg once daily for five days."
    for words in ((), ("--against", added["document_id"])):
        (one,) = shell.json("check", claim, *words)["sentences"]
        assert (one["verdict"], one["evidence"][0]["source_id"]) == ("supported", f"{added['document_id']}:0")


def test_titles_have_room_in_a_narrow_window(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, title = tmp_path / "long.md", "Oral iron in adults with anaemia"
    path.write_text(f"# {title}\n\nTake one tablet of 200 mg.")
    shell("add", str(path), "--tag", "pharmacy", "--tag", "haematology")
    monkeypatch.setenv("COLUMNS", "80")
    narrow = shell("list")[1]
    assert title in narrow
    assert f"{datetime.now(UTC):%d %b %Y}" in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    assert "passages" not in narrow
    monkeypatch.setenv("COLUMNS", "140")
    assert "passages" in shell("list")[1]


def test_every_verb_takes_json() -> None:
    def verbs(group: Any) -> Iterator[Any]:
        for name in group.list_commands(None):
            verb = group.get_command(None, name)
            yield from verbs(verb) if hasattr(verb, "list_commands") else [verb]

    found = list(verbs(get_command(app)))
    assert len(found) > 80
    spoken_to = ["mcp"]  # by a program, in a protocol of its own
    assert [one.name for one in found if not any("--json" in part.opts for part in one.params)] == spoken_to


def test_a_part_that_is_not_installed_is_not_ticked(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "boto3" else found(name))
    told = shell("doctor")[1]
    assert "– extra s3: not installed (pip install 'citewell[s3]')" in told
    assert "✓ extra ocr: reads scanned pages" in told
    assert "0 workers running" in told


def test_a_verb_reads_no_other_verbs_file() -> None:
    code = (
        "import sys; sys.argv = ['citewell', 'list', '--help']\n"
        "try: from citewell.cli import main; main()\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name in ('citewell.cli.records', 'citewell.cli.consult')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.endswith("[]\n")
    assert "list" in told


def test_a_verb_that_is_not_there_is_told_with_one_that_is_like_it(shell: Shell) -> None:
    status, _, err = shell("serach", "cough")
    assert (status, "search" in err) == (2, True)


def test_a_setting_that_cannot_be_read_is_named_with_how_to_write_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", "mine=8192/512")
    code, _, told = shell("list")
    assert code == 1
    assert told.strip() == "A setting is invalid. CITEWELL_ALLOWED_MODELS: write it as JSON, such as '[\"one\"]'."
