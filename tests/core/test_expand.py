"""A question gains a few sure phrases, and never one that changes what was asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import vocabulary
from citewell.answer.expand import MAX_ADDED, REFUSED, Expansion, expand
from citewell.clinical import Lexicon
from citewell.clinical.tables import rows


def added(question: str) -> list[tuple[str, str]]:
    return [(one.phrase, one.reason) for one in expand(question, lexicon=Lexicon.load())]


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("haemoptysis", [("hemoptysis", "spelling"), ("coughing up blood", "synonym")]),
        ("hemoptysis", [("haemoptysis", "spelling"), ("coughing up blood", "synonym")]),
        ("coughing up blood", [("haemoptysis", "lay word"), ("hemoptysis", "lay word")]),
        ("heart attack", [("myocardial infarction", "lay word")]),
        ("myocardial infarction", [("heart attack", "synonym")]),
        ("high blood pressure", [("hypertension", "lay word")]),
        ("hypertension", [("high blood pressure", "synonym")]),
        ("oedema", [("edema", "spelling")]),
        ("edema", [("oedema", "spelling")]),
        ("water tablets", [("diuretic", "lay word")]),
        ("paracetamol", [("acetaminophen", "synonym")]),
        ("no blood in urine", [("haematuria", "lay word"), ("hematuria", "lay word")]),
        (
            "DVT",
            [
                ("deep vein thrombosis", "abbreviation"),
                ("deep venous thrombosis", "synonym"),
                ("clot in leg", "synonym"),
            ],
        ),
        ("yellowing of the skin", [("jaundice", "lay word"), ("icterus", "synonym")]),
    ],
)
def test_a_question_gains_the_other_names_of_what_it_names(question: str, phrases: list[tuple[str, str]]) -> None:
    assert added(question) == phrases


@pytest.mark.parametrize(
    "question", ["MI5", "MI", "IV", "a 300 bp fragment", "PE lessons at school", "", "?!", "cough"]
)
def test_nothing_is_added_without_a_sure_reading(question: str) -> None:
    assert added(question) == []


def test_an_ambiguous_abbreviation_is_read_in_its_context() -> None:
    assert added("aspirin after MI")[:1] == [("myocardial infarction", "abbreviation")]


def test_a_meaning_that_is_already_said_is_not_added_again() -> None:
    assert added("chronic kidney disease (CKD)") == []


def test_each_phrase_says_which_words_it_stands_for() -> None:
    question = "When is coughing up blood an emergency?"
    assert expand(question, lexicon=Lexicon.load()) == (
        Expansion("haemoptysis", "lay word", (8, 25)),
        Expansion("hemoptysis", "lay word", (8, 25)),
    )


def test_a_very_long_question_is_not_read_to_its_end() -> None:
    assert added("breathless " * 20_000) == [
        ("dyspnoea", "lay word"),
        ("dyspnea", "lay word"),
        ("breathlessness", "synonym"),
    ]


def test_a_medicine_is_looked_for_by_its_class_only_where_a_question_is_to_be_answered() -> None:
    def classes(question: str) -> list[str]:
        found = expand(question, lexicon=Lexicon.load(), to_answer=True)
        return [one.phrase for one in found if one.reason == "class"]

    assert classes("Is ibuprofen safe?")[:2] == ["NSAID", "nonsteroidal anti-inflammatory drug"]
    assert classes("Are NSAIDs safe?") == []
    assert classes("Is ibuprofen safe with warfarin?") == []  # of two together their classes say nothing
    assert "class" not in {reason for _, reason in added("Is ibuprofen safe?")}


def test_at_most_a_dozen_phrases_are_added() -> None:
    everything = ", ".join(row[1] for row in vocabulary.rows("spelling.tsv"))
    assert len(added(everything)) == MAX_ADDED


def test_no_drug_leads_to_another_substance() -> None:
    same = [
        [name, *exact.split("|")]
        for kind, name, exact in (row[:3] for row in rows("names.tsv") if len(row) == 3)
        if kind == "medicine"
    ]
    assert ["paracetamol", "acetaminophen"] in same
    for names in same:
        for name in names:
            assert {phrase for phrase, reason in added(name) if reason == "synonym"} <= {
                other.casefold() for other in names
            }


@given(st.lists(st.sampled_from([row[1] for row in rows("names.tsv") if row[1] != "-"]), max_size=5))
def test_no_negation_is_ever_added(names: list[str]) -> None:
    assert not {word for phrase, _ in added(" and ".join(names)) for word in phrase.split()} & REFUSED


@given(st.text(max_size=300))
def test_any_text_can_be_asked(question: str) -> None:
    for one in expand(question, lexicon=Lexicon.load()):
        assert 0 <= one.from_words[0] < one.from_words[1] <= len(question)
