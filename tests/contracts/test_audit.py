"""What every audit log must do: what is on record can be read by the right people, and cannot be changed unseen."""

from __future__ import annotations

import re
import shutil
import sqlite3
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from citewell.adapters.store import audit, schema
from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.chain import HEAD_FILE
from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.inbox import ALTERED
from citewell.adapters.store.library import SqlLibrary
from citewell.answer.route_to_owner import REPORTED
from citewell.errors import LibraryError, NotFound
from citewell.history import AuditHead, ConversationPlace, KeptOutcome, RoutedQuestion
from citewell.types import User
from tests.contracts.conftest import Office, opened_office
from tests.contracts.kept import ANN, BOB, OWNER, ROUTE, STRANGER, ending
from tests.contracts.schemas import make_schema

ELSEWHERE = replace(ANN, scope=STRANGER.scope)


def filled(office: Office, count: int = 5) -> list[KeptOutcome]:
    """Some records of two tenants, in turn."""
    kept = []
    for number in range(count):
        one = ending(f"Question {number}?")
        office.ledger.keep(one)
        office.ledger.keep(ending(f"Elsewhere {number}?", ELSEWHERE))
        kept.append(one)
    return kept


def change(office: Office, *statements: str) -> None:
    """What somebody with the database and without the key may do."""
    with office.library.engine.begin() as connection:
        is_server = connection.dialect.name == "postgresql"
        for one in statements:
            written = re.sub(r"zeroblob\((\d+)\)", r"decode(repeat('00', \1), 'hex')", one) if is_server else one
            connection.execute(text(written))


def test_a_whole_log_proves_itself_and_each_tenant_counts_alone(office: Office) -> None:
    filled(office)
    proof = office.audit.verify_chain("clinic")
    assert (proof.records, proof.head.count, proof.problems) == (5, 5, ())
    assert [entry.number for entry in office.audit.entries(OWNER)] == [5, 4, 3, 2, 1]
    assert office.audit.verify_chain("elsewhere").problems == ()
    assert office.audit.verify_chain("nobody") == replace(proof, records=0, head=AuditHead(0, "0" * 64))


def test_each_reads_their_own_and_an_administrator_all_of_the_tenant(office: Office) -> None:
    mine, theirs = ending("Mine?"), ending("Theirs?", BOB)
    for one in (mine, theirs, ending("Elsewhere?", ELSEWHERE)):
        office.ledger.keep(one)
    assert [entry.answer_id for entry in office.audit.entries(ANN)] == [mine.answer_id]
    assert [entry.answer_id for entry in office.audit.entries(OWNER)] == [theirs.answer_id, mine.answer_id]
    assert office.audit.read(mine.answer_id, ANN).words == mine.words
    assert office.audit.read(theirs.answer_id, OWNER).words == theirs.words
    for other in (BOB, STRANGER, ELSEWHERE):
        with pytest.raises(NotFound):
            office.audit.read(mine.answer_id, other)


def test_the_words_are_sealed_in_the_file(office_in_a_file: Office) -> None:
    office_in_a_file.ledger.keep(ending("Is haematuria serious?", words={"question": "Is haematuria serious?"}))
    office_in_a_file.library.close()
    for path in office_in_a_file.file.parent.iterdir():
        assert b"haematuria" not in path.read_bytes()


TAMPERINGS = {
    "a changed time": (
        "UPDATE answers SET made_at = '2020-01-01 00:00:00.000000' WHERE number = 3",
        "3: it was altered",
    ),
    "another user": ("UPDATE answers SET user_id = 'x' WHERE number = 2", "2: it was altered"),
    "another question": ("UPDATE answers SET question_hash = 'x' WHERE number = 2", "2: it was altered"),
    "changed words": ("UPDATE answers SET record = zeroblob(64) WHERE number = 4", "4: its seal is broken"),
    "one gone in the middle": ("DELETE FROM answers WHERE number = 3", "before record 4: 1 missing"),
    "the first gone": ("DELETE FROM answers WHERE number = 1", "before record 2: 1 missing"),
    "the last gone": ("DELETE FROM answers WHERE number = 5", "after record 4: 1 missing"),
    "all gone": ("DELETE FROM answers", "after record 0: 5 missing"),
    "all and the head gone": ("DELETE FROM answers; DELETE FROM audit_heads", "audit.head beside the library says"),
    "the head gone": ("DELETE FROM audit_heads", "the log does not end where it was sealed"),
    "a forged head": ("UPDATE audit_heads SET head = zeroblob(90)", "the sealed end of the log was altered"),
    "two swapped": (
        "UPDATE answers SET number = 99 WHERE number = 2; UPDATE answers SET number = 2 WHERE number = 3; "
        "UPDATE answers SET number = 3 WHERE number = 99",
        "2: it does not follow the record before it",
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_seen(office: Office, name: str) -> None:
    filled(office)
    statements, told = TAMPERINGS[name]
    mine = statements.replace(" WHERE ", " WHERE tenant = 'clinic' AND ")
    change(office, *(one if "WHERE" in one else f"{one} WHERE tenant = 'clinic'" for one in mine.split("; ")))
    problems = office.audit.verify_chain("clinic").problems
    assert any(told in problem for problem in problems), problems
    assert office.audit.verify_chain("elsewhere").problems == ()


def test_a_chain_that_was_computed_anew_without_the_key_is_seen(office_in_a_file: Office) -> None:
    """Somebody who knows the formula takes out a record and links the rest again."""
    filled(office_in_a_file, 3)
    with sqlite3.connect(office_in_a_file.file, detect_types=0) as raw:
        raw.row_factory = sqlite3.Row
        raw.execute("DELETE FROM answers WHERE tenant = 'clinic' AND number = 2")
        previous, number = "0" * 64, 1
        for row in raw.execute("SELECT * FROM answers WHERE tenant = 'clinic' ORDER BY number").fetchall():
            values = dict(row) | {"previous_hash": previous, "number": number}
            values["made_at"] = datetime.fromisoformat(values["made_at"])
            previous = audit._hash(values)
            raw.execute(
                "UPDATE answers SET number = ?, previous_hash = ?, hash = ? WHERE position = ?",
                (number, values["previous_hash"], previous, row["position"]),
            )
            number += 1
    raw.close()
    problems = office_in_a_file.audit.verify_chain("clinic").problems
    assert problems[0] == "after record 2: 1 missing"


def test_what_comes_after_a_cut_does_not_hide_it(office: Office) -> None:
    filled(office)
    change(office, "DELETE FROM answers WHERE tenant = 'clinic' AND number >= 4")
    office.ledger.keep(ending("Afterwards?"))
    problems = office.audit.verify_chain("clinic").problems
    assert "before record 6: 2 missing" in problems


def test_an_older_copy_of_the_file_is_seen(office_in_a_file: Office, tmp_path: Path) -> None:
    filled(office_in_a_file, 2)
    office_in_a_file.library.close()
    shutil.copy(office_in_a_file.file, tmp_path / "older")
    filled(office_in_a_file, 2)
    office_in_a_file.library.close()
    for rest in tmp_path.glob("library.sqlite-*"):
        rest.unlink()
    shutil.copy(tmp_path / "older", office_in_a_file.file)
    assert any(HEAD_FILE in problem for problem in office_in_a_file.audit.verify_chain("clinic").problems)


def test_a_head_that_was_noted_elsewhere_proves_all_up_to_it(office: Office, tmp_path: Path) -> None:
    filled(office, 2)
    noted = office.audit.verify_chain("clinic").head
    filled(office, 2)
    assert office.audit.verify_chain("clinic", known=[noted]).problems == ()
    assert office.audit.verify_chain("clinic", known=[AuditHead(2, "f" * 64)]).problems != ()
    assert office.audit.verify_chain("clinic", known=[AuditHead(9, noted.hash)]).problems != ()


def test_a_note_that_is_behind_is_no_problem(office: Office, tmp_path: Path) -> None:
    filled(office, 2)
    note = (tmp_path / HEAD_FILE).read_bytes()
    filled(office, 2)
    (tmp_path / HEAD_FILE).write_bytes(note)
    assert office.audit.verify_chain("clinic").problems == ()


def test_a_damaged_note_is_told_and_costs_no_answer(office: Office, tmp_path: Path) -> None:
    filled(office, 2)
    (tmp_path / HEAD_FILE).write_bytes(b"rubbish")
    assert office.audit.verify_chain("clinic").problems == ("audit.head beside the library was altered",)
    filled(office, 1)
    told = "audit.head beside the library was missing or damaged when record 3 was added"
    assert office.audit.verify_chain("clinic").problems == (told,)
    filled(office, 2)
    assert office.audit.verify_chain("clinic").problems == (told,), "what grows after hides nothing"
    office.audit.chain.accept("clinic")
    assert office.audit.verify_chain("clinic").problems == ()


@pytest.mark.parametrize("emptied", [False, True])
def test_a_missing_note_is_told_even_when_nothing_is_left(
    office: Office, tmp_path: Path, address: str | None, emptied: bool
) -> None:
    assert office.audit.verify_chain("clinic").problems == (), "before anything is asked the note is there, and empty"
    place = office.conversations.begin("How much iron?", ANN, conversation_id=None)
    office.ledger.keep(ending(place=place, route=ROUTE))
    (tmp_path / HEAD_FILE).unlink()
    if emptied:
        tables = ("answers", "audit_heads", "routed", "messages", "conversations")
        change(office, *(f"DELETE FROM {table}" for table in tables))
    office.library.close()
    again = opened_office(tmp_path, address)
    assert again.audit.verify_chain("clinic").problems == ("audit.head beside the library is missing",)
    again.ledger.keep(ending("Afterwards?"))
    told = f"audit.head beside the library was missing or damaged when record {1 if emptied else 2} was added"
    assert again.audit.verify_chain("clinic").problems == (told,)
    again.library.close()


@pytest.mark.parametrize("back", [1, 2])
def test_a_log_that_was_set_back_and_grew_again_is_told_for_good(
    office_in_a_file: Office, tmp_path: Path, back: int
) -> None:
    """Set back by a record or two and grown well beyond where it was: the chain is whole, and what was seen is not."""
    office = office_in_a_file
    filled(office, 4 - back)
    office.library.close()
    shutil.copy(office.file, tmp_path / "older")
    filled(office, back)
    office.library.close()
    for rest in tmp_path.glob("library.sqlite-*"):
        rest.unlink()
    shutil.copy(tmp_path / "older", office.file)
    filled(office, 6)
    told = "record 4 was replaced after it had been noted"
    for _ in range(2):
        problems = office.audit.verify_chain("clinic").problems
        assert len(problems) == 1
        assert told in problems[0]
        filled(office, 1)
    assert told in office.audit.verify_chain("elsewhere").problems[0]
    office.audit.chain.accept("clinic")
    assert office.audit.verify_chain("clinic").problems == ()
    assert office.audit.verify_chain("elsewhere").problems != ()


def test_an_inbox_item_without_its_record_is_seen(office: Office) -> None:
    place = office.conversations.begin("How much iron?", ANN, conversation_id=None)
    office.ledger.keep(ending(place=place, route=ROUTE))
    change(office, "DELETE FROM answers", "DELETE FROM audit_heads")
    problems = office.audit.verify_chain("clinic").problems
    assert any("the inbox has answer" in problem for problem in problems)
    assert "a conversation has an answer that is not in the log" in problems


@pytest.mark.parametrize("part", ["inbox", "conversations"])
def test_an_ending_is_kept_whole_or_not_at_all(office: Office, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise LibraryError("the disk is gone")

    place = office.conversations.begin("How much iron?", ANN, conversation_id=None)
    monkeypatch.setattr(getattr(office, part), {"inbox": "put", "conversations": "end"}[part], breaks)
    with pytest.raises(LibraryError):
        office.ledger.keep(ending(place=place, route=ROUTE))
    assert (office.audit.entries(OWNER), office.inbox.waiting(OWNER).items) == ([], ())
    assert [turn.answer_id for turn in office.conversations.turns(place.conversation_id, ANN)] == [None]
    assert office.audit.verify_chain("clinic").problems == ()


def test_the_same_answer_cannot_be_recorded_twice(office: Office) -> None:
    kept = ending()
    office.ledger.keep(kept)
    with pytest.raises(LibraryError):
        office.ledger.keep(kept)
    assert office.audit.verify_chain("clinic").records == 1


def test_many_writers_at_once_make_one_chain(office: Office) -> None:
    def ask(number: int) -> None:
        asker: User = (ANN, ELSEWHERE)[number % 2]
        place: ConversationPlace = office.conversations.begin(f"Question {number}?", asker, conversation_id=None)
        office.ledger.keep(ending(f"Question {number}?", asker, place=place))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(60)))
    for tenant in ("clinic", "elsewhere"):
        proof = office.audit.verify_chain(tenant)
        assert (proof.records, proof.problems) == (30, ())


def test_a_record_is_read_with_the_key_only(office: Office) -> None:
    kept = ending()
    office.ledger.keep(kept)
    stranger = SqlAudit(office.library.engine, office.file, TextCipher(b"0" * 32))
    with pytest.raises(LibraryError, match=r"seal\.key"):
        stranger.read(kept.answer_id, OWNER)


def test_records_are_found_by_the_first_characters_of_their_id(office: Office) -> None:
    kept = filled(office, 3)
    assert [one.answer_id for one in office.audit.entries(OWNER, starting=kept[1].answer_id[:13].upper())] == [
        kept[1].answer_id
    ]
    assert office.audit.entries(OWNER, starting="%") == []


def test_a_library_of_the_schema_before_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        make_schema(connection, "0002")
        for number in (1, 2):
            values = {"n": number, "id": f"a{number}", "at": "2026-01-01 00:00:00.000000"}
            row = "INSERT INTO answers VALUES (:n, :id, 'clinic', 'u', :at, 'h', 'r', 'p', 'h')"
            connection.execute(text(row), values)
    engine.dispose()
    library = SqlLibrary(path)
    log = SqlAudit(library.engine, path, TextCipher.of(tmp_path))
    assert [entry.number for entry in log.entries(OWNER)] == [2, 1]
    library.close()


def test_the_log_is_read_in_parts_and_many_records_at_once(office: Office) -> None:
    kept = [ending(f"Question {number}?", ANN if number % 2 else BOB) for number in range(5)]
    for one in kept:
        office.ledger.keep(one)
    assert [entry.number for entry in office.audit.entries(OWNER, limit=2, before=4)] == [3, 2]
    ids = [one.answer_id for one in kept]
    found = office.audit.records([*ids, ids[0], "nowhere"], OWNER)
    assert {answer_id: record.words["question"] for answer_id, record in found.items()} == {
        one.answer_id: one.question for one in kept
    }
    assert set(office.audit.records(ids, ANN)) == {ids[1], ids[3]}
    assert office.audit.records(ids, STRANGER) == {}


# ------------------------------------------------------------------------- what is said belongs to the answer it is of


def two_talks(office: Office) -> tuple[KeptOutcome, KeptOutcome]:
    """Questions of two people, each answered and passed on."""
    kept = []
    for question, asker in (("How much iron?", ANN), ("How much zinc?", BOB)):
        place = office.conversations.begin(question, asker, conversation_id=None)
        route = {"tag": ROUTE.tag, "owner_id": ROUTE.owner_id, "reason": ROUTE.reason}
        words = {"question": question, "claims": [], "answer": {"route": route}}
        kept.append(ending(question, asker, place=place, route=ROUTE, words=words))
        office.ledger.keep(kept[-1])
    return kept[0], kept[1]


def facts(item: RoutedQuestion) -> tuple[str | None, ...]:
    """What an item of the inbox is about: whose, of which answer, in which state."""
    return item.answer_id, item.asked_by, item.owner_id, item.state


EXCHANGES = {
    "an answer to another's question": ("UPDATE messages SET answer_id = '{other}'", "message 1: its seal is broken"),
    "no answer": ("UPDATE messages SET answer_id = NULL", "message 1: its seal is broken"),
    "another's conversation": ("UPDATE conversations SET user_id = '{someone}'", "belongs to another question or"),
    "another answer in the inbox": ("UPDATE routed SET answer_id = '{other}'", "it was altered"),
    "another who asked": ("UPDATE routed SET asked_by = '{someone}'", "it was altered"),
    "another owner": ("UPDATE routed SET owner_id = '{someone}'", "it was altered"),
    "another state": ("UPDATE routed SET state = 'closed'", "it was altered"),
    "another owner, and a reason as of old": (
        "UPDATE routed SET owner_id = '{someone}', reason = 'Low confidence: 45%'",
        "it was altered",
    ),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_what_stands_with_another_answer_is_seen(office: Office, name: str) -> None:
    mine, other = two_talks(office)
    assert office.audit.verify_chain("clinic").problems == ()
    before = {item.id: item for item in office.inbox.waiting(OWNER).items}
    statement, told = EXCHANGES[name]
    change(office, statement.format(other=other.answer_id, someone=OWNER.user_id))
    problems = office.audit.verify_chain("clinic").problems
    assert any(told in problem for problem in problems), problems
    if "messages" in statement:
        assert mine.place is not None
        with pytest.raises(LibraryError, match="altered"):
            office.conversations.turns(mine.place.conversation_id, ANN)
    if "routed" in statement and "reason" not in statement:
        after = {item.id: item for item in office.inbox.waiting(OWNER).items}
        assert set(after) == set(before)  # one that was altered hides no other
        changed = {item_id for item_id, item in after.items() if facts(item) != facts(before[item_id])}
        assert changed
        assert {item_id for item_id, item in after.items() if item.reason == ALTERED} == changed
        assert {item.reason for item_id, item in after.items() if item_id not in changed} <= {ROUTE.reason}
        for item_id in changed:
            with pytest.raises(LibraryError, match="altered"):
                office.inbox.one(item_id, OWNER)
            with pytest.raises(LibraryError, match="altered"):
                office.inbox.reply(item_id, "Ask the ward.", OWNER)


REPORT_EXCHANGES = (
    *(statement for statement, _ in EXCHANGES.values() if "routed" in statement),
    f"UPDATE routed SET reason = '{REPORTED}It is 90 mg.'",
    "UPDATE routed SET tag = 'else'",
    "UPDATE routed SET is_fallback = NOT is_fallback",
)


@pytest.mark.parametrize("statement", REPORT_EXCHANGES)
def test_a_report_of_a_wrong_answer_proves_itself_and_cannot_be_given_to_another(
    office: Office, statement: str
) -> None:
    words = {"claims": [], "answer": {"route": None}}
    mine, other = (ending(question, ANN, words={"question": question, **words}) for question in ("Iron?", "Zinc?"))
    for one in (mine, other):
        office.ledger.keep(one)
    office.inbox.file(mine.answer_id, replace(ROUTE, reason=f"{REPORTED}It is 80 mg."), ANN)
    assert office.audit.verify_chain("clinic").problems == ()
    change(office, statement.format(other=other.answer_id, someone=OWNER.user_id))
    (problem,) = office.audit.verify_chain("clinic").problems
    assert "it was altered" in problem


def test_an_item_that_no_answer_passed_on_and_nobody_reported_is_seen(office: Office) -> None:
    kept = ending("Iron?", ANN, words={"question": "Iron?", "claims": [], "answer": {"route": None}})
    office.ledger.keep(kept)
    office.inbox.file(kept.answer_id, ROUTE, ANN)
    (problem,) = office.audit.verify_chain("clinic").problems
    assert "it was altered" in problem


def test_messages_and_items_from_before_they_were_bound_are_read_and_their_answers_are_compared(
    office: Office, tmp_path: Path
) -> None:
    mine, other = two_talks(office)
    assert mine.place is not None
    seal, talk = TextCipher.of(tmp_path), mine.place.conversation_id
    with office.library.engine.begin() as connection:
        for row in connection.execute(schema.messages.select()).all():
            words = seal.open(row.text, about=f"message:{row.conversation_id}:{row.position}:{row.answer_id}")
            old = seal.close(words, about=f"message:{row.conversation_id}:{row.position}")
            here = (schema.messages.c.conversation_id == row.conversation_id) & (
                schema.messages.c.position == row.position
            )
            connection.execute(schema.messages.update().where(here).values(text=old))
        for row in connection.execute(schema.routed.select()).all():
            kept = b64encode(seal.close(ROUTE.reason, about=f"reason:{row.id}")).decode()
            here = schema.routed.c.id == row.id
            connection.execute(schema.routed.update().where(here).values(reason=f"sealed:{kept}"))
    assert [turn.message.text for turn in office.conversations.turns(talk, ANN)] == [mine.question, mine.text]
    assert {one.reason for one in office.inbox.waiting(OWNER).items} == {ROUTE.reason}
    assert office.audit.verify_chain("clinic").problems == ()
    change(office, f"UPDATE messages SET answer_id = '{other.answer_id}' WHERE conversation_id = '{talk}'")
    assert any("answer belongs to another question" in one for one in office.audit.verify_chain("clinic").problems)
    with pytest.raises(LibraryError, match="an answer to another question"):
        office.conversations.turns(talk, ANN)
    change(office, f"UPDATE routed SET owner_id = '{OWNER.user_id}'")
    assert any(one.startswith("inbox item") for one in office.audit.verify_chain("clinic").problems)


def test_an_item_that_was_answered_and_put_away_proves_itself(office: Office) -> None:
    two_talks(office)
    first, second = office.inbox.waiting(OWNER).items
    office.inbox.reply(first.id, "Ask the ward.", OWNER)
    assert office.audit.verify_chain("clinic").problems == ()
    office.inbox.close(first.id, OWNER)
    office.inbox.close(second.id, BOB)
    assert office.audit.verify_chain("clinic").problems == ()
    assert {one.reason for one in office.inbox.waiting(OWNER).items} == {ROUTE.reason}
