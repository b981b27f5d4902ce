"""What must not be shown though it shares words with the question, and what must come with or before it."""

from __future__ import annotations

import pytest

from citewell.answer.expand import expand
from citewell.answer.stream import Done
from citewell.answer.wanted import wanted
from citewell.bootstrap import App
from citewell.clinical import Lexicon
from citewell.samples import sample_files
from citewell.types import Answer, Message, Route, Source
from tests.core.test_extract import answer, passage

# ------------------------------------------------------------------------------------------- of another medicine's list

BRIDGING = (
    "1. Start dalteparin 3 days before the operation.\n"
    "2. Give the last dose at least 24 hours before the operation.\n"
    "3. Restart 24 hours after the operation."
)
STOPPING = "Stop apixaban 48 hours before the operation."
WHEN = "When is the last dose of {} before the operation?"


def of_bridging(question: str, *, text: str = BRIDGING, title: str = "Operations") -> list[str]:
    """What is shown of a policy that stops one medicine and bridges with another."""
    bridging = passage(text, number=1, section=(title, "How to bridge"), document=title)
    return answer(question, bridging, passage(STOPPING, number=2, section=(title, "Stopping"), document=title))


@pytest.mark.parametrize("title", ["Operations", "Anticoagulants and operations"])
def test_a_step_of_another_medicine_s_list_is_not_shown_for_the_one_asked_about(title: str) -> None:
    assert of_bridging(WHEN.format("apixaban"), title=title) == [STOPPING]


def test_the_same_step_is_shown_for_the_medicine_of_its_list() -> None:
    assert "2. Give the last dose at least 24 hours before the operation." in of_bridging(WHEN.format("dalteparin"))


@pytest.mark.parametrize("also", ["4. Do the same for apixaban.", "4. Do the same for a DOAC."])
def test_a_step_of_a_list_that_names_the_asked_medicine_too_may_be_shown(also: str) -> None:
    shown = of_bridging(WHEN.format("apixaban"), text=f"{BRIDGING}\n{also}")
    assert "2. Give the last dose at least 24 hours before the operation." in shown


# ---------------------------------------------------------------------------------------------- a common noun in common

VISITING = "Visiting is from 14:00 to 20:00 daily on all wards. No more than two visitors per bed."


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("When are wards cleaned?", False),
        ("When must a consultant hand in the ward keys?", False),
        ("Who repairs the beds?", False),
        ("Is visiting all right too?", True),
        ("When can I visit?", True),
        ("How many visitors may come?", True),
    ],
)
def test_a_noun_in_common_is_no_answer_where_what_is_asked_of_it_is_not_said(question: str, is_answered: bool) -> None:
    assert bool(answer(question, passage(VISITING, document="Visiting", relevance=0.9))) is is_answered


@pytest.mark.slow
def test_what_the_documents_do_not_cover_is_passed_on_and_what_they_say_is_told(app: App) -> None:
    assert [outcome.error for outcome in app.add_all(sample_files())] == [None] * 4
    app.add_source(Source(f"# Visiting\n\n{VISITING}".encode(), "visiting.md"))
    beside = ("When are wards cleaned?", "When must a consultant hand in the ward keys?", "When is the ward round?")
    assert [isinstance(ask(app, question).action, Route) for question in beside] == [True] * 3
    assert "14:00 to 20:00" in ask(app, "When can I visit?").text


# --------------------------------------------------------------------------------------------------- what if, this dose


CARE = (
    "Children with tide fever may go home when they have drunk well without vomiting and had no tide fever for a day. "
    "If a child vomits, wait 10 minutes."
)


def test_what_is_done_in_a_case_goes_before_what_only_mentions_it() -> None:
    question = "What if she is vomiting? — children tide fever home"
    assert answer(question, passage(CARE))[0] == "If a child vomits, wait 10 minutes."
    assert wanted(question).supposed == {"vomit"}
    assert wanted("Who is vomiting?").supposed == frozenset()


def test_a_case_with_an_amount_is_another_case_without_it() -> None:
    text = "If the marker is above 3, wait. If the marker is 9, call for help."
    assert answer("What if the marker is 9?", passage(text))[0] == "If the marker is 9, call for help."


LIST = (
    "1. Start dalteparin in the morning. The dose is 200 units/kg once a day.\n"
    "2. Weigh the patient.\n"
    "3. In kidney failure, do not use dalteparin at this dose."
)


def test_what_speaks_of_this_dose_comes_with_the_one_that_gives_it() -> None:
    first, _, third = LIST.split("\n")
    assert answer("Is dalteparin used in kidney failure?", passage(LIST)) == [first, third]


def test_what_gives_its_own_dose_comes_alone() -> None:
    text = LIST.replace("do not use dalteparin at this dose", "give dalteparin 50 units/kg and keep to this dose")
    assert answer("Is dalteparin used in kidney failure?", passage(text)) == [text.split("\n")[2]]


# --------------------------------------------------------------------------------------------- said the other way round


@pytest.mark.parametrize(
    ("question", "is_known"),
    [
        ("How much blood may be coughed up?", True),
        ("the blood that he coughed up", True),
        ("How much blood may be given?", False),
        ("Blood is not coughed up", False),
    ],
)
def test_a_finding_is_known_with_the_thing_before_what_is_done(question: str, is_known: bool) -> None:
    added = {one.phrase for one in expand(question, lexicon=Lexicon.load())}
    assert ("haemoptysis" in added) is is_known


def test_a_word_alike_does_not_stand_for_a_part_of_a_name() -> None:
    question = "How much blood may be coughed up before referral?"
    asked = wanted(question, expand(question, lexicon=Lexicon.load()))
    assert asked.held("Refer people with a low haemoglobin in the blood count.") <= {"refer", "~refer"}


# ------------------------------------------------------------------------------------------------------- of the samples


def ask(app: App, question: str, *before: str) -> Answer:
    """The answer to a question after others."""
    said = [message for text in before for message in (Message("user", text), Message("assistant", "So."))]
    *_, last = app.knowledge.ask(question, scope=app.owner().scope, history=said)
    assert isinstance(last, Done)
    return last.answer


@pytest.mark.slow
def test_the_samples_are_quoted_where_they_answer_and_not_beside_it(app: App) -> None:
    assert [outcome.error for outcome in app.add_all(sample_files())] == [None] * 4
    apixaban = ask(app, "How many days before surgery should apixaban be stopped?").text
    assert ("Stop 48 hours before" in apixaban, "Give the last dose" in apixaban) == (True, False)
    vomiting = ask(app, "what if she is vomiting?", "how much ORS for a 12 kg child with some dehydration?").text
    assert ("If the child vomits, wait 10 minutes" in vomiting, "can go home" in vomiting) == (True, False)
    dose = ask(app, "what dose?", "who needs heparin bridging?").text
    assert dose.index("200 units/kg") < dose.index("at this dose")
    blood = ask(app, "how much blood may be coughed up before immediate referral?").text.replace("\xa0", " ")
    assert ("more than 50 mL in 24 hours" in blood, "blood count" in blood) == (True, False)
