"""A library, a vault and their backups that an earlier version made are opened, and go on, as if made today."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import citewell
from citewell.api.app import create_app
from citewell.config import Settings
from citewell.operations.move_library import move_library
from tests.contracts.earlier import MADE, read, unpacked

pytestmark = pytest.mark.usefixtures("libraries_in_files")

PASSPHRASE = MADE["PASSPHRASE"]
ORS, MINUTES = "How much ORS for some dehydration?", "and over how many hours?"
FOR_ORS = "Give ORS 75 ml/kg over 4 hours to children with some dehydration. [1]"
NEW_VECTORS = {"embedder", "processed_at", "revision", "took_s"}
"""What indexing with another model changes in a document."""
SUMMARISED = {"summary"}
"""Of a consult, what is told of its findings in words of today, each time anew."""
READING = (
    "audit list", "audit show", "audit verify", "consult list", "consult show", "conversations list",
    "conversations show", "inbox asked", "inbox list", "inbox show", "journeys list", "users list", "verify",
)  # fmt: skip
DOCUMENTS = ("list", "evidence list", "show")

Told = dict[str, Any]


@pytest.fixture(scope="module")
def expected() -> Told:
    """What the earlier version said of what it had made."""
    told: Told = read("expected")
    return told


@pytest.fixture
def untouched(tmp_path: Path) -> Any:
    """The command line on the library as it was left."""
    return MADE["Home"](unpacked(tmp_path) / "home")


@pytest.fixture(scope="module", params=["left", "restored"])
def indexed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same after the one step that the change notes name; once as it was left, once put back from its backups."""
    folder = unpacked(tmp_path_factory.mktemp(str(request.param)))
    home = MADE["Home"](folder / "home")
    if request.param == "restored":
        home = MADE["Home"](folder / "again")
        home("restore", str(folder / "backup"))
        home("vault", "restore", str(folder / "record.vault"))
    home("evidence", "reingest")
    return home


@pytest.fixture
def used(indexed: Any, tmp_path: Path) -> Any:
    """A copy to write to."""
    shutil.copytree(indexed.folder, tmp_path / "home")
    return MADE["Home"](tmp_path / "home")


def kept(before: Any, now: Any, *, but: frozenset[str] | set[str] = frozenset()) -> Any:
    """What is told now, as far as it was told before: new fields are no matter, missing ones are."""
    if isinstance(before, dict) and isinstance(now, dict):
        return {name: kept(before[name], now[name], but=but) for name in before if name in now and name not in but}
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [kept(was, one, but=but) for was, one in zip(before, now, strict=True)]
    return now


def asked_of(expected: Told, verbs: tuple[str, ...]) -> Iterator[str]:
    """The commands among them, with their ids."""
    yield from (words for words in expected if words in verbs or words.rsplit(" ", 1)[0] in verbs)


# ------------------------------------------------------------------------------------------------- as it was left


def test_everything_is_read_before_anything_is_indexed_again(untouched: Any, expected: Told) -> None:
    commands = list(asked_of(expected, READING + DOCUMENTS))
    assert len(commands) > 30
    for words in commands:
        before = kept(expected[words], expected[words], but=SUMMARISED)
        assert kept(before, untouched(*words.split()), but=SUMMARISED) == before, words


def test_a_search_says_how_the_library_is_indexed_for_todays_model(untouched: Any) -> None:
    with pytest.raises(SystemExit, match="citewell evidence reingest"):
        untouched("search", "iron")
    told = untouched("evidence", "reingest")
    assert (len(told["documents"]), told["failed"]) == (5, [])
    assert untouched("search", "iron")["hits"]


# ------------------------------------------------------------------------------------------------------- the library


def test_the_same_is_told_after_indexing(indexed: Any, expected: Told) -> None:
    for words in asked_of(expected, READING):
        before = kept(expected[words], expected[words], but=SUMMARISED)
        assert kept(before, indexed(*words.split()), but=SUMMARISED) == before, words
    for words in asked_of(expected, DOCUMENTS):
        before = kept(expected[words], expected[words], but=NEW_VECTORS)
        assert kept(before, indexed(*words.split()), but=NEW_VECTORS) == before, words
    before = expected["history"]["history"]
    now = indexed("evidence", "history", before[0]["document_id"])["history"]
    assert kept(before, now[: len(before)]) == before


def test_a_search_finds_the_same_passage(indexed: Any, expected: Told) -> None:
    place = {"source_id", "chunk_id", "document_id", "document", "version", "section", "start", "end", "text"}
    (before, *_), (now, *_) = expected["search"]["hits"], indexed("search", "iron deficiency anaemia")["hits"]
    assert {name: now[name] for name in place} == {name: before[name] for name in place}
    assert (now["document"], now["version"]) == ("Iron", 2)


def test_what_was_asked_is_answered_and_a_conversation_goes_on(used: Any, expected: Told) -> None:
    answer = used("ask", ORS)
    assert (
        (answer["action"], answer["text"]) == (expected["ask"]["action"], expected["ask"]["text"]) == ("CITE", FOR_ORS)
    )
    talk = expected["ask"]["conversation_id"]
    later = used("ask", MINUTES, "--conversation", talk)
    assert (later["conversation_id"], later["action"]) == (talk, "CITE")
    before = expected[f"conversations show {talk}"]["turns"]
    turns = used("conversations", "show", talk)["turns"]
    assert (turns[: len(before)], len(turns)) == (before, len(before) + 2)


def test_the_chain_is_whole_and_goes_on_from_the_head_that_was_noted(used: Any, expected: Told) -> None:
    head = expected["audit verify"]["head"]
    before = used("audit", "verify", "--head", head)
    used("ask", ORS)
    after = used("audit", "verify", "--head", head)
    assert (before["head"], before["ok"], after["ok"]) == (head, True, True)
    assert after["records"] == before["records"] + 1 == expected["audit verify"]["records"] + 1


def test_every_answer_is_replayed_on_the_versions_of_then(indexed: Any, expected: Told) -> None:
    replays = [words for words in expected if words.startswith("replay ")]
    assert len(replays) == 7
    for words in replays:
        before, now = expected[words], indexed(*words.split())
        assert (now["text"]["then"], now["action"]["then"]) == (before["text"]["then"], before["action"]["then"])
        assert now["erased"] == []
        assert any("re-indexed since" in note for note in now["notes"]), "the vectors are others, and that is said"
        if before["action"]["then"] != "ROUTE":  # today's reader answers more than that of then did
            assert now["is_same"], words


def test_a_routed_question_is_replied_to(used: Any, expected: Told) -> None:
    (question,) = [one for one in expected["inbox list"]["questions"] if one["owner_id"]]
    assert used("inbox", "reply", question["id"], "20 mg for 14 days.")["state"] == "answered"
    (mine,) = [one for one in used("inbox", "asked")["questions"] if one["id"] == question["id"]]
    assert (mine["reply"], mine["question"]) == ("20 mg for 14 days.", question["question"])


def test_consults_are_exported_and_gone_on_with(used: Any, expected: Told, tmp_path: Path) -> None:
    by_state = {one["state"]: one["id"] for one in expected["consult list"]["consults"]}
    for suffix, begins in ((".json", b"{"), (".pdf", b"%PDF"), (".txt", b"CONSULT")):
        note = tmp_path / f"note{suffix}"
        used("consult", "export", by_state["signed"], "--to", str(note))
        assert note.read_bytes().startswith(begins)
    assert "Offer amoxicillin 40 mg/kg per day" in (tmp_path / "note.txt").read_text()
    before = expected[f"consult show {by_state['interviewing']}"]["findings"]
    findings = used("consult", "say", by_state["interviewing"], "Headache since yesterday.")["findings"]
    assert kept(before, findings[: len(before)]) == before
    assert "Headache" in [one["name"] for one in findings[len(before) :]]


def test_a_key_and_a_password_of_then_still_open(used: Any, expected: Told) -> None:
    ann = expected["users list"]["users"][0]
    headers = {"Authorization": f"Bearer {expected['key']['key']}"}
    with citewell.open(used.folder) as app:
        assert app.people.sign_in(tenant="local", email=MADE["ANN"], password="not hers") is None
        signed_in = app.people.sign_in(tenant="local", email=MADE["ANN"], password=MADE["PASSWORD"])
        assert signed_in is not None
        assert signed_in[0].id == ann["id"]
        with TestClient(create_app(app, token="a-token-for-tests"), base_url="http://127.0.0.1:8477") as client:
            assert client.get("/api/v1/me", headers=headers).json()["email"] == MADE["ANN"]
            waiting = client.get("/api/v1/inbox", headers=headers).json()["questions"]
            assert {one["tag"] for one in waiting} == {"ward"}
            for question, seen in ((ORS, {"Oral rehydration"}), ("iron for anaemia", set())):
                hits = client.get("/api/v1/search", params={"q": question}, headers=headers).json()["hits"]
                assert {hit["document"] for hit in hits} & {"Iron", *seen} == seen


def test_the_python_interface_opens_it(used: Any, expected: Told) -> None:
    with citewell.open(used.folder) as app:
        assert app.search("iron deficiency anaemia").hits[0].document == "Iron"
        assert app.ask(ORS).text == FOR_ORS
        assert len(app.entries()) == 5
        assert app.verify().problems == ()
        for entry in app.ask_service.audit.entries(app.owner()):
            if f"audit show {entry.answer_id}" in expected:
                before = expected[f"audit show {entry.answer_id}"]
                assert app.ask_service.audit.read(entry.answer_id, app.owner()).words["question"] == before["question"]


def test_a_backup_of_today_is_made_of_it(indexed: Any, expected: Told, tmp_path: Path) -> None:
    indexed("backup", str(tmp_path / "copy"))
    again = MADE["Home"](tmp_path / "again")
    again("restore", str(tmp_path / "copy"))
    talk = expected["ask"]["conversation_id"]
    assert again("conversations", "show", talk) == expected[f"conversations show {talk}"]


def test_it_moves_into_postgres(used: Any, expected: Told, postgres_url: str) -> None:
    done = move_library(
        f"sqlite:///{used.folder / 'library.sqlite'}", postgres_url, home=used.folder, watch=lambda *_: None
    )
    assert done.rows["answers"] >= expected["audit verify"]["records"]
    with citewell.app.build(Settings(home=used.folder, database_url=postgres_url)) as app:
        assert app.ask(ORS).text == FOR_ORS
        assert app.verify().problems == ()


# --------------------------------------------------------------------------------------------------------- the vault


def test_the_record_is_read_with_its_passphrase(indexed: Any, expected: Told) -> None:
    for name in ("facts", "papers", "review", "conversations", "settings"):
        before = expected[f"records {name}"]
        assert kept(before, indexed.record(name)) == before, name
    talk = expected["records talk"]
    assert kept(talk, indexed.record("conversations", talk["id"])) == talk
    assert talk["turns"][1]["is_helpful"] is True
    reworded = {"text"}
    before = kept(expected["records alerts"], expected["records alerts"], but=reworded)
    assert kept(before, indexed.record("alerts", "--all"), but=reworded) == before
    dismissed = {one["id"] for one in before["alerts"]} - {one["id"] for one in indexed.record("alerts")["alerts"]}
    assert len(dismissed) == 1


def test_a_wrong_passphrase_opens_nothing(used: Any) -> None:
    with pytest.raises(SystemExit, match="passphrase or recovery words are wrong"):
        used("records", "facts", "--passphrase-stdin", stdin="three green bicyclists\n")


def test_the_record_is_asked_and_its_conversation_goes_on(used: Any, expected: Told) -> None:
    talk = expected["records talk"]["id"]
    answer = used.record("ask", "Who prescribed warfarin?", "--conversation", talk)
    assert (answer["action"], answer["conversation_id"]) == ("CITE", talk)
    assert "prescribed by Dr. Li Chen. [1]" in answer["text"]
    assert len(used.record("conversations", talk)["turns"]) == 4
    fact = used.record("add", "allergy", "Latex")["fact"]
    assert fact["id"] in [one["id"] for one in used.record("facts")["facts"]]
    whole = used("vault", "check", "--passphrase-stdin", stdin=f"{PASSPHRASE}\n")
    assert (whole["documents"], whole["answers"], whole["problems"]) == (1, 2, [])


def test_the_record_goes_out_as_fhir_as_it_did(indexed: Any, expected: Told, tmp_path: Path) -> None:
    indexed.record("export", str(tmp_path / "record.json"))
    before = [one["resource"] for one in expected["fhir"]["entry"]]
    now = [one["resource"] for one in json.loads((tmp_path / "record.json").read_text())["entry"]]
    assert kept(before, now) == before


def test_the_recovery_words_of_then_set_a_new_passphrase(used: Any, expected: Told) -> None:
    words = expected["recovery"]
    used("vault", "recover", "--passphrase-stdin", stdin=f"{words}\nfive purple unicycles\n")
    told = used("records", "facts", "--passphrase-stdin", stdin="five purple unicycles\n")
    assert kept(expected["records facts"], told) == expected["records facts"]
