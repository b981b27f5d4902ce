"""What a passage says of itself: the quick look before a pattern finds what the pattern would."""

from __future__ import annotations

import re

import pytest

from citewell.clinical.populations import shelf_words
from citewell.ingest.passage_metadata import describe, openings
from citewell.vocabulary import rows

CUES = [*shelf_words(), *rows("settings.tsv")]


@pytest.mark.parametrize(("name", "words"), CUES, ids=[name for name, _ in CUES])
def test_every_alternative_begins_with_letters_that_are_looked_for_first(name: str, words: str) -> None:
    plain = re.sub(r"\([^()]*\)", "", words)
    assert len(openings(words)) == plain.count("|") + 1
    assert min(map(len, openings(words))) >= 3


@pytest.mark.parametrize(
    ("text", "populations", "settings"),
    [
        ("For PRETERM BABIES only.", ("newborns", "infants"), ()),
        ("Children's dose, and a paediatric or pediatric form.", ("children",), ()),
        ("People living with HIV, HIV-positive or not.", ("living with HIV",), ()),
        ("In limited-resource and low resource places, at home.", (), ("community", "low-resource")),
        ("Childlike, unadultered, reclinicised.", (), ()),
        ("Breast-feeding and breastfeeding women.", ("breastfeeding",), ()),
        ("CHİLDREN IN THE CLİNİC, and infantſ.", ("infants", "children"), ("primary care",)),
    ],
)
def test_what_a_passage_is_for(text: str, populations: tuple[str, ...], settings: tuple[str, ...]) -> None:
    found = describe(text)
    assert (found.populations, found.settings) == (populations, settings)


@pytest.mark.parametrize(
    ("text", "strength", "certainty"),
    [
        ("STRONG RECOMMENDATION, MODERATE CERTAINTY EVIDENCE", "strong", "moderate"),
        ("Good practice statement.", "good practice", None),
        ("CONDİTİONAL RECOMMENDATİON, HIGH CERTAİNTY.", "conditional", "high"),
        ("(conditional, very low-quality evidence)", "conditional", "very low"),
        ("Strong recommendation here, weak recommendation there.", None, None),
        ("The quality of the evidence is high.", None, "high"),
        ("A strong smell of good practice in the certainty of weak evidence.", None, None),
    ],
)
def test_how_strong_and_how_sure(text: str, strength: str | None, certainty: str | None) -> None:
    found = describe(text)
    assert (found.strength, found.certainty) == (strength, certainty)
