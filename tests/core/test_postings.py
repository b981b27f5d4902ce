"""Postings come back as they were packed, and damage is told."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import LibraryError
from citewell.ingest.postings import MAX_FREQUENCY, Postings, pack, unpack
from citewell.sentences import term_key

passages_of_terms = st.lists(st.lists(st.sampled_from(["dose", "renal", "fever", "mg", "é"]) | st.text(max_size=3)))


def as_counts(postings: Postings) -> list[dict[int, int]]:
    """How often each term key stands in each chunk, all documents one after another."""
    counts: list[dict[int, int]] = [{} for _ in postings.lengths]
    first_chunks = np.repeat(np.cumsum(postings.chunk_counts) - postings.chunk_counts, postings.term_counts)
    keys = np.repeat(postings.keys, postings.counts).tolist()
    chunks = (np.repeat(first_chunks, postings.counts) + postings.chunks).tolist()
    for key, chunk, frequency in zip(keys, chunks, postings.frequencies.tolist(), strict=True):
        counts[chunk][key] = frequency
    return counts


@given(passages_of_terms)
def test_every_term_of_every_chunk_comes_back_with_its_frequency(passages: list[list[str]]) -> None:
    postings = unpack(pack(passages))
    assert as_counts(postings) == [dict(Counter(map(term_key, passage))) for passage in passages]
    assert postings.lengths.tolist() == [len(passage) for passage in passages]


@given(st.lists(passages_of_terms))
@pytest.mark.slow
def test_many_documents_are_read_as_one_after_another(documents: list[list[list[str]]]) -> None:
    postings = unpack(*map(pack, documents))
    assert as_counts(postings) == [
        dict(Counter(map(term_key, passage))) for passages in documents for passage in passages
    ]
    assert postings.chunk_counts.tolist() == [len(passages) for passages in documents]
    assert postings.term_counts.tolist() == [len(set(chain.from_iterable(passages))) for passages in documents]


@given(passages_of_terms)
def test_keys_and_chunks_rise(passages: list[list[str]]) -> None:
    postings = unpack(pack(passages))
    assert postings.keys.tolist() == sorted(set(postings.keys.tolist()))
    places = list(zip(np.repeat(postings.keys, postings.counts).tolist(), postings.chunks.tolist(), strict=True))
    assert places == sorted(set(places))


def test_a_frequency_over_a_byte_is_capped_and_the_length_is_not() -> None:
    postings = unpack(pack([["dose"] * 1000]))
    assert postings.frequencies.tolist() == [MAX_FREQUENCY]
    assert postings.lengths.tolist() == [1000]


def test_a_document_of_more_chunks_than_two_bytes_can_count() -> None:
    passages: list[list[str]] = [[] for _ in range(70_000)]
    passages[69_999] = ["dose"]
    assert unpack(pack(passages)).chunks.tolist() == [69_999]
    assert unpack(pack([["dose"]]), pack(passages)).chunks.tolist() == [0, 69_999]


def test_the_same_terms_pack_to_the_same_bytes() -> None:
    assert pack([["dose", "renal"], ["renal"]]) == pack([["renal", "dose"], ["renal"]])


@given(st.data())
def test_any_change_of_a_byte_is_told(data: st.DataObject) -> None:
    packed = bytearray(pack([["dose", "renal"], ["renal", "fever", "fever"]]))
    place = data.draw(st.integers(0, len(packed) - 1))
    packed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(LibraryError, match="citewell reindex"):
        unpack(bytes(packed))


@given(st.integers(1, 60))
def test_a_cut_or_lengthened_blob_is_told(count: int) -> None:
    packed = pack([["dose", "renal"], ["renal", "fever", "fever"]])
    for damaged in (packed[:-count], packed + bytes(count)):
        with pytest.raises(LibraryError, match="citewell reindex"):
            unpack(damaged)


def test_no_chunks_at_all() -> None:
    for postings in (unpack(pack([])), unpack()):
        assert as_counts(postings) == []
        assert postings.keys.tolist() == []
