"""The illnesses that a text names, under each of their names."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from citewell import vocabulary
from citewell.answer.illnesses import are_related, illnesses
from citewell.answer.verify import verify
from citewell.clinical import Lexicon, fold
from citewell.clinical.medicines import medicines
from citewell.types import EvidenceSpan, SentenceCheck, Verdict


def _by_words(sentence: str, source: str) -> SentenceCheck:
    span = EvidenceSpan("d:0", 0, len(source), source)
    return verify(sentence, [span], lexicon=Lexicon.load(), similarity=None)


CHRONIC = "chronic obstructive pulmonary disease"


def test_every_broader_name_has_a_row_and_no_name_stands_in_two() -> None:
    rows = [[*row, "", ""][:3] for row in vocabulary.rows("illnesses.tsv")]
    names = {name for name, _, _ in rows}
    assert len(rows) > 200
    assert {one for _, broader, _ in rows for one in broader.split("|") if one} <= names
    assert [name for name in names - {"-"} if [one.name for one in illnesses(name)] != [name]] == []
    written = [*names - {"-"}, *(one for _, _, others in rows for one in others.split("|") if one)]
    folded = Counter(
        tuple(word if word[:2].isupper() else fold(word) for word in re.findall(r"[^\W_]+", one)) for one in written
    )
    assert [name for name, count in folded.items() if count > 1] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SEVERE MALARIA", ["malaria"]),
        ("HEART FAILURE AND TYPE 2 DIABETES", ["heart failure", "type 2 diabetes"]),
        ("MIs, UTIs and COPD", ["myocardial infarction", "urinary tract infection", CHRONIC]),
        ("The FLU arm took fluconazole", []),
        ("AIDS, and aids for hearing", ["HIV"]),
    ],
)
def test_capitals_are_read_as_written_only_where_they_abbreviate(text: str, names: list[str]) -> None:
    assert [one.name for one in illnesses(text)] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("In hepatitis, a biopsy is done", ["hepatitis"]),
        ("After a stroke, volume replacement is given", ["stroke"]),
        ("It follows yellow. Fever is rare", []),
        ("Hepatitis-A and SARS-CoV-2", ["hepatitis A", "COVID-19"]),
    ],
)
def test_no_name_of_an_illness_runs_across_punctuation(text: str, names: list[str]) -> None:
    assert [one.name for one in illnesses(text)] == names


def test_no_name_of_a_medicine_runs_across_punctuation() -> None:
    assert [one.name for one in medicines("insulin, glargine")] == ["insulin", "insulin glargine"]
    assert [one.name for one in medicines("amoxicillin/clavulanate or insulin glargine")] == [
        "co-amoxiclav",
        "insulin glargine",
    ]


def test_kinds_of_one_illness_are_not_each_other() -> None:
    assert are_related("cancer", "breast cancer")
    assert not are_related("breast cancer", "lung cancer")
    assert not are_related("dengue", "malaria")


def test_every_illness_is_carried_under_each_of_its_names() -> None:
    rows = [[*row, "", ""][:3] for row in vocabulary.rows("illnesses.tsv")]
    pairs = [(name, other) for name, _, others in rows if name != "-" for other in others.split("|") if other]
    sure = [(name, other) for name, other in pairs if not other.endswith("?")]
    claim = "Tiotropium is given to people with {}."
    found = {pair: _by_words(claim.format(pair[0]), claim.format(pair[1])).verdict for pair in sure}
    assert len(found) > 500
    assert [pair for pair, verdict in found.items() if verdict is not Verdict.SUPPORTED] == []
