"""A follow-up takes from the question before it what it leaves out, and no more."""

from __future__ import annotations

import pytest

from citewell.answer.followup import rephrase
from citewell.clinical import Lexicon
from citewell.types import Message

DEHYDRATION = "How is severe dehydration treated?"
WARFARIN = "When do I stop warfarin before surgery?"


def _asked(*before: str) -> list[Message]:
    return [message for text in before for message in (Message("user", text), Message("assistant", "So."))]


@pytest.mark.parametrize(
    ("before", "question", "alone"),
    [
        (DEHYDRATION, "And how is it recognised?", "how is severe dehydration recognised?"),
        (DEHYDRATION, "Which drinks are best?", "Which drinks are best? — severe dehydration"),
        (DEHYDRATION, "And in a newborn?", "How is severe dehydration treated in a newborn?"),
        (DEHYDRATION, "Why?", "How is severe dehydration treated — Why?"),
        (DEHYDRATION, "How long?", "How is severe dehydration treated — How long?"),
        (DEHYDRATION, "What about asthma in adults?", "How is severe asthma treated in adults?"),
        (DEHYDRATION, "And for how long?", "How is severe dehydration treated — And for how long?"),
        (DEHYDRATION, "And mild?", "How is mild dehydration treated?"),
        (DEHYDRATION, "And the cost of it all?", "How is severe dehydration treated — And the cost of it all?"),
        ("How much ORS for some dehydration?", "and for severe?", "How much ORS for severe dehydration?"),
        ("How much ORS for some dehydration?", "and with none?", "How much ORS for no dehydration?"),
        ("Can I take ibuprofen with warfarin?", "what about paracetamol?", "Can I take paracetamol with warfarin?"),
        ("Can I take ibuprofen with warfarin?", "and with apixaban?", "Can I take ibuprofen with apixaban?"),
        ("How much zinc for a baby of 4 months?", "and at 2 years?", "How much zinc for a baby of 2 years?"),
        ("How much zinc for a baby of 4 months?", "and for an adult?", "How much zinc for an adult?"),
        ("What if the INR is 6?", "and 9?", "What if the INR is 9?"),
        ("What is done if NT-proBNP is 1500 ng/L?", "And 300?", "What is done if NT-proBNP is 300 ng/L?"),
        ("Is a chest X-ray needed in adults?", "what about spirometry?", "Is a spirometry needed in adults?"),
        (
            "What is the target INR in atrial fibrillation?",
            "and for pneumonia?",
            "What is the target INR in pneumonia?",
        ),
        ("Which antibiotic for pneumonia?", "and in pregnancy?", "Which antibiotic for pneumonia in pregnancy?"),
        ("Which drug is first-line?", "and second-line?", "Which drug is second-line?"),
        ("Can I drink alcohol on warfarin?", "and cranberry juice?", "Can I drink cranberry juice on warfarin?"),
        ("What is stage 2 hypertension?", "And stage 3?", "What is stage 3 hypertension?"),
        (DEHYDRATION, "How is asthma treated?", "How is asthma treated?"),
        (WARFARIN, "When is it restarted?", "When is warfarin restarted? — surgery"),
        (WARFARIN, "And for apixaban?", "When do I stop apixaban before surgery?"),
        (WARFARIN, "What about dabigatran?", "When do I stop dabigatran before surgery?"),
        ("Who may open the door?", "And when is it closed?", "Who may open the door — And when is it closed?"),
    ],
)
def test_a_follow_up_stands_on_its_own(before: str, question: str, alone: str) -> None:
    assert rephrase(question, _asked(before), lexicon=Lexicon.load()) == alone


def test_a_second_follow_up_leans_on_the_question_and_not_on_the_first() -> None:
    said = _asked(WARFARIN, "And for apixaban?")
    assert rephrase("And for dabigatran?", said, lexicon=Lexicon.load()) == "When do I stop dabigatran before surgery?"


def test_a_third_follow_up_knows_what_the_first_two_put_in_place() -> None:
    said = _asked("How much ORS for some dehydration?", "and for severe?", "and for an infant?")
    found = rephrase("and for mild?", said, lexicon=Lexicon.load())
    assert found == "How much ORS for mild dehydration for an infant?"


def test_a_question_too_long_to_be_joined_is_asked_alone() -> None:
    said = _asked("x" * 20_000)
    assert rephrase("And then?", said, lexicon=Lexicon.load()) == "And then?"
