"""The words of a rule become a tree that keeps their logic, and reads back as a sentence."""

from __future__ import annotations

import pytest

from citewell.assistants.guidelines.criteria import NeedsReading, as_json, conditions, render
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.parse_criteria import RuleText, parse_criteria
from citewell.assistants.guidelines.populations import Terms
from tests.assistants.written import rules

REFER = "Refer people using a suspected cancer pathway referral for spot cancer"

SENTENCES = [
    (
        f"{REFER} if they are aged 60 and over and have a cough and either a fever or chest pain.",
        "aged 60 and over AND cough AND (fever OR chest pain)",
    ),
    (f"{REFER} if they have persistent or recurrent fever.", "persistent or recurrent fever"),
    (
        f"{REFER} if they have an unexplained vulval lump, ulceration or bleeding.",
        "unexplained vulval lump OR unexplained vulval ulceration OR unexplained vulval bleeding",
    ),
    (f"{REFER} if they have a breast lump with or without pain.", "breast lump"),
    (
        f"{REFER} if they have visible haematuria without urinary tract infection.",
        "visible haematuria AND no urinary tract infection",
    ),
    (
        f"{REFER} if they have a pelvic or abdominal mass (which is not obviously uterine fibroids).",
        "(pelvic mass OR abdominal mass) AND no uterine fibroids",
    ),
    (f"{REFER} if they have a mouth ulcer lasting for more than 3 weeks.", "mouth ulcer lasting for more than 3 weeks"),
    (
        f"{REFER} if they have a FIT result of at least 10 micrograms per gram.",
        "a FIT result of at least 10 micrograms per gram",
    ),
    ("Consider a chest X-ray in women aged under 30 with a cough.", "women AND aged under 30 AND cough"),
    ("Consider a chest X-ray in people aged 16 to 24 with a cough.", "aged 16 to 24 AND cough"),
    ("Consider a chest X-ray in people aged over 80 with a cough.", "aged over 80 AND cough"),
    ("If the ultrasound suggests ovarian cancer, make a referral.", "ultrasound suggests ovarian cancer"),
    (
        "Offer a chest X-ray in people aged 40 and over if they have 2 or more of the following unexplained symptoms, "
        "or if they have ever smoked and have 1 or more of the following unexplained symptoms:\n• cough\n• fever",
        "aged 40 and over AND (at least 2 of (unexplained cough; unexplained fever) "
        "OR (ever smoked AND (unexplained cough OR unexplained fever)))",
    ),
    (
        f"{REFER} if they:\n• have jaundice or\n"
        "• are aged 55 and over with weight loss and any of the following:\n– reflux\n– fever",
        "jaundice OR (aged 55 and over AND weight loss AND (reflux OR fever))",
    ),
    (f"{REFER} if they have all of the following:\n• cough\n• fever", "cough AND fever"),
    (
        "Because cuffs slip if there is fever (for example, at night), refer people with a cough.",
        "cough",  # the “if” in a reason is no criterion
    ),
    (
        "Because cuffs slip if there is fever, inspect the cuff. If a cough is present, refer the person.",
        "cough",
    ),
    (
        "If thickened spots (for example, green ones) are not seen again, recheck with a scan.",
        "[to be read: thickened spots (for example, green ones) are not seen again]",
    ),
    (f"{REFER} if they have:\n• cough and\n• fever", "cough AND fever"),
    (
        f"{REFER} if:\n• they are aged 40 and over with jaundice or\n"
        "• they are aged 60 and over with:\n– fever or\n– fatigue",
        "(aged 40 and over AND jaundice) OR (aged 60 and over AND (fever OR fatigue))",
    ),
    (
        "Offer a blood test in adults without rectal bleeding who:\n• are aged 50 and over with unexplained:\n"
        "– fever or\n– fatigue, or\n• are aged 60 and over and have anaemia even in the absence of iron deficiency.",
        "adults (18 and over) AND no rectal bleeding AND "
        "((aged 50 and over AND (unexplained fever OR unexplained fatigue)) OR (aged 60 and over AND anaemia))",
    ),
    ("Urgently refer people aged 40 and over who have jaundice.", "aged 40 and over AND jaundice"),
    ("Offer a chest X-ray to people aged between 40 and 60 with a cough.", "aged between 40 and 60 AND cough"),
    (f"{REFER} if they have a cough unless they have a fever.", "cough AND no fever"),
    (
        "If the person has a fever but no cough (see recommendation 1.1.1), arrange a chest X-ray.",
        "[to be read: the person has a fever but no cough (see recommendation 1.1.1)]",
    ),
    (f"{REFER} if the moon is in the seventh house.", "[to be read: moon is in the seventh house]"),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES, ids=[expected[:60] for _, expected in SENTENCES])
def test_a_rule_reads_back_as_its_logic(text: str, expected: str) -> None:
    (rule,) = rules(text).rules
    assert rule.criteria is not None
    assert render(rule.criteria) == expected


def test_what_is_about_an_organ_asks_for_it() -> None:
    (rule,) = rules(f"{REFER} if they have a cough.", heading="Prostate cancer").rules
    assert rule.criteria is not None
    assert render(rule.criteria) == "has a prostate AND cough"


ACTIONS = [
    (
        "Refer people using a suspected cancer pathway referral if they have a cough.",
        "suspected cancer pathway referral",
    ),
    (
        "Consider a suspected cancer pathway referral in people with a cough.",
        "consider suspected cancer pathway referral",
    ),
    ("Consider a very urgent referral in people with a cough.", "consider very urgent referral"),
    ("Refer children for immediate specialist assessment if they have a cough.", "immediate referral"),
    ("Offer an urgent chest X-ray in people with a cough.", "urgent investigation"),
    ("Consider non-urgent direct access endoscopy in people with a cough.", "consider non-urgent investigation"),
    ("Consider routine referral for people with a cough.", "consider non-urgent referral"),
    ("Offer faecal testing to guide referral for spot cancer in people with a cough.", "investigation"),
    ("Discuss the suspected diagnosis with people who have a cough.", "advice"),
    ("Ensure that tests are reviewed.", "advice"),
]


@pytest.mark.parametrize(("text", "label"), ACTIONS)
def test_the_action_is_read_from_its_verb_phrase(text: str, label: str) -> None:
    (rule,) = rules(text).rules
    assert rule.action.label == label
    assert (rule.criteria is None) == (label == "advice")


def test_every_rule_of_ng12_that_refers_or_tests_has_criteria(ng12: Guideline) -> None:
    without = [rule.id for rule in ng12.rules if rule.criteria is None and rule.action.deed != "advice"]
    assert without == []
    assert sum(rule.criteria is not None for rule in ng12.rules) == 84
    assert [rule.id for rule in ng12.rules if rule.unread] == NEED_READING


NEED_READING = ["1.4.1", "1.5.12", "1.6.3", "1.7.6", "1.11.5", "1.11.7", "1.13.1"]
"""Judgement in words: changes of concern, first presentation, ages without a threshold, worry, doubt."""


def test_a_tree_is_plain_json_with_every_condition(ng12: Guideline) -> None:
    for rule in ng12.rules:
        if rule.criteria is not None:
            assert _count(as_json(rule.criteria)) == len(list(conditions(rule.criteria)))


def _count(node: dict[str, object]) -> int:
    parts = node.get("all") or node.get("any")
    return sum(_count(part) for part in parts) if isinstance(parts, list) else 1


def test_a_sentence_without_end_is_left_to_be_read_and_costs_little() -> None:
    assert isinstance(parse_criteria("cough and " * 900, (), RuleText(Terms.of(()), ())), NeedsReading)


def test_what_is_left_to_be_read_stands_in_the_rule_word_for_word(ng12: Guideline, ng136: Guideline) -> None:
    def cut(guideline: Guideline) -> list[tuple[str, str]]:
        return [
            (rule.id, one.text)
            for rule in guideline.rules
            if rule.criteria is not None
            for one in conditions(rule.criteria)
            if isinstance(one, NeedsReading) and one.text not in " ".join(rule.text.split())
        ]

    assert cut(ng136) == []
    assert sorted(set(cut(ng12))) == [
        ("1.4.1", "other changes of concern in nipple"),  # the list says once that it is about the nipple
        ("1.6.3", "PSA: Use clinical judgement"),  # a row of the table below the rule
    ]
