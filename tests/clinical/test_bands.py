"""Bands of results that words are for, and whether a given result lies in them."""

from __future__ import annotations

import time

import pytest

from citewell.clinical.quantities import results
from citewell.clinical.result_bands import as_bands, bands, is_within


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INR: Above 8.0; Vitamin K: 5 mg", [("INR", 8.0, None)]),
        ("If CRP is more than 100 mg/litre, offer antibiotics", [("C-reactive protein", 100.0, None)]),
        ("Potassium: 6.0 mmol/litre and above", [("potassium", 6.0, None)]),
        ("Creatinine clearance (ml/min): 15 to 29; Dose: 2.5 mg", [("creatinine clearance", 15.0, 29.0)]),
        ("clinic blood pressure between 140/90 mmHg and 180/120 mmHg", [("blood pressure", 140.0, 180.0)]),
        ("CRB-65 score of 2 or more", [("CRB-65", 2.0, None)]),
        ("CRB-65: 3 or 4", [("CRB-65", 3.0, 3.0), ("CRB-65", 4.0, 4.0)]),
        ("QRISK3 score of 10% or more", [("QRISK", 10.0, None)]),
        (
            "Use a CRP test:\n• below 20 mg/L: wait\n• above 100 mg/L: treat",
            [("C-reactive protein", None, 20.0), ("C-reactive protein", 100.0, None)],
        ),
        ("Refer to hospital if the INR is above 8", [("INR", 8.0, None)]),
        ("Stop it until the INR is below 5", []),
        ("Reduce the INR to below 5", []),
        ("Check the INR within 3 days", []),
        ("PSA threshold (micrograms/litre): More than 4.5", []),
        ("Take 5 mg with at least 200 ml of water", []),
    ],
)
def test_bands_are_read_with_their_test(text: str, expected: list[tuple[str, float | None, float | None]]) -> None:
    assert [(band.of, band.low, band.high) for band in bands(text)] == expected


@pytest.mark.parametrize(
    ("given", "text", "expected"),
    [
        ("INR 6", "INR: 5.1 to 8.0", True),
        ("INR 8", "INR: Above 8.0", False),
        ("clearance 30", "Creatinine clearance: 30 mL/min or more", True),
        ("CrCl 29", "Creatinine clearance: 30 mL/min or more", False),
        ("BP 182/124", "blood pressure of 180/120 mmHg or higher", True),
        ("BP 150/95", "blood pressure of 180/120 mmHg or higher", False),
        ("potassium 5.0", "INR above 8", None),
        ("no result at all", "INR above 8", None),
    ],
)
def test_a_result_is_in_a_band_or_not(given: str, text: str, expected: bool | None) -> None:
    assert is_within(text, results(given)) is expected


def test_a_value_is_said_as_the_band_that_holds_it() -> None:
    question = "Dose for a 24 kg girl, 7 years old?"
    row = "3 months to 11 years: 12 kg to 19 kg, 125 mg; 20 kg to 29 kg, 187.5 mg"
    assert "20 kg to 29 kg" in {words.removeprefix("weight ") for _, _, words in as_bands(question, row)}
    assert as_bands(question, "Give 5 mg.") == []


@pytest.mark.parametrize("text", ["INR " * 20_000, "INR above " * 8_000, "1 " * 40_000, "INR: 5 to " * 5_000])
def test_any_text_is_read_in_linear_time(text: str) -> None:
    began = time.process_time()
    bands(text)
    assert time.process_time() - began < 10
