"""Marks stand round exact words, and every other character is escaped."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from citewell.web.text_marks import best, marked, passage, words

TAG = re.compile(r"</?(?:mark|span|strong)(?: class=\"\w+\")?>")
TEXTS = st.text(st.sampled_from("ab<>&\"' \n;é"), max_size=40)
SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6)


def plain(marked_text: str) -> str:
    return html.unescape(TAG.sub("", marked_text))


@given(
    TEXTS, SPANS, st.tuples(st.integers(0, 40), st.integers(0, 40)), st.tuples(st.integers(0, 40), st.integers(0, 40))
)
def test_no_character_is_lost_or_added(
    text: str, spans: list[tuple[int, int]], sentence: tuple[int, int], around: tuple[int, int]
) -> None:
    found = marked(text, passage(around), best(sentence), words(sorted(spans)))
    assert plain(found) == text
    assert not set("<>") & set(TAG.sub("", found))


@given(TEXTS, st.integers(0, 40), st.integers(0, 40))
def test_a_span_holds_exactly_its_characters(text: str, start: int, end: int) -> None:
    found = re.findall(r"<mark>(.*?)</mark>", marked(text, words([(start, end)])), re.DOTALL)
    assert [html.unescape(one) for one in found] == ([text[start:end]] if text[start:end] else [])


def test_layers_nest_where_they_overlap() -> None:
    found = marked("one two three four", passage((0, 13)), best((4, 18)), words([(4, 7), (14, 18)]))
    assert found == (
        '<span class="passage">one <strong class="best"><mark>two</mark> three</strong></span>'
        '<strong class="best"> <mark>four</mark></strong>'
    )


def test_a_part_is_marked_with_the_offsets_of_the_whole() -> None:
    assert marked("one two three", words([(4, 7), (8, 13)]), start=4, end=10) == "<mark>two</mark> <mark>th</mark>"
