"""Sentences held against a source, one kind after another: what must be carried, and what must never be."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.types import EvidenceSpan, Verdict
from tests.checking import checked

Case = tuple[str, str, tuple[str, ...], str]
"""Whether it is carried, the source, the titles above it, and the sentence."""


def _cases() -> dict[str, list[Case]]:
    """The sentences of the table by what they tell."""
    found: dict[str, list[Case]] = {}
    table = Path(__file__).parents[1] / "data" / "check_cases.tsv"
    for line in table.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            what, carried, source, titles, sentence = line.replace("\\n", "\n").split("\t")
            found.setdefault(what, []).append((carried, source, tuple(filter(None, titles.split(" / "))), sentence))
    return found


CASES = _cases()


def test_the_table_holds_sentences_of_both_kinds() -> None:
    assert {carried for cases in CASES.values() for carried, *_ in cases} == {"yes", "no"}


@pytest.mark.parametrize("what", CASES)
def test_a_sentence_is_supported_if_the_source_carries_it_and_only_then(what: str) -> None:
    for carried, source, titles, sentence in CASES[what]:
        check = checked(sentence, [EvidenceSpan("a:0", 0, len(source), source, titles)])
        assert (check.verdict is Verdict.SUPPORTED) == (carried == "yes"), (source, sentence, check)
