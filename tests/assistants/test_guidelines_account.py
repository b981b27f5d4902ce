"""Nothing of a patient is passed over: an assessment says what counted, what did not, and why."""

from __future__ import annotations

import time
from typing import Any

import pytest

from citewell.assistants.guidelines.assess import NOTHING_MET, assess, assessment_json
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.read_patient import patient_from


def assessed(guideline: Guideline, **given: Any) -> dict[str, Any]:
    return assessment_json(assess(patient_from({"age": 60, "gender": "female", **given}), [guideline]))


def taken(found: dict[str, Any]) -> dict[str, str]:
    return {one["words"]: one["read_as"] for one in found["taken_into_account"]}


def unused(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["words"]: (one["kind"], one["why"]) for one in found["unused"]}


def test_what_counted_and_what_did_not_is_told_with_words_place_and_why(ng12: Guideline) -> None:
    found = assessed(ng12, symptoms=["jaundice, XQZ ++", "runny nose"], findings=["mother had a breast lump"])
    assert taken(found) == {"aged 60": "given", "female": "given", "jaundice": "present"}
    assert found["unused"] == [
        {"words": "XQZ ++", "field": "symptoms", "index": 0, "kind": "not understood", "why": "not understood"},
        {
            "words": "runny nose",
            "field": "symptoms",
            "index": 1,
            "kind": "not used",
            "why": "not matched to any recommendation in NG12",
        },
        {
            "words": "mother had a breast lump",
            "field": "findings",
            "index": 0,
            "kind": "left out",
            "why": "about a relative",
        },
    ]


def test_no_criteria_met_is_never_told_alone(ng12: Guideline) -> None:
    found = assessed(ng12, symptoms=["no jaundice", "zorble feeling"])
    assert found["risk_level"] == "No NG12 Criteria Met"
    assert found["reasoning"].startswith(
        f"{NOTHING_MET} Taken into account: aged 60; female; no jaundice (absent). Not understood: “zorble feeling”."
    )
    nothing = assessment_json(assess(patient_from({}), [ng12]))
    assert nothing["reasoning"].startswith(f"{NOTHING_MET} Taken into account: nothing.")


def test_a_phrase_is_read_as_present_absent_or_unclear(ng12: Guideline) -> None:
    found = assessed(ng12, symptoms=["jaundice", "denies weight loss", "?haematuria"])
    read = {words: how for words, how in taken(found).items() if how != "given"}
    assert read == {"jaundice": "present", "denies weight loss": "absent", "?haematuria": "unclear"}


@pytest.mark.parametrize(
    ("test", "words", "why"),
    [
        ({"name": "PSA", "value": 12, "unit": "bananas"}, "PSA 12 bananas", "NG12 1.6.3"),
        ({"name": "FIT", "value": 45, "unit": "g/L"}, "FIT 45 g/L", "NG12 1.3.2"),
        ({"name": "platelets", "value": 430}, "platelets 430", "no reference range"),
        ({"name": "PSA"}, "PSA", "What is the PSA value"),
        (
            {"name": "blood pressure", "value": 140, "unit": "mmHg"},
            "blood pressure 140 mmHg",
            "not matched to any recommendation in NG12",
        ),
        ({"name": "frobnicase", "value": 3, "unit": "U/L"}, "frobnicase 3 U/L", "not understood"),
    ],
)
def test_a_result_that_no_rule_can_use_is_listed(test: dict[str, Any], words: str, why: str, ng12: Guideline) -> None:
    found = assessed(ng12, gender="male", tests=[test])
    (entry,) = (one for one in found["unused"] if one["field"] == "tests")
    assert (entry["words"], entry["index"]) == (words, 0)
    assert why in entry["why"]


def test_a_result_in_another_unit_is_asked_about_by_the_rule_that_needs_it(ng12: Guideline) -> None:
    found = assessed(ng12, tests=[{"name": "FIT", "value": 45, "unit": "bananas"}])
    (asked,) = (one for one in found["unknowns"] if "FIT" in one["ask"])
    assert (asked["kind"], asked["rules"]) == ("ask", ["NG12 1.3.2"])
    assert "bananas" in asked["ask"]


def test_what_the_record_both_states_and_denies_is_asked_about(ng12: Guideline) -> None:
    found = assessed(ng12, symptoms=["haemoptysis", "no haemoptysis"])
    (asked,) = (one for one in found["unknowns"] if one["ask"].startswith("The record says both yes and no to"))
    assert asked["rules"] == ["NG12 1.1.1"]


def test_a_result_counts_also_where_the_words_say_the_same(ng12: Guideline) -> None:
    low = {"name": "Haemoglobin", "value": 98, "unit": "g/L", "flag": "L"}
    found = assessed(ng12, symptoms=["low haemoglobin"], tests=[low, {"name": "FIT", "value": 45}])
    taken = [one["words"] for one in found["taken_into_account"] if one["field"] == "tests"]
    assert taken == ["Haemoglobin 98 g/L low", "FIT 45"]
    assert "No unit was given for FIT 45: µg/g was assumed." in found["notes"]


def test_other_fields_are_accounted_for(ng12: Guideline) -> None:
    found = assessed(
        ng12,
        smoking_history="twice on Sundays",
        exposures=["exposed to asbestos", "grumbles"],
        organs=["womb", "flux capacitor", "breast"],
        symptoms=["haemoptysis"],
        symptom_duration_days=9,
    )
    assert taken(found)["exposed to asbestos"] == "present"
    assert taken(found)["womb"] == "given"
    listed = unused(found)
    assert listed["twice on Sundays"][0] == listed["grumbles"][0] == listed["flux capacitor"][0] == "not understood"
    assert listed["breast"] == ("not used", "no recommendation in NG12 uses this")
    assert "uses duration" in listed["9 days"][1]


def test_a_value_in_words_is_used_or_listed(ng12: Guideline) -> None:
    found = assessed(ng12, symptoms=["ferritin of 6.5 blobs", "weight loss of 8 zots"])
    given = " ".join(one["words"] + one["why"] for one in found["unused"])
    assert "ferritin of 6.5 blobs" in given
    assert "8" in given


# ------------------------------------------------------------------------------------------------ organs before sex


def states(guideline: Guideline, **given: Any) -> set[str]:
    found = assessed(guideline, **given)
    return {one["rule"] for one in found["matched"]}


def test_a_trans_man_with_a_cervix_and_a_trans_woman_with_a_prostate_get_the_rules_of_their_organs(
    ng12: Guideline,
) -> None:
    cervix = {"symptoms": ["appearance of cervix consistent with cervical cancer"]}
    assert "1.5.13" in states(ng12, gender="male", organs=["cervix"], **cervix)
    assert "1.5.13" in states(ng12, gender="trans man", organs=["Cervix"], **cervix)
    assert "1.5.13" not in states(ng12, gender="male", **cervix)
    prostate = {"symptoms": ["prostate feels malignant on digital rectal examination"]}
    assert "1.6.1" in states(ng12, gender="female", organs=["prostate"], **prostate)
    assert "1.6.1" not in states(ng12, gender="female", **prostate)


@pytest.mark.parametrize(
    ("organ", "symptom", "rule"),
    [
        ("ovaries", "ascites", "1.5.1"),
        ("womb", "post-menopausal bleeding", "1.5.10"),
        ("vulva", "vulval lump", "1.5.14"),
        ("vagina", "palpable mass in the entrance to the vagina", "1.5.15"),
    ],
)
def test_organs_of_every_kind_come_before_sex(organ: str, symptom: str, rule: str, ng12: Guideline) -> None:
    assert rule in states(ng12, gender="male", organs=[organ], symptoms=[symptom])
    assert rule not in states(ng12, gender="female", organs=["prostate"], symptoms=[symptom])
    assert rule not in states(ng12, gender="female", organs=[f"no {organ}"], symptoms=[symptom])


@pytest.mark.parametrize(
    ("organ", "symptom", "rule"),
    [
        ("testes", "painless enlarged testis", "1.6.7"),
        ("penis", "penile mass, sexually transmitted infection excluded", "1.6.9"),
    ],
)
def test_so_do_those_of_men(organ: str, symptom: str, rule: str, ng12: Guideline) -> None:
    assert rule in states(ng12, gender="female", organs=[organ], symptoms=[symptom])
    assert rule not in states(ng12, gender="male", organs=["cervix"], symptoms=[symptom])


def test_an_organ_that_may_have_been_left_out_of_the_list_is_asked_about(ng12: Guideline) -> None:
    found = assessed(ng12, gender="male", organs=["cervix"], symptoms=["post-menopausal bleeding"])
    assert "1.5.10" not in {one["rule"] for one in found["matched"]}
    assert any(one["ask"].startswith("Does the patient have a uterus?") for one in found["unknowns"])


# ------------------------------------------------------------------------------------------------ words and their scope


def test_age_and_sex_are_taken_from_the_words_where_no_field_gives_them(ng12: Guideline) -> None:
    found = assessment_json(assess(patient_from({"symptoms": ["67M, PSA 12, poor stream"]}), [ng12]))
    assert "1.6.3" in {one["rule"] for one in found["matched"]}
    assert {"The age was taken from “67M”.", "The sex was taken from “67M”."} <= set(found["notes"])
    assert taken(found)["67M"] == "given"
    assert found["unused"] == []


def test_a_gender_that_does_not_tell_the_organs_is_not_overruled_by_a_letter(ng12: Guideline) -> None:
    found = assessment_json(assess(patient_from({"gender": "trans woman", "symptoms": ["67M with PSA 12"]}), [ng12]))
    assert not any("sex was taken" in note for note in found["notes"])


def test_words_that_contradict_the_sex_given_are_told(ng12: Guideline) -> None:
    found = assessed(ng12, symptoms=["60M, haemoptysis"])
    assert "The sex given is female, but a symptom says “60M”; female was used." in found["notes"]


def test_a_given_duration_that_the_words_contradict_is_told(ng12: Guideline) -> None:
    found = assessed(ng12, symptoms=["hoarse for 6 weeks"], symptom_duration_days=10)
    assert unused(found)["10 days"] == ("not used", "the symptom itself states the duration")


def test_a_number_with_a_decimal_point_is_one_number(ng12: Guideline) -> None:
    found = assessed(ng12, symptoms=["Hb 9.1"])
    assert "No unit was given for Hb 9.1. It was read as g/dL, the only plausible unit." in found["notes"]
    assert found["unused"] == []


@pytest.mark.parametrize(
    ("symptom", "not_rule"),
    [
        ("sore on my back passage that won't heal, 2/12", "1.10.4"),
        ("trousers fine, wt steady", "1.13.2"),
        ("haemoptysis, PR bleeding, weight loss: all denied", "1.13.2"),
        ("PR bleeding, wt loss, abdo pain - no to all", "1.3.1"),
        ("PR bleeding, wt loss, abdo pain - nil", "1.3.1"),
        ("PR bleeding / wt loss / abdo pain: none of these", "1.3.1"),
        ("No fever, loss of appetite or night sweats", "1.13.3"),
        ("Had haematuria in 2010, seen today with a cold", "1.6.4"),
        ("no previous surgery and no visible haematuria", "1.6.4"),
    ],
)
def test_a_part_of_the_words_does_not_count_for_something_else(symptom: str, not_rule: str, ng12: Guideline) -> None:
    assert not_rule not in states(ng12, symptoms=[symptom])


@pytest.mark.parametrize(
    ("symptom", "rule"),
    [
        ("skin over left breast like orange peel", "1.4.2"),
        ("new IBS symptoms for 3 months, never had IBS before", "1.5.5"),
        ("4 UTIs this year", "1.6.5"),
        ("word finding difficulty getting steadily worse over 4/52", "1.9.1"),
    ],
)
def test_what_the_words_come_to_counts(symptom: str, rule: str, ng12: Guideline) -> None:
    assert rule in states(ng12, symptoms=[symptom])


def test_a_report_that_names_no_cancer_is_asked_about_and_one_that_does_counts(ng12: Guideline) -> None:
    suspicious = assessed(ng12, tests=[{"name": "CXR", "text": "suspicious for malignancy"}])
    assert {one["rule"] for one in suspicious["matched"]} == {"1.1.1"}
    odd = assessed(ng12, tests=[{"name": "CXR", "text": "abnormal"}])
    assert "Does the patient have: chest X-ray findings that suggest lung cancer?" in {
        one["ask"] for one in odd["unknowns"]
    }
    assert unused(odd)["CXR abnormal"][0] == "not used"


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "text", ["no " * 660, "( " * 990, "?" * 1_990, "12 " * 660, "咳嗽 кашель " * 150, "and " * 490]
)
@pytest.mark.slow
def test_a_long_strange_text_takes_no_long_time_and_is_not_lost(text: str, ng12: Guideline) -> None:
    started = time.perf_counter()
    found = assessed(ng12, symptoms=[text])
    assert time.perf_counter() - started < 60, "a bound on what runs away, not a measure"
    assert found["matched"] == []


def test_a_test_that_has_a_result_and_is_offered_again_is_noted(ng12: Guideline) -> None:
    symptoms = ["rectal bleeding"]
    noted = assessed(ng12, symptoms=symptoms, tests=[{"name": "FIT", "value": 9, "unit": "ug/g"}])["notes"]
    assert any("1.3.1 offers a test that has a result on record: FIT 9 ug/g" in note for note in noted)
    assert not any("has a result on record" in note for note in assessed(ng12, symptoms=symptoms)["notes"])


def test_a_measured_temperature_is_fever_only_where_it_is_high(ng12: Guideline) -> None:
    assert taken(assessed(ng12, symptoms=["temp 36.8"]))["temp 36.8"] == "absent"
    assert taken(assessed(ng12, symptoms=["temp 38.6"]))["temp 38.6"] == "present"
