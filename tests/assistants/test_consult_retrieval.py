"""How a plan's passages are found: what is asked, how the orders are joined, and what no bonus lifts over the bar.

The numbers in the names of sections are lines of the resolutions that each test holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from citewell.answer.fuse import relevance
from citewell.answer.retrieve import Found, Search
from citewell.assistants.consult import gather as gathering
from citewell.assistants.consult.gather import FETCHED, MIN_RELEVANCE, SHOWN, WANTED, describe, gather
from citewell.assistants.consult.view import source_line
from citewell.clinical import Lexicon
from citewell.types import Hit, Scope, Why
from citewell.types.consult import By, Category, Finding, Patient, Polarity

LEXICON = Lexicon.load()
SCOPE = Scope("local", frozenset({"*"}), None, None)
PREGNANT = Patient(age_years=28, sex="female", is_pregnant=True)
FEVER = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, By.RULES)


class Asked:
    """Stands for the search: it keeps what it was asked, and answers each question with the hits of the test."""

    def __init__(self, *answers: Sequence[Hit]) -> None:
        self.answers = answers
        self.calls: list[tuple[list[Any], dict[str, Any]]] = []

    def __call__(self, questions: Sequence[Any], **how: Any) -> list[Found]:
        self.calls.append((list(questions), how))
        return [Found(tuple(one), ()) for one in self.answers or [() for _ in questions]]


def search() -> Search:
    return Search(None, None, None, LEXICON)  # type: ignore[arg-type]


def asking(monkeypatch: pytest.MonkeyPatch, *answers: Sequence[Hit]) -> Asked:
    asked = Asked(*answers)
    monkeypatch.setattr(gathering, "retrieve_all", asked)
    return asked


def hit(section: str, *, at: int, relevance: float = 0.9, text: str = "") -> Hit:
    return Hit(
        document_id="d1",
        document="Marsh fever",
        version=1,
        chunk_index=at,
        start=0,
        end=1,
        text=text or f"Give medicine number {at} to people with marsh fever, as section {section} says.",
        page=None,
        section=("Marsh fever", section),
        tags=("public",),
        raw_cosine=0.5,
        rank_score=relevance,
        relevance=relevance,
        why=Why(dense_rank=None, lexical_rank=None, matched_terms=(), best_sentence=None),
    )


def sections(
    answers: tuple[Sequence[Hit], ...], monkeypatch: pytest.MonkeyPatch, patient: Patient = PREGNANT
) -> list[str]:
    asking(monkeypatch, *answers)
    found, _ = gather(["Marsh fever"], [FEVER], patient, scope=SCOPE, search=search())
    return [one.hit.section[-1] for one in found[0].passages]


# ------------------------------------------------------------------------------------- 4.1, 4.3, 4.6, 4.9, 4.24: asking


def test_every_diagnosis_is_asked_for_alone_and_with_the_patient_all_at_once_fifty_passages_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = asking(monkeypatch)
    gather(["Malaria", "Dengue", "Typhoid"], [FEVER], PREGNANT, scope=SCOPE, search=search())
    told = "pregnant woman aged 28 with fever"
    ((questions, how),) = asked.calls
    assert questions == [
        "Malaria", ("Malaria", told, WANTED), "Dengue", ("Dengue", told, WANTED), "Typhoid", ("Typhoid", told, WANTED),
        told,
    ]  # fmt: skip
    assert (how["limit"], FETCHED) == (50, 50)
    assert how["scope"].subject is None


# ------------------------------------------------------------------------------------------- 4.5: what a query may hold


def test_only_what_is_present_searches_and_each_finding_by_its_name() -> None:
    told = describe(
        [
            replace(FEVER, duration_days=3.0, onset="3 days ago"),
            replace(FEVER, name="Cough", polarity=Polarity.ABSENT),
            replace(FEVER, name="Stroke", category=Category.MEDICAL_HISTORY, polarity=Polarity.FAMILY),
            replace(FEVER, name="Pneumonia", category=Category.MEDICAL_HISTORY, polarity=Polarity.PAST),
            replace(FEVER, name="Cancer", polarity=Polarity.HYPOTHETICAL),
            Finding("f6", Category.ALLERGY, "any", Polarity.ABSENT, By.RULES),
            Finding("f7", Category.SEVERITY, "8/10", Polarity.PRESENT, By.RULES, value=8.0, about="Fever"),
            Finding("f8", Category.VITAL, "temperature", Polarity.PRESENT, By.RULES, value=39.0, unit="°C"),
        ],
        PREGNANT,
    )
    assert told == "pregnant woman aged 28 with fever"


# ------------------------------------------------------------------------------------------------- 4.2: joining by rank


def test_orders_are_joined_by_rank_so_that_a_high_score_for_the_name_alone_decides_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    general = [hit(f"General part {at}", at=at, relevance=0.99) for at in range(6)]
    own = hit("In pregnancy", at=9, relevance=0.55)
    by_name = [*general, own]
    by_patient = [own, *(replace(one, relevance=0.5, rank_score=0.5) for one in general)]
    found = sections((by_name, by_patient, by_patient), monkeypatch)
    assert found[0] == "In pregnancy"
    assert len(found) == SHOWN


def test_what_is_first_for_the_patient_is_found_though_it_is_the_last_of_fifty_for_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = [hit(f"General part {at}", at=at) for at in range(FETCHED - 1)]
    own = hit("In pregnancy", at=99, relevance=0.3)
    assert "In pregnancy" in sections(([*others, own], [own, *others], [own]), monkeypatch)


def test_what_is_for_other_people_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    children = hit("In children", at=1)
    asking(monkeypatch, [children], [children], [children])
    found, _ = gather(["Marsh fever"], [FEVER], PREGNANT, scope=SCOPE, search=search())
    assert found[0].passages == ()
    assert [one.reason for one in found[0].left_out] == ["for children; the patient is 28"]


# ----------------------------------------------------------------------------- 4.4, 4.7: a bar that no bonus lifts over


@pytest.mark.parametrize(("relevant", "is_found"), [(MIN_RELEVANCE - 0.001, False), (MIN_RELEVANCE, True)])
def test_the_bar_is_on_what_the_name_alone_reaches_before_anything_is_added(
    monkeypatch: pytest.MonkeyPatch, relevant: float, is_found: bool
) -> None:
    text = "WHO recommends giving medicine to pregnant women with marsh fever. [Strong recommendation]"
    weak = hit("Recommendations in pregnancy", at=1, relevance=relevant, text=text)
    sure = replace(weak, relevance=0.99, rank_score=0.99)
    assert (sections(([weak], [sure], [sure]), monkeypatch) != []) is is_found


# -------------------------------------------------------------------------------------------- 4.8: what relevance means


def test_relevance_lies_between_none_and_all_whatever_the_cosine() -> None:
    cosines = np.linspace(-1.0, 1.0, 41)
    told = np.asarray(relevance(cosines, cosines, np.ones(41)), dtype=float)
    assert told.min() >= 0.0
    assert told.max() <= 1.0
    assert (np.diff(told) >= 0).all(), "nearer is never less relevant"
    assert told[0] < MIN_RELEVANCE < told[-1]


# ----------------------------------------------------------------------------------------------- 4.23: readable sources


def test_a_source_is_told_so_that_a_person_can_look_it_up() -> None:
    place = {
        "document": "WHO guidelines on marsh fever", "section": ["3 Treatment", "3.2 In pregnancy"], "page": 41,
        "published": "2025-06-04", "publisher": "World Health Organization", "country": "international",
    }  # fmt: skip
    assert source_line(place) == (
        "WHO guidelines on marsh fever, 3.2 In pregnancy, p. 41, 2025, World Health Organization, international"
    )
