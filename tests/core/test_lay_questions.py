"""Questions in a person's own words, asked of the samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.app import App

QUESTIONS = Path(__file__).parents[1] / "data" / "lay_questions.tsv"
LEAST = {"first": 6, "fresh": 11, "last": 15}
"""Answered of 17, 15 and 20; “first” was written while rules chose, the others when they stood."""


@pytest.mark.slow
def test_a_person_is_answered_in_their_own_words(samples: App) -> None:
    owner = samples.owner()

    def answered(question: str, words: str) -> bool:
        text = samples.ask_service.answer(question, asker=owner).answer.text
        return words in " ".join(text.replace("\xa0", " ").split())

    rows = [line.split("\t") for line in QUESTIONS.read_text("utf-8").splitlines() if not line.startswith("#")]
    right = {when: sum(answered(one, words) for of, one, words in rows if of == when) for when in LEAST}
    assert {when: count for when, count in right.items() if count < LEAST[when]} == {}


@pytest.mark.slow
def test_words_that_stand_apart_are_not_taken_for_a_finding(samples: App) -> None:
    answer = samples.ask_service.answer("blood in urine at 62, refer?", asker=samples.owner()).answer
    assert "Blood in the stool" not in answer.text
