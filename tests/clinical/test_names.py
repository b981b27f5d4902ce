"""Names of clinical things are found as clinicians, notes and patients write them, at exact places."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.clinical import broader, concept_ids, mentions
from citewell.clinical.spelling_correction import corrected, corrections
from citewell.clinical.tables import rows


def names(text: str) -> list[str]:
    return [found.name for found in mentions(text)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("wt loss", "weight loss"), ("PR bleed", "rectal bleeding"), ("pmb", "post-menopausal bleeding"),
        ("SOBOE", "dyspnoea"), ("abdo pain", "abdominal pain"), ("N+V", "nausea and vomiting"),
        ("cibh", "change in bowel habit"), ("LIF pain", "lower abdominal pain"), ("palps", "palpitation"),
        ("peeing blood", "visible haematuria"), ("water infection", "urinary tract infection"),
        ("bunged up", "constipation"), ("food keeps sticking", "dysphagia"), ("bruises easily", "bruising"),
        ("lost a stone", "weight loss"), ("jaundiced", "jaundice"), ("haematuria visible", "visible haematuria"),
        ("can't swallow", "dysphagia"), ("cant swallow", "dysphagia"), ("esophageal cancer", "oesophageal cancer"),
        ("lump on the side of my neck", "neck lump"), ("R testicle bigger than it was", "enlarged testis"),
        ("swelling of my left leg", "one-sided leg swelling"), ("palpable epigastric mass", "upper abdominal mass"),
    ],
)  # fmt: skip
def test_shorthand_lay_words_and_words_apart_name_the_finding(text: str, name: str) -> None:
    assert names(text) == [name]


def test_a_list_of_places_shares_what_is_felt_there_and_two_names_do_not() -> None:
    assert names("rash on both arms and legs") == ["arm rash", "leg rash"]
    assert names("Stiff neck and a tummy ache") == ["neck stiffness", "abdominal pain"]
    assert names("chest clear and pain in the leg") == ["Lower limb pain"]


@pytest.mark.parametrize(
    "text", ["discharge letter", "fit and well", "trying to lose weight", "the PE teacher", "severe"]
)
def test_what_only_looks_like_a_name_is_none(text: str) -> None:
    assert names(text) == []


def test_what_is_narrower_is_also_what_is_broader() -> None:
    assert broader(concept_ids("epigastric mass")) >= concept_ids("abdominal mass")
    assert broader(concept_ids("lump on thigh")) >= concept_ids("lump")
    assert not broader(concept_ids("breast lump")) & concept_ids("lump")


def test_every_finding_of_the_tables_is_a_name_or_a_part_of_the_body() -> None:
    for table in ("compositions.tsv", "broader.tsv"):
        cells = {cell for row in rows(table) for cell in (row[:1] if table == "compositions.tsv" else row)}
        assert [cell for cell in sorted(cells) if not concept_ids(cell)] == []


def test_a_misspelt_word_is_read_as_the_one_it_can_be_and_told() -> None:
    text = "brusing and haematura"
    assert [(text[one.start : one.end], one.name, one.corrected) for one in mentions(text)] == [
        ("brusing", "bruising", "bruising"),
        ("haematura", "haematuria", "haematuria"),
    ]
    assert corrections("a tetnus jab") == {"tetnus": "tetanus"}


@pytest.mark.parametrize(
    "word", ["stable", "stents", "colour", "Smith", "prednisolone", "prednisone", "brodalumab", "plan", "XQZVW"]
)
def test_words_and_medicines_that_exist_are_left_alone(word: str) -> None:
    assert corrected(word) is None


@pytest.mark.parametrize(
    "text",
    ["no " * 33_000, "(" * 100_000, "pain in the chest, " * 5_000, "lump neck and " * 7_000, "pain and " * 11_000],
)
@pytest.mark.slow
def test_a_very_long_text_takes_time_in_proportion(text: str) -> None:
    started = time.process_time()
    mentions(text)
    assert time.process_time() - started < 20


@given(st.text(max_size=200))
def test_mentions_lie_inside_any_text_in_order(text: str) -> None:
    found = mentions(text)
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert [one.start for one in found] == sorted(one.start for one in found)
    assert all(one.start <= low < high <= one.end for one in found for low, high in one.places)


def test_an_abbreviation_is_not_read_beside_words_that_mean_something_else() -> None:
    assert [one.name for one in mentions("sats 91% RA")] == []
    assert [one.name for one in mentions("RA on methotrexate")] == ["rheumatoid arthritis", "methotrexate"]
