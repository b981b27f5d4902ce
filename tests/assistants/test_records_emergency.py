"""An emergency is found in three languages; what is denied or long past is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.assistants.records.emergency import DANGERS, Emergency, find_emergency, notice, notices
from citewell.assistants.records.examples import Nearness, examples, nearness
from citewell.assistants.records.tables import rows
from citewell.bootstrap import App
from citewell.bootstrap.record_desk import make_record_desk
from citewell.bootstrap.records import Record
from citewell.types import Asker

HERE = Path(__file__).parent


def table(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def near(embedder: MiniLM) -> Nearness:
    """As the assistant asks the examples."""
    return nearness(embedder.embed, embedder.embed(examples()[1]))


def test_every_phrase_of_the_list_is_caught_in_its_own_language() -> None:
    listed = table("records_emergencies.tsv")
    assert len(listed) == 100
    found = [(language, words, find_emergency(words)) for language, words in listed]
    assert [words for language, words, one in found if one is None or one.language != language] == []


def test_what_is_denied_past_or_everyday_is_none() -> None:
    assert [words for _, words in table("records_no_emergencies.tsv") if find_emergency(words)] == []


@pytest.mark.parametrize(
    "name", ["records_emergencies_fresh.tsv", "records_emergencies_last.tsv", "records_emergencies_fr_de.tsv"]
)
def test_others_that_shaped_the_table_stay_right(name: str) -> None:
    found = [(wanted, words, find_emergency(words) is not None) for wanted, _, words in table(name)]
    assert [words for wanted, words, is_found in found if is_found != (wanted == "yes")] == []


@pytest.mark.parametrize(
    "doubtful",
    [
        "I don't know if this is chest pain",
        "I have never had chest pain like this",
        "I don't want to kill myself",
        "I had a stroke in 2019 and my face is drooping again",
        "no appetite, chest pain since this morning",
        "Chest pain. My father had a stroke in 1990.",
        "chest pain, is that in my record?",
        "Could this tablet cause chest pain?",
    ],
)
def test_what_is_doubtful_counts(doubtful: str) -> None:
    assert find_emergency(doubtful) is not None


@pytest.mark.parametrize(
    "words",
    [
        "no chest pain today",
        "No chest pain or stroke so far",
        "I do not have any chest pain",
        "My father had a stroke in 1990.\nWhat is my dose?",
        "My appointment is in the heart clinic",
        "The brushstrokes in the ward's painting are nice",
        "The orchestra played",
    ],
)
def test_denials_and_parts_of_words_do_not_count(words: str) -> None:
    assert find_emergency(words) is None


def test_suicidal_thoughts_have_a_notice_of_their_own() -> None:
    found = find_emergency("I have chest pain and I want to kill myself")
    assert found == Emergency(("suicide", "heart"), "en")
    assert found.notice == notice("suicide", "en")
    assert "988" in found.notice


def test_every_danger_has_words_and_every_language_a_notice() -> None:
    assert {what for what, *_ in rows("emergencies.tsv")} == set(DANGERS) - {"other"}
    assert {(what, language) for what, language, _ in rows("notices.tsv")} == {
        (what, language) for what in ("any", "other", "suicide") for language in ("en", "fr", "de")
    }
    assert all("112" in text for text in notices())


@pytest.mark.parametrize("text", ["", " ", "\n\n", "?" * 50_000, "no " * 30_000, "a" * 100_000, "fever " * 20_000])
def test_any_text_can_be_read(text: str) -> None:
    assert find_emergency(text) is None


def found_by_meaning(name: str, near: Nearness) -> tuple[int, int]:
    """How many emergencies of a table are found, and how many alarms are false."""
    found = [(wanted, find_emergency(words, near=near) is not None) for wanted, words in table(name)]
    return sum(one == ("yes", True) for one in found), sum(one == ("no", True) for one in found)


def test_examples_find_emergencies_that_no_cue_knows(near: Nearness) -> None:
    by_cues = sum(find_emergency(words) is not None for wanted, words in table("records_emergencies_meant.tsv"))
    assert by_cues < 20
    caught, alarms = found_by_meaning("records_emergencies_meant.tsv", near)
    assert caught >= 32
    assert alarms <= 6


def test_emergencies_that_nothing_was_tuned_on_are_mostly_found(near: Nearness) -> None:
    caught, alarms = found_by_meaning("records_emergencies_unseen.tsv", near)
    assert caught >= 12
    assert alarms <= 5


def test_french_and_german_that_nothing_was_tuned_on_do_not_get_worse() -> None:
    unseen = table("records_emergencies_fr_de_unseen.tsv")
    found = [(wanted, find_emergency(words) is not None) for wanted, _, words in unseen]
    assert sum(one == ("yes", True) for one in found) >= 9
    assert sum(one == ("no", True) for one in found) == 0


@pytest.mark.parametrize(("name", "most_alarms"), [("again", 3), ("kept", 7)])  # 2 and 6 here
def test_two_more_sets_are_all_found_with_no_more_false_alarms(name: str, most_alarms: int, near: Nearness) -> None:
    rows_ = table(f"records_emergencies_{name}.tsv")
    found = [(wanted, words, find_emergency(words, near=near) is not None) for wanted, _, words in rows_]
    assert [words for wanted, words, is_found in found if wanted == "yes" and not is_found] == []
    alarms = [words for wanted, words, is_found in found if wanted == "no" and is_found]
    assert len(alarms) <= most_alarms, alarms


def test_examples_raise_few_alarms_on_questions_and_none_on_what_is_denied(near: Nearness) -> None:
    names = ("records_questions.tsv", "records_questions_fresh.tsv", "records_questions_unseen.tsv")
    asked = [row[-1] for name in names for row in table(name)]
    assert len([one for one in asked if find_emergency(one, near=near)]) <= len(asked) * 0.05
    assert find_emergency("I have no chest pain", near=near) is None
    assert find_emergency("My father had a stroke in 1990", near=near) is None


def test_what_only_resembles_an_emergency_has_a_notice_that_says_so(near: Nearness) -> None:
    found = find_emergency("He was under water for minutes", near=near)
    assert found == Emergency(("other",), "en")
    assert found.notice == notice("other", "en")
    dark = find_emergency("I'm standing on the bridge and see no way out but death", near=near)
    assert dark is not None
    assert dark.notice == notice("suicide", "en")


def test_who_asks_their_record_is_told_first_what_only_resembles_an_emergency(app: App) -> None:
    record = Record(app)
    desk = make_record_desk(app, record.facts)
    said = "He was under water for minutes"
    assert find_emergency(said) is None
    answer = desk.answer(said, asker=Asker.owner(record.scope)).answer
    assert answer.text.startswith(notice("other", "en"))
