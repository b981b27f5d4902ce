"""A document that is erased leaves none of its words in what was answered, and the log still proves whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from citewell.adapters.store.schema import answers
from citewell.answer.audit import ERASED
from citewell.answer.history_json import record_json
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Filing, Source

IRON = "How much ferrous sulfate do adults with anaemia take?"
IRON_TEXT = "# Iron\n\nAdults with anaemia take 200 mg of ferrous sulfate once daily, before breakfast."
ZINC_TEXT = "# Zinc\n\nChildren with diarrhoea take 20 mg of zinc sulfate once daily for ten days."
QUOTE = "200 mg of ferrous sulfate once daily"


@pytest.fixture
def app(tmp_path: Path, embedder: object) -> App:
    made = build(Settings(home=tmp_path / "home"))
    for name, text in (("iron.md", IRON_TEXT), ("zinc.md", ZINC_TEXT)):
        made.add_source(Source(text.encode(), name), filing=Filing(tags=frozenset({"public"})))
    return made


def test_erasing_a_document_takes_its_words_out_of_records_and_conversations(app: App) -> None:
    first = app.ask_service.answer(IRON, asker=app.owner())
    follow_up = app.ask_service.answer("and for how long?", asker=app.owner(), conversation_id=first.conversation_id)
    other = app.ask_service.answer("How much zinc do children with diarrhoea take?", asker=app.owner())
    before = app.ask_service.audit.verify_chain("local")
    assert QUOTE in str(record_json(app.ask_service.audit.read(first.answer.id, app.owner())))
    assert QUOTE in app.ask_service.audit.read(first.answer.id, app.owner()).words["answer"]["raw_text"]
    iron = next(entry for entry in app.entries() if entry.name == "iron.md")
    app.delete(iron.id)

    after = app.ask_service.audit.verify_chain("local", known=[before.head])
    assert (after.problems, after.head, after.records) == ((), before.head, before.records)
    for answer_id in (first.answer.id, follow_up.answer.id):
        told = record_json(app.ask_service.audit.read(answer_id, app.owner()))
        assert "ferrous sulfate once" not in str({**told, "question": ""})
        assert (told["question"], told["evidence"] != []) == (told["question"], True)
    told = record_json(app.ask_service.audit.read(first.answer.id, app.owner()))
    assert told["question"] == IRON
    assert [one["text"] for one in told["claims"]] == [ERASED]
    assert told["answer"]["raw_text"] == ERASED
    assert {one["document_id"] for one in told["erased"]} == {iron.id}
    turns = app.ask_service.conversations.turns(str(first.conversation_id), app.owner())
    assert "ferrous sulfate once" not in str([turn.message.text for turn in turns if turn.message.role == "assistant"])
    assert (
        app.ask_service.audit.read(other.answer.id, app.owner()).words["answer"]["citations"][0]["quote"] in ZINC_TEXT
    )
    again = app.ask_service.replay(first.answer.id, app.owner())
    assert not again.is_same
    assert any("Version 1 of “Iron”" in note for note in again.notes)
    assert any("removed from the record" in note for note in again.notes)


def test_a_record_that_is_changed_under_the_name_of_an_erasure_is_seen(app: App) -> None:
    done = app.ask_service.answer(IRON, asker=app.owner())
    with app.library.engine.begin() as connection:
        connection.execute(update(answers).where(answers.c.id == done.answer.id).values(record_hash="0" * 64))
    assert app.ask_service.audit.verify_chain("local").problems == (
        "record 1: it was altered",
        "record 1: it was altered, and no erased document explains it",
    )


def test_a_new_version_leaves_the_words_of_the_old_one_on_record(app: App) -> None:
    done = app.ask_service.answer(IRON, asker=app.owner())
    app.add_source(Source(IRON_TEXT.replace("200", "300").encode(), "iron.md"))
    assert QUOTE in str(app.ask_service.audit.read(done.answer.id, app.owner()).words)
