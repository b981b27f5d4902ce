"""Any order of asking, answering, leaving and erasing keeps the log, the conversations and the inbox in step."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from citewell.answer.service import paired
from citewell.history import ConversationPlace
from citewell.types import Message, User
from tests.contracts.conftest import Office, opened_office
from tests.contracts.kept import ANN, BOB, OWNER, ROUTE, STRANGER, ending

ASKERS = st.sampled_from([ANN, BOB, OWNER, STRANGER])
QUESTIONS = st.sampled_from(["How much iron?", "And for children?", "Why?"])


class Keeping(RuleBasedStateMachine):
    """A real file, and beside it what it should hold."""

    asked: Bundle[tuple[User, ConversationPlace, str]] = Bundle("asked")

    @initialize()
    def opens(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.office: Office = opened_office(Path(self._folder.name))
        self.turns: dict[str, tuple[User, list[tuple[str, str, str | None]]]] = {}
        self.records: dict[str, list[str]] = {"clinic": [], "elsewhere": []}
        self.inbox: dict[str, str] = {}

    def teardown(self) -> None:
        self.office.library.close()
        self._folder.cleanup()

    @rule(target=asked, asker=ASKERS, question=QUESTIONS, goes_on=st.booleans())
    def asks(self, asker: User, question: str, goes_on: bool) -> tuple[User, ConversationPlace, str]:
        mine = [one for one, (owner, _) in self.turns.items() if owner == asker]
        chosen = mine[-1] if goes_on and mine else None
        place = self.office.conversations.begin(question, asker, conversation_id=chosen)
        _, turns = self.turns.setdefault(place.conversation_id, (asker, []))
        if not (turns and turns[-1] == ("user", question, None)):
            turns.append(("user", question, None))
        assert place.position == len(turns)
        return asker, place, question

    @rule(one=consumes(asked), is_routed=st.booleans())
    def is_answered(self, one: tuple[User, ConversationPlace, str], is_routed: bool) -> None:
        asker, place, question = one
        kept = ending(question, asker, place=place, route=ROUTE if is_routed else None)
        routed_id = self.office.ledger.keep(kept)
        assert (routed_id is not None) == is_routed
        self.records[asker.tenant].append(kept.answer_id)
        if routed_id is not None:
            self.inbox[routed_id] = kept.answer_id
        if place.conversation_id in self.turns:
            _, turns = self.turns[place.conversation_id]
            if turns[place.position - 1][2] is None:
                turns[place.position - 1] = ("user", question, kept.answer_id)
            else:
                turns.append(("user", question, kept.answer_id))
            turns.append(("assistant", kept.text or "", kept.answer_id))

    @rule(one=consumes(asked))
    def is_left_half_shown(self, one: tuple[User, ConversationPlace, str]) -> None:
        asker, place, question = one
        kept = ending(question, asker, place=place, text=None)
        self.office.ledger.keep(kept)
        self.records[asker.tenant].append(kept.answer_id)

    @rule(asker=ASKERS)
    def erases_the_newest(self, asker: User) -> None:
        mine = self.office.conversations.all(asker)
        if mine:
            self.office.conversations.erase(mine[0].id, asker)
            del self.turns[mine[0].id]

    @invariant()
    def nothing_is_lost_and_nothing_is_mixed(self) -> None:
        for asker in (ANN, BOB, OWNER, STRANGER):
            mine = {one: turns for one, (owner, turns) in self.turns.items() if owner == asker}
            assert {one.id for one in self.office.conversations.all(asker)} == set(mine)
            for conversation_id, turns in mine.items():
                found = self.office.conversations.turns(conversation_id, asker)
                assert [(one.message.role, one.message.text, one.answer_id) for one in found] == turns
                _assert_in_turn(paired(found))

    @invariant()
    def the_log_is_whole_and_the_inbox_has_its_records(self) -> None:
        for tenant, expected in self.records.items():
            proof = self.office.audit.verify_chain(tenant)
            assert (proof.records, proof.problems) == (len(expected), ())
        everything = {*self.records["clinic"], *self.records["elsewhere"]}
        items = [*self.office.inbox.waiting(OWNER).items, *self.office.inbox.waiting(STRANGER).items]
        assert {item.id: item.answer_id for item in items} == self.inbox
        assert set(self.inbox.values()) <= everything


def _assert_in_turn(messages: tuple[Message, ...]) -> None:
    """What a model is given: question and answer by turns, as every vendor wants it."""
    assert [message.role for message in messages] == ["user", "assistant"] * (len(messages) // 2)


TestKeeping = Keeping.TestCase
TestKeeping.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
