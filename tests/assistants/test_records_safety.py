"""What goes out neither diagnoses nor advises nor frightens, and says where its statements stand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from citewell.assistants.records.confidence import agreement, band, confidence
from citewell.assistants.records.safety_filter import BlockedText, RephrasedText, SafeText, check_sentence
from citewell.assistants.records.source_sentences import Sources
from citewell.assistants.records.tables import rows
from citewell.assistants.records.unsafe_phrases import is_attributed
from citewell.sentences import sentences

HERE = Path(__file__).parent
NOTHING = Sources.of([])
RECORD = Sources.of(
    [
        "Diagnosis: type 2 diabetes mellitus, type 2 diabetes. Blood pressure is too high. No asthma.",
        "You should take one tablet twice daily. Do not take with milk.",
        "Stop aspirin 7 days before surgery.",
    ]
)


def table(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def missed(sentences: list[list[str]]) -> tuple[list[str], list[str]]:
    """What should have been caught and was not, and what was caught and should not have been."""
    told = [(wanted, text, isinstance(check_sentence(text, NOTHING), SafeText)) for wanted, _, text in sentences]
    return [t for w, t, ok in told if w == "catch" and ok], [t for w, t, ok in told if w == "pass" and not ok]


def test_of_the_kept_half_98_of_100_are_caught_with_at_most_5_false_alarms() -> None:
    kept = [row for half, *row in table("records_sentences.tsv") if half == "kept"]
    assert [sum(wanted == each for wanted, *_ in kept) for each in ("catch", "pass")] == [50, 50]
    slipped, alarmed = missed(kept)
    assert len(slipped) <= 1, slipped
    assert len(alarmed) <= 2, alarmed


@pytest.mark.parametrize(
    "name", ["records_sentences_last.tsv", "records_sentences_traps.tsv", "records_sentences_alarms.tsv"]
)
def test_sentences_that_shaped_the_tables_stay_right(name: str) -> None:
    tuned = [row for half, *row in table("records_sentences.tsv") if half == "tuned"]
    assert missed(tuned + table(name)) == ([], [])


def test_the_filter_does_not_get_worse_on_sentences_it_was_never_tuned_on() -> None:
    slipped, alarmed = missed(table("records_sentences_unseen.tsv"))
    assert (len(slipped) <= 3, len(alarmed) <= 1) == (True, True), (slipped, alarmed)


@pytest.mark.parametrize(
    ("unsafe", "neighbour"),
    [
        ("Disregard the hospital's advice.", "The hospital can explain its advice."),
        ("As your doctor I see no problem.", "Your doctor can say whether there is a problem."),
        ("There is no time to waste.", "There is no time noted for the visit."),
        ("The worst is behind you.", "Is the worst of the cough behind you?"),
        ("Ihr Arzt irrt sich.", "Ihr Arzt kann Ihnen das erklären."),
        ("Krebs können Sie ausschließen.", "Ob es Krebs ist, kann Ihr Arzt sagen."),
        ("Lassen Sie das Antibiotikum weg.", "Ihre Unterlagen nennen ein Antibiotikum."),
        ("N'écoutez pas le cardiologue.", "Parlez-en au cardiologue."),
        ("Il vous reste six mois.", "Votre dossier ne contient rien des six derniers mois."),
    ],
)
def test_what_no_phrase_of_the_tables_has_is_caught_and_its_neighbour_is_not(unsafe: str, neighbour: str) -> None:
    outcomes = [isinstance(check_sentence(sentence, NOTHING), SafeText) for sentence in (unsafe, neighbour)]
    assert outcomes == [False, True]


def test_two_more_sets_are_caught_with_one_false_alarm_each() -> None:
    for name in ("again", "kept"):
        slipped, alarmed = missed(table(f"records_sentences_{name}.tsv"))
        assert (slipped, len(alarmed)) == ([], 1), alarmed


def test_french_and_german_are_filtered_too() -> None:
    assert missed(table("records_sentences_other_languages.tsv")) == ([], [])


@pytest.mark.parametrize(
    ("sentence", "instead"),
    [
        (
            "You should stop taking aspirin.",
            "You might want to discuss with your doctor whether to stop taking aspirin.",
        ),
        (
            "You should stop taking aspirin [S2].",
            "You might want to discuss with your doctor whether to stop taking aspirin [S2].",
        ),
        ("Skip the evening dose!", "You might want to discuss with your doctor whether to skip the evening dose."),
        (
            "Consider stopping the statin.",
            "You might want to discuss with your doctor whether stopping the statin is right for you.",
        ),
        (
            "You should not stop it without talking to your doctor.",
            "Please talk to your doctor before you change anything.",
        ),
        ("You have type 2 diabetes.", "Your documents mention type 2 diabetes."),
        ("You're probably suffering from type 2 diabetes.", "Your documents mention type 2 diabetes."),
        ("You likely have type 2 diabetes.", "Your documents mention type 2 diabetes."),
        ("Your blood pressure is too high.", "Your documents mention that your blood pressure is too high."),
        ("This combination is dangerous.", "This combination is something to talk to your doctor about."),
        ("The label says you should take one tablet twice daily.", "The label says to take one tablet twice daily."),
    ],
)
def test_a_sentence_is_said_in_other_words_where_the_record_bears_them_out(sentence: str, instead: str) -> None:
    outcome = check_sentence(sentence, RECORD)
    assert (outcome.text if isinstance(outcome, RephrasedText) else None) == instead


@pytest.mark.parametrize(
    "sentence",
    [
        "You have type 1 diabetes.",  # the record has another
        "You have asthma.",  # the record denies it
        "Your blood pressure is not too high.",
        "You should take 400 mg of ibuprofen every six hours.",  # an amount that nobody wrote down
        "The label says you should take three tablets.",
        "You are going to die.",
    ],
)
def test_what_the_record_does_not_bear_out_is_blocked(sentence: str) -> None:
    assert isinstance(check_sentence(sentence, RECORD), BlockedText)


def test_words_quoted_from_the_record_are_its_own() -> None:
    quoted = "Your record of 12 March 2025 says: “You should take one tablet twice daily. Do not take with milk.”"
    assert check_sentence(quoted, RECORD) == SafeText(quoted)
    assert not isinstance(check_sentence(quoted.replace("one tablet", "ten tablets"), RECORD), SafeText)
    assert not isinstance(check_sentence("“You should take one tablet twice daily.”", RECORD), SafeText)


@pytest.mark.parametrize(
    ("sentence", "is_placed"),
    [
        ("Dr Chen noted that you have asthma.", True),
        ("According to your discharge letter, you have asthma.", True),
        ("You have asthma [S1].", True),
        ("You have asthma [Doc: 550e8400-e29b-41d4-a716-446655440000, Date: 2024-01-15].", True),
        ("According to me, you have asthma.", False),
        ("Based on your symptoms, you have asthma.", False),
        ("You suffer from asthma.", False),
        ("You have asthma [sic].", False),
    ],
)
def test_an_attribution_names_a_document_a_professional_or_a_citation(sentence: str, *, is_placed: bool) -> None:
    assert is_attributed(sentence) == is_placed
    assert isinstance(check_sentence(sentence, NOTHING), SafeText) == is_placed


@pytest.mark.parametrize(
    "sentence",
    [
        "You ha\u200bve lupus.",
        "Y\u043eu have lupus.",
        "**You** have lupus.",
        "You _have_ lupus.",
        "<b>You have</b> lupus.",
        "“You have” lupus.",
        "YOU\u00a0HAVE LUPUS!!!",
        "You\nhave lupus.",
        "1. **Take** two tablets.",
        "You have " * 5_000,
    ],
)
def test_a_phrase_does_not_hide_behind_marks(sentence: str) -> None:
    assert isinstance(check_sentence(sentence, NOTHING), BlockedText)


def test_marks_hide_no_attribution() -> None:
    sentence = "**Dr Chen** noted that you have lupus."
    assert check_sentence(sentence, NOTHING) == SafeText(sentence)


def test_attribution_excuses_no_advice_and_no_alarm() -> None:
    assert not isinstance(check_sentence("Your documents show that you should stop aspirin.", NOTHING), SafeText)
    assert not isinstance(check_sentence("Dr Chen noted that this is deadly.", NOTHING), SafeText)


def test_the_calm_words_exist_in_every_language_and_pass_the_filter() -> None:
    kinds = (
        "boundary",
        "alarming",
        "prescriptive",
        "diagnostic",
        "unattributed",
        "empty",
        "nothing",
        "reference",
        "papers",
    )
    assert {(why, language) for why, language, _ in rows("templates.tsv")} == {
        (why, language) for why in kinds for language in ("en", "fr", "de")
    }
    said = [text[start:end] for _, _, text in rows("templates.tsv") for start, end in sentences(text)]
    assert [one for one in said if check_sentence(one, NOTHING) != SafeText(one)] == []


def test_confidence_is_the_product_of_its_three_factors_and_nothing_without_evidence() -> None:
    assert confidence(verified=2, claims=2, relevances=[0.9], agreement=1.0) == 0.9
    assert confidence(verified=1, claims=2, relevances=[0.8, 0.4], agreement=0.5) == 0.15
    assert confidence(verified=2, claims=2, relevances=[], agreement=1.0) == 0.0
    assert confidence(verified=0, claims=0, relevances=[0.9], agreement=1.0) == 0.0
    assert confidence(verified=3, claims=2, relevances=[math.nan, 2.0], agreement=9.0) == 0.5
    assert agreement(["5 mg", "5  MG"]) == 1.0
    assert [band(one) for one in (1.0, 0.8, 0.799, 0.5, 0.499, 0.0)] == [
        "well supported",
        "well supported",
        "partly supported",
        "partly supported",
        "limited",
        "limited",
    ]
