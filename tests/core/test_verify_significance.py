"""What the source says was not significant is no effect, whatever the way it leaned."""

from __future__ import annotations

import pytest

from citewell.answer.verify import verify
from citewell.clinical import Lexicon
from citewell.types import Check, Span, Verdict


def _verdict(sentence: str, source: str) -> Check:
    span = Span("d:0", 0, len(source), source)
    return verify(sentence, [span], lexicon=Lexicon.load(), similarity=None)


LEANING = [
    "Blood loss was lower in the misoprostol group, but did not reach statistical significance.",
    "Blood loss was lower with misoprostol, although not significantly (p = 0.12).",
    "Blood loss was lower with misoprostol, but the difference was not significant.",
    "Blood loss was lower with misoprostol, but this failed to reach significance.",
]


@pytest.mark.parametrize("source", LEANING)
def test_what_was_not_significant_carries_no_effect(source: str) -> None:
    assert _verdict("Misoprostol lowered blood loss.", source).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize("source", LEANING)
def test_it_carries_that_there_was_none(source: str) -> None:
    check = _verdict("Misoprostol made no significant difference to blood loss.", source)
    assert check.verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(
    "source",
    [
        "Blood loss was lower with misoprostol, but its cost was not significantly higher.",
        "Blood loss was lower with misoprostol, but the decrease with ergometrine was not significant.",
        "Blood loss was significantly lower with misoprostol, but fever was not rare.",
    ],
)
def test_another_thing_that_was_not_significant_takes_nothing_away(source: str) -> None:
    assert _verdict("Misoprostol lowered blood loss.", source).verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(
    "outcome", ["the number of painful days", "tablets taken in a week", "nights with broken sleep"]
)
def test_no_difference_holds_for_all_that_is_listed(outcome: str) -> None:
    source = (
        "There was no significant difference between gabapentin and placebo in the number of painful days, "
        "tablets taken in a week or nights with broken sleep."
    )
    said = f"Gabapentin made no significant difference to {outcome}."
    assert _verdict(said, source).verdict is Verdict.SUPPORTED
    assert _verdict(f"Gabapentin reduced {outcome}.", source).verdict is not Verdict.SUPPORTED
