"""Rules are found by meaning, ordered with what canonical metadata adds, and gated without it."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.assistants.guidelines.boosts import amount, boost_for_question
from citewell.assistants.guidelines.browse import BrowseFilter, browse, choices
from citewell.assistants.guidelines.extractive_answer import worth_quoting
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import Complaint, PatientInput
from citewell.assistants.guidelines.retrieval_gate import quality
from citewell.assistants.guidelines.retrieve import RetrievedEntry, query_for, retrieve, retrieve_for
from citewell.assistants.guidelines.search_entries import pieces
from citewell.assistants.guidelines.search_index import SearchableGuideline
from citewell.assistants.guidelines.shared_terms import SharedTerms
from citewell.types import Document
from tests.assistants.written import rules

QUESTION = np.array([1.0, 0.0], dtype=np.float32)


def book(guideline: Guideline, *cosines: float) -> SearchableGuideline:
    """A guideline whose rules have these cosines with the question."""
    found = pieces(guideline, "")
    searched = tuple(one for one in found if one.matched)
    vectors = np.array([[one, (1 - one * one) ** 0.5] for one in cosines], dtype=np.float32)
    return SearchableGuideline(
        guideline, "a document", 1, None, found, searched, vectors, SharedTerms.of(searched), (0,)
    )


def order(found: list[RetrievedEntry]) -> list[str]:
    return [one.piece.id for one in found]


def asked(question: str, *texts: str) -> list[RetrievedEntry]:
    """What a question finds among two rules of which the first is a little nearer."""
    return retrieve(question, QUESTION, [book(rules(*texts), 0.50, 0.47)])


NEAR = "Refer people for spots."


@pytest.mark.parametrize(
    ("name", "plain", "with_intent", "other"),
    [
        ("urgency", "Which ones?", "Which ones are urgent?", "Refer people urgently for spots."),
        ("age", "Which ones?", "Which age?", "Refer people aged 60 and over for spots."),
        ("duration", "Which ones?", "Which ones for 3 weeks?", "Refer people with spots that last 3 weeks."),
        ("words in common", "Which ones?", "Which ones with fever?", "Refer people for spots with fever."),
    ],
)
def test_each_boost_of_a_question_changes_the_order(name: str, plain: str, with_intent: str, other: str) -> None:
    before, after = asked(plain, NEAR, other), asked(with_intent, NEAR, other)
    assert (order(before), order(after)) == (["1.1.1", "1.1.2"], ["1.1.2", "1.1.1"])
    assert {one.piece.id: one.boost for one in before} == {"1.1.1": 0.0, "1.1.2": 0.0}
    assert {one.piece.id: one.boost for one in after} == {"1.1.1": 0.0, "1.1.2": amount("question", name)}
    assert {one.piece.id: round(one.score, 2) for one in after} == {"1.1.1": 0.50, "1.1.2": 0.47}


def test_exact_wording_brings_a_rule_before_a_row_of_the_index(ng12: Guideline, ng12_document: Document) -> None:
    found = pieces(ng12, ng12_document.text)
    row = next(one for one in found if one.kind == "symptom" and one.rules and one.rules[0].id != "1.1.4")
    rule = next(one for one in found if one.kind == "search" and one.id == "1.1.4")
    vectors = np.array([[0.50, 0.75**0.5], [0.47, (1 - 0.47**2) ** 0.5]], dtype=np.float32)
    made = SearchableGuideline(
        ng12, "a document", 1, None, found, (row, rule), vectors, SharedTerms.of((row, rule)), (0,)
    )
    before = retrieve("Part B of it", QUESTION, [made])
    after = retrieve("Part B of it, verbatim", QUESTION, [made])
    assert (order(before), order(after)) == ([row.id, "1.1.4"], ["1.1.4", row.id])


@pytest.mark.parametrize(
    ("name", "other", "plain", "fitting"),
    [
        ("age from is reached", "Refer people aged 60 and over with spots.", {}, {"age": 61}),
        ("age below is kept", "Refer people aged under 30 with spots.", {}, {"age": 29}),
        ("has smoked", "Refer people with spots who have ever smoked.", {}, {"smoking": "Ex-Smoker"}),
        ("sex fits", "Refer women with spots.", {}, {"sex": "female"}),
    ],
)
def test_each_boost_of_a_patient_changes_the_order(
    name: str, other: str, plain: dict[str, object], fitting: dict[str, object]
) -> None:
    made = [book(rules("Refer people with dots.", other), 0.50, 0.47)]
    before = retrieve_for(PatientInput("P1", **plain), QUESTION, made)  # type: ignore[arg-type]
    after = retrieve_for(PatientInput("P1", **fitting), QUESTION, made)  # type: ignore[arg-type]
    assert (order(before), order(after)) == (["1.1.1", "1.1.2"], ["1.1.2", "1.1.1"])
    assert {one.piece.id: one.boost for one in after} == {"1.1.1": 0.0, "1.1.2": amount("patient", name)}


def test_each_symptom_in_common_counts_and_a_denied_one_does_not() -> None:
    made = [book(rules("Refer people with jaundice.", "Refer people with cough and fever."), 0.60, 0.47)]

    def boosts(*texts: str) -> dict[str, float]:
        patient = PatientInput("P1", complaints=tuple(Complaint(text) for text in texts))
        return {one.piece.id: round(one.boost, 2) for one in retrieve_for(patient, QUESTION, made)}

    assert boosts("cough", "fever") == {"1.1.2": 0.20, "1.1.1": 0.0}
    assert boosts("cough", "no fever") == {"1.1.1": 0.0, "1.1.2": 0.10}


def test_a_rule_for_the_other_sex_goes_down_but_stays() -> None:
    made = [book(rules("Refer men with spots.", "Refer people with dots."), 0.60, 0.47)]
    assert order(retrieve_for(PatientInput("P1"), QUESTION, made)) == ["1.1.1", "1.1.2"]
    found = retrieve_for(PatientInput("P1", sex="female"), QUESTION, made)
    assert [(one.piece.id, one.boost) for one in found] == [
        ("1.1.2", 0.0),
        ("1.1.1", amount("patient", "sex does not fit")),
    ]


def test_an_unknown_age_and_unknown_smoking_add_nothing() -> None:
    made = [book(rules("Refer people aged under 30 with spots who have ever smoked."), 0.5)]
    assert [one.boost for one in retrieve_for(PatientInput("P1"), QUESTION, made)] == [0.0]
    assert [one.boost for one in retrieve_for(PatientInput("P1", smoking="unknown"), QUESTION, made)] == [0.0]


def test_a_rule_and_its_rows_are_one(ng12: Guideline, ng12_document: Document) -> None:
    """Rows that refer to a rule stand for it: it appears once, in its own words."""
    found = pieces(ng12, ng12_document.text)
    about = [one for one in found if one.matched and any(rule.id == "1.1.1" for rule in one.rules)]
    assert {one.kind for one in about} == {"search", "symptom"}
    vectors = np.array([[0.5 + at / 100, 0.0] for at in range(len(about))], dtype=np.float32)
    made = SearchableGuideline(
        ng12, "a document", 1, None, found, tuple(about), vectors, SharedTerms.of(tuple(about)), (0,)
    )
    best, *others = retrieve("anything", QUESTION, [made])
    assert (best.piece.kind, best.piece.id, best.piece.label) == ("rule", "1.1.1", "NG12 §1.1.1")
    assert all(one.piece.id != "1.1.1" for one in others)
    assert round(best.score, 4) == round(float(vectors[:, 0].max()), 4)
    rule = ng12.by_id["1.1.1"]
    assert best.piece.text == rule.text == ng12_document.text[best.piece.start : best.piece.end]


def test_a_number_is_looked_up_and_a_similar_one_is_not() -> None:
    made = [book(rules("Refer people with spots.", "Refer people with dots."), 0.10, 0.05)]
    named = retrieve("what does 1.1.2 say?", QUESTION, made)[0]
    assert (named.piece.id, named.is_named) == ("1.1.2", True)
    for other in ("version 1.1.2.3", "1.1.20", "11.1.2", "v1.1.2"):
        assert not any(one.is_named for one in retrieve(other, QUESTION, made))


def test_the_longest_term_is_the_one_that_is_asked_for(ng12: Guideline, ng12_document: Document) -> None:
    found = pieces(ng12, ng12_document.text)
    searched = tuple(one for one in found if one.matched)
    vectors = np.zeros((len(searched), 2), dtype=np.float32)
    made = SearchableGuideline(ng12, "a document", 1, None, found, searched, vectors, SharedTerms.of(searched), (0,))

    def named(question: str) -> list[str]:
        return [one.piece.label for one in retrieve(question, QUESTION, [made]) if one.is_named]

    assert named("What does very urgent mean?") == ["NG12 Terms, “Very urgent”"]
    assert named("What does urgent mean?") == ["NG12 Terms, “Urgent”"]
    assert named("What is safety netting?") == ["NG12 Terms, “Safety netting”"]
    assert named("what counts as persistent?") == ["NG12 Terms, “Persistent”"]
    assert named("What are the safety netting recommendations?") == []
    assert named("Who needs very urgent referral?") == []


def test_what_is_quoted_is_never_an_enriched_text(ng12: Guideline, ng12_document: Document) -> None:
    for one in pieces(ng12, ng12_document.text):
        if one.kind != "search":
            assert one.text == ng12_document.text[one.start : one.end]


def test_the_query_for_a_patient_says_how_long() -> None:
    patient = PatientInput("P1", age=55, sex="male", smoking="Ex-Smoker", complaints=(Complaint("cough", 21),))
    assert query_for(patient) == "cough for 21 days age 55 male Ex-Smoker"


def test_a_person_whom_a_question_describes_counts_like_a_patient() -> None:
    made = [
        book(rules("Refer people aged under 30 with dots.", "Refer people aged 45 and over with dots."), 0.50, 0.47)
    ]
    assert order(retrieve("Which age?", QUESTION, made)) == ["1.1.1", "1.1.2"]
    assert order(retrieve("a 60 year old", QUESTION, made)) == ["1.1.2", "1.1.1"]
    assert order(retrieve("people over 50", QUESTION, made)) == ["1.1.2", "1.1.1"]
    assert order(retrieve("under 30s", QUESTION, made)) == ["1.1.1", "1.1.2"]


def test_a_child_is_not_shown_what_is_for_adults_nor_the_other_way_round() -> None:
    made = [book(rules("Refer adults with cough.", "Refer children with cough."), 0.50, 0.49)]

    def quoted(question: str) -> list[str]:
        return order(worth_quoting(question, retrieve(question, QUESTION, made)))

    assert quoted("Who with cough is referred?") == ["1.1.1", "1.1.2"]
    assert quoted("Are children with cough referred?") == ["1.1.2"]
    assert quoted("I am 62 and have a cough") == ["1.1.1"]


def test_a_table_with_a_band_for_every_age_gets_nothing_for_an_age(ng12: Guideline) -> None:
    from citewell.assistants.guidelines.boosts import BANDS, _person_boost, described_person
    from citewell.assistants.guidelines.evaluate_finding import PatientRecord
    from citewell.assistants.guidelines.search_entries import facts

    tabled = [
        rule
        for rule in ng12.rules
        if sum(one.age_from is not None and one.age_below is not None for one in facts(rule).ages) >= BANDS
    ]
    assert tabled
    person = PatientRecord(described_person("I am 62"))
    assert {_person_boost(person, rule, ng12) for rule in tabled} == {0.0}
    assert any(_person_boost(person, rule, ng12) > 0 for rule in ng12.rules)


def test_the_gate_sees_no_boost() -> None:
    (first, second) = retrieve(
        "Which people aged 60 are urgent?",
        QUESTION,
        [book(rules("Refer people aged 60 and over urgently for spots.", NEAR), 0.20, 0.19)],
    )
    assert first.boost > 0.2
    assert first.rank > 0.4
    assert quality("Which people aged 60 are urgent?", [first, second]) == "none"


def test_age_and_one_symptom_are_all_that_a_smoking_man_adds_to_a_rule_that_names_no_sex_and_no_smoking() -> None:
    rule = "Refer people aged 40 and over with unexplained haemoptysis."
    patient = PatientInput(
        "P1", age=55, sex="male", smoking="Current Smoker", complaints=(Complaint("haemoptysis", 21),)
    )
    (found,) = retrieve_for(patient, QUESTION, [book(rules(rule), 0.72)])
    assert (round(found.score, 2), round(found.boost, 2), round(found.rank, 2)) == (0.72, 0.25, 0.97)
    assert found.boost == pytest.approx(
        amount("patient", "age from is reached") + amount("patient", "symptom in common")
    )


def test_one_store_holds_every_kind_of_piece_and_says_which_each_is(ng12: Guideline, ng12_document: Document) -> None:
    everything = browse(ng12, ng12_document.text, BrowseFilter())
    kinds = choices(ng12).kinds
    by_kind = {kind: browse(ng12, ng12_document.text, BrowseFilter(kind=kind)) for kind in kinds}
    counts = {kind: len(found) for kind, found in by_kind.items()}
    assert counts == {
        "rule": len(ng12.rules),
        "search": len(ng12.rules),
        "symptom": len(ng12.symptoms),
        "definition": len(ng12.definitions),
    }
    assert sum(counts.values()) == len(everything)
    assert {one.kind for one in everything} == set(kinds)


def test_what_is_found_says_its_kind_by_which_exact_wording_is_boosted(
    ng12: Guideline, ng12_document: Document
) -> None:
    found = pieces(ng12, ng12_document.text)
    searched = tuple(one for one in found if one.matched)
    boosts = {one.kind: boost_for_question("verbatim, please", one, ng12) for one in searched}
    assert boosts == {"search": amount("question", "exact words"), "symptom": 0.0, "definition": 0.0}
