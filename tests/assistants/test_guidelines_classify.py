"""Messages to the chat are sorted into seven classes, and no emergency is missed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.assistants.guidelines.chat_cues import spelled
from citewell.assistants.guidelines.classify import ClassifiedMessage, classify, examples, nearness
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.guideline_topics import GuidelineTopics
from citewell.assistants.guidelines.tables import rows

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
Sort = Callable[[str], ClassifiedMessage]


def messages(name: str) -> list[tuple[str, str]]:
    lines = (HERE / name).read_text("utf-8").splitlines()
    found = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(wanted, message) for wanted, message in found]


@pytest.fixture(scope="module")
def sort(embedder: MiniLM, ng12: Guideline) -> Sort:
    """As the chat does it, with NG12 at hand."""
    near, loaded = nearness(embedder.embed, embedder.embed(examples()[1])), GuidelineTopics.of([ng12])
    return lambda message: classify(message, loaded, near=near)


def wrong(sort: Sort, name: str) -> list[tuple[str, str, str]]:
    sorted_ = [(wanted, sort(message).input_class, message) for wanted, message in messages(name)]
    return [one for one in sorted_ if one[0] != one[1]]


def test_at_least_97_of_100_are_right_and_no_emergency_is_missed(sort: Sort) -> None:
    assert len(messages("chat_messages.tsv")) == 100
    found = wrong(sort, "chat_messages.tsv")
    assert len(found) <= 3, found
    assert [one for one in found if one[0] == "safety_urgent"] == []


def test_messages_that_shaped_the_tables_stay_right(sort: Sort) -> None:
    found = wrong(sort, "chat_messages_more.tsv")
    assert len(found) <= 2, found
    assert [one for one in found if one[0] == "safety_urgent"] == []


@pytest.mark.parametrize("name", ["chat_messages_fresh.tsv", "chat_messages_last.tsv"])
def test_fresh_messages_are_mostly_right_and_no_emergency_is_missed(sort: Sort, name: str) -> None:
    found = wrong(sort, name)
    assert len(found) <= 8, found
    assert [one for one in found if one[0] == "safety_urgent"] == []


@pytest.mark.parametrize(
    ("message", "is_emergency"),
    [
        ("my arm has suddenly gone dead", True),
        ("no chest pain and no collapse, just tired", False),
        ("Patient denies chest pain and collapse", False),
        ("had a heart attack ten years ago and now has a lump in the breast", False),
        ("had chemo last week and now I am shivering", True),
        ("had a stroke in 1990, but today he collapsed", True),
        ("blood spurting from the wound", True),
        ("What does NG12 say about adults whose belly is rigid and painful?", False),
    ],
)
def test_an_emergency_is_heard_by_what_its_words_mean_together(message: str, is_emergency: bool) -> None:
    assert classify(message).needs_safety == is_emergency


def test_a_guideline_on_one_disease_opens_no_door_to_the_treatment_of_others(
    embedder: MiniLM, ng12: Guideline, ng136: Guideline
) -> None:
    near, loaded = nearness(embedder.embed, embedder.embed(examples()[1])), GuidelineTopics.of([ng12, ng136])

    def wanted(message: str) -> str:
        return classify(message, loaded, near=near).input_class

    told = [(name, wanted(message), message) for name, message in messages("chat_messages_reviewed.tsv")]
    assert [one for one in told if one[0] != one[1]] == []
    assert wanted("Which drug is offered at step 2 of hypertension?") == "proceed"
    assert wanted("Should amlodipine be started for high blood pressure?") == "proceed"


def test_what_is_long_over_is_no_emergency_unless_it_is_harm_to_oneself(sort: Sort) -> None:
    assert not sort("My aunt had a stroke years ago: does that matter for a bowel referral?").needs_safety
    assert sort("I had a stroke years ago and today my arm has gone weak").needs_safety
    assert sort("I tried to kill myself two years ago").needs_safety


def test_no_message_of_the_tests_stands_in_a_table() -> None:
    files = [f"chat_messages{name}.tsv" for name in ("", "_more", "_fresh", "_last")]
    tested = {spelled(message).strip(" .?!") for name in files for _, message in messages(name)}
    cues = {one.strip(" .?!") for _, _, pattern in rows("chat_cues.tsv") for one in pattern.split("|")}
    shown = {spelled(text).strip(" .?!") for _, text in rows("chat_examples.tsv")}
    assert tested & (cues | shown) == set()


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("What is the recommended dosage?", "medical_out_of_scope"),  # “age” in it asks for no age
        ("Is there a significant survival benefit?", "medical_out_of_scope"),  # nor “sign” for a sign
        ("Is drug history part of the referral criteria for liver cancer?", "proceed"),
        ("Should people with treatment-resistant dyspepsia have an endoscopy?", "proceed"),
        ("Does dyspepsia not responding to treatment need endoscopy?", "proceed"),
    ],
)
def test_words_count_as_whole_words(sort: Sort, message: str, wanted: str) -> None:
    assert sort(message).input_class == wanted


def test_a_red_flag_comes_first_and_a_clinicians_question_is_still_answered(sort: Sort) -> None:
    own = sort("Do I have cancer? I am coughing up blood")
    assert (own.input_class, own.needs_safety, own.wants_diagnosis) == ("safety_urgent", True, True)
    asked = sort("I am 50 and coughing up blood, should I be referred?")
    assert (asked.input_class, asked.needs_safety) == ("proceed", True)
    general = sort("Which people with haemoptysis should be referred?")
    assert (general.input_class, general.needs_safety) == ("proceed", False)
    greeted = sort("Hello, my dad has just collapsed")
    assert (greeted.input_class, greeted.needs_safety) == ("safety_urgent", True)


def test_what_a_guideline_treats_is_in_its_scope(ng12: Guideline, ng136: Guideline) -> None:
    question = "What is the step 1 treatment for hypertension?"
    assert classify(question, GuidelineTopics.of([ng12])).input_class == "medical_out_of_scope"
    assert classify(question, GuidelineTopics.of([ng136])).input_class == "proceed"
    chemo = "What chemotherapy is used for lung cancer?"
    assert classify(chemo, GuidelineTopics.of([ng12])).input_class == "medical_out_of_scope"
