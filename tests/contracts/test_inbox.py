"""What every inbox must do: the right person answers, the asker sees the reply, nobody else sees anything."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import inspect, select, table, text, update

from citewell.adapters.store.schema import routed
from citewell.answer.route_to_owner import REPORTED
from citewell.errors import InputError, NotFound
from citewell.history import HistoryPage, RoutedQuestion
from citewell.types import Role, User
from tests.contracts.conftest import Office
from tests.contracts.kept import ANN, BOB, OWNER, ROUTE, STRANGER, ending

CAROL = replace(ANN, user_id="00000000-0000-0000-0000-000000000003")
ADMIN = replace(CAROL, role=Role.ADMIN)
NOTHING: HistoryPage[RoutedQuestion] = HistoryPage((), None)


@pytest.fixture
def routed_id(office: Office) -> str:
    made = office.ledger.keep(ending(route=ROUTE))
    assert made is not None
    return made


def test_the_owner_sees_what_is_theirs_and_the_asker_what_they_asked(office: Office, routed_id: str) -> None:
    (item,) = office.inbox.waiting(BOB).items
    assert (item.id, item.asked_by, item.owner_id, item.tag) == (routed_id, ANN.user_id, BOB.user_id, "ward")
    assert (item.state, item.reply, item.reason, item.fallback) == ("open", None, "Low confidence: 45%", False)
    assert office.inbox.asked(ANN) == HistoryPage((item,), None)
    assert office.inbox.waiting(ANN) == office.inbox.asked(BOB) == NOTHING
    assert office.inbox.waiting(ADMIN) == office.inbox.waiting(OWNER) == HistoryPage((item,), None)


def test_the_asker_sees_the_reply(office: Office, routed_id: str) -> None:
    replied = office.inbox.reply(routed_id, "  Take it with food.  ", BOB)
    assert (replied.state, replied.reply, replied.replied_by) == ("answered", "Take it with food.", BOB.user_id)
    assert office.inbox.asked(ANN).items == (replied,)
    assert office.inbox.one(routed_id, ANN) == replied
    if office.library.engine.dialect.name == "sqlite":
        assert b"with food" not in office.file.read_bytes()
    cells = _cells(office)
    assert any(ROUTE.tag.encode() in cell for cell in cells)
    assert not any(b"with food" in cell for cell in cells)


def test_a_reason_that_quotes_the_question_stands_nowhere_in_the_file(office: Office) -> None:
    quoting = replace(ROUTE, reason="The sources shown do not mention “quokkaline”")
    routed_id = office.ledger.keep(ending(route=quoting))
    assert routed_id is not None
    assert office.inbox.one(routed_id, ANN).reason == quoting.reason
    if office.library.engine.dialect.name == "sqlite":
        written = b"".join(path.read_bytes() for path in office.file.parent.glob(f"{office.file.name}*"))
        assert routed_id.encode() in written
        assert b"quokkaline" not in written
    cells = _cells(office)
    assert any(routed_id.encode() in cell for cell in cells)
    assert not any(b"quokkaline" in cell for cell in cells)


def test_a_reason_from_before_reasons_were_sealed_is_still_read(office: Office, routed_id: str) -> None:
    with office.library.engine.begin() as connection:
        connection.execute(update(routed).where(routed.c.id == routed_id).values(reason="Low confidence: 12%"))
    assert office.inbox.one(routed_id, ANN).reason == "Low confidence: 12%"


def _cells(office: Office) -> list[bytes]:
    """Everything that stands in the database, cell by cell, as whoever reads it without the key finds it."""
    engine = office.library.engine
    reads = [select(text("*")).select_from(table(name)) for name in inspect(engine).get_table_names()]
    with engine.connect() as connection:
        rows = [row for read in reads for row in connection.execute(read)]
    return [bytes(cell) if isinstance(cell, bytes | memoryview) else str(cell).encode() for row in rows for cell in row]


@pytest.mark.parametrize("other", [CAROL, STRANGER, replace(BOB, scope=STRANGER.scope)])
def test_nobody_else_sees_or_answers_it(office: Office, routed_id: str, other: User) -> None:
    assert office.inbox.waiting(other) == office.inbox.asked(other) == NOTHING
    for deed in (
        lambda: office.inbox.one(routed_id, other),
        lambda: office.inbox.reply(routed_id, "Mine now.", other),
        lambda: office.inbox.close(routed_id, other),
    ):
        with pytest.raises(NotFound):
            deed()
    assert office.inbox.one(routed_id, BOB).state == "open"


def test_the_asker_may_look_but_not_answer(office: Office, routed_id: str) -> None:
    item = office.inbox.one(routed_id, ANN)
    assert not office.inbox.may_answer(item, ANN)
    assert office.inbox.may_answer(item, BOB)
    assert office.inbox.may_answer(item, ADMIN)
    with pytest.raises(NotFound):
        office.inbox.reply(routed_id, "I know it myself.", ANN)


def test_what_has_no_owner_waits_for_an_administrator(office: Office) -> None:
    fallback = replace(ROUTE, owner_id=None, owner_email=None, fallback=True)
    made = office.ledger.keep(ending(route=fallback))
    assert office.inbox.waiting(BOB) == NOTHING
    assert [item.id for item in office.inbox.waiting(ADMIN).items] == [made]


def test_a_closed_question_takes_no_reply(office: Office, routed_id: str) -> None:
    assert office.inbox.close(routed_id, BOB).state == "closed"
    with pytest.raises(InputError, match="closed"):
        office.inbox.reply(routed_id, "Late.", BOB)


@pytest.mark.parametrize("text", ["", "   ", "x" * 20_001])
def test_an_empty_or_endless_reply_is_refused(office: Office, routed_id: str, text: str) -> None:
    with pytest.raises(InputError):
        office.inbox.reply(routed_id, text, BOB)
    assert office.inbox.one(routed_id, BOB).state == "open"


def test_open_questions_come_first_then_the_newest(office: Office) -> None:
    ids = [office.ledger.keep(ending(route=ROUTE)) or "" for _ in range(4)]
    office.inbox.reply(ids[3], "Done.", BOB)
    office.inbox.close(ids[1], BOB)
    assert [item.id for item in office.inbox.waiting(BOB).items] == [ids[2], ids[0], ids[3], ids[1]]


def test_a_long_inbox_is_read_in_parts_that_neither_repeat_nor_skip(office: Office) -> None:
    ids = [office.ledger.keep(ending(route=ROUTE)) or "" for _ in range(7)]
    office.inbox.reply(ids[6], "Done.", BOB)
    whole = [item.id for item in office.inbox.waiting(BOB).items]
    first = office.inbox.waiting(BOB, limit=3)
    late = office.ledger.keep(ending(route=ROUTE))
    office.inbox.reply(ids[5], "Done, too.", BOB)  # it has been read already, and moves behind the open ones
    second = office.inbox.waiting(BOB, limit=3, after=first.next)
    third = office.inbox.waiting(BOB, limit=3, after=second.next)
    seen = [item.id for page in (first, second) for item in page.items]
    assert seen == whole[:6]
    assert ([item.id for item in third.items], third.next) == ([ids[6], ids[5]], None)
    assert [item.id for item in office.inbox.waiting(BOB, limit=1).items] == [late]
    assert [item.id for item in office.inbox.waiting(BOB, starting=ids[2].upper()).items] == [ids[2]]


def test_what_was_asked_is_read_in_parts_the_newest_first(office: Office) -> None:
    ids = [office.ledger.keep(ending(route=ROUTE)) or "" for _ in range(5)]
    found, after = [], None
    for _ in range(3):
        page = office.inbox.asked(ANN, limit=2, after=after)
        found += [item.id for item in page.items]
        after = page.next
    assert (found, after) == (ids[::-1], None)


@pytest.mark.parametrize("cursor", ["", "nonsense", "0~yesterday~x", "2~2026-01-01T00:00:00~x", "0~2026-01-01~"])
def test_a_place_in_the_list_that_is_none_is_refused(office: Office, cursor: str) -> None:
    with pytest.raises(NotFound, match="no such page"):
        office.inbox.asked(ANN, after=cursor)


def test_replies_are_given_to_who_asked_alone(office: Office) -> None:
    kept = ending(route=ROUTE)
    office.inbox.reply(office.ledger.keep(kept) or "", "With food.", BOB)
    office.ledger.keep(other := ending(route=ROUTE))
    ids = [kept.answer_id, other.answer_id]
    assert office.inbox.replies(ids, ANN) == {kept.answer_id: "With food."}
    assert office.inbox.replies(ids, BOB) == {}


def test_who_owned_a_tag_earlier_sees_its_questions_no_more(office: Office) -> None:
    before, after = (
        office.people.add(tenant="clinic", email=f"{name}@clinic.example", name=name, role=Role.MEMBER, tags=["ward"])
        for name in ("before", "after")
    )
    office.people.set_owner("ward", tenant="clinic", owner_id=before.id)
    routed_id = office.ledger.keep(ending(route=replace(ROUTE, owner_id=before.id)))
    assert routed_id is not None
    assert [item.id for item in office.inbox.waiting(before.asker()).items] == [routed_id]
    office.people.set_owner("ward", tenant="clinic", owner_id=after.id)
    assert office.inbox.waiting(before.asker()) == NOTHING
    assert office.inbox.open_count(before.asker()) == 0
    for step in (
        lambda: office.inbox.one(routed_id, before.asker()),
        lambda: office.inbox.reply(routed_id, "Take it with food.", before.asker()),
        lambda: office.inbox.close(routed_id, before.asker()),
    ):
        with pytest.raises(NotFound):
            step()
    assert [item.id for item in office.inbox.waiting(after.asker()).items] == [routed_id]
    assert office.inbox.reply(routed_id, "Take it with food.", after.asker()).replied_by == after.id
    office.people.set_owner("ward", tenant="clinic", owner_id=None)
    assert office.inbox.waiting(after.asker()) == NOTHING
    assert len(office.inbox.waiting(ADMIN).items) == 1


def test_an_item_that_was_altered_hides_no_other(office: Office) -> None:
    ids = [office.ledger.keep(ending(f"Question {number}?", route=ROUTE)) for number in range(3)]
    with office.library.engine.begin() as connection:
        connection.execute(update(routed).where(routed.c.id == ids[1]).values(owner_id=CAROL.user_id))
    items = {item.id: item.reason for item in office.inbox.waiting(ADMIN).items}
    assert set(items) == set(ids)
    assert "altered outside Citewell" in items[str(ids[1])]
    assert [reason for item, reason in items.items() if item != ids[1]] == ["Low confidence: 45%"] * 2
    assert len(office.inbox.asked(ANN).items) == 3


def test_the_owner_of_a_tag_finds_what_they_reported_themselves(office: Office) -> None:
    answered = ending(asker=BOB)
    office.ledger.keep(answered)
    made = office.inbox.file(answered.answer_id, replace(ROUTE, reason=f"{REPORTED}Out of date."), BOB)
    assert [item.id for item in office.inbox.waiting(BOB).items] == [made]
    assert (office.inbox.open_count(BOB), office.inbox.may_answer(office.inbox.one(made, BOB), BOB)) == (1, True)
    assert office.inbox.close(made, BOB).state == "closed"
