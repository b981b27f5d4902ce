"""A source sentence is read where it stands: under its titles, and of whom it speaks."""

from __future__ import annotations

import pytest

from citewell.answer.verify import verify
from citewell.clinical import Lexicon
from citewell.types import Span, Verdict

TITLE = "Taking warfarin safely"
TAKE = "Take it once a day, at about 6 in the evening, with a glass of water."
INR = "Someone who does not take warfarin has an INR of about 1."


def _verdict(sentence: str, source: str, *titles: str) -> Verdict:
    span = Span("d:0", 0, len(source), source, titles)
    return verify(sentence, [span], lexicon=Lexicon.load(), similarity=None).verdict


def test_it_is_the_one_medicine_of_the_title() -> None:
    assert _verdict("Warfarin is taken once a day.", f"{TAKE} {INR}", TITLE) is Verdict.SUPPORTED
    assert _verdict("Warfarin is taken twice a day.", f"{TAKE} {INR}", TITLE) is Verdict.CONTRADICTED


@pytest.mark.parametrize("title", ["Taking your tablets", "Warfarin, apixaban and other blood thinners"])
def test_it_is_not_guessed_where_the_title_names_none_or_several(title: str) -> None:
    assert _verdict("Warfarin is taken once a day.", TAKE, title) is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("Give ORS 75 ml/kg for plan B.", Verdict.SUPPORTED),
        ("Give ORS 75 ml/kg for plan A.", Verdict.CONTRADICTED),
    ],
)
def test_a_sentence_speaks_of_the_plan_that_its_title_names(claim: str, verdict: Verdict) -> None:
    source = "Give ORS 75 ml/kg by mouth over 4 hours. Weigh the child again. Plan A follows when there are no signs."
    assert _verdict(claim, source, "Fluids", "Plan B: some dehydration") is verdict


def test_what_is_denied_of_others_is_not_denied_of_the_claim() -> None:
    assert _verdict("Warfarin is taken once a day.", INR) is not Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Someone who takes warfarin has an INR of about 1.", INR),
        ("Warfarin gives an INR of about 1.", INR),
        (
            "Patients who are bleeding should restart warfarin.",
            "Patients who are not bleeding should restart warfarin.",
        ),
    ],
)
def test_it_is_denied_where_the_source_says_it_of_those_others_alone(claim: str, source: str) -> None:
    assert _verdict(claim, source) is Verdict.CONTRADICTED


RESTART = (
    "1. Restart warfarin at the usual dose on the evening of the procedure. "
    "2. Restart the treatment dose 48 hours after a high-risk procedure."
)


def test_two_rules_of_a_list_are_not_read_as_one() -> None:
    assert _verdict("Warfarin is restarted on the evening of the procedure.", RESTART) is Verdict.SUPPORTED
    joined = "Warfarin is restarted 48 hours after the procedure at the usual dose."
    assert _verdict(joined, RESTART) is not Verdict.SUPPORTED


def test_what_one_passage_says_and_another_does_are_not_read_as_one() -> None:
    first = "Nurses of the bleeding clinic check every plan before discharge."
    second = "The form says when warfarin restarts, and who agreed to that."
    claim = "The bleeding clinic says when warfarin restarts after discharge."
    apart = [Span(f"d:{number}", 0, len(text), text) for number, text in enumerate((first, second))]
    together = verify(claim, apart, lexicon=Lexicon.load(), similarity=None)
    assert together.verdict is not Verdict.SUPPORTED
    assert _verdict(claim, f"{first} {second}") is Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("Dalteparin 5,000 units is given once a day.", Verdict.SUPPORTED),
        ("Dalteparin 5,000 units is given intravenously once a day.", Verdict.PARTLY),
        ("Dalteparin 5,000 units is given by mouth once a day.", Verdict.PARTLY),
    ],
)
def test_a_way_of_giving_a_medicine_that_the_source_does_not_name_is_not_carried(claim: str, verdict: Verdict) -> None:
    assert _verdict(claim, "Give dalteparin 5,000 units once a day until the patient walks.") is verdict
