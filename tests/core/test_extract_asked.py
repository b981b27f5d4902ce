"""What a clinician asks in other words than the documents: classes and their members, limits, first lines, tales."""

from __future__ import annotations

import pytest

from citewell.answer.amounts import admits, amounts
from citewell.answer.calibration import built_in
from citewell.answer.cues import CUES
from citewell.answer.expand import expand
from citewell.answer.lift import lift
from citewell.answer.of_medicines import names_any
from citewell.answer.retrieve import weighted_terms
from citewell.answer.wanted import wanted
from citewell.answer.weights import Measure
from citewell.clinical import Lexicon
from citewell.clinical.medicines import medicines, members
from citewell.clinical.questions import question_cues
from citewell.clinical.tables import rows
from citewell.words import terms
from tests.core.test_extract import answer, passage

# ------------------------------------------------------------------------------------------------- kinds of medicines

FEVER = "For river fever, offer paracetamol. For river fever, rest at home. River fever lasts ten days."


def test_who_asks_for_a_kind_of_medicine_is_answered_by_a_member_of_it() -> None:
    assert answer("Which painkillers can I give in river fever?", passage(FEVER)) == [
        "For river fever, offer paracetamol."
    ]


def test_a_member_says_the_class_in_a_passage_too() -> None:
    hits = [passage(text, number=at).hit for at, text in enumerate(("Rest in river fever.", FEVER), 1)]
    question = "Which painkiller in river fever?"
    plain, naming = lift(
        hits, question, expand(question, lexicon=Lexicon.load(), to_answer=True), calibration=built_in()
    )
    assert naming.rank_score > plain.rank_score
    assert naming.relevance > plain.relevance


def test_members_of_a_class_weigh_no_more_together_than_one_added_word() -> None:
    question = "Which antibiotic in river fever?"
    weights = weighted_terms(question, expand(question, lexicon=Lexicon.load(), to_answer=True))
    named = [term for one in members("antibiotic") for term in terms(one)]
    assert sum(weights[term] for term in named) == pytest.approx(0.25)


def test_a_class_that_a_person_takes_is_not_asked_for() -> None:
    reasons = {
        question: {one.reason for one in expand(question, lexicon=Lexicon.load(), to_answer=True)}
        for question in ("Do I have to stop my blood thinner before an operation?", "Which blood thinner is best?")
    }
    assert ["member" in found for found in reasons.values()] == [False, True]


def test_every_kind_and_member_is_a_name_of_the_table_of_medicines() -> None:
    names = [name for kind, others in rows("medicine_kinds.tsv") for name in (kind, *others.split("|"))]
    assert [[one.name for one in medicines(name)] for name in names] == [[name] for name in names]


def test_which_medicine_is_answered_by_a_name_and_not_by_a_kind() -> None:
    text = (
        "For high tide fever in adults, consider antihypertensive drug treatment and rest.\n\n"
        "For high tide fever in adults, offer a beta-blocker."
    )
    best = answer("Which drug for high tide fever in adults?", passage(text), measure=Measure(max_statements=1))
    assert best == ["For high tide fever in adults, offer a beta-blocker."]
    assert [names_any(one) for one in text.split("\n\n")] == [False, True]


def test_a_medicine_that_is_said_in_other_words_is_named() -> None:
    text = (
        "For women with thalassaemia, advise against routine infection prophylaxis. "
        "Advise women with an infection to take antibiotics early."
    )
    question = "Should women with thalassaemia take antibiotics to prevent infection?"
    assert answer(question, passage(text), measure=Measure(max_statements=1)) == [
        "For women with thalassaemia, advise against routine infection prophylaxis."
    ]


# ------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("question", "text", "is_admitted"),
    [
        ("a marker of 50", "If the marker is 35 IU/ml or greater, scan.", True),
        ("a marker of 20", "If the marker is 35 IU/ml or greater, scan.", False),
        ("a reading of 190/125", "a pressure of 180/120 mmHg and higher", True),
        ("a reading of 150/95", "between 140/90 mmHg and 180/120 mmHg", True),
        ("a reading of 190/125", "between 140/90 mmHg and 180/120 mmHg", False),
        ("a reading of 150/95", "a fall of 20 mmHg or more", False),
        ("a man of 62", "Age: 60 to 69; Limit: 4", True),
    ],
)
def test_a_limit_admits_what_lies_on_its_side(question: str, text: str, is_admitted: bool) -> None:
    (amount,) = amounts(question)
    assert admits(text, amount) is is_admitted


def test_a_blood_pressure_is_no_word_to_look_for() -> None:
    assert weighted_terms("Is 190/125 an emergency today?", ()) == {"emergenc": 1.0}


# -------------------------------------------------------------------------------------------------- kinds of questions


def test_what_is_said_of_the_other_kind_is_no_answer() -> None:
    text = "In non-severe river fever, give steroids. In severe river fever, give no steroids."
    assert answer("Do steroids help in severe river fever?", passage(text)) == [
        "In severe river fever, give no steroids."
    ]
    assert answer("Do steroids help in non-severe river fever?", passage(text)) == [
        "In non-severe river fever, give steroids."
    ]


STEPS = (
    ("Step 1 treatment", "1.4.1 Offer a beta-blocker to adults starting step 1 treatment."),
    ("Step 2 treatment", "1.5.1 Offer a statin to adults starting step 2 treatment for tide fever first."),
)


def test_the_first_line_is_step_one_of_a_document_that_goes_by_steps() -> None:
    evidence = [
        passage(text, number=at, section=("Tide fever", title), document="Tide fever")
        for at, (title, text) in enumerate(STEPS, 1)
    ]
    assert answer("Which drug first for tide fever?", *evidence) == [STEPS[0][1]]
    assert answer("What is the first-line treatment of tide fever?", *evidence) == [STEPS[0][1]]
    first, second = lift([one.hit for one in evidence], "Which drug first for tide fever?", (), calibration=built_in())
    assert first.rank_score > 2 * second.rank_score


def test_a_person_s_tale_is_not_looked_for_in_a_question_but_is_in_a_claim() -> None:
    assert weighted_terms("Should she still have iron today?", ()) == {"iron": 1.0}
    assert "still" in weighted_terms("Iron still works today.", ())


def test_how_something_is_diagnosed_is_told_by_what_is_measured() -> None:
    sounds = question_cues("How is river fever diagnosed?")
    (cue,) = [one for one in CUES if one.name in sounds]
    told = ("Measure the temperature twice.", "Refer if measurements do not confirm it.", "A fall of 20 mmHg or more.")
    assert (cue.name, [bool(cue.answers.search(text)) for text in told]) == ("diagnosis", [True, False, True])


def test_short_recommendations_under_a_heading_that_is_asked_for_are_shown_together() -> None:
    text = (
        "1.1.5 Measure the pulse with the person lying down.\n\n"
        "1.1.6 If the pulse rises by 30 or more, review drugs.\n\n"
        "1.1.8 Consider referral if tide fever is not confirmed."
    )
    shown = answer("How is tide fever diagnosed?", passage(text, section=("Guide", "Tide fever")))
    assert shown == text.split("\n\n")


def test_what_was_found_counts_for_nothing_where_it_is_asked_what_to_do() -> None:
    text = "Reversal of tide fever is brought about by iron. Resuming salt reduces the reversal of tide fever."
    best = answer("How should I bring about reversal of tide fever?", passage(text), measure=Measure(max_statements=1))
    assert best == ["Reversal of tide fever is brought about by iron."]


def test_that_something_is_allowed_or_all_right_is_not_what_is_asked_for() -> None:
    text = "Do not combine a statin with a beta-blocker in tide fever."
    for question in ("Is it all right to combine a statin and a beta-blocker?", "Is a statin allowed in tide fever?"):
        asked = wanted(question)
        assert (asked.asks_advice, frozenset(asked.words) & frozenset(terms("all right allowed"))) == (
            True,
            frozenset(),
        )
        assert answer(question, passage(text)) == [text]
