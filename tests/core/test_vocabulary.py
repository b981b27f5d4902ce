"""The lexicon finds clinical things under all their names, at exact offsets; its tables are sound."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import vocabulary
from citewell.clinical import Lexicon, fold
from citewell.clinical.lexicon import TAGS, content
from citewell.clinical.tables import rows
from citewell.clinical.tokens import SIDES, words
from citewell.vocabulary.uk_us_spelling import other_spelling, uk_spelling, us_spelling

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon.load()


def found(lexicon: Lexicon, text: str) -> list[tuple[str, str]]:
    """What is named in a text, and the concept of Citewell's own table or of the ontology."""
    return [(text[mention.start : mention.end], mention.concept.id) for mention in lexicon.find(text)]


@pytest.mark.parametrize("name", ["haemoptysis", "Hemoptysis", "coughing up blood", "Coughing-up blood"])
def test_spellings_and_lay_words_name_one_concept(lexicon: Lexicon, name: str) -> None:
    assert found(lexicon, f"Any {name}?") == [(name, "CW:haemoptysis"), (name, "HP:0002105")]


def test_the_longest_name_wins_and_names_do_not_overlap(lexicon: Lexicon) -> None:
    text = "acute kidney injury after a heart attack"
    assert [words for words, _ in found(lexicon, text) if words != "injury"] == [
        *["acute kidney injury"] * 2,
        *["heart attack"] * 2,
    ]


def test_possessives_inside_a_name_are_passed_over(lexicon: Lexicon) -> None:
    assert ("blood in my wee", "CW:haematuria") in found(lexicon, "There is blood in my wee today")


def test_a_name_does_not_run_over_the_end_of_a_sentence(lexicon: Lexicon) -> None:
    assert found(lexicon, "He has a bad heart. Attack the cause.") == []


def test_abbreviations_are_read_as_they_are_written(lexicon: Lexicon) -> None:
    assert found(lexicon, "AST 90, ast 90") == [("AST", "CW:aspartate-aminotransferase")]
    assert found(lexicon, "copd") == [("copd", "CW:chronic-obstructive-pulmonary-disease")]


def test_an_ambiguous_abbreviation_needs_a_word_that_settles_it(lexicon: Lexicon) -> None:
    assert found(lexicon, "MI") == []
    assert found(lexicon, "MI5") == []
    assert found(lexicon, "troponin in MI") == [("MI", "CW:myocardial-infarction")]


def test_letter_case_tells_a_kidney_test_from_a_receptor(lexicon: Lexicon) -> None:
    assert found(lexicon, "eGFR 40") == [("eGFR", "CW:estimated-glomerular-filtration-rate")]
    assert found(lexicon, "EGFR mutation") == [("EGFR", "CW:epidermal-growth-factor-receptor")]


@given(st.text(max_size=200))
def test_mentions_lie_inside_any_text_in_order(text: str) -> None:
    mentions = Lexicon.load().find(text)
    assert all(0 <= mention.start < mention.end <= len(text) for mention in mentions)
    spans = [(mention.start, mention.end) for mention in mentions]
    assert spans == sorted(spans)
    assert all(before == after or before[1] <= after[0] for before, after in pairwise(spans))


@given(
    st.sampled_from([row[1] for row in rows("names.tsv") if row[1] != "-"]), st.text(alphabet=" .,;:!?\n", min_size=1)
)
def test_every_concept_is_found_by_its_name_wherever_it_stands(name: str, gap: str) -> None:
    spans = [(mention.start, mention.end) for mention in Lexicon.load().find(gap + name + gap)]
    assert (len(gap), len(gap) + len(name)) in spans


@pytest.mark.parametrize(
    ("uk", "us"),
    [
        ("haemoglobin", "hemoglobin"), ("oedema", "edema"), ("oesophageal", "esophageal"), ("anaemia", "anemia"),
        ("ischaemic", "ischemic"), ("paediatrics", "pediatrics"), ("diarrhoea", "diarrhea"), ("dyspnoea", "dyspnea"),
        ("tumours", "tumors"), ("anaesthesia", "anesthesia"), ("fibre", "fiber"), ("millilitres", "milliliters"),
        ("oestrogen", "estrogen"), ("faecal", "fecal"), ("caesarean", "cesarean"), ("aetiology", "etiology"),
        ("leucocytes", "leukocytes"), ("sulphate", "sulfate"), ("hospitalised", "hospitalized"),
        ("randomisation", "randomization"), ("analysed", "analyzed"), ("behavioural", "behavioral"),
    ],
)  # fmt: skip
def test_each_spelling_leads_to_the_other(uk: str, us: str) -> None:
    assert (us_spelling(uk), uk_spelling(us)) == (us, uk)
    assert (other_spelling(uk), other_spelling(us)) == (us, uk)


@pytest.mark.parametrize(
    "word",
    """epidemic academic systemic hemisphere hemiplegia chemistry colorectal parameter exercise disease raised
    specialist hospitalist metabolism organism characteristic analysis dialysis synthesis angioedema
    academia size aetna cough""".split(),
)
def test_words_that_only_look_like_the_other_spelling_stay(word: str) -> None:
    assert other_spelling(word) is None


def test_the_index_of_the_ontology_agrees_with_its_table(key_lines: Callable[[list[str]], list[str]]) -> None:
    assert key_lines(vocabulary.packed_lines("hpo.tsv.gz")) == vocabulary.packed_lines("hpo-keys.gz")


@pytest.fixture
def key_lines() -> Callable[[list[str]], list[str]]:
    spec = importlib.util.spec_from_file_location("build_vocabulary", ROOT / "scripts" / "build_vocabulary.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.key_lines  # type: ignore[no-any-return]


def test_the_extract_is_small_and_carries_its_version_and_licence() -> None:
    assert sum((vocabulary.FOLDER / name).stat().st_size for name in ("hpo.tsv.gz", "hpo-keys.gz")) < 1_000_000
    notice = (vocabulary.FOLDER / "NOTICE").read_text("utf-8")
    assert vocabulary.HPO_VERSION in notice
    assert "https://hpo.jax.org/app/license" in notice
    assert " ".join(vocabulary.ATTRIBUTION.split()) in " ".join(notice.split())


def test_no_two_concepts_of_the_hand_written_table_share_a_name() -> None:
    names: dict[object, str] = {}
    shared = []
    for _, name, *columns in (row for row in rows("names.tsv") if row[1] != "-"):
        for other in filter(None, [name, *(one for cell in columns[: len(TAGS)] for one in cell.split("|"))]):
            if names.setdefault(_place(other), name) != name:
                shared.append((other, name, names[_place(other)]))
    assert shared == []


def _place(name: str) -> object:
    """What tells two names apart: the words that carry meaning, or all of a short one or one of a side."""
    said = list(words(name))
    meant = content(said)
    is_whole = len(meant) < 2 or any(word.folded in SIDES for word in said)
    return (
        name if name.isupper() or name.startswith("=") else tuple(word.folded for word in said) if is_whole else meant
    )


def test_the_hand_written_tables_have_the_columns_they_say() -> None:
    kinds = {"symptom", "condition", "test", "procedure", "medicine", "lifestyle", "other"}
    assert {row[0] for row in rows("names.tsv")} == kinds
    assert all(2 <= len(row) <= 6 for row in rows("names.tsv"))
    spelling = vocabulary.rows("spelling.tsv")
    assert {
        (len(row), row[2] in ("start", "end", "part", "word"), row[3] in ("both", "to us")) for row in spelling
    } == {(4, True, True)}
    abbreviations = rows("abbreviations.tsv")
    assert {(3 <= len(row) <= 4, row[2] in ("any", "as written")) for row in abbreviations} == {(True, True)}
    assert len({row[0] for row in abbreviations}) == len(abbreviations)


@given(st.text(max_size=30))
def test_letter_case_does_not_change_how_a_word_is_compared(word: str) -> None:
    assert fold(word) == fold(word.casefold())
