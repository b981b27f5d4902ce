"""Marks in every grammar are read; what was never shown is dropped and counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from citewell.answer.cite import MarkedSentence, Marks, cite, marked_text
from citewell.types import Citation
from tests.core.answers import DOCUMENT, OTHER, evidence

SHOWN = evidence("Take 5 mg.", "Take it with water.", "Not for children.")


@pytest.mark.parametrize(
    ("sentence", "cited"),
    [
        ("Take it. [S1]", (1,)),
        ("Take it [S2].", (2,)),
        ("Take it. [S1, S3]", (1, 3)),
        ("Take it. [S1][S2]", (1, 2)),
        ("Take it. [S1; S2 and S3]", (1, 2, 3)),
        ("Take it. [s 2]", (2,)),
        (f"Take it. [SourceId: {DOCUMENT}:1]", (2,)),
        (f"Take it. [SourceId: {DOCUMENT.upper()}:1]", (2,)),
        (f"Take it. [SourceId: {DOCUMENT}:0, {DOCUMENT}:2]", (1, 3)),
        (f"Take it. [Doc: {DOCUMENT}, Date: 2025-03-12]", (1, 2, 3)),
        (f"Take it. [Doc ID: {DOCUMENT}]", (1, 2, 3)),
        ("Take it. [Source 3]", (3,)),
        ("Take it. [2]", (2,)),
        ("Take it. [1, 2]", (1, 2)),
        ("Take it.", ()),
    ],
)
def test_extract_citations_valid(sentence: str, cited: tuple[int, ...]) -> None:
    marked = cite(sentence, SHOWN)
    assert marked == MarkedSentence("Take it.", cited, 0)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("Take it. [SourceId: not-a-uuid]", "Take it."),
        (f"Take it. [SourceId: {'-' * 36}:0]", "Take it."),
        ("Take it. [Doc: nothing]", "Take it."),
    ],
)
def test_extract_citations_invalid_format(sentence: str, text: str) -> None:
    assert cite(sentence, SHOWN) == MarkedSentence(text, (), 1)


@pytest.mark.parametrize("mark", ["[S9]", "[17]", "[Source 4]", f"[SourceId: {OTHER}:0]", f"[Doc: {OTHER}]"])
def test_extract_citations_unknown_id(mark: str) -> None:
    assert cite(f"Take it. {mark}", SHOWN) == MarkedSentence("Take it.", (), 1)


@pytest.mark.parametrize(
    "words", ["Hb [g/L] is low.", "See [Appendix A].", "The range [5 mg to 10 mg] is usual.", "Refer. [2024]"]
)
def test_other_brackets_are_words(words: str) -> None:
    assert cite(words, SHOWN) == MarkedSentence(words, (), 0)


@pytest.mark.parametrize("text", ["Dose [" + "1 " * 3000 + "mg.", "[" + "S1, " * 3000 + "x", "[1 and " * 3000])
def test_a_bracket_that_never_closes_costs_no_more_than_its_length(text: str) -> None:
    assert cite(text, []).cited == ()


def test_an_answers_text_cites_as_it_was_asked_to() -> None:
    made = Citation(1, f"{DOCUMENT}:0", DOCUMENT, "A policy", 1, 0, None, (), 0, 5, "Rest.", 0.9)
    told = {marks: marked_text("Rest. [1] See [2015, amended 2020]. [9]", [made], marks) for marks in Marks}
    assert told == {
        Marks.NUMBER: "Rest. [1] See [2015, amended 2020]. [9]",
        Marks.ALIAS: "Rest. [S1] See [2015, amended 2020]. [9]",
        Marks.SOURCE_ID: f"Rest. [SourceId: {DOCUMENT}:0] See [2015, amended 2020]. [9]",
        Marks.SOURCE: "Rest. [Source 1] See [2015, amended 2020]. [9]",
        Marks.DOC: f"Rest. [Doc: {DOCUMENT}] See [2015, amended 2020]. [9]",
    }
    dated = replace(made, published=date(2025, 3, 12))
    assert marked_text("Rest. [1]", [dated], Marks.DOC) == f"Rest. [Doc: {DOCUMENT}, Date: 2025-03-12]"


@pytest.mark.parametrize("marks", Marks)
@pytest.mark.parametrize("published", [None, date(2025, 3, 12)])
def test_what_is_written_in_any_grammar_is_read_again(marks: Marks, published: date | None) -> None:
    made = Citation(1, f"{DOCUMENT}:0", DOCUMENT, "A policy", 1, 0, None, (), 0, 5, "Rest.", 0.9, published)
    assert cite(marked_text("Rest. [1]", [made], marks), SHOWN[:1]) == MarkedSentence("Rest.", (1,), 0)
