"""Results, durations, ages and habits in the words of notes, letters and patients."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.clinical.quantities import (
    ages,
    dates,
    days_in,
    durations,
    habits,
    in_usual_unit,
    known_tests,
    named_test,
    quantities,
    results,
    unit_of_result,
    years_between,
)

READERS: list[Callable[[str], Any]] = [quantities, results, durations, ages, dates, habits]


# --------------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize(
    ("text", "test", "values", "unit"),
    [
        ("PSA 12 with poor stream", "PSA", (12.0,), "µg/L"),
        ("prostate specific antigen of 6.1 ng/ml", "PSA", (6.1,), "µg/L"),
        ("FIT positive at 45 ug/g", "FIT", (45.0,), "µg/g"),
        ("FIT 45 ug Hb/g faeces", "FIT", (45.0,), "µg/g"),
        ("FIT came back as 45 micrograms of haemoglobin per gram of faeces", "FIT", (45.0,), "µg/g"),
        ("home BP averaging 168/104", "blood pressure", (168.0, 104.0), "mmHg"),
        ("BP was 150 over 95 today", "blood pressure", (150.0, 95.0), "mmHg"),
        ("CRB-65 of 2", "CRB-65", (2.0,), "score"),
        ("GCS 15/15", "GCS", (15.0,), "score"),
        ("platelets 62 x10^9/L", "platelets", (62.0,), "10⁹/L"),
        ("Thrombozyten 62 G/l", "platelets", (62.0,), "10⁹/L"),
        ("sats 88-92% on air", "oxygen saturation", (88.0, 92.0), "%"),
        ("K+ 6.1", "potassium", (6.1,), "mmol/L"),
        ("Kalium 6,9 mmol/l", "potassium", (6.9,), "mmol/L"),
        ("NT-proBNP 1,250 ng/L", "NT-proBNP", (1250.0,), "ng/L"),
        ("Potassium    6.9 H   mmol/L", "potassium", (6.9,), "mmol/L"),
        ("血红蛋白 Hb 98 g/L", "haemoglobin", (98.0,), "g/L"),
    ],
)
def test_a_result_in_running_text_is_read_in_the_usual_unit(
    text: str, test: str, values: tuple[float, ...], unit: str
) -> None:
    (found,) = results(text)
    assert (found.test, found.values, found.unit, found.problem) == (test, values, unit, None)
    assert text[found.start : found.end] == found.text


@pytest.mark.parametrize(
    ("text", "values", "arithmetic"),
    [
        ("Hb 9.8 g/dL", (98.0,), "9.8 g/dL × 10 = 98 g/L"),
        ("PSA 6.1 ng/mL", (6.1,), "6.1 ng/mL = 6.1 µg/L"),
        ("creatinine 1.2 mg/dL", (106.0,), "1.2 mg/dL × 88.4 = 106 µmol/L"),
        ("HbA1c 7.5%", (58.5,), "7.5 % × 10.93 − 23.5 = 58.5 mmol/mol"),
        ("temp 101.3 F", (38.5,), "(101.3 °F − 32) ÷ 1.8 = 38.5 °C"),
        ("Hb 9.8", (98.0,), "9.8 g/dL × 10 = 98 g/L (no unit given; only g/dL is plausible)"),
        ("12st 4lb", (78.02,), "12 st × 6.350293 + 4 lb × 0.453592 = 78.02 kg"),
    ],
)
def test_another_unit_is_converted_and_the_arithmetic_told(
    text: str, values: tuple[float, ...], arithmetic: str
) -> None:
    (found,) = results(text)
    assert (found.values, found.arithmetic) == (values, arithmetic)


def test_a_unit_that_is_taken_for_granted_is_told() -> None:
    assert results("PSA 12")[0].note == "No unit was given for PSA 12: µg/L was assumed."
    assert results("PSA 12 ng/mL")[0].note is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FIT negative", "negative"), ("FIT +ve", "positive"), ("CXR clear", "normal"), ("raised platelets", "high"),
        ("PSA not raised", "normal"), ("ferritin 6 (low)", "low"), ("low Hb", "low"), ("MSU neg", "negative"),
        ("calcium within normal limits", "normal"), ("LFTs deranged", "abnormal"),
    ],
)  # fmt: skip
def test_a_result_in_words_is_read(text: str, words: str) -> None:
    (found,) = results(text)
    assert found.words == words


def test_a_limit_and_an_older_value_are_marked() -> None:
    assert [(found.sign, found.values) for found in results("eGFR >90, CRP <5")] == [(">", (90.0,)), ("<", (5.0,))]
    assert [(found.values, found.is_earlier) for found in results("eGFR 38, was 55")] == [
        ((38.0,), False),
        ((55.0,), True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "B12 and folate sent", "L5/S1 disc on MRI", "had a fit 3 times", "fit and well at 45", "PSA 6 months ago",
        "aim for HbA1c 48", "target BP 140/90", "refer if PSA 4", "calcium 500 mg BD", "vitamin D 800 units daily",
        "lost 6 kg", "weight down 6 kg", "PSA 12/3/24", "urine sodium 20", "lithium 400 mg nocte", "asking about PSA",
    ],
)  # fmt: skip
def test_a_number_beside_a_test_that_is_not_its_result_is_none(text: str) -> None:
    assert results(text) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("temp 384", "cannot be right (expected 30 to 45 °C)"),
        ("BP 900/20", "cannot be right"),
        ("Hb 98 mmol/mol", "“mmol/mol” is not a unit for haemoglobin (usual unit: g/L)"),
        ("FIT 45 foo/g", "“foo/g” is not a unit for FIT"),
        ("sats 140%", "cannot be right"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(text: str, told: str) -> None:
    (found,) = results(text)
    assert found.problem is not None
    assert told in found.problem


def test_every_test_of_the_table_is_found_by_each_of_its_names_and_has_a_unit_that_is_known() -> None:
    for test in known_tests().values():
        for name in test.names:
            assert named_test(name.lstrip("=")) is test, name
        for unit in (test.unit, *(other.written for other in test.others)):
            assert not unit or unit_of_result(unit) is not None, (test.name, unit)
        assert all(low < high for low, high in zip(test.lowest, test.highest, strict=True))


def test_a_test_on_record_goes_by_its_name_there() -> None:
    assert named_test("Hemoglobin A1c/Hemoglobin.total in Blood") is known_tests()["HbA1c"]
    assert named_test("Potassium [Moles/volume] in Urine") is None
    assert in_usual_unit(known_tests()["platelets"], 480, "10*3/uL").values == (480.0,)


# ------------------------------------------------------------------------------------------------------- durations


@pytest.mark.parametrize(
    ("text", "days", "sign"),
    [
        ("cough for 2 days", 2, "="), ("hoarse 3/52", 21, "="), ("x 3/7", 3, "="), ("6 month history of", 180, "="),
        ("over the last 2-3 weeks", 21, "="), ("for years", 365, ">"), ("for more than 3 weeks", 21, ">"),
        ("a couple of weeks", 14, "="), ("half an hour", 0.5 / 24, "="), ("since yesterday", 1, "="),
        ("since Monday", 7, "<="), ("a fortnight of night sweats", 14, "="), ("for nineteen days", 19, "="),
        ("noticed 3/52 ago", 21, "="), ("lost 6 kg in 2 months", 60, "="), ("at least 3 weeks", 21, ">="),
        ("worse over 4/52", 28, "="), ("for one year", 365, "="), ("since Easter", None, "="),
    ],
)  # fmt: skip
def test_how_long_a_complaint_has_lasted(text: str, days: float | None, sign: str) -> None:
    (found,) = durations(text)
    assert found.is_of_complaint
    assert (found.days, found.sign) == (pytest.approx(days) if days is not None else None, sign)
    assert text[found.start : found.end] == found.text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("stopped 3 years ago", "ago"), ("2 weeks after surgery", "ago"), ("aged 3 years", "age"),
        ("a 3-month-old", "age"), ("in 2 weeks' time", "ahead"), ("review in 2/52", "ahead"),
        ("8/52 omeprazole", "course"), ("amoxicillin 500mg TDS 5/7", "course"), ("a 5 day course", "course"),
        ("every 4 hours", "interval"), ("twice a day", "interval"), ("28/40", "gestation"),
        ("12 weeks pregnant", "gestation"),
    ],
)  # fmt: skip
def test_a_time_that_is_none_of_a_complaint_says_what_it_is(text: str, kind: str) -> None:
    (found,) = durations(text)
    assert found.kind == kind
    assert not found.is_of_complaint


def test_sight_and_dates_are_no_durations() -> None:
    assert durations("VA 6/12, 6/9") == ()
    assert durations("seen 3/12/2024") == ()


def test_a_month_has_30_days_and_a_year_365() -> None:
    assert [days_in(unit) for unit in ("week", "month", "year")] == [7, 30, 365]
    assert quantities("6 months")[0].values == (180.0,)
    born = datetime(2008, 2, 29, tzinfo=UTC)
    assert [years_between(born, datetime(2026, *day, tzinfo=UTC)) for day in ((2, 28), (3, 1))] == [17, 18]


# ------------------------------------------------------------------------------------------------------------ ages


@pytest.mark.parametrize(
    ("text", "years", "sex"),
    [
        ("58yo", 58, None), ("62M", 62, "male"), ("F72", 72, "female"), ("47F, tired", 47, "female"),
        ("nineteen years old", 19, None), ("sixty-three years old", 63, None), ("6/52 old", 42 / 365, None),
        ("a 3-month-old", 0.25, None), ("pt is 84, ferritin 8", 84, None), ("67 year old gentleman", 67, "male"),
        ("Mum says he's 6, fever", 6, None), ("man of 62", 62, "male"), ("aged 3 months", 0.25, None),
    ],
)  # fmt: skip
def test_an_age_is_read_in_years(text: str, years: float, sex: str | None) -> None:
    (found,) = ages(text)
    assert (found.years, found.sex, found.of) == (pytest.approx(years), sex, "patient")
    assert text[found.start : found.end] == found.text


@pytest.mark.parametrize("text", ["28/40", "6 m tall", "3 F1 doctors", "aged 40 and over", "3 weeks", "BP 120/80"])
def test_what_is_no_age_is_none(text: str) -> None:
    assert ages(text) == ()


def test_an_age_of_others_of_an_event_and_of_nobody_is_marked() -> None:
    assert [found.of for found in ages("mother aged 80, LMP aged 51")] == ["other", "event"]
    assert "cannot be right" in str(ages("aged 200")[0].problem)


def test_a_day_that_cannot_be_or_may_be_two_is_said_so() -> None:
    told = [(found.at is not None, bool(found.problem)) for found in dates("12 March 2021, 31/02/2024, 03/04/2024")]
    assert told == [(True, False), (False, True), (False, True)]


# ---------------------------------------------------------------------------------------------------------- habits


@pytest.mark.parametrize(
    ("text", "habit"),
    [
        ("40 pack years", ("smoking", 40, 40, "pack years")),
        ("smokes 15/day", ("smoking", 15, 15, "per day")),
        ("drinks 20-25 units a week", ("alcohol", 20, 25, "units per week")),
        ("lost half a stone", ("weight loss", 0.5, 0.5, "stone")),
        ("lost a stone and a half", ("weight loss", 1.5, 1.5, "stone")),
        ("2st lost", ("weight loss", 2, 2, "stone")),
        ("weight down 6 kg", ("weight loss", 6, 6, "kg")),
        ("put on 5 kg", ("weight gain", 5, 5, "kg")),
    ],
)
def test_amounts_of_a_life(text: str, habit: tuple[str, float, float, str]) -> None:
    (found,) = habits(text)
    assert (found.what, found.low, found.value, found.unit) == habit


# ---------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize(
    "text",
    [
        "no " * 33_000, "9" * 100_000, "(" * 50_000 + ")" * 50_000, "血压 140/90 тест PSA 12 " * 4_000, "a " * 50_000,
        "for 3 weeks " * 8_000, " " * 100_000, "3/" * 50_000, "fever up to " * 8_000, "1," * 50_000, "half a " * 14_000,
    ],
    ids=["no", "digits", "brackets", "scripts", "a", "weeks", "spaces", "strokes", "fever", "commas", "half"],
)  # fmt: skip
@pytest.mark.slow
def test_a_hundred_thousand_characters_take_no_more_than_their_length(reader: Callable[[str], Any], text: str) -> None:
    begun = time.process_time()
    reader(text)
    assert time.process_time() - begun < 30


@given(st.text(max_size=120))
def test_every_reading_is_a_part_of_its_text(text: str) -> None:
    for reader in READERS:
        for found in reader(text):
            assert found.text == text[found.start : found.end]
