"""A follow-up takes from the question before it what it leaves out, and no more."""

from __future__ import annotations

import pytest

from citewell.answer.rephrase import rephrase
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
        (DEHYDRATION, "And in a newborn?", "How is severe dehydration treated — And in a newborn?"),
        (DEHYDRATION, "Why?", "How is severe dehydration treated — Why?"),
        (DEHYDRATION, "How long?", "How is severe dehydration treated — How long?"),
        (
            DEHYDRATION,
            "What about asthma in adults?",
            "How is severe dehydration treated — What about asthma in adults?",
        ),
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


def test_a_question_too_long_to_be_joined_is_asked_alone() -> None:
    said = _asked("x" * 20_000)
    assert rephrase("And then?", said, lexicon=Lexicon.load()) == "And then?"
