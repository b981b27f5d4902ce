"""Numbers of one kind are not held against those of another: ages, lengths of time, times of day."""

from __future__ import annotations

import pytest

from citewell.answer.quantities import quantities
from citewell.answer.verify import verify
from citewell.answer.verify_direction import is_aim
from citewell.clinical import Lexicon
from citewell.types import Check, Span, Verdict

HOURS = "Visiting is from 14:00 to 20:00 daily."
VISITS = f"{HOURS} No more than two visitors per bed."


def _check(claim: str, source: str) -> Check:
    return verify(claim, [Span("a:0", 0, len(source), source)], lexicon=Lexicon.load(), similarity=None)


# --------------------------------------------------------------------------------------------------------------- ages


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a person over 40", "age"),
        ("someone who is over 40", "age"),
        ("adults, 40 and over", "age"),
        ("children under 2 years", "age"),
        ("48 hours of age", "age"),
        ("not for under 12 years", ""),
        ("more than 50 mL in 24 hours", "length"),
        ("a cough for 3 weeks or more", "length"),
        ("smoked for more than 20 years", "length"),
        ("stitches that are 10 days old", "length"),
        ("2 to 5 years", ""),
    ],
)
def test_an_age_is_told_from_a_length_of_time(text: str, told: str) -> None:
    assert [one.told for one in quantities(text) if one.dimension == "time"] == [told]


def test_a_number_of_people_or_things_is_no_age() -> None:
    texts = ("patients 2 or more", "offer adults 2 or more visits", "more than 40 people")
    assert [one.dimension for text in texts for one in quantities(text)] == ["number"] * len(texts)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Haemoptysis in a person over 40 needs urgent referral.", "Refer haemoptysis of 50 mL in 24 hours urgently."),
        ("Refer a cough of 24 hours urgently.", "Refer people aged 40 and over with a cough urgently."),
        ("People over 65 need a urine sample.", "People need a urine sample every 2 weeks."),
    ],
)
def test_an_age_is_not_contradicted_by_how_long_or_how_often(claim: str, source: str) -> None:
    assert _check(claim, source).verdict is not Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("claim", "source", "said"),
    [
        ("People over 50 need a scan.", "People aged 40 and over need a scan within 24 hours.", "40 and over"),
        ("People over 65 need a scan in 48 hours.", "People over 65 need a scan in 24 hours.", "24 hours"),
    ],
)
def test_an_age_is_contradicted_by_an_age_and_a_length_by_a_length(claim: str, source: str, said: str) -> None:
    found = _check(claim, source)
    assert (found.verdict, f"“{said}”" in found.reasons[0]) == (Verdict.CONTRADICTED, True)


def test_a_duty_whether_or_not_is_no_open_question() -> None:
    assert not is_aim("Refer urgently, whether or not the X-ray is normal.")
    assert is_aim("We asked whether the X-ray is normal.")


# ------------------------------------------------------------------------------------------------------- times of day


@pytest.mark.parametrize(
    "claim", ["Visitors may stay until 20:00.", "Visiting ends at 8 pm.", "Visiting starts at 2 p.m."]
)
def test_a_time_of_day_is_not_held_against_a_count(claim: str) -> None:
    found = _check(claim, VISITS)
    assert found.verdict in (Verdict.SUPPORTED, Verdict.PARTLY)
    assert found.span is not None
    assert "14:00" in " ".join(span.text for span in found.spans)


@pytest.mark.parametrize("claim", ["Visitors may stay until 21:00.", "Visiting is from 14:00 to 9 pm daily."])
def test_another_time_of_day_is_contradicted(claim: str) -> None:
    found = _check(claim, VISITS)
    assert (found.verdict, found.span and found.span.text) == (Verdict.CONTRADICTED, HOURS)


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("08:30", "time of day"),
        ("at 9:15", "time of day"),
        ("10 PM", "time of day"),
        ("a 10 pM solution", "number"),
        ("30:2", "number"),
        ("adrenaline 1:1000", "number"),
        ("a 1:10 dilution", "number"),
    ],
)
def test_a_time_of_day_is_told_from_a_ratio(text: str, dimension: str) -> None:
    assert {one.dimension for one in quantities(text)} == {dimension}
