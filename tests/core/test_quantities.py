"""Quantities as a text means them, and whether two mean the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.answer.verify.amounts import AmountMatch, agreement
from citewell.clinical.quantities import quantities

READ = [
    ("5 mg", [("=", (0.005,), "mass")]),
    ("0.5 g", [("=", (0.5,), "mass")]),
    ("250 micrograms", [("=", (0.00025,), "mass")]),
    ("1,500 mL", [("=", (1.5,), "volume")]),
    ("500 mg to 1 g", [("=", (0.5, 1.0), "mass")]),
    ("4–6 hours", [("=", (4 / 24, 6 / 24), "time")]),
    ("between 2 and 5 years", [("=", (730.0, 1825.0), "time")]),
    ("at least 40 kg", [(">=", (40_000.0,), "mass")]),
    ("no more than 130 mmHg", [("<=", (130.0,), "pressure")]),
    ("140/90 mmHg or higher", [(">=", (140.0, 90.0), "pressure")]),
    ("people aged 40 and over", [(">=", (40 * 365,), "time")]),
    ("children under 16", [("<", (16 * 365,), "time")]),
    ("over the age of 65", [(">", (65 * 365,), "time")]),
    ("10 mg/kg per day", [("=", (0.01,), "mass/body weight"), ("=", (1.0,), "period")]),
    ("0.1 units/kg/hour", [("=", (pytest.approx(2.4),), "activity/body weight/time")]),
    ("70 g/L", [("=", (70.0,), "mass/volume")]),
    ("30 ml/min/1.73 m2", [("=", (30.0,), "filtration")]),
    ("twice daily", [("=", (0.5,), "period")]),
    ("three times a day", [("=", (1 / 3,), "period")]),
    ("every 8 hours", [("=", (pytest.approx(1 / 3),), "period")]),
    ("TDS", [("=", (1 / 3,), "period")]),
    ("every other day", [("=", (2.0,), "period")]),
    ("six-monthly", [("=", (6 * 30,), "period")]),
    ("twenty-five days", [("=", (25.0,), "time")]),
    ("within a week", [("<=", (7.0,), "time")]),
    ("one third of them", [("=", (100 / 3,), "percent")]),
    ("1 in 5", [("=", (1.0, 5.0), "number")]),
    ("fivefold", [("=", (5.0,), "fold")]),
    ("1.5 × 10^9", [("=", (1.5e9,), "number")]),
    ("98.6 °F", [("=", (pytest.approx(37.0),), "temperature")]),
    ("10, 20 and 40 mg", [("=", (0.01,), "mass"), ("=", (0.02,), "mass"), ("=", (0.04,), "mass")]),
    ("12 March 2021", [("=", (2021.0, 3.0, 12.0), "date")]),
    ("March 12, 2021", [("=", (2021.0, 3.0, 12.0), "date")]),
    ("2021-03-12", [("=", (2021.0, 3.0, 12.0), "date")]),
    ("type 2 diabetes", [("=", (2.0,), "label type")]),
    ("stage III", [("=", (3.0,), "label stage")]),
    ("IL-6, CD4, H1N1, COVID-19, vitamin B12 and NIH 3T3 cells", []),
]


@pytest.mark.parametrize(("text", "meaning"), READ, ids=[text for text, _ in READ])
def test_reads_what_a_quantity_means(text: str, meaning: list[tuple[str, tuple[float, ...], str]]) -> None:
    assert [(found.sign, found.values, found.dimension) for found in quantities(text)] == meaning


SAME = [
    ("0.5 g", "500 mg"),
    ("2 weeks", "14 days"),
    ("12 months", "1 year"),
    ("at least 40", "40 or more"),
    ("≥ 40", "40 and over"),
    ("under 80", "younger than 80"),
    ("twice daily", "every 12 hours"),
    ("25 mm", "2.5 cm"),
    ("half of them", "50%"),
    ("1 in 5", "20%"),
    ("up to 10 mg", "10 mg"),
    ("95% CI 0.76 to 0.95", "95% CI 0.76–0.95"),
    ("76%", "76.3%"),
    ("in 2021", "on 12 March 2021"),
]
OTHER = [
    ("50 mg", "5 mg"),
    ("5 g", "5 mg"),
    ("5 mg", "5 mg/kg"),
    ("5 mmol/L", "5 mg/L"),
    ("6 weeks", "6 days"),
    ("over 50", "over 40"),
    ("500 mg", "500 mg to 1 g"),
    ("once daily", "twice daily"),
    ("12 March 2021", "13 March 2021"),
    ("on 12 March 2021", "in 2021"),
    ("type 1", "type 2"),
    ("2 mg", "two"),
    ("4 weeks", "1 month"),
]
OPPOSED = [("≥ 40", "≤ 40"), ("at least 5 mg", "up to 5 mg"), ("more than 3 weeks", "less than 3 weeks")]
CLOSE = [("over 40 kg", "40 kg or more"), ("40 kg", "at least 40 kg"), ("below 30%", "30%")]


def _agreement(claim: str, source: str) -> AmountMatch:
    return agreement(quantities(claim)[-1], quantities(source)[-1])


@pytest.mark.parametrize(
    ("claim", "source", "level"),
    [(*pair, AmountMatch.SAME) for pair in SAME]
    + [(*pair, AmountMatch.OTHER) for pair in OTHER]
    + [(*pair, AmountMatch.OPPOSED) for pair in OPPOSED]
    + [(*pair, AmountMatch.CLOSE) for pair in CLOSE],
)
def test_tells_the_same_quantity_from_another(claim: str, source: str, level: AmountMatch) -> None:
    assert _agreement(claim, source) == level


@given(st.text(max_size=80))
def test_every_quantity_is_a_part_of_its_text(text: str) -> None:
    for found in quantities(text):
        assert found.text == text[found.start : found.end]
        assert agreement(found, found) == AmountMatch.SAME


@given(st.integers(1, 9_999), st.sampled_from(["mg", "g", "ml", "weeks", "mmol/L", "%", "mmHg", "mg/kg", "years"]))
def test_a_tenfold_quantity_is_another(value: int, unit: str) -> None:
    assert _agreement(f"{value * 10} {unit}", f"{value} {unit}") == AmountMatch.OTHER


@pytest.mark.parametrize(
    "written", ["5 x 10400", "5 × 10^400", "5 x 10^-400", "9" * 400 + " mg", "0." + "0" * 400 + "1 mg"]
)
def test_a_number_that_no_machine_holds_is_another_than_any_that_it_holds(written: str) -> None:
    assert _agreement(written, "7 mg") == AmountMatch.OTHER
    assert _agreement(written, written) == AmountMatch.SAME
