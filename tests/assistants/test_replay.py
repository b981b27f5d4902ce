"""A recorded question, asked again on the versions that answered then."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import pytest

from citewell.answer.events import SentenceChecked
from citewell.answer.history_json import replay_json
from citewell.answer.replay import (
    EMBEDDED_ANEW,
    NARROWED,
    OTHER_QUERY,
    UNFINISHED,
    UPGRADED,
    ErasedSource,
    RecordedQuestion,
    compare,
    replay,
)
from citewell.app import App
from citewell.errors import NotFound
from citewell.types import EVERY, Answer, Filing, Role, Scope, Source, User
from tests.assistants.test_ask_service import user

FIRST = "# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
SECOND = FIRST.replace("200 mg once", "100 mg twice")
ORS = "# Oral rehydration\n\nGive ORS 75 ml/kg over 4 hours to children with some dehydration."
IRON = "How much ferrous sulfate for anaemia in adults?"


def put(app: App, text: str, name: str, *tags: str) -> str:
    filing = Filing(tags=frozenset(tags or {"public"}))
    return app.add_source(Source(text.encode(), name), filing=filing).entry.id


@pytest.fixture
def answered(app: App) -> tuple[App, str]:
    """A library that has answered from the first version."""
    put(app, FIRST, "iron.md"), put(app, ORS, "ors.md")
    answer = app.ask(IRON)
    assert "200 mg once daily" in answer.text
    return app, answer.id


def test_nothing_changed_and_the_answer_is_the_same(answered: tuple[App, str]) -> None:
    app, answer_id = answered
    found = app.ask_service.replay(answer_id, app.owner())
    assert (found.is_same, found.notes, found.erased) == (True, (), ())
    assert [change.kind for change in found.changes] == ["same"] * len(found.changes)
    assert found.changes
    assert len(app.ask_service.audit.entries(app.owner())) == 1, "a replay is no answer of its own"


def test_another_wording_of_the_query_is_told_and_an_older_record_has_none(answered: tuple[App, str]) -> None:
    app, answer_id = answered
    record = app.ask_service.replay(answer_id, app.owner()).record
    for query, notes in ((None, ()), ("Iron?", (OTHER_QUERY.format(was="Iron?", now=IRON),))):
        words = {**record.words, "answer": {**record.words["answer"], "query": query}}
        older = RecordedQuestion.of(replace(record, words=words), app.owner())
        assert replay(older, (), assistant=app.knowledge, library=app.library).notes[1:] == notes


def test_a_newer_version_answers_today_and_the_older_one_in_a_replay(answered: tuple[App, str]) -> None:
    app, answer_id = answered
    put(app, SECOND, "iron.md")
    put(app, "# Anaemia\n\nFerrous sulfate 300 mg is given for anaemia in adults on Mondays.", "anaemia.md")
    assert "100 mg twice" in app.ask(IRON).text
    found = app.ask_service.replay(answer_id, app.owner())
    assert (found.is_same, found.notes) == (True, ())
    assert "200 mg once daily" in found.text_now
    assert isinstance(found.now, Answer)
    assert {one.hit.version for one in found.now.evidence} == {1}


def test_an_erased_version_is_told_and_the_rest_answers(answered: tuple[App, str]) -> None:
    app, answer_id = answered
    iron = next(entry for entry in app.entries() if entry.name == "iron.md")
    app.delete(iron.id)
    found = app.ask_service.replay(answer_id, app.owner())
    assert not found.is_same
    assert found.erased == (ErasedSource(iron.id, "Iron", 1),)
    assert found.notes == (
        "Version 1 of “Iron”, which the answer used, has since been erased.",
        "Words from a document erased since were removed from the record and cannot be compared.",
        "1 of the 2 documents searched then have been removed or re-filed.",
    )
    assert {change.kind for change in found.changes} == {"gone"}
    assert (found.action_then, found.action_now) == ("CITE", "ROUTE")
    assert "200 mg" not in str(replay_json(found)["now"])


def test_one_who_is_no_administrator_any_more_does_not_ask_a_persons_papers_again(app: App) -> None:
    put(app, ORS, "ors.md")
    letter = "# Letter\n\nThe patient was given ferrous sulfate 200 mg once daily for anaemia."
    app.add_source(Source(letter.encode(), "letter.md"), filing=Filing(subject="p-1"))
    boss = replace(user(app, "ann"), role=Role.ADMIN, scope=Scope("local", frozenset({EVERY}), None, "p-1"))
    answer = app.ask("How much ferrous sulfate was the patient given for anaemia?", asker=boss)
    assert "200 mg once daily" in answer.text
    assert app.ask_service.replay(answer.id, boss).is_same
    found = app.ask_service.replay(
        answer.id, replace(boss, role=Role.MEMBER, scope=Scope("local", frozenset(), None, None))
    )
    assert NARROWED in found.notes
    assert "200 mg" not in str(found.now)


def test_a_document_that_was_filed_anew_does_not_slip_into_the_past(app: App) -> None:
    ann = user(app, "ann", "ward")
    put(app, FIRST, "iron.md", "ward")
    other = put(app, FIRST.replace("adults", "walruses"), "other.md", "secret")
    done = app.ask_service.answer(IRON, asker=ann)
    app.refile(other, Filing(tags=frozenset({"ward"})))
    found = app.ask_service.replay(done.answer.id, ann)
    assert (found.is_same, found.notes) == (True, ())
    assert "walrus" not in str(found)


def test_who_lost_a_tag_does_not_get_it_back_by_a_replay(app: App) -> None:
    ann = user(app, "ann", "ward")
    put(app, FIRST, "iron.md", "ward")
    done = app.ask_service.answer(IRON, asker=ann)
    found = app.ask_service.replay(done.answer.id, replace(ann, scope=Scope("local", frozenset(), None, None)))
    assert NARROWED in found.notes
    assert isinstance(found.now, Answer)
    assert found.now.evidence == ()
    assert app.ask_service.replay(done.answer.id, app.owner()).is_same


def test_another_persons_answer_cannot_be_replayed(answered: tuple[App, str]) -> None:
    app, answer_id = answered
    for other in (user(app, "ann"), User.owner(Scope.owner("elsewhere"))):
        with pytest.raises(NotFound):
            app.ask_service.replay(answer_id, other)


def test_a_replay_after_everything_was_embedded_anew_says_so(answered: tuple[App, str]) -> None:
    app, answer_id = answered
    put(app, SECOND, "iron.md")
    app.reindex()
    found = app.ask_service.replay(answer_id, app.owner())
    assert found.notes == (EMBEDDED_ANEW,)
    assert "200 mg once daily" in found.text_now
    assert isinstance(found.now, Answer)
    assert {one.hit.version for one in found.now.evidence} == {1}


def test_other_settings_are_told(answered: tuple[App, str]) -> None:
    app, answer_id = answered
    policy = replace(app.knowledge.policy, threshold=0.99)
    app.__dict__["knowledge"] = replace(app.knowledge, policy=policy)
    found = app.ask_service.replay(answer_id, app.owner())
    assert found.notes == ("The policy setting has changed since.",)
    assert (found.action_then, found.action_now, found.is_same) == ("CITE", "ROUTE", False)
    assert {change.kind for change in found.changes} == {"changed"}


def test_another_version_of_citewell_is_told(answered: tuple[App, str], monkeypatch: pytest.MonkeyPatch) -> None:
    app, answer_id = answered
    monkeypatch.setattr("citewell.answer.assistant.version", lambda _name: "99.0")
    found = app.ask_service.replay(answer_id, app.owner())
    assert found.notes == (UPGRADED.format(was=version("citewell"), now="99.0"),)


def test_sentences_that_are_cited_by_another_number_are_the_same() -> None:
    span = {"source_id": "a:1", "start": 0, "end": 9}
    then = {"text": "Take iron.", "verdict": "supported", "citations": [1], "span": span}
    (same,) = compare([then], [{**then, "citations": [3]}])
    (moved,) = compare([then], [{**then, "span": {**span, "source_id": "b:1"}}])
    assert (same.kind, moved.kind) == ("same", "changed")


def test_a_follow_up_is_replayed_with_what_was_said_before(app: App) -> None:
    put(app, FIRST, "iron.md"), put(app, ORS, "ors.md")
    first = app.ask_service.answer("How much ORS for some dehydration?", asker=app.owner())
    second = app.ask_service.answer(
        "and over how many hours?", asker=app.owner(), conversation_id=first.conversation_id
    )
    assert first.conversation_id is not None
    app.ask_service.conversations.erase(first.conversation_id, app.owner())
    assert app.ask_service.replay(second.answer.id, app.owner()).is_same


def test_what_never_came_to_its_end_is_replayed_as_far_as_it_was_shown(answered: tuple[App, str]) -> None:
    app, _ = answered
    events = app.ask_service.ask(IRON, asker=app.owner())
    for event in events:
        if isinstance(event, SentenceChecked):
            break
    events.close()  # type: ignore[attr-defined]
    newest = app.ask_service.audit.entries(app.owner())[0]
    found = app.ask_service.replay(newest.answer_id, app.owner())
    assert UNFINISHED in found.notes
    assert found.changes[0].kind == "same"
    assert not found.is_same


def test_withheld_sentences_are_compared_for_who_asked_and_for_administrators(app: App) -> None:
    ann = user(app, "ann", "ward", role=Role.MEMBER)
    put(app, FIRST, "iron.md", "ward")
    app.__dict__["settings"] = app.settings.model_copy(update={"confidence_threshold": 0.99})
    done = app.ask_service.answer(IRON, asker=ann)
    assert [claim.is_shown for claim in done.answer.claims] == [False]
    assert len(app.ask_service.replay(done.answer.id, ann).changes) == 1
    assert (
        app.ask_service.replay(done.answer.id, app.owner()).changes
        == app.ask_service.replay(done.answer.id, ann).changes
    )
