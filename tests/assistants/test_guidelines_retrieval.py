"""Rules are found by meaning, ordered with what canonical metadata adds, and gated without it."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.assistants.guidelines.browse import BrowseFilter, browse, choices
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import Complaint, PatientInput
from citewell.assistants.guidelines.retrieve import AMOUNTS, RetrievedEntry, query_for, retrieve_for
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


@pytest.mark.parametrize(
    ("name", "other", "plain", "fitting"),
    [
        ("at or above minimum age", "Refer people aged 60 and over with spots.", {}, {"age": 61}),
        ("below maximum age", "Refer people aged under 30 with spots.", {}, {"age": 29}),
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
    assert {one.piece.id: one.boost for one in after} == {"1.1.1": 0.0, "1.1.2": AMOUNTS[name]}


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
        ("1.1.1", AMOUNTS["sex does not fit"]),
    ]


def test_an_unknown_age_and_unknown_smoking_add_nothing() -> None:
    made = [book(rules("Refer people aged under 30 with spots who have ever smoked."), 0.5)]
    assert [one.boost for one in retrieve_for(PatientInput("P1"), QUESTION, made)] == [0.0]
    assert [one.boost for one in retrieve_for(PatientInput("P1", smoking="unknown"), QUESTION, made)] == [0.0]


def test_what_is_quoted_is_never_an_enriched_text(ng12: Guideline, ng12_document: Document) -> None:
    for one in pieces(ng12, ng12_document.text):
        if one.kind != "search":
            assert one.text == ng12_document.text[one.start : one.end]


def test_the_query_for_a_patient_says_how_long() -> None:
    patient = PatientInput("P1", age=55, sex="male", smoking="Ex-Smoker", complaints=(Complaint("cough", 21),))
    assert query_for(patient) == "cough for 21 days age 55 male Ex-Smoker"


def test_age_and_one_symptom_are_all_that_a_smoking_man_adds_to_a_rule_that_names_no_sex_and_no_smoking() -> None:
    rule = "Refer people aged 40 and over with unexplained haemoptysis."
    patient = PatientInput(
        "P1", age=55, sex="male", smoking="Current Smoker", complaints=(Complaint("haemoptysis", 21),)
    )
    (found,) = retrieve_for(patient, QUESTION, [book(rules(rule), 0.72)])
    assert (round(found.score, 2), round(found.boost, 2), round(found.rank, 2)) == (0.72, 0.25, 0.97)
    assert found.boost == pytest.approx(AMOUNTS["at or above minimum age"] + AMOUNTS["symptom in common"])


def test_one_store_holds_every_kind_of_piece_and_says_which_each_is(ng12: Guideline, ng12_document: Document) -> None:
    everything = browse(ng12, ng12_document.text, BrowseFilter())
    kinds = choices(ng12).kinds
    by_kind = {kind: browse(ng12, ng12_document.text, BrowseFilter(kind=kind)) for kind in kinds}
    counts = {kind: len(found) for kind, found in by_kind.items() if found}
    assert counts == {
        "rule": len(ng12.rules),
        "search": len(ng12.rules),
        "symptom": len(ng12.symptoms),
        "definition": len(ng12.definitions),
    }
    assert sum(counts.values()) == len(everything)
    assert {one.kind for one in everything} <= set(kinds)
