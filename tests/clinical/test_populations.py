"""Whom headings, sentences, rows, questions and notes are about, and who is one of them."""

from __future__ import annotations

import time
from itertools import groupby
from pathlib import Path

import pytest

from citewell.clinical.populations import (
    Applies,
    Population,
    ValueBand,
    age_groups,
    age_limits,
    ages_in,
    applies,
    asked_for,
    is_for_others,
    person,
    populations,
)
from citewell.types.consult import Patient

LINES = (Path(__file__).parent / "populations.tsv").read_text("utf-8").splitlines()
CASES = [[*line.split("\t"), "", "", ""][:4] for line in LINES if not line.startswith("#")]


def cases(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("kind", "words", "who", "expected"), [case for case in CASES if case[0] in kinds])


def limits_shown(one: ValueBand) -> list[str]:
    low = [f"{one.of}{'>' if one.is_over else '>='}{one.low:g}"] if one.low is not None else []
    return low + ([f"{one.of}{'<=' if one.is_through else '<'}{one.high:g}"] if one.high is not None else [])


def shown(one: Population) -> str:
    """A population in the words of the table of cases."""
    named = [one.name] if one.kind == "people" else []
    with_ = (
        [f"with{'out' if one.is_without else ''} {one.condition or one.organ}"] if one.condition or one.organ else []
    )
    own = [limits for limits in one.limits if limits.of != "age" or one.kind == "age"]
    is_not = ["not pregnant"] if one.is_pregnant is False else []
    sex = [one.sex] if one.sex and one.name == "older people" else []
    return " ".join([*named, *with_, *is_not, *sex, *(part for limits in own for part in limits_shown(limits))])


def shown_person(one: Patient) -> str:
    parts = [f"age={one.age_years:.2g}" if one.age_years is not None else "", one.sex or ""]
    is_woman = one.sex != "male"
    parts += [{True: "pregnant", False: "not pregnant"}.get(one.is_pregnant, "") if is_woman else ""]
    parts += [f"week={one.pregnancy_weeks:g}" if one.pregnancy_weeks else ""]
    parts += ["breastfeeding" if one.is_breastfeeding else ""]
    parts += [*(f"with {name}" for name in one.conditions), *(f"without {name}" for name in one.without)]
    parts += [f"eGFR={one.egfr[0]:g}-{one.egfr[1]:g}" if one.egfr else "", *(f"has {organ}" for organ in one.organs)]
    return " ".join(filter(None, parts))


@cases("heading", "sentence", "row")
def test_whom_words_are_for(kind: str, words: str, who: str, expected: str) -> None:
    found = sorted(populations(words, is_heading=kind != "sentence"), key=lambda one: one.kind != "people")
    kinds = groupby(found, key=lambda one: one.kind)
    assert "; ".join(" | ".join(map(shown, same)) for _, same in kinds) == expected


@cases("question")
def test_whom_a_question_asks_for(kind: str, words: str, who: str, expected: str) -> None:
    assert " ".join(sorted(asked_for(words))) == expected


@cases("person")
def test_who_somebody_is(kind: str, words: str, who: str, expected: str) -> None:
    assert shown_person(person(words)) == expected


@cases("applies")
def test_who_is_one_of_them(kind: str, words: str, who: str, expected: str) -> None:
    told = applies(populations(words), person(who))
    assert told.answer.value == expected, told.reasons
    assert (told.answer is Applies.YES) == (not told.reasons)


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


def test_the_age_that_is_asked_for_goes_before_the_group() -> None:
    child, text = frozenset({"child"}), "People aged 12 and over: 500 mg."
    fourteen, five = ages_in("my 14 year old"), ages_in("my 5 year old")
    assert [is_for_others(child, text, (), aged=aged) for aged in (fourteen, five, ())] == [False, True, True]


def test_limits_of_age_are_read_with_their_ends() -> None:
    told = [(found.low, found.high) for found in age_limits("children 6 months to 5 years; aged 12 to 17; under-16s")]
    assert told == [(0.5, 6.0), (12.0, 18.0), (None, 16.0)]


@pytest.mark.parametrize("words", ["aged 500 and over", "eGFR below 9000", "CKD stage 9", "pregnant after 90 weeks"])
def test_what_nobody_can_be_is_told_and_decides_nothing(words: str) -> None:
    told = applies(populations(words), person("30F, 20 weeks pregnant, eGFR 28, CKD stage 4"))
    assert told.answer is Applies.UNKNOWN
    assert "is not possible" in told.reasons[0] or "is not a stage" in told.reasons[0]


@pytest.mark.parametrize(
    "word",
    [
        "no ",
        "pregnant ",
        "women with ",
        "aged ",
        "eGFR ",
        "under 12s ",
        "((",
        "5 to ",
        "妊娠 ",
        "eGFR below 30 ",
        "28 weeks ",
        "women with asthma ",
        "pregnant after 28 weeks ",
        "5yo, ",
        "in children ",
    ],
)
@pytest.mark.slow
def test_a_hundred_thousand_characters_are_read_in_time(word: str) -> None:
    text = word * (100_000 // len(word))
    started = time.process_time()
    populations.__wrapped__(text, is_heading=False)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("text", "allergies", "without"),
    [
        ("58M, pneumonia, pen allergic", ["allergy to penicillin"], []),
        ("I'm allergic to amoxicillin", ["allergy to penicillin"], []),
        ("not allergic to penicillin", [], ["allergy to penicillin"]),
        ("no known penicillin allergy", [], ["allergy to penicillin"]),
        ("no allergies", [], []),
    ],
)
def test_allergies_to_medicines_are_read(text: str, allergies: list[str], without: list[str]) -> None:
    patient = person(text)
    assert [one for one in patient.conditions if "allergy" in one] == allergies
    assert list(patient.without) == without


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("my 4-month-old has a fever", 4 / 12),
        ("Can a baby of 4 months have it?", 4 / 12),
        ("my stitches are 10 days old", None),
        ("child of 6 with a cough", 6.0),
        ("My mother is 80, I am 50.", 50.0),
    ],
)
def test_the_age_of_whom_a_question_is_about(text: str, years: float | None) -> None:
    assert person(text).age_years == (None if years is None else pytest.approx(years))


def test_ages_of_a_list_of_doses_are_read() -> None:
    text = "1 month to 2 months, 125 mg for 5 days 3 months to 11 months, 125 mg for 3 days 6-12 years: 30 mg"
    assert [limits.text for limits in age_limits(text)] == [
        "1 month to 2 months",
        "3 months to 11 months",
        "6-12 years",
    ]
    assert list(age_limits("for 3 to 6 months, 5 mg daily")) == []


@pytest.mark.parametrize(
    ("text", "low"), [("Infants over 48 hours of age", 2 / 365), ("Babies over 30 minutes of age", 1 / 48 / 365)]
)
def test_an_age_in_hours_or_minutes_is_read(text: str, low: float) -> None:
    assert [limits.low for limits in ages_in(text)] == [pytest.approx(low)]
