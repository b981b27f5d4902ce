"""What a document itself says that its words stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.answer.defined import definitions, groups, said_otherwise


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


def test_a_question_may_use_the_long_name_or_the_short_one() -> None:
    text = "Sickle-cell disease (SCD) is inherited."
    assert said_otherwise("Is iron given in sickle cell disease?", [text]) == (("Sickle-cell disease", "SCD"),)
    assert said_otherwise("Is iron given in SCD?", [text]) == (("SCD", "Sickle-cell disease"),)
    assert said_otherwise("Is iron given in cell disease?", [text]) == ()


def test_a_hyphen_makes_no_other_word() -> None:
    assert said_otherwise("Is postmenopausal bleeding urgent?", ["Post-menopausal bleeding"]) == (
        ("postmenopausal", "post-menopausal"),
    )
    assert said_otherwise("Is postmenopausal bleeding urgent?", ["Postmenopausal or post-menopausal"]) == ()
    assert said_otherwise("Is recovery long?", ["re-covery, re-cover"]) == (("recovery", "re-covery"),)


def test_what_a_title_lists_are_members_of_the_group_before_it() -> None:
    title = "Guideline on enteric infections: cholera, typhoid and shigellosis"
    assert said_otherwise("How is typhoid treated?", [], [title]) == (("typhoid", "enteric infections"),)
    assert said_otherwise("How is measles treated?", [], [title]) == ()
    assert list(groups("Enteric infections: diagnosis, management and referral")) == []
    assert list(groups("Enteric infections: cholera and typhoid")) == []  # two may be anything


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_read(question: str, text: str) -> None:
    said_otherwise(question, [text], [text])


def test_a_title_without_end_is_not_looked_through() -> None:
    assert list(groups("a-" * 20_000 + "b: dengue, Zika and yellow fever")) == []
