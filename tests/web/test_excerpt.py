"""The part of a passage that a result shows."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from citewell.types import Hit, MatchReason
from citewell.web.search_results import best_within, excerpt

HIT = Hit(
    "d", "Iron", 1, 0, 100, 120, "Offer iron. Stop it.", 1, (), (), 0.5, 0.5, 0.5, MatchReason(1, 1, (), (112, 120))
)


def test_the_best_sentence_is_placed_in_the_hits_own_text() -> None:
    assert best_within(HIT) == (12, 20)
    outside = replace(HIT, why=replace(HIT.why, best_sentence=(80, 100)))
    half = replace(HIT, why=replace(HIT.why, best_sentence=(90, 111)))
    none = replace(HIT, why=replace(HIT.why, best_sentence=None))
    assert [best_within(hit) for hit in (outside, half, none)] == [None, (0, 11), None]


@given(
    st.lists(
        st.sampled_from(["Give iron.", "Stop.\n\n", "• a\n", "Wait a week, then test again.", "x" * 80]), max_size=30
    )
)
def test_an_excerpt_lies_within_the_text_and_holds_its_centre(pieces: list[str]) -> None:
    text = " ".join(pieces)
    at = len(text) // 2
    start, end = excerpt(text, (at, at + 1), limit=60)
    assert 0 <= start <= end <= len(text)
    assert end - start <= max(len(text) if len(text) <= 60 else 0, 120)


def test_a_list_keeps_the_line_that_opens_it_and_no_stray_heading() -> None:
    text = (
        "[2024]\n\nAsk about:\n\n• blood in the sputum of the person\n\nGout. " + "Another long sentence follows. " * 4
    )
    start, end = excerpt(text, (text.index("•"), text.index("•") + 10), limit=70)
    assert text[start:end] == "Ask about:\n\n• blood in the sputum of the person"


def test_a_short_passage_is_shown_whole() -> None:
    assert excerpt("Give iron.", None) == (0, 10)
