"""How a plan's passages are found: what is asked, how the orders are joined, and what no bonus lifts over the bar.

The numbers in the names of sections are lines of the resolutions that each test holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from citewell.answer.rank import relevance
from citewell.answer.relevance_curve import built_in
from citewell.answer.retrieve import Search, SearchResult
from citewell.assistants.consult import gather as gathering
from citewell.assistants.consult.advice_sections import may_advise
from citewell.assistants.consult.extractive_plan import headings_at, told_in
from citewell.assistants.consult.gather import FETCHED, MIN_RELEVANCE, SHOWN, WANTED, describe, gather
from citewell.assistants.consult.paragraph_start import from_its_paragraph
from citewell.assistants.consult.patient_conditions import known_of, other_disease
from citewell.assistants.consult.view import source_line
from citewell.clinical import Lexicon
from citewell.types import Hit, MatchReason, Scope
from citewell.types.consult import Category, Finding, FindingSource, Patient, Polarity

SCOPE = Scope("local", frozenset({"*"}), None, None)
PREGNANT = Patient(age_years=28, sex="female", is_pregnant=True)
FEVER = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, FindingSource.RULES)


class Asked:
    """Stands for the search: it keeps what it was asked, and answers each question with the hits of the test."""

    def __init__(self, *answers: Sequence[Hit]) -> None:
        self.answers = answers
        self.calls: list[tuple[list[Any], dict[str, Any]]] = []

    def __call__(self, questions: Sequence[Any], **how: Any) -> list[SearchResult]:
        self.calls.append((list(questions), how))
        return [SearchResult(tuple(one), ()) for one in self.answers or [() for _ in questions]]


def search() -> Search:
    return Search(None, None, SimpleNamespace(fingerprint=built_in().embedder), Lexicon.load())  # type: ignore[arg-type]


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
        why=MatchReason(dense_rank=None, lexical_rank=None, matched_terms=(), best_sentence=None),
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
            Finding("f6", Category.ALLERGY, "any", Polarity.ABSENT, FindingSource.RULES),
            Finding("f7", Category.SEVERITY, "8/10", Polarity.PRESENT, FindingSource.RULES, value=8.0, about="Fever"),
            Finding("f8", Category.VITAL, "temperature", Polarity.PRESENT, FindingSource.RULES, value=39.0, unit="°C"),
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
    told = np.asarray(relevance(cosines, cosines, np.ones(41), calibration=built_in()), dtype=float)
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


def test_what_is_for_people_with_a_failure_due_to_another_disease_is_not_for_this_patient() -> None:
    known = known_of("Dengue", [FEVER])
    text = "WHO suggests a medicine for patients with liver failure due to suspected or confirmed yellow fever."
    assert other_disease(text, known) == "for people with yellow fever; the patient is not known to have it"
    assert other_disease("Give fluids to patients with shock due to suspected dengue.", known) is None


def test_stories_and_how_a_guideline_was_made_advise_nothing() -> None:
    titles = ("3 User scenarios", "Key personas", "How this digital adaptation kit was developed")
    assert [may_advise(("Blood pressure", title)) for title in titles] == [False, False, False]
    assert may_advise(("Blood pressure", "How treatment is begun"))


def test_that_something_is_for_research_alone_stands_with_what_it_is_said_of() -> None:
    text = "Give medicine to people with marsh fever only in trials. [Use only in research, low certainty] Rest helps."
    cuts = (text.index("["), text.index("Rest"))
    near = tuple((start, end, 0.0) for start, end in ((0, cuts[0] - 1), (cuts[0], cuts[1] - 1), (cuts[1], len(text))))
    whole = hit("Treatment", at=1, text=text)
    told = [one for one, *_ in told_in(replace(whole, end=len(text), why=replace(whole.why, near=near)))]
    assert told == [text[: cuts[1] - 1], "Rest helps."]


# ------------------------------------------------------------------------ a passage that was cut within a paragraph


def cut(text: str, *, at: int, start: int) -> Hit:
    return replace(hit("Dosing", at=at, text=text), start=start, end=start + len(text))


WHOLE = "Dosing\n\nAdults: Give 1 g of medicine.\n\nChildren: Take care. Give 10 mg/kg of medicine. Repeat it once."


def test_a_passage_begins_where_its_paragraph_does_where_the_one_before_it_was_found() -> None:
    second = WHOLE.index("Give 10 mg/kg")
    before, after = cut(WHOLE[: second + 20], at=1, start=100), cut(WHOLE[second:], at=2, start=100 + second)
    told, is_whole = from_its_paragraph(after, before)
    assert (told.text, is_whole) == (WHOLE[WHOLE.index("Children") :], True)
    assert told.start == 100 + WHOLE.index("Children")
    assert headings_at(told, told.end - 5)[-1] == "Children"
    assert from_its_paragraph(after, None) == (after, False)
    assert from_its_paragraph(before, None) == (before, True), "it begins with its heading"
    third = cut(WHOLE[WHOLE.index("Children") :], at=2, start=100 + WHOLE.index("Children"))
    assert from_its_paragraph(third, cut(WHOLE[: WHOLE.index("Children")], at=1, start=100)) == (third, True)


def test_a_passage_of_which_the_one_before_was_not_found_is_not_known_to_be_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lonely = hit("Dosing", at=7, text="Give 10 mg/kg of medicine to people with marsh fever.")
    asking(monkeypatch, [lonely], [lonely], [lonely])
    found, _ = gather(["Marsh fever"], [FEVER], PREGNANT, scope=SCOPE, search=search())
    assert [one.is_whole for one in found[0].passages] == [False]
