"""An answer must speak of what was asked: the rule of subjects."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.answer.answer_json import action_name
from citewell.answer.events import AnswerDone
from citewell.answer.gate import AnswerRequest, Policy, finish
from citewell.answer.question_subject import subjects
from citewell.app import App
from citewell.clinical import Lexicon
from citewell.samples import EXAMPLE_QUESTIONS
from citewell.types import Action, Cite, Context, Qualified, Route
from tests.core.answers import evidence
from tests.core.test_finish import JUDGE, verbatim

OFF_TOPIC = Path(__file__).parents[1] / "data" / "off_topic.tsv"
SHOWN = evidence(
    "Record the blood pressure of every adult. Do not stop warfarin.", "Think of diabetic ketoacidosis in children."
)
APART = (SHOWN[0], replace(SHOWN[1], hit=replace(SHOWN[1].hit, section=("Other causes",))))


def _action(question: str, draft: str) -> Action:
    asked = AnswerRequest("id", question, Context(APART), "a model", "hash", Policy())
    about = replace(asked, subjects=subjects(question, lexicon=Lexicon.load()))
    done = list(finish([draft], about, verify=verbatim, judge=JUDGE))[-1]
    assert isinstance(done, AnswerDone)
    return done.answer.action


def test_an_answer_that_names_what_was_asked_stands() -> None:
    assert _action("How is blood pressure recorded?", "Record the blood pressure of every adult. [S1]") == Cite()
    assert _action("Can I stop my blood thinner?", "Do not stop warfarin. [S1]") == Cite()
    assert _action("Who is in charge?", "Do not stop warfarin. [S1]") == Cite()


def test_a_title_names_what_its_sentences_are_about() -> None:
    assert _action("What dose of policy?", "Do not stop warfarin. [S1]") == Cite()
    named = replace(SHOWN[0], hit=replace(SHOWN[0].hit, section=("Asthma",)))
    asked = AnswerRequest("id", "asthma", Context((named,)), "a model", "hash", Policy())
    about = replace(asked, subjects=subjects("asthma", lexicon=Lexicon.load()))
    done = list(finish(["Do not stop warfarin. [S1]"], about, verify=verbatim, judge=JUDGE))[-1]
    assert isinstance(done, AnswerDone)
    assert done.answer.action == Cite()


def test_two_subjects_that_stand_apart_are_no_answer_to_both() -> None:
    draft = "Record the blood pressure of every adult. [S1] Think of diabetic ketoacidosis in children. [S2]"
    action = _action("What is the blood pressure target in diabetes?", draft)
    assert isinstance(action, Qualified)
    assert action.reason == "the sources shown mention “blood pressure” and “diabetes”, but not together"


def test_a_subject_that_is_nowhere_is_said_and_without_any_the_question_is_passed_on() -> None:
    action = _action("Can warfarin be taken with sertraline?", "Do not stop warfarin. [S1]")
    assert isinstance(action, Qualified)
    assert action.reason == "the sources shown do not mention “sertraline”"
    action = _action("How is gout treated?", "Do not stop warfarin. [S1]")
    assert isinstance(action, Route)
    assert action.reason == "The sources shown do not mention “gout”"


@pytest.mark.slow
def test_the_samples_answer_their_questions_and_no_others(samples: App) -> None:
    owner = samples.owner()

    def action(question: str) -> str:
        return action_name(samples.ask_service.answer(question, asker=owner).answer.action)

    assert {action(question.text) for question in EXAMPLE_QUESTIONS} == {"CITE", "QUALIFY"}
    rows = [line.split("\t") for line in OFF_TOPIC.read_text("utf-8").splitlines() if not line.startswith("#")]
    cited = Counter(when for when, question in rows if action(question) == "CITE")
    assert len(rows) == 68
    assert cited["first"] <= 1  # vaccines at 12 months: an age is no subject
    assert cited["fresh"] <= 1  # flying after an embolism: a verb is none
    assert cited["last"] == cited["newest"] == 0


def test_words_on_another_medicine_answer_no_question_on_the_one_that_was_asked_about() -> None:
    draft = "Record the blood pressure of every adult. [S1]"
    assert isinstance(_action("Is blood pressure recorded on apixaban?", draft), Qualified)
    action = _action("Is blood pressure recorded on apixaban?", f"{draft} Do not stop warfarin. [S1]")
    assert isinstance(action, Route)
    assert action.reason == "The sources shown do not mention “apixaban”"


def test_a_hyphen_makes_no_other_subject() -> None:
    bleeding = subjects("Is postmenopausal bleeding urgent?", lexicon=Lexicon.load())[0]
    assert bleeding.is_named_in("Refer women with post-menopausal bleeding.")
    assert not bleeding.is_named_in("Refer women with menopausal bleeding.")


def test_a_member_of_a_class_of_a_kind_is_one_of_it() -> None:
    asked = subjects("When do I give antibiotics?", lexicon=Lexicon.load())[0]
    said = "Give azithromycin 10 mg/kg.", "Use macrolides.", "Give paracetamol."
    assert [asked.is_named_in(text) for text in said] == [True, True, False]
