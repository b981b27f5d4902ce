"""A claim that names an illness, a population or a subject that its source speaks of otherwise, or only names."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from citewell import vocabulary
from citewell.answer.illnesses import are_related, illnesses
from citewell.answer.verify import verify
from citewell.clinical import Lexicon, fold
from citewell.clinical.medicines import medicines
from citewell.types import Check, Span, Verdict


def _check(sentence: str, source: str, *titles: str) -> Check:
    span = Span("d:0", 0, len(source), source, titles)
    return verify(sentence, [span], lexicon=Lexicon.load(), similarity=None)


CHRONIC = "chronic obstructive pulmonary disease"
FEVER = "Give paracetamol for fever in malaria."
SECTIONS = "Adults\n\nThe dose is 10 mg once a day.\n\nChildren\n\nThe dose is 5 mg once a day."
LISTS = "Adults:\n- 10 mg once a day\n\nChildren:\n- 5 mg once a day"
LEAFLET = "Warfarin\n\nTaking ibuprofen with warfarin\n\nSpeak to a pharmacist first."


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        (FEVER, "Give paracetamol for fever and pain in adults and children with dengue."),
        (
            "Artesunate is given in severe dengue.",
            "Artesunate is given in severe malaria. Dengue is treated with fluids.",
        ),
        ("Metformin is given in type 1 diabetes.", "Metformin is given in type 2 diabetes."),
        ("Alteplase is given in haemorrhagic stroke.", "Alteplase is given in ischaemic stroke without haemorrhage."),
        ("Prednisolone is used for psoriasis.", "Prednisolone is used for eczema."),
    ],
)
def test_another_illness_in_the_same_place_contradicts(claim: str, source: str) -> None:
    assert _check(claim, source).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("source", "titles"),
    [("Give paracetamol for fever.", ()), ("Give paracetamol for fever.", ("Dengue",)), ("Paracetamol.", ())],
)
def test_an_illness_that_neither_words_nor_titles_name_is_not_carried(source: str, titles: tuple[str, ...]) -> None:
    assert _check(FEVER, source, *titles).verdict in (Verdict.PARTLY, Verdict.NOT_FOUND)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Give oseltamivir for flu.", "Give oseltamivir in influenza."),
        ("Aspirin is given after a heart attack.", "Aspirin is given after myocardial infarction."),
        ("Reduce the dose in kidney failure.", "Reduce the dose in renal failure."),
        ("Amoxicillin is given for pneumonia.", "Amoxicillin is given for community-acquired pneumonia."),
        ("Iron is given in anaemia.", "Iron is given to anemic patients."),
        (
            "Weight raises the risk of kidney cancer.",
            "Weight raises the risk of cancers of the colon, breast and kidney.",
        ),
        ("Insulin is needed in diabetes.", "Insulin is needed in T1DM."),
        ("Give fluids in dengue.", "Dengue spreads by mosquitoes. Give fluids by mouth."),
    ],
)
def test_one_illness_under_two_names_or_a_kind_of_it_is_carried(claim: str, source: str) -> None:
    assert _check(claim, source).verdict is Verdict.SUPPORTED


def test_the_titles_above_the_words_say_of_which_illness_they_speak() -> None:
    assert _check(FEVER, "Give paracetamol for fever.", "Guideline", "Malaria").verdict is Verdict.SUPPORTED


@pytest.mark.parametrize("claim", ["Do not take ibuprofen with warfarin.", "Take ibuprofen with warfarin."])
def test_a_heading_neither_contradicts_nor_carries(claim: str) -> None:
    assert _check(claim, LEAFLET).verdict is Verdict.PARTLY


def test_a_question_carries_no_answer() -> None:
    found = _check("You can take ibuprofen with warfarin.", "Can I take ibuprofen with warfarin? Ask a pharmacist.")
    assert found.verdict is not Verdict.SUPPORTED


@pytest.mark.parametrize("source", [SECTIONS, LISTS, "Adults take 10 mg once a day.", "Adults: 10 mg; Children: 5 mg"])
def test_an_adult_dose_for_a_child_is_not_carried(source: str) -> None:
    assert _check("Children should take 10 mg once a day.", source).verdict is not Verdict.SUPPORTED
    assert _check("The dose is 10 mg for children.", source).verdict is not Verdict.SUPPORTED


def test_the_title_of_a_section_says_of_whom_it_speaks() -> None:
    claim, source = "Children should take 10 mg once a day.", "Take 10 mg once a day."
    assert _check(claim, source, "Dosage", "Adults").verdict is not Verdict.SUPPORTED
    assert _check(claim, source, "Dosage", "Children").verdict is Verdict.SUPPORTED


@pytest.mark.parametrize("source", [SECTIONS, LISTS])
def test_the_dose_under_its_own_heading_is_carried(source: str) -> None:
    assert _check("Children should take 5 mg once a day.", source).verdict is Verdict.SUPPORTED


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


def test_a_title_in_capitals_names_its_illness() -> None:
    claim, source = "In malaria, give paracetamol for fever.", "Give paracetamol for fever."
    assert _check(claim, source, "SEVERE MALARIA").verdict is Verdict.SUPPORTED
    assert _check(claim, source, "SEVERE DENGUE").verdict is not Verdict.SUPPORTED


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


IBUPROFEN = "In dengue, give ibuprofen for fever."


@pytest.mark.parametrize(
    ("claim", "source", "titles"),
    [
        (IBUPROFEN, "Give ibuprofen for fever. Do not do so in dengue.", ()),
        (IBUPROFEN, "Give ibuprofen for fever.", ("Fever in illnesses other than dengue",)),
        (IBUPROFEN, "Give ibuprofen for fever. Dengue must be ruled out first.", ()),
        (IBUPROFEN, "Give ibuprofen for fever. Rule out dengue before.", ()),
        (
            "In people with asthma, give aspirin for headache.",
            "Give aspirin for headache. It is not for people with asthma.",
            (),
        ),
    ],
)
def test_an_illness_that_the_source_excludes_is_none_that_it_speaks_of(
    claim: str, source: str, titles: tuple[str, ...]
) -> None:
    assert _check(claim, source, *titles).verdict is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "source", "titles"),
    [
        ("In dengue, give paracetamol for fever.", "Give paracetamol for fever. Dengue is common here.", ()),
        ("In dengue, give paracetamol for fever.", "Give paracetamol for fever. Dengue cannot be ruled out.", ()),
        ("In dengue, do not give ibuprofen for fever.", "Do not give ibuprofen for fever.", ("Dengue",)),
    ],
)
def test_an_illness_that_the_passage_is_about_is_one_that_it_speaks_of(
    claim: str, source: str, titles: tuple[str, ...]
) -> None:
    assert _check(claim, source, *titles).verdict is Verdict.SUPPORTED


TWICE = "Give 10 mg twice daily."


@pytest.mark.parametrize(
    ("source", "titles"),
    [
        (f"Children\n\nDosage\n\n{TWICE}", ()),
        (f"Children under 12 years\n\n{TWICE}", ()),
        (f"Toddlers\n\n{TWICE}", ()),
        (f"Adolescents\n\n{TWICE}", ()),
        (f"Boys and girls\n\n{TWICE}", ()),
        (TWICE, ("Children", "Dosage")),
    ],
)
def test_the_nearest_heading_that_names_people_says_for_whom_a_dose_is(source: str, titles: tuple[str, ...]) -> None:
    assert _check("Adults are given 10 mg twice daily.", source, *titles).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("people", "source"),
    [
        ("Infants", f"Children\n\n{TWICE}"),
        ("Elderly people", f"Adults\n\n{TWICE}"),
        ("Adults", f"People aged 16 and over\n\n{TWICE}"),
        ("Adults", f"Children\n\nGive 5 mg.\n\nAdults\n\nDosage\n\n{TWICE}"),
        ("Adults", f"Adults\n\nChildren take 5 mg.\n\n{TWICE}"),
    ],
)
def test_the_same_people_under_another_name_are_no_others(people: str, source: str) -> None:
    assert _check(f"{people} are given 10 mg twice daily.", source).verdict is Verdict.SUPPORTED


def test_every_illness_is_carried_under_each_of_its_names() -> None:
    rows = [[*row, "", ""][:3] for row in vocabulary.rows("illnesses.tsv")]
    pairs = [(name, other) for name, _, others in rows if name != "-" for other in others.split("|") if other]
    sure = [(name, other) for name, other in pairs if not other.endswith("?")]
    claim = "Tiotropium is given to people with {}."
    found = {pair: _check(claim.format(pair[0]), claim.format(pair[1])).verdict for pair in sure}
    assert len(found) > 500
    assert [pair for pair, verdict in found.items() if verdict is not Verdict.SUPPORTED] == []


def test_a_number_in_the_name_of_a_broader_illness_still_counts() -> None:
    claim = "Metformin is given in type 2 diabetes."
    assert _check(claim, "Metformin is given in T2DM.").verdict is Verdict.SUPPORTED
    assert _check(claim, "Metformin is given in diabetes.").verdict is Verdict.PARTLY
