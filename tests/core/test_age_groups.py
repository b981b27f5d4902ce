"""A dose is quoted for whom it is written, by words and by ages."""

from __future__ import annotations

import pytest

from .test_extract import answer, passage

FROM_SIXTEEN = "People aged 16 and over take 400 mg of ibuprofen three times a day for pain."


@pytest.mark.parametrize(
    ("question", "is_shown"),
    [
        ("What is the dose of ibuprofen for pain in a child?", False),
        ("How much ibuprofen for pain for my 5 year old?", False),
        ("How much ibuprofen for pain for my 16 year old?", True),
        ("What is the dose of ibuprofen for pain in an adult?", True),
    ],
)
def test_a_dose_from_an_age_on_is_quoted_for_whoever_has_that_age(question: str, is_shown: bool) -> None:
    assert answer(question, passage(FROM_SIXTEEN)) == ([FROM_SIXTEEN] if is_shown else [])


def test_stitches_that_are_ten_days_old_are_no_child() -> None:
    question = "My stitches are 10 days old, can they come out?"
    said = "In adults, stitches come out after 10 days."
    assert answer(question, passage(said)) == [said]
