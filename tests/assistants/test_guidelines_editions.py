"""A newer edition takes the place of the older; what it changes is shown; old assessments replay as they were."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from citewell.adapters.store.schema import document_tags
from citewell.answer.history_json import record_json, replay_json
from citewell.app import App
from citewell.assistants.guidelines.assess import assessment_json
from citewell.assistants.guidelines.diff import diff_json
from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.read_patient import patient_from
from citewell.errors import InputError, NotFound
from citewell.types import LifecycleState, Role, Scope, User
from tests.assistants.printed import FIRST, SECOND, print_edition
from tests.assistants.written import rules

pytestmark = pytest.mark.slow

OWNER = User.owner(Scope.owner("local"))
ANN = User("ann", Role.MEMBER, Scope("local", frozenset({"wards"}), None, None))


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return print_edition(tmp_path / "spots-2015.pdf", "1 June 2015", FIRST)


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return print_edition(tmp_path / "spots-2025.pdf", "1 May 2025", SECOND)


def _patient(**facts: Any) -> PatientInput:
    return patient_from({"patient_id": "P1", **facts})


def _weight_loss(age: int) -> PatientInput:
    return _patient(age=age, symptoms=["weight loss"])


def test_a_newer_edition_takes_the_place_of_the_older_under_another_file_name(
    app: App, first: Path, second: Path
) -> None:
    old = app.guidelines.add(first).entry
    assert app.guidelines.assess(_weight_loss(45), scope=OWNER.scope).risk_level == "Urgent Referral"
    new = app.guidelines.add(second).entry
    assert new.lineage == old.lineage
    assert [one.id for one in app.guidelines.entries(OWNER.scope)] == [new.id]
    assert app.library.entry(old.id, OWNER.scope).state is LifecycleState.SUPERSEDED
    assert app.guidelines.assess(_weight_loss(45), scope=OWNER.scope).matched == ()


def test_a_newer_edition_keeps_the_tags_of_an_old_library(app: App, first: Path, second: Path) -> None:
    app.guidelines.add(first)
    with app.library.engine.begin() as connection:
        connection.execute(update(document_tags).where(document_tags.c.tag == "public").values(tag="Old Tag"))
    assert app.guidelines.add(second).entry.tags == ("Old Tag", "guideline")


def test_a_file_that_is_here_is_compared_as_it_is_here_also_once_it_is_superseded(
    app: App, first: Path, second: Path
) -> None:
    old = app.guidelines.add(first).entry
    kept = app.guidelines.assess_kept(_weight_loss(45), asker=OWNER)
    assert app.guidelines.edition(second).entry is None
    app.guidelines.add(second)
    editions = [app.guidelines.edition(one) for one in (first, second)]
    assert editions[0] is app.guidelines.guideline(old.id, OWNER.scope)
    _, changed = app.guidelines.diff(*editions, asker=OWNER)
    assert [one.answer_id for one in changed] == [kept.id]


def test_an_older_edition_is_refused_and_changes_nothing(app: App, first: Path, second: Path) -> None:
    new = app.guidelines.add(second).entry
    with pytest.raises(InputError, match=r"a newer edition of .+ \(1 May 2025\) than this one \(1 June 2015\)"):
        app.guidelines.add(first)
    assert [one.id for one in app.entries()] == [new.id]


def test_two_guidelines_stand_side_by_side_and_every_rule_says_whose_it_is(
    app: App, first: Path, tmp_path: Path
) -> None:
    app.guidelines.add(first)
    app.guidelines.add(print_edition(tmp_path / "other.pdf", "1 May 2025", FIRST, title="Blue spots: referral"))
    found = assessment_json(app.guidelines.assess(_weight_loss(45), scope=OWNER.scope))
    assert [one["guideline"] for one in found["matched"]] == [
        "Blue spots: referral",
        "Green spots: recognition and referral",
    ]


def test_the_difference_is_told_rule_by_rule_and_word_by_word(app: App, first: Path, second: Path) -> None:
    editions = [app.guidelines.check(one) for one in (first, second)]
    found, changed = app.guidelines.diff(editions[0], editions[1], asker=OWNER)
    shown = diff_json(found)
    assert (shown["old"]["edition"], shown["new"]["edition"]) == ("1 June 2015", "1 May 2025")
    assert [one["rule"] for one in shown["added"]] == ["1.1.2"]
    assert [one["rule"] for one in shown["removed"]] == ["1.1.3"]
    assert shown["moved"] == [{"from": "1.1.2", "to": "1.1.3"}]
    assert shown["unchanged"] == 1
    (reworded,) = shown["changed"]
    assert (reworded["rule"], reworded["was"], reworded["criteria_changed"]) == ("1.1.1", "1.1.1", True)
    assert [one for one in reworded["words"] if one["op"] != "same"] == [
        {"op": "removed", "text": "40"},
        {"op": "added", "text": "50"},
    ]
    assert reworded["differences"] == ["weight loss: now aged 50 and over (was aged 40 and over)"]
    assert changed == []


def test_of_two_editions_added_at_once_the_newer_is_applied(app: App, first: Path, second: Path) -> None:
    app.guidelines.entries(OWNER.scope)
    with ThreadPoolExecutor(2) as pool:
        added = [pool.submit(app.guidelines.add, file) for file in (first, second)]
    newer = added[1].result().entry
    assert [one.id for one in app.guidelines.entries(OWNER.scope)] == [newer.id]
    refused = added[0].exception()
    assert refused is None or "already has a newer edition" in str(refused)


def test_an_edition_uploaded_as_a_document_takes_the_place_of_the_older_when_it_is_applied(
    app: App, first: Path, second: Path
) -> None:
    old, new = (app.add(file).entry for file in (first, second))
    app.guidelines.refresh(old.id, OWNER.scope)
    app.guidelines.refresh(new.id, OWNER.scope)
    assert [one.id for one in app.guidelines.entries(OWNER.scope)] == [new.id]
    assert app.library.entry(old.id, OWNER.scope).state is LifecycleState.COMPLETED
    with pytest.raises(InputError, match="already has a newer edition"):
        app.guidelines.refresh(old.id, OWNER.scope)
    assert [one.id for one in app.guidelines.entries(OWNER.scope)] == [new.id]


def test_changed_tables_are_told_row_by_row() -> None:
    from citewell.assistants.guidelines.diff import diff
    from citewell.assistants.guidelines.guideline import RuleTable

    title, rows = "Table 1 Thresholds", ("age: 40 to 49; PSA: more than 2.5", "age: 50 to 59; PSA: more than 3.5")
    text = "\n".join((title, *rows))
    at = len(title) + 1
    places = ((at, at + len(rows[0]), 3), (at + len(rows[0]) + 1, len(text), 3))
    table = RuleTable(text, 3, 0, len(text), "table 1", places)
    old = replace(rules("Refer people with jaundice."), tables=(table,))
    new = replace(old, tables=(replace(table, text=text.replace("3.5", "4.5")),))
    assert diff_json(diff(old, old))["tables"] == {"added": [], "removed": [], "changed": []}
    (changed,) = diff_json(diff(old, new))["tables"]["changed"]
    (row,) = changed["rows"]
    assert (changed["title"], changed["added"], changed["removed"]) == (title, [], [])
    assert [one["text"] for one in row["words"] if one["op"] != "same"] == ["3.5", "4.5"]
    gone = diff_json(diff(old, replace(old, tables=())))["tables"]
    assert gone == {"added": [], "removed": [title], "changed": []}


def test_a_reworded_row_of_the_index_is_told_word_by_word() -> None:
    from citewell.assistants.guidelines.diff import diff
    from citewell.assistants.guidelines.guideline import SymptomRow

    row = SymptomRow("Blood", "Count", 3, "Leukopenia with bone pain", "Myeloma", "Refer", ("1.1.1",), 0, 1)
    old = replace(rules("Refer people with jaundice."), symptoms=(row,))
    new = replace(old, symptoms=(replace(row, symptom="Leukopenia with bone pain, 60 and over"),))
    (changed,) = diff_json(diff(old, new))["symptoms_changed"]
    assert [one["text"] for one in changed["words"] if one["op"] == "added"] == ["pain, 60 and over"]


def test_rows_and_terms_are_compared_too() -> None:
    from citewell.assistants.guidelines.diff import diff
    from citewell.assistants.guidelines.guideline import Definition, SymptomRow

    old = rules("Refer people with jaundice.")
    row = SymptomRow("Skin", "Colour", 3, "Jaundice", "Spots", "Refer", ("1.1.1",), 0, 1)
    new = replace(
        old,
        symptoms=(row,),
        definitions=(Definition("Urgent", "Within 2 weeks.", 4, 0, 1),),
    )
    shown = diff_json(diff(old, new))
    assert shown["symptoms"] == {"added": ["Jaundice — Spots — Refer"], "removed": []}
    assert shown["definitions"] == {"added": ["Urgent"], "removed": [], "changed": []}
    later = replace(new, symptoms=(replace(row, page=9),), definitions=(Definition("Urgent", "Today.", 4, 0, 1),))
    shown = diff_json(diff(new, later))
    assert shown["symptoms"] == {"added": [], "removed": []}
    assert shown["definitions"]["changed"] == ["Urgent"]


def test_stored_assessments_that_would_change_are_named(app: App, first: Path, second: Path) -> None:
    old = app.guidelines.add(first).entry
    hit = app.guidelines.assess_kept(_weight_loss(45), asker=OWNER)
    app.guidelines.assess_kept(_weight_loss(55), asker=OWNER)
    again = app.guidelines.assess_kept(_weight_loss(45), asker=OWNER)
    app.ask("What are green spots?")
    new = app.guidelines.add(second).entry
    editions = [app.guidelines.guideline(one.id, OWNER.scope) for one in (old, new)]
    _, changed = app.guidelines.diff(editions[0], editions[1], asker=OWNER)
    names = {assessment.answer_id: assessment for assessment in changed}
    assert hit.id not in names  # the newest of the same patient stands for all
    told = names[again.id]
    assert told.risk_level == {
        "then": "Urgent Referral",
        "now": "No Green spots: recognition and referral Criteria Met",
    }
    assert told.lost == ("[Green spots: recognition and referral §1.1.1, p.2]",)
    assert len(changed) == 2  # the rule that the patient of 55 meets reads otherwise now


def test_an_old_assessment_replays_on_the_edition_that_it_used(app: App, first: Path, second: Path) -> None:
    app.guidelines.add(first)
    kept = app.guidelines.assess_kept(_weight_loss(45), asker=OWNER)
    app.guidelines.add(second)
    found = app.replay(kept.id, asker=OWNER)
    assert found.is_same
    shown = replay_json(found)
    assert shown["action"] == {"then": "Urgent Referral", "now": "Urgent Referral"}
    assert shown["now"]["guidelines"][0]["edition"] == "1 June 2015"
    record = record_json(found.record)
    assert record["assessment"]["patient"]["age"] == 45
    assert app.ask_service.audit.verify_chain("local").problems == ()


def test_an_assessment_whose_edition_was_erased_says_so(app: App, first: Path) -> None:
    entry = app.guidelines.add(first).entry
    kept = app.guidelines.assess_kept(_weight_loss(45), asker=OWNER)
    app.delete(entry.id)
    with pytest.raises(NotFound, match="no longer in the library"):
        app.replay(kept.id, asker=OWNER)


def test_another_persons_assessment_is_not_there(app: App, first: Path) -> None:
    app.guidelines.add(first)
    kept = app.guidelines.assess_kept(_weight_loss(45), asker=OWNER)
    with pytest.raises(NotFound):
        app.replay(kept.id, asker=ANN)
    own = app.guidelines.assess_kept(_weight_loss(45), asker=ANN)
    assert app.replay(own.id, asker=ANN).is_same


def test_the_words_of_a_patient_are_sealed_in_the_library_file(app: App, first: Path) -> None:
    app.guidelines.add(first)
    app.guidelines.assess_kept(_patient(age=45, symptoms=["zanzibarian weight loss"]), asker=OWNER)
    home = app.settings.home
    app.close()
    for file in home.rglob("*"):
        if file.is_file():
            assert b"zanzibarian" not in file.read_bytes()
