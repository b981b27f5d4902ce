"""Whom a text is written for is told by words and by ages; an age is that of a person, and has its limits."""

from __future__ import annotations

import pytest

from citewell.answer.age_groups import age_groups, ages, asked_for, is_for_others

from .test_extract import answer, passage


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("People aged 16 and over take 400 mg", "adult"),
        ("Aged 12 years and over: 500 mg", "adult"),
        ("12 years and over: 500 mg", "adult"),
        ("From the age of 16", "adult"),
        ("Aged 16 to 65 years", "adult"),
        ("People 40 and over", "adult"),
        ("People over 65", "adult"),
        ("Aged 2 years or older", "adult child"),
        ("Aged 12 to 17 years", "child"),
        ("Aged under 18", "child"),
        ("Those under 12 years", "child"),
        ("Age: 6–8 years; Dose: 250 mg", "child"),
        ("Aged 6 months to 5 years", "child"),
        ("He is 5 years old", "child"),
        ("My brother, who is 10 years old, has a cough", "child"),
        ("My mother is 80 years old", "adult"),
        ("A 5yo with croup", "child"),
        ("A 3 y/o with croup", "child"),
        ("A three-year-old with croup", "child"),
        ("My stitches are 10 days old", ""),
        ("A pacemaker that is 10 years old", ""),
        ("Wounds older than 6 hours", ""),
        ("A score of 15 or over", ""),
        ("Take it for 5 years", ""),
        ("Patients treated over 3 years", ""),
    ],
)
def test_an_age_is_a_persons_and_is_read_with_its_limit(text: str, groups: str) -> None:
    assert sorted(age_groups(text)) == groups.split()


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
    assert asked_for(question) == frozenset()
    said = "In adults, stitches come out after 10 days."
    assert answer(question, passage(said)) == [said]


def test_the_age_that_is_asked_for_goes_before_the_group() -> None:
    child, text = frozenset({"child"}), "People aged 12 and over: 500 mg."
    fourteen, five = ages("my 14 year old"), ages("my 5 year old")
    assert [is_for_others(child, text, (), aged=aged) for aged in (fourteen, five, ())] == [False, True, True]
