"""Sentences that repeat their source but for a word or two, as a model that gets something wrong writes them."""

from __future__ import annotations

import pytest

from citewell.answer.verify import verify
from citewell.answer.verify.rewritten import are_opposed
from citewell.clinical import Lexicon
from citewell.types import Span, Verdict

SOURCE = (
    "Adults on capsules had a 12% lower rate of falls and a 20% reduction in the risk of fracture. "
    "The cream is at least four times more potent than the lotion, and twice more potent than the gel. "
    "A person may have a much lower pressure on standing and be at an increased risk of falling. "
    "High-dose capsules were an option in people with high levels of the mineral. "
    "In the intervention group, the form was returned by 81 women. "
    "Its peak effect may be delayed by three days. "
    "Change was reckoned from baseline to end point. "
    "The left form is broken down by the liver while the right form is broken down by the kidney. "
    "Interference between the two is of minimal importance in the first week. "
    "Night waking is associated with morning headache. "
    "Walkers had fewer headaches than those who did not. "
    "Colds were as common in those who swam as in those who did, and in those who did not."
)

FALSE = (
    "Adults on capsules had a 12% higher rate of falls and a 20% reduction in the risk of fracture.",
    "Adults on capsules had a 12% increased rate of falls and a 20% increase in the risk of fracture.",
    "The cream is at least four times less potent than the lotion, and twice less potent than the gel.",
    "A person may have a much higher pressure on standing and be at a decreased risk of falling.",
    "Low-dose capsules were an option in people with high levels of the mineral.",
    "In the control group, the form was returned by 81 women.",
    "Its peak effect may be accelerated by three days.",
    "Change was reckoned from end point to baseline.",
    "Walkers had fewer headaches than those who did.",
    "Walkers had more headaches than those who did not.",
    "The left form is broken down by the kidney while the right form is broken down by the liver.",
)

TRUE = (
    "Adults on capsules had a 12% reduced rate of falls and a 20% decrease in the risk of fracture.",
    "A person can have a much lower pressure on standing and be at a higher risk of falling.",
    "In the intervention group, 81 women returned the form.",
    "Morning headache is associated with night waking.",
    "Its peak effect may be late by three days.",
    "Walkers had fewer headaches.",
    "Headaches were fewer in walkers.",
    "Colds were as common in those who swam as in those who did not, and in those who did.",
)


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon.load()


@pytest.mark.parametrize("sentence", FALSE)
def test_the_opposite_word_in_the_same_place_is_a_contradiction(sentence: str, lexicon: Lexicon) -> None:
    check = verify(sentence, [Span("a:0", 0, len(SOURCE), SOURCE)], lexicon=lexicon, similarity=None)
    assert check.verdict is Verdict.CONTRADICTED, check


@pytest.mark.parametrize("sentence", TRUE)
def test_another_word_of_the_same_meaning_is_none(sentence: str, lexicon: Lexicon) -> None:
    check = verify(sentence, [Span("a:0", 0, len(SOURCE), SOURCE)], lexicon=lexicon, similarity=None)
    assert check.verdict is Verdict.SUPPORTED, check


def test_small_words_that_change_places_are_nothing(lexicon: Lexicon) -> None:
    source = "The form was sent to the ward on Monday by the clerk at noon for a review of the drugs."
    said = "The form was sent on the ward to Monday by the clerk for noon at a review of the drugs."
    check = verify(said, [Span("a:0", 0, len(source), source)], lexicon=lexicon, similarity=None)
    assert check.verdict is Verdict.SUPPORTED


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("dose", "verdict"), [("50 mg", Verdict.CONTRADICTED), ("5 mg", Verdict.SUPPORTED)])
def test_long_sentences_of_the_same_words_are_read_to_their_end(lexicon: Lexicon, dose: str, verdict: Verdict) -> None:
    one, other = "in the ward by day and night " * 45, "by night and day in the ward " * 45
    source = f"{other}the dose is 5 mg."
    check = verify(f"{one}the dose is {dose}.", [Span("a:0", 0, len(source), source)], lexicon=lexicon, similarity=None)
    assert check.verdict is verdict


@pytest.mark.timeout(20)
def test_words_that_oppose_each_other_a_hundred_times_end_in_a_verdict(lexicon: Lexicon) -> None:
    source = f"{'less not more dose ' * 70}give 5 mg."
    sentence = f"{'not more less ' * 95}give 50 mg."
    check = verify(sentence, [Span("a:0", 0, len(source), source)], lexicon=lexicon, similarity=None)
    assert check.verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("one", "other", "is_so"),
    [
        ("typical", "atypical", True),
        ("prenatal", "postnatal", True),
        ("hyperacute", "hypoacute", True),
        ("direct", "directed", False),
        ("lower", "reduced", False),
        ("take", "intake", False),
        ("round", "around", False),
        ("control", "treat", False),
        ("treated", "untreated", True),
        ("pain", "nausea", False),
    ],
)
def test_words_are_opposed_by_the_table_or_by_their_first_letters(one: str, other: str, is_so: bool) -> None:
    assert are_opposed(one, other) is are_opposed(other, one) is is_so
