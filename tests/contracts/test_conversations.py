"""What every store of conversations must do."""

from __future__ import annotations

import pytest

from citewell.errors import NotFound
from citewell.history import ConversationPlace
from citewell.types import Message, User
from tests.contracts.conftest import Office
from tests.contracts.kept import ANN, BOB, OWNER, STRANGER, ending


def said(office: Office, conversation_id: str, asker: User = ANN) -> list[tuple[Message, str | None]]:
    return [(turn.message, turn.answer_id) for turn in office.conversations.turns(conversation_id, asker)]


def test_a_question_is_kept_before_its_answer_and_both_carry_the_answers_id(office: Office) -> None:
    place = office.conversations.begin("How much iron?", ANN, conversation_id=None)
    assert said(office, place.conversation_id) == [(Message("user", "How much iron?"), None)]
    kept = ending(place=place)
    office.ledger.keep(kept)
    assert said(office, place.conversation_id) == [
        (Message("user", "How much iron?"), kept.answer_id),
        (Message("assistant", "200 mg once daily. [1]"), kept.answer_id),
    ]


def test_a_question_that_waits_is_not_kept_twice(office: Office) -> None:
    first = office.conversations.begin("How much iron?", ANN, conversation_id=None)
    again = office.conversations.begin("How much iron?", ANN, conversation_id=first.conversation_id)
    other = office.conversations.begin("For whom?", ANN, conversation_id=first.conversation_id)
    assert again == first
    assert other == ConversationPlace(first.conversation_id, 2)


def test_an_answered_question_may_be_asked_again(office: Office) -> None:
    place = office.conversations.begin("How much iron?", ANN, conversation_id=None)
    office.ledger.keep(ending(place=place))
    again = office.conversations.begin("How much iron?", ANN, conversation_id=place.conversation_id)
    assert again == ConversationPlace(place.conversation_id, 3)


def test_the_same_question_asked_twice_at_once_gets_two_answers(office: Office) -> None:
    place = office.conversations.begin("How much iron?", ANN, conversation_id=None)
    first, second = ending(place=place), ending(place=place, text="Another.")
    office.ledger.keep(first)
    office.ledger.keep(second)
    assert [answer_id for _, answer_id in said(office, place.conversation_id)] == [
        first.answer_id,
        first.answer_id,
        second.answer_id,
        second.answer_id,
    ]


def test_only_the_newest_turns_are_read_where_a_number_is_given(office: Office) -> None:
    place = office.conversations.begin("Question 0?", ANN, conversation_id=None)
    for number in range(1, 6):
        office.conversations.begin(f"Question {number}?", ANN, conversation_id=place.conversation_id)
    turns = office.conversations.turns(place.conversation_id, ANN, newest=2)
    assert [turn.message.text for turn in turns] == ["Question 4?", "Question 5?"]


@pytest.mark.parametrize("other", [BOB, OWNER, STRANGER])
def test_another_persons_conversation_is_as_good_as_none(office: Office, other: User) -> None:
    mine = office.conversations.begin("How much iron?", ANN, conversation_id=None).conversation_id
    with pytest.raises(NotFound):
        office.conversations.turns(mine, other)
    with pytest.raises(NotFound):
        office.conversations.begin("And now?", other, conversation_id=mine)
    with pytest.raises(NotFound):
        office.conversations.erase(mine, other)
    assert office.conversations.all(other) == []
    assert len(said(office, mine)) == 1


def test_an_answer_to_an_erased_conversation_brings_nothing_back(office: Office) -> None:
    place = office.conversations.begin("How much iron?", ANN, conversation_id=None)
    office.conversations.erase(place.conversation_id, ANN)
    kept = ending(place=place)
    office.ledger.keep(kept)
    assert office.conversations.all(ANN) == []
    assert office.audit.read(kept.answer_id, ANN).words["question"] == "How much iron?"


def test_the_last_changed_comes_first_and_is_named_after_its_first_question(office: Office) -> None:
    old = office.conversations.begin("Old? " + "very " * 40, ANN, conversation_id=None).conversation_id
    new = office.conversations.begin("New?", ANN, conversation_id=None).conversation_id
    assert [one.id for one in office.conversations.all(ANN)] == [new, old]
    office.conversations.begin("Again?", ANN, conversation_id=old)
    listed = office.conversations.all(ANN)
    assert [one.id for one in listed] == [old, new]
    assert (len(listed[0].title), listed[0].title[:9], listed[0].title[-1]) == (80, "Old? very", "…")


def test_the_words_are_sealed_in_the_file(office: Office) -> None:
    place = office.conversations.begin("Is haematuria serious?", ANN, conversation_id=None)
    office.ledger.keep(ending("Is haematuria serious?", place=place, text="Haematuria is serious."))
    office.library.close()
    for path in office.file.parent.glob("library.sqlite*"):
        assert b"aematuria" not in path.read_bytes()


def test_a_long_list_of_conversations_is_read_in_parts(office: Office) -> None:
    ids = [office.conversations.begin(f"Question {n}?", ANN, conversation_id=None).conversation_id for n in range(5)]
    first = office.conversations.page(ANN, limit=2)
    office.conversations.erase(ids[4], ANN)  # the one before the place where the list goes on
    rest = office.conversations.page(ANN, limit=9, after=first.next)
    assert [one.id for one in (*first.items, *rest.items)] == ids[::-1]
    assert rest.next is None
    assert [one.id for one in office.conversations.page(ANN, starting=ids[1][:13].upper()).items] == [ids[1]]
    assert office.conversations.page(BOB).items == ()
