"""What a document itself says that its words stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.answer.defined_abbreviations import definitions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Women with sickle-cell disease (SCD) need care.", [("SCD", "sickle-cell disease")]),
        ("Offer home blood pressure monitoring (HBPM).", [("HBPM", "home blood pressure monitoring")]),
        ("non-steroidal anti-inflammatory drugs (NSAIDs)", [("NSAID", "non-steroidal anti-inflammatory drugs")]),
        ("the self-monitoring of blood pressure (SMBP)", [("SMBP", "self-monitoring of blood pressure")]),
        ("Abbreviations\n\nCRT capillary refill time\n\nWHO suggests rest", [("CRT", "capillary refill time")]),
        (
            "BP: blood pressure; SMBP: self-monitoring of blood pressure.",
            [("BP", "blood pressure"), ("SMBP", "self-monitoring of blood pressure")],
        ),
        ("Rest at home (See below). Measure it (Table).", []),
        ("The score was kept low (INR).", []),
        ("It ended. Pressure (BP) rose.", []),
    ],
)
def test_an_abbreviation_is_read_where_it_is_explained(text: str, found: list[tuple[str, str]]) -> None:
    assert list(definitions(text)) == found


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    list(definitions(text))
