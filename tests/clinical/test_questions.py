"""What a question asks for, by its words."""

from __future__ import annotations

import pytest

from citewell.clinical.questions import question_cues


@pytest.mark.parametrize(
    "text", ["", "?", "no " * 33_000, "? " * 50_000, " " * 100_000, "how " * 25_000, "(" * 100_000]
)
def test_any_text_is_read(text: str) -> None:
    assert isinstance(question_cues(text), frozenset)


def test_a_question_for_something_of_a_thing_does_not_ask_what_it_is() -> None:
    assert "what" in question_cues("What is gout?")
    assert question_cues("What is the treatment of gout?") >= {"which", "treatment"}
    assert "what" not in question_cues("What is the treatment of gout?")
