"""What a record says reaches the concept that it means, and nothing that only looks like it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from citewell.assistants.guidelines.concept_match import holds, units
from citewell.assistants.guidelines.record_clauses import duration_days, said

FOLDER = Path(__file__).parent / "golden"


def _rows(name: str) -> list[list[str]]:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def reaches(concept: str, words: str) -> bool:
    return any(holds(units(concept), clause.names) for clause in said(words))


LAY, LOOK_ALIKES = _rows("lay.tsv"), _rows("look-alikes.tsv")


@pytest.mark.parametrize(("concept", "words"), LAY)
def test_lay_words_reach_the_concept(concept: str, words: str) -> None:
    assert reaches(concept, words)


@pytest.mark.parametrize(("concept", "words"), LOOK_ALIKES)
def test_look_alikes_do_not(concept: str, words: str) -> None:
    assert not reaches(concept, words)


def test_there_are_enough_of_both() -> None:
    assert len(LAY) >= 40
    assert len(LOOK_ALIKES) >= 40


def test_a_name_that_denies_is_no_denial_of_its_neighbour() -> None:
    assert reaches("appetite loss", "no appetite")
    assert reaches("cough", "no appetite, cough")
    assert not reaches("cough", "no appetite, no cough")


def test_qualities_are_stated_or_denied() -> None:
    (clause,) = said("persistent cough")
    assert clause.stated == {"persistent"}
    (clause,) = said("cough that is not persistent")
    assert (clause.stated, clause.refuted) == (frozenset(), {"persistent"})


@pytest.mark.parametrize(
    ("words", "days"), [("cough for 3 weeks", 21), ("pain over the last two months", 60), ("aged 3", None)]
)
def test_how_long_it_lasted_is_read_from_the_words(words: str, days: int | None) -> None:
    assert duration_days(words) == days


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("Cough for 3 weeks, wife noticed weight loss. Father had jaundice", ["cough", "weight loss"]),
        ("Haemoptysis; mother had a breast lump, jaundice", ["haemoptysis"]),
        ("breast lump found by her husband", ["breast lump"]),
        ("jaundice and weight loss in her father", []),
        ("family history of weight loss but rectal bleeding", ["rectal bleeding"]),
    ],
)
def test_what_a_relative_has_is_left_out_and_what_a_relative_tells_is_not(words: str, told: list[str]) -> None:
    asked = ("cough", "weight loss", "jaundice", "haemoptysis", "breast lump", "rectal bleeding")
    assert [one for one in asked if reaches(one, words)] == told


def test_many_parts_of_findings_cost_no_more_than_their_number() -> None:
    def calls(count: int) -> int:
        seen = 0

        def note(_frame: object, event: str, _argument: object) -> None:
            nonlocal seen
            seen += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            said("lump neck breast lost weight stone kg pain chest " * count)
        finally:
            sys.setprofile(None)
        return seen

    calls(1)
    assert calls(40) < 3 * calls(20)


@pytest.mark.parametrize(
    ("concept", "words"),
    [
        ("post-menopausal bleeding", "PMB x1"),
        ("change in bowel habit", "CIBH 6/52"),
        ("shortness of breath", "sob on stairs"),
        ("abdominal pain", "abdo pain"),
        ("rectal bleeding", "PR bleed"),
        ("weight loss", "wt loss 5kg"),
        ("fatigue", "TATT"),
    ],
)
def test_the_shorthand_of_clinicians_reaches_the_concept_and_its_denial_does_not(concept: str, words: str) -> None:
    assert reaches(concept, words)
    for denied in (f"nil {words}", f"no {words}", f"denies {words}"):
        assert not reaches(concept, denied)
    assert reaches(concept, f"nil rash, {words}")


@pytest.mark.parametrize(("words", "days"), [("cough 3/52", 21), ("hoarse 4/7", 4), ("BP 140/90, 2/12/2024", None)])
def test_short_forms_of_weeks_are_read(words: str, days: int | None) -> None:
    assert duration_days(words) == days
