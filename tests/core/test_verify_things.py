"""A claim that repeats a source sentence with another thing in a place is never supported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.parse import parse
from citewell.minilm.tokenizer import WordPiece
from citewell.samples import sample_files
from citewell.types import EvidenceSpan, ParseLimits, SentenceCheck, Source, Verdict
from tests.checking import checked

SWAPS = Path(__file__).parent / "verify_swaps.tsv"


def _rows(kind: str, *parts: str) -> Iterator[tuple[str, str]]:
    """The sentences of the table, each with what one word of it was changed to."""
    for line in SWAPS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            part, its_kind, sentence, word, put = line.split("\t")
            if its_kind == kind and part in parts:
                yield sentence, re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", put, sentence, count=1)


@cache
def _passages() -> tuple[tuple[EvidenceSpan, ...], ...]:
    """The passages of the samples, each cut into its sentences."""
    found = []
    for path in sample_files():
        source = Source(path.read_bytes(), path.name)
        document = parse(source, parsers=all_parsers(), limits=ParseLimits())
        for one in chunk(document, chunking=default_chunking(document.media_type), tokenizer=WordPiece.load()):
            titles = (document.title or "", *one.section)
            spans = (
                EvidenceSpan(f"{path.name}:{one.index}", a, b, document.text[a:b], titles) for a, b in one.sentences
            )
            found.append(tuple(spans))
    return tuple(found)


def _in_sample(sentence: str, claim: str) -> SentenceCheck:
    """A claim held against the passage of a sample that has a sentence."""
    wanted = " ".join(sentence.split())
    spans = next(one for one in _passages() if any(wanted in " ".join(span.text.split()) for span in one))
    return checked(claim, spans)


@pytest.mark.parametrize(("sentence", "claim"), list(_rows("swap", "seen", "kept")))
def test_a_word_of_a_sample_swapped_is_never_supported(sentence: str, claim: str) -> None:
    check = _in_sample(sentence, claim)
    assert check.verdict is not Verdict.SUPPORTED
    assert check.is_vetoed


@pytest.mark.parametrize(("sentence", "claim"), list(_rows("same", "seen", "kept")))
def test_a_word_of_a_sample_said_otherwise_is_never_contradicted(sentence: str, claim: str) -> None:
    assert _in_sample(sentence, claim).verdict is not Verdict.CONTRADICTED
