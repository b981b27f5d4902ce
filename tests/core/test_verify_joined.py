"""Sentences that deny twice, and sentences to which a word or two were joined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.answer.verify import verify
from citewell.clinical import Lexicon
from citewell.types import Check, Span, Verdict

DATA = Path(__file__).parents[1] / "data"
UNDETERMINED = 2
"""Of fifteen fresh false sentences, how many may pass: a person joined as “and a chaplain review …” is still missed."""


def _rows(name: str, *, of: str, is_true: bool) -> Iterator[tuple[str, str]]:
    for line in (DATA / name).read_text("utf-8").splitlines():
        if not line.startswith("#"):
            when, truth, source, sentence = line.split("\t")
            if (when, truth == "true") == (of, is_true):
                yield source, sentence


def _check(source: str, sentence: str) -> Check:
    return verify(sentence, [Span("a:0", 0, len(source), source)], lexicon=Lexicon.load(), similarity=None)


@pytest.mark.parametrize("name", ["denials.tsv", "clauses.tsv"])
def test_what_was_written_before_the_rules_is_told_apart(name: str) -> None:
    false = [_check(*row).verdict for row in _rows(name, of="first", is_true=False)]
    true = [_check(*row).verdict for row in _rows(name, of="first", is_true=True)]
    assert (len(false), false.count(Verdict.SUPPORTED)) == (15, 0)
    assert (len(true), true.count(Verdict.SUPPORTED) + true.count(Verdict.PARTLY)) == (15, 15)


@pytest.mark.parametrize("name", ["denials.tsv", "clauses.tsv"])
def test_what_was_written_after_the_rules_is_told_apart_nearly_as_well(name: str) -> None:
    false = [_check(*row).verdict for row in _rows(name, of="fresh", is_true=False)]
    true = [_check(*row).verdict for row in _rows(name, of="fresh", is_true=True)]
    assert len(false) == len(true) == 15
    assert false.count(Verdict.SUPPORTED) <= (UNDETERMINED if name == "clauses.tsv" else 0)
    assert true.count(Verdict.SUPPORTED) + true.count(Verdict.PARTLY) >= 14


def test_twenty_more_that_were_joined_are_told_apart() -> None:
    false = [_check(*row).verdict for row in _rows("clauses.tsv", of="last", is_true=False)]
    true = [_check(*row).verdict for row in _rows("clauses.tsv", of="last", is_true=True)]
    assert (len(false), len(true)) == (20, 20)
    assert false.count(Verdict.SUPPORTED) <= 1, "“and the gardener weigh …” is still missed"
    assert true.count(Verdict.SUPPORTED) >= 19
    assert true.count(Verdict.CONTRADICTED) == true.count(Verdict.NOT_FOUND) == 0


@pytest.mark.parametrize(
    ("source", "sentence", "verdict"),
    [
        ("Withhold metformin before contrast.", "Do not withhold metformin before contrast.", Verdict.CONTRADICTED),
        ("Do not withhold metformin before contrast.", "Withhold metformin before contrast.", Verdict.CONTRADICTED),
        ("Stop metformin before contrast.", "Do not discontinue metformin before contrast.", Verdict.CONTRADICTED),
        ("The wrong dose was given to ten patients.", "Ten patients were given the wrong dose.", Verdict.SUPPORTED),
        ("Give the vaccine to adults.", "It would not be wrong to give the vaccine to adults.", Verdict.SUPPORTED),
        ("The result does not exclude embolism.", "Embolism is not ruled out by the result.", Verdict.SUPPORTED),
    ],
)
def test_a_verb_of_not_doing_denies_only_where_it_is_denied(source: str, sentence: str, verdict: Verdict) -> None:
    assert _check(source, sentence).verdict is verdict


def test_what_was_joined_is_named_and_withheld() -> None:
    check = _check("Paracetamol is used for fever.", "Paracetamol is used for fever and for suicide.")
    assert (check.verdict, check.is_vetoed) == (Verdict.PARTLY, True)
    assert check.reasons == ("the source says nothing of “for suicide”",)


def test_a_joined_phrase_that_says_nothing_more_is_no_stranger() -> None:
    source = "Paracetamol is used for fever."
    for tail in (", for example.", ", if necessary.", " and so on."):
        assert _check(source, f"Paracetamol is used for fever{tail}").verdict is Verdict.SUPPORTED
