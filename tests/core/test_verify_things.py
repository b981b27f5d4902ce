"""A claim that repeats a source sentence with another thing in a place is never supported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from citewell.adapters.parsers import all_parsers
from citewell.answer.verify import verify
from citewell.clinical import Lexicon
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.parse import parse
from citewell.minilm.tokenizer import WordPiece
from citewell.samples import sample_files
from citewell.types import Check, Limits, Source, Span, Verdict

SWAPS = Path(__file__).parent / "verify_swaps.tsv"

WARD = (
    "Check the kidney function before starting. Give potassium slowly through a central line. Group A streptococcus "
    "causes rheumatic fever in children. Transfuse blood group O in an emergency. Give factor VIII to people with "
    "haemophilia A. "
    "Measure T4 when the TSH is raised. The vaccine is given into the thigh. Nurses record the weight every day. "
    "Apply the dressing with gauze."
)


def _check(sentence: str, source: str, *titles: str) -> Check:
    return verify(sentence, [Span("d:0", 0, len(source), source, titles)], lexicon=Lexicon.load(), similarity=None)


@pytest.mark.parametrize(
    ("claim", "put", "said"),
    [
        ("Check the liver function before starting.", "liver", "kidney"),
        ("Give sodium slowly through a central line.", "sodium", "potassium"),
        ("Give magnesium slowly through a central line.", "magnesium", "potassium"),
        ("Group B streptococcus causes rheumatic fever in children.", "Group B", "Group A"),
        ("Group A staphylococcus causes rheumatic fever in children.", "staphylococcus", "streptococcus"),
        ("Transfuse blood group AB in an emergency.", "group AB", "group O"),
        ("Give factor IX to people with haemophilia A.", "factor IX", "factor VIII"),
        ("Give factor VIII to people with haemophilia B.", "haemophilia B", "haemophilia A"),
        ("Measure T3 when the TSH is raised.", "T3", "T4"),
        ("Measure T4 when the FSH is raised.", "FSH", "TSH"),
        ("The vaccine is given into the arm.", "arm", "thigh"),
        ("Nurses record the height every day.", "height", "weight"),
    ],
)
def test_another_thing_of_its_kind_is_contradicted_and_the_reason_names_both(claim: str, put: str, said: str) -> None:
    check = _check(claim, WARD)
    assert (check.verdict, check.is_vetoed) == (Verdict.CONTRADICTED, True)
    assert f"“{put}”" in check.reasons[0]
    assert f"“{said}”" in check.reasons[0]


def test_a_thing_that_no_table_knows_is_not_supported_in_the_place_of_another() -> None:
    check = _check("Apply the dressing with bitumen.", WARD)
    assert (check.verdict, check.is_vetoed) == (Verdict.PARTLY, True)
    assert check.reasons == ("“bitumen” stands where the source says “gauze”",)


@pytest.mark.parametrize(("claim", "source"), [("Use plan B.", "Use plan A."), ("x is y.", "x is z.")])
def test_another_label_is_contradicted_in_the_shortest_sentence(claim: str, source: str) -> None:
    assert _check(claim, source).verdict is Verdict.CONTRADICTED


def test_what_is_put_in_one_sentence_is_not_carried_by_another_that_does_not_say_it() -> None:
    source = "Offer bridging to patients on warfarin who have any of the following:\n• a mechanical mitral valve"
    assert _check("Offer bridging to patients with a mechanical mitral valve.", source).verdict is Verdict.SUPPORTED
    check = _check("Offer bridging to patients with a mechanical tricuspid valve.", source)
    assert check.verdict is not Verdict.SUPPORTED
    assert "“tricuspid” stands where the source says “mitral”" in check.reasons


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The renal function is checked.", "The kidney function is checked."),
        ("The GP changes the dressing weekly.", "The doctor changes the dressing weekly."),
        ("The tablets are for diabetics with asthma.", "The tablets are for diabetes with asthma."),
        ("The nurse prepares the plan with dates.", "The nurse writes the plan with dates."),
        (
            "Check the CRT with the pulse.",
            "The refill time (CRT) was short. Check the refill time with the pulse.",
        ),
        ("Falls were rarer with exercise.", "Falls were less common with exercise."),
    ],
)
def test_another_word_for_the_same_thing_is_carried(claim: str, source: str) -> None:
    assert _check(claim, source).verdict is Verdict.SUPPORTED


# -------------------------------------------------------------------------------------------- the samples' sentences


def _rows(kind: str, *parts: str) -> Iterator[tuple[str, str]]:
    """The sentences of the table, each with what one word of it was changed to."""
    for line in SWAPS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            part, its_kind, sentence, word, put = line.split("\t")
            if its_kind == kind and part in parts:
                yield sentence, re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", put, sentence, count=1)


@cache
def _passages() -> tuple[tuple[Span, ...], ...]:
    """The passages of the samples, each cut into its sentences."""
    found = []
    for path in sample_files():
        source = Source(path.read_bytes(), path.name)
        document = parse(source, parsers=all_parsers(), limits=Limits())
        for one in chunk(document, chunking=default_chunking(document.media_type), tokenizer=WordPiece.load()):
            titles = (document.title or "", *one.section)
            spans = (Span(f"{path.name}:{one.index}", a, b, document.text[a:b], titles) for a, b in one.sentences)
            found.append(tuple(spans))
    return tuple(found)


def _in_sample(sentence: str, claim: str) -> Check:
    """A claim held against the passage of a sample that has a sentence."""
    wanted = " ".join(sentence.split())
    spans = next(one for one in _passages() if any(wanted in " ".join(span.text.split()) for span in one))
    return verify(claim, spans, lexicon=Lexicon.load(), similarity=None)


@pytest.mark.parametrize(("sentence", "claim"), list(_rows("swap", "seen", "kept")))
def test_a_word_of_a_sample_swapped_is_never_supported(sentence: str, claim: str) -> None:
    check = _in_sample(sentence, claim)
    assert check.verdict is not Verdict.SUPPORTED
    assert check.is_vetoed


@pytest.mark.parametrize(("sentence", "claim"), list(_rows("same", "seen", "kept")))
def test_a_word_of_a_sample_said_otherwise_is_never_contradicted(sentence: str, claim: str) -> None:
    assert _in_sample(sentence, claim).verdict is not Verdict.CONTRADICTED
