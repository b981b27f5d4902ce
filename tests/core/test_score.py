"""The hybrid score, exactly as written."""

from __future__ import annotations

import pytest

from citewell.answer.confidence import coverage, overall, self_rating


def test_calculate_coverage() -> None:
    assert coverage("iron tablets help anaemia", "Iron helps. Tablets treat anaemia.") == 3 / 4


def test_calculate_coverage_empty_answer() -> None:
    assert coverage("", "Iron helps.") == 0.0
    assert coverage("it is the", "Iron helps.") == 0.0


def test_calculate_confidence_zero_results() -> None:
    assert overall([], 1.0) == 0.0


@pytest.mark.parametrize(
    ("similarities", "covered", "expected"),
    [
        ([0.8, 0.6], 0.5, 0.58),
        ([0.6], 0.6, 0.6),
        ([0.599999999], 0.6, 0.6),
        ([-0.5], 0.0, 0.0),
        ([0.7], 1.0, 0.87),
        ([1.0], 1.0, 0.9),
    ],
)
def test_calculate_confidence(similarities: list[float], covered: float, expected: float) -> None:
    assert overall(similarities, covered) == expected


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("85", 0.85),
        (" 85. ", 0.85),
        ("85/100", 0.85),
        ("85 out of 100", 0.85),
        ("<think>is it 20?</think>\n70", 0.7),
        ("0", 0.0),
        ("100", 1.0),
        ("", None),
        ("high", None),
        ("between 60 and 80", None),
        ("0.85", None),
        ("850", None),
        ("85%", 0.85),
        ("85 %", 0.85),
        ("85 / 100.", 0.85),
        ("Score: 85", 0.85),
        ("Confidence = 85/100", 0.85),
        ("My rating is 85 out of 100", 0.85),
        ("**85**", 0.85),
        ("1", 0.01),
        ("-95", None),
        ("+95", None),
        ("−95", None),
        ("101", None),
        ("Score: -5", None),
        ("The 5 mg dose is well supported", None),
        ("[S1]", None),
        ("Supported by [S1].", None),
        ("8/10", None),
        ("85/10", None),
        ("85 to 90", None),
        ("٨٥", None),
        ("８５", None),
        ("85 mg", None),
    ],
)
def test_a_models_own_estimate_is_read_strictly(reply: str, rating: float | None) -> None:
    assert self_rating(reply) == rating
