"""Asking at the service, through the real library, index, model and check: what is kept, and what a failure leaves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from citewell.answer.events import AnswerDone, AnswerStarted, Event, SentenceChecked
from citewell.app import App, build
from citewell.errors import DiskFull, InputError, LibraryError, LLMTimeoutError, NotFound, ScopeRefused
from citewell.ports import Writer
from citewell.types import Cite, Context, Filing, Message, Qualified, Role, Route, Scope, Source, User

NOTES = {
    "ors.md": ("# Oral rehydration\n\nGive ORS 75 ml/kg over 4 hours to children with some dehydration.", {"public"}),
    "iron.md": ("# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults.", {"ward"}),
    "pay.md": ("# Pay\n\nNight shifts on the ward are paid at 130 percent of the day rate.", {"ward", "pay"}),
}
ORS = "How much ORS for some dehydration?"
PEOPLE = int(os.environ.get("CITEWELL_PEOPLE", "30"))
"""`make soak` has a hundred."""


@pytest.fixture
def notes(app: App) -> App:
    for name, (text, tags) in NOTES.items():
        app.add_source(Source(text.encode(), name), filing=Filing(tags=frozenset(tags)))
    return app


def user(app: App, name: str, *tags: str, role: Role = Role.MEMBER) -> User:
    """A real user of the library's tenant."""
    email = f"{name}@clinic.example"
    return app.people.add(tenant=app.tenant, email=email, name=name, role=role, tags=tags).asker()


class Breaking:
    """A writer whose server goes away in the middle, as often as it is told."""

    def __init__(self, writer: Writer, failures: int, after: str = "") -> None:
        self._writer, self.failures, self._after = writer, failures, after
        self.seen: list[Sequence[Message]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._writer, name)

    def write(self, question: str, context: Context, *, rules: str, begun_at: float | None = None) -> Iterator[str]:
        self.seen.append(context.history)
        if self.failures:
            self.failures -= 1
            yield self._after
            raise LLMTimeoutError("The model took too long. Try again, or choose a smaller one.")
        yield from self._writer.write(question, context, rules=rules, begun_at=begun_at)


@pytest.fixture
def breaking(notes: App) -> Breaking:
    writer = Breaking(notes.writer, failures=1)
    notes.__dict__["writer"] = writer
    return writer


# ----------------------------------------------------------------------------------------------------------- keeping


def test_an_answer_is_on_record_with_all_that_it_rests_on(notes: App) -> None:
    ann = user(notes, "ann", "ward")
    done = notes.ask_service.answer(ORS, asker=ann)
    assert isinstance(done.answer.action, Cite | Qualified)
    words = notes.ask_service.audit.read(done.answer.id, ann).words
    assert (words["question"], words["ended"], words["asker"]["user_id"]) == (ORS, "answered", ann.user_id)
    assert words["scope"] == {"tenant": "local", "tags": ["ward"], "journey": None, "subject": None}
    library = words["library"]
    assert (library["stamp"], library["is_settled"], library["documents"]) == (notes.library.stamp(), True, 3)
    assert library["generations"] == "1-3"
    assert words["setup"]["writer"]["name"] == done.answer.model == "extractive"
    assert words["setup"]["prompts"]["rules"] == done.answer.prompt_hash
    assert [one["source_id"] for one in words["evidence"]] == [one.hit.source_id for one in done.answer.evidence]
    (first, *_) = words["evidence"]
    assert notes.show(first["document_id"])[1].text[first["start"] : first["end"]] == done.answer.evidence[0].text
    assert [(one["text"], one["verdict"]) for one in words["claims"]] == [
        (one.text, one.check.verdict) for one in done.answer.claims
    ]
    assert words["answer"]["text"] == done.answer.text


def test_both_turns_carry_the_answers_id(notes: App) -> None:
    done = notes.ask_service.answer(ORS, asker=notes.owner())
    assert done.conversation_id is not None
    turns = notes.ask_service.conversations.turns(done.conversation_id, notes.owner())
    assert [(turn.message, turn.answer_id) for turn in turns] == [
        (Message("user", ORS), done.answer.id),
        (Message("assistant", done.answer.text), done.answer.id),
    ]


def test_the_conversation_is_known_before_anything_is_searched(notes: App) -> None:
    events = notes.ask_service.ask(ORS, asker=notes.owner())
    first = next(events)
    assert isinstance(first, AnswerStarted)
    assert notes.ask_service.conversations.turns(first.conversation_id, notes.owner())[0].message.text == ORS


def test_a_follow_up_sees_what_was_said_and_not_itself(notes: App, breaking: Breaking) -> None:
    breaking.failures = 0
    first = notes.ask_service.answer(ORS, asker=notes.owner())
    done = notes.ask_service.answer(
        "and over how many hours?", asker=notes.owner(), conversation_id=first.conversation_id
    )
    assert "4 hours" in done.answer.text
    assert first.answer.text.endswith(" [1]")  # a number of then, which names nothing that is found now
    assert breaking.seen[-1] == (Message("user", ORS), Message("assistant", first.answer.text.removesuffix(" [1]")))
    assert notes.ask_service.audit.read(done.answer.id, notes.owner()).words["history"] == [
        {"role": "user", "text": ORS},
        {"role": "assistant", "text": first.answer.text},
    ]


def test_another_conversation_knows_nothing_of_it(notes: App, breaking: Breaking) -> None:
    breaking.failures = 0
    notes.ask_service.answer(ORS, asker=notes.owner())
    notes.ask_service.answer("Iron for adults with anaemia?", asker=notes.owner())
    assert breaking.seen[-1] == ()


@pytest.mark.parametrize("question", ["", "  \n", "x" * 4_001, "????", "… – !"])
def test_what_is_no_question_is_refused_before_anything_is_kept(notes: App, question: str) -> None:
    with pytest.raises(InputError):
        notes.ask_service.ask(question, asker=notes.owner())
    assert notes.ask_service.conversations.all(notes.owner()) == []


def test_what_has_no_words_is_told_to_ask_in_words_and_waits_in_no_inbox(notes: App) -> None:
    begun = notes.ask_service.answer(ORS, asker=notes.owner())
    for conversation_id in (None, begun.conversation_id):
        with pytest.raises(InputError, match="Ask it in words"):
            notes.ask_service.ask("????", asker=notes.owner(), conversation_id=conversation_id)
    assert notes.ask_service.inbox.waiting(notes.owner()).items == ()
    assert len(notes.ask_service.conversations.turns(begun.conversation_id, notes.owner(), newest=9)) == 2


def test_where_a_conversation_goes_on_a_number_is_a_question(notes: App) -> None:
    begun = notes.ask_service.answer(ORS, asker=notes.owner())
    then = notes.ask_service.answer("75?", asker=notes.owner(), conversation_id=begun.conversation_id)
    assert then.conversation_id == begun.conversation_id


def test_a_long_topic_does_not_make_a_follow_up_too_long(notes: App) -> None:
    first = notes.ask_service.answer("ORS for some dehydration? " + "Really. " * 496, asker=notes.owner())
    then = notes.ask_service.answer(
        "and over how many hours?", asker=notes.owner(), conversation_id=first.conversation_id
    )
    assert then.answer.evidence


def test_a_reader_may_not_ask(notes: App) -> None:
    with pytest.raises(ScopeRefused):
        notes.ask_service.ask(ORS, asker=user(notes, "rita", role=Role.READER))


def test_another_persons_conversation_cannot_be_asked_in(notes: App) -> None:
    done = notes.ask_service.answer(ORS, asker=notes.owner())
    with pytest.raises(NotFound):
        notes.ask_service.ask("and for adults?", asker=user(notes, "ann"), conversation_id=done.conversation_id)


# ---------------------------------------------------------------------------------------------------------- failures


def failing(app: App, conversation_id: str | None = None) -> list[Event]:
    """The events up to the failure."""
    seen: list[Event] = []
    try:
        for event in app.ask_service.ask(ORS, asker=app.owner(), conversation_id=conversation_id):
            seen.append(event)
    except LLMTimeoutError:
        return seen
    pytest.fail("it did not fail")


def test_a_failed_question_stays_and_a_retry_answers_it(notes: App, breaking: Breaking) -> None:
    started = failing(notes)[0]
    assert isinstance(started, AnswerStarted)
    (waiting,) = notes.ask_service.conversations.turns(started.conversation_id, notes.owner())
    assert (waiting.message, waiting.answer_id) == (Message("user", ORS), None)
    assert notes.ask_service.audit.entries(notes.owner()) == []
    done = notes.ask_service.answer(ORS, asker=notes.owner(), conversation_id=started.conversation_id)
    turns = notes.ask_service.conversations.turns(started.conversation_id, notes.owner())
    assert [turn.answer_id for turn in turns] == [done.answer.id, done.answer.id]


def test_a_question_that_was_never_answered_is_no_history(notes: App, breaking: Breaking) -> None:
    started = failing(notes)[0]
    assert isinstance(started, AnswerStarted)
    other = "Iron for adults with anaemia?"
    notes.ask_service.answer(other, asker=notes.owner(), conversation_id=started.conversation_id)
    assert breaking.seen[-1] == ()


def test_what_was_shown_before_a_failure_is_on_record(notes: App) -> None:
    half = "Give ORS 75 ml/kg over 4 hours to children with some dehydration. [S1] And "
    notes.__dict__["writer"] = Breaking(notes.writer, failures=1, after=half)
    assert any(isinstance(event, SentenceChecked) and event.claim.is_shown for event in failing(notes))
    (entry,) = notes.ask_service.audit.entries(notes.owner())
    words = notes.ask_service.audit.read(entry.answer_id, notes.owner()).words
    assert (words["ended"], words["answer"], len(words["claims"])) == ("LLMTimeoutError", None, 1)
    assert notes.ask_service.audit.verify_chain("local").problems == ()


def test_an_answer_that_cannot_be_recorded_is_not_given(notes: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_ending: object) -> None:
        raise DiskFull("The disk is full.")

    monkeypatch.setattr(notes.ask_service.ledger, "keep", full)
    seen: list[Event] = []
    with pytest.raises(DiskFull):
        seen.extend(notes.ask_service.ask(ORS, asker=notes.owner()))
    assert not any(isinstance(event, AnswerDone) for event in seen)
    monkeypatch.undo()
    (conversation,) = notes.ask_service.conversations.all(notes.owner())
    done = notes.ask_service.answer(ORS, asker=notes.owner(), conversation_id=conversation.id)
    turns = notes.ask_service.conversations.turns(conversation.id, notes.owner())
    assert [turn.answer_id for turn in turns] == [done.answer.id, done.answer.id]


def test_a_library_without_its_key_says_so_before_anything_is_asked(notes: App) -> None:
    notes.ask(ORS)
    (notes.settings.home / "seal.key").unlink()
    with build(notes.settings) as again, pytest.raises(LibraryError, match=r"seal\.key is missing"):
        again.ask(ORS)
    assert not (notes.settings.home / "seal.key").exists()


@pytest.mark.slow
def test_many_people_at_once_lose_and_mix_nothing(notes: App) -> None:
    notes.ask(ORS)
    people = [user(notes, f"user{number}", "ward") for number in range(PEOPLE)]
    questions = (ORS, "How much ferrous sulfate for anaemia in adults?")

    def ask_twice(number: int) -> list[str]:
        asker = people[number]
        first = notes.ask_service.answer(questions[number % 2], asker=asker)
        second = notes.ask_service.answer(questions[1 - number % 2], asker=asker, conversation_id=first.conversation_id)
        return [first.answer.text, second.answer.text]

    with ThreadPoolExecutor(PEOPLE) as threads:
        told = list(threads.map(ask_twice, range(PEOPLE)))
    expected = [notes.ask(question).text for question in questions]
    for number, texts in enumerate(told):
        assert texts == (expected if number % 2 == 0 else expected[::-1])
        (conversation,) = notes.ask_service.conversations.all(people[number])
        turns = notes.ask_service.conversations.turns(conversation.id, people[number])
        assert [turn.message.text for turn in turns if turn.message.role == "assistant"] == texts
        assert len(notes.ask_service.audit.entries(people[number])) == 2
    assert notes.ask_service.audit.verify_chain("local").problems == ()


def test_what_was_shown_before_the_reader_left_is_on_record(notes: App) -> None:
    events = notes.ask_service.ask(ORS, asker=notes.owner())
    for event in events:
        if isinstance(event, SentenceChecked):
            break
    events.close()  # type: ignore[attr-defined]
    (entry,) = notes.ask_service.audit.entries(notes.owner())
    assert notes.ask_service.audit.read(entry.answer_id, notes.owner()).words["ended"] == "stopped"


def test_a_reader_who_leaves_after_the_end_leaves_one_record(notes: App) -> None:
    events = notes.ask_service.ask(ORS, asker=notes.owner())
    for event in events:
        if isinstance(event, AnswerDone):
            break
    events.close()  # type: ignore[attr-defined]
    assert len(notes.ask_service.audit.entries(notes.owner())) == 1


# ------------------------------------------------------------------------------------------------------ passing it on

PAY = "How are night shifts paid when someone is ill on a holiday?"


def routed(app: App, asker: User, question: str = PAY) -> AnswerDone:
    """A question that the documents touch and do not answer well enough."""
    app.__dict__["settings"] = app.settings.model_copy(update={"confidence_threshold": 0.99})
    done = app.ask_service.answer(question, asker=asker)
    assert isinstance(done.answer.action, Route)
    assert done.routed_id is not None
    return done


def test_a_question_goes_to_the_tags_owner_who_sees_the_draft_and_the_asker_sees_the_reply(notes: App) -> None:
    ann, bob = user(notes, "ann", "ward"), user(notes, "bob", "ward", "pay")
    notes.people.set_owner("ward", tenant="local", owner_id=bob.user_id)
    done = routed(notes, ann)
    assert done.answer.text.endswith("Your question was sent to bob@clinic.example. The reply will appear under Sent.")
    assert done.routed_id is not None
    case = notes.ask_service.case(done.routed_id, bob)
    assert (case.question, case.may_answer, case.hidden_evidence, case.hidden_draft) == (PAY, True, 0, 0)
    assert [passage.text for passage in case.evidence] == [one.text for one in done.answer.evidence]
    assert [one["text"] for one in case.draft] == [claim.text for claim in done.answer.claims]
    assert case.draft
    notes.ask_service.inbox.reply(done.routed_id, "At 130 percent.", bob)
    mine = notes.ask_service.case(done.routed_id, ann)
    assert (mine.reply, mine.draft, mine.may_answer) == ("At 130 percent.", case.draft, False)


def test_nobody_is_sent_their_own_question(notes: App) -> None:
    bob = user(notes, "bob", "ward")
    notes.people.set_owner("ward", tenant="local", owner_id=bob.user_id)
    done = routed(notes, bob)
    assert isinstance(done.answer.action, Route)
    assert (done.answer.action.owner_id, done.answer.action.fallback) == (None, True)
    assert "you answer for tag “ward” yourself" in done.answer.action.reason
    assert "sent to the administrator" in done.answer.text
    assert notes.ask_service.inbox.waiting(bob).items == ()
    (waiting,) = notes.ask_service.inbox.waiting(notes.owner()).items
    assert (waiting.id, "; the asker answers for tag “ward”" in waiting.reason) == (done.routed_id, True)
    assert waiting.reason == notes.ask_service.case(waiting.id, notes.owner()).reason
    (mine,) = notes.ask_service.inbox.asked(bob).items
    assert mine.reason == notes.ask_service.case(mine.id, bob).reason == done.answer.action.reason
    assert notes.ask_service.inbox.reply(mine.id, "At 130 percent.", notes.owner()).reason == waiting.reason


def test_an_owner_sees_no_document_that_they_may_not_see(notes: App) -> None:
    ann, bob = user(notes, "ann", "pay"), user(notes, "bob")
    notes.people.set_owner("pay", tenant="local", owner_id=bob.user_id)
    done = routed(notes, ann, "How are night shifts on the ward paid?")
    assert done.routed_id is not None
    secret = [claim.text for claim in done.answer.claims if "130 percent" in claim.text]
    hidden = [one for one in done.answer.evidence if one.hit.document == "Pay"]
    assert secret
    assert hidden
    case = notes.ask_service.case(done.routed_id, bob)
    assert (case.hidden_evidence, case.hidden_draft) == (len(hidden), len(done.answer.claims))
    assert case.draft == ()
    assert "130 percent" not in str(case)
    assert "Pay" not in [passage.document for passage in case.evidence]


def test_what_was_erased_is_told_to_an_administrator_and_hidden_from_others(notes: App) -> None:
    ann = user(notes, "ann", "pay")
    done = routed(notes, ann)
    assert done.routed_id is not None
    for entry in notes.entries():
        notes.delete(entry.id)
    assert {passage.text for passage in notes.ask_service.case(done.routed_id, notes.owner()).evidence} == {None}
    assert notes.ask_service.case(done.routed_id, ann).evidence == ()


def test_nobody_else_sees_the_case(notes: App) -> None:
    done = routed(notes, user(notes, "ann", "pay"))
    assert done.routed_id is not None
    stranger = User.owner(Scope.owner("elsewhere"))
    for other in (user(notes, "carol", "pay"), stranger):
        with pytest.raises(NotFound):
            notes.ask_service.case(done.routed_id, other)
