"""What every inbox must do: the right person answers, the asker sees the reply, nobody else sees anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citewell.errors import InputError, NotFound
from citewell.types import Asker, Role
from tests.contracts.conftest import Office
from tests.contracts.kept import ANN, BOB, OWNER, ROUTE, STRANGER, ending

CAROL = replace(ANN, user_id="00000000-0000-0000-0000-000000000003")
ADMIN = replace(CAROL, role=Role.ADMIN)


@pytest.fixture
def routed_id(office: Office) -> str:
    made = office.ledger.keep(ending(route=ROUTE))
    assert made is not None
    return made


def test_the_owner_sees_what_is_theirs_and_the_asker_what_they_asked(office: Office, routed_id: str) -> None:
    (item,) = office.inbox.waiting(BOB)
    assert (item.id, item.asked_by, item.owner_id, item.tag) == (routed_id, ANN.user_id, BOB.user_id, "ward")
    assert (item.state, item.reply, item.reason, item.is_fallback) == ("open", None, "Low confidence: 45%", False)
    assert office.inbox.asked(ANN) == [item]
    assert (office.inbox.waiting(ANN), office.inbox.asked(BOB)) == ([], [])
    assert office.inbox.waiting(ADMIN) == office.inbox.waiting(OWNER) == [item]


def test_the_asker_sees_the_reply(office: Office, routed_id: str) -> None:
    replied = office.inbox.reply(routed_id, "  Take it with food.  ", BOB)
    assert (replied.state, replied.reply, replied.replied_by) == ("answered", "Take it with food.", BOB.user_id)
    assert office.inbox.asked(ANN) == [replied]
    assert office.inbox.one(routed_id, ANN) == replied
    assert b"with food" not in office.file.read_bytes()


@pytest.mark.parametrize("other", [CAROL, STRANGER, replace(BOB, scope=STRANGER.scope)])
def test_nobody_else_sees_or_answers_it(office: Office, routed_id: str, other: Asker) -> None:
    assert (office.inbox.waiting(other), office.inbox.asked(other)) == ([], [])
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
    fallback = replace(ROUTE, owner_id=None, owner_email=None, is_fallback=True)
    made = office.ledger.keep(ending(route=fallback))
    assert office.inbox.waiting(BOB) == []
    assert [item.id for item in office.inbox.waiting(ADMIN)] == [made]


def test_a_closed_question_takes_no_reply(office: Office, routed_id: str) -> None:
    assert office.inbox.close(routed_id, BOB).state == "closed"
    with pytest.raises(InputError, match="put away"):
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
    assert [item.id for item in office.inbox.waiting(BOB)] == [ids[2], ids[0], ids[3], ids[1]]
