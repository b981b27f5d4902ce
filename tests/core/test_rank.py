"""Quality controls: near enough, no copies, no crowding, one order."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date

from hypothesis import given
from hypothesis import strategies as some

from citewell.answer import rank as ranking
from citewell.answer.rank import Controls
from citewell.answer.relevance_curve import built_in
from citewell.types import Hit, MatchReason

LEAFLET = "Take one tablet of 5 mg each morning with water before any food or drink is taken by mouth on that day"


def hit(
    document: str,
    chunk_index: int,
    score: float,
    *,
    text: str | None = None,
    cosine: float | None = None,
    relevance: float | None = None,
    version: int = 1,
) -> Hit:
    """A hit whose text is its own unless said otherwise, and whose scores agree unless said otherwise."""
    return Hit(
        document_id=f"{document}-v{version}",
        document=document,
        version=version,
        chunk_index=chunk_index,
        start=0,
        end=1,
        text=f"{document}{chunk_index}" if text is None else text,
        page=None,
        section=(),
        tags=("public",),
        raw_cosine=score if cosine is None else cosine,
        rank_score=score,
        relevance=score if relevance is None else relevance,
        why=MatchReason(dense_rank=None, lexical_rank=None, matched_terms=(), best_sentence=None),
    )


def rank(hits: list[Hit], *, limit: int, controls: Controls = ranking.CONTROLS) -> list[Hit]:
    """The order of hits that the built-in model found."""
    return ranking.rank(hits, limit=limit, calibration=built_in(), controls=controls)


def names(hits: list[Hit]) -> list[str]:
    return [found.source_id for found in hits]


def test_deduplicate_chunks() -> None:
    hits = [hit("a", 0, 0.9, text=LEAFLET), hit("b", 0, 0.8, text=LEAFLET.upper() + "!"), hit("c", 0, 0.7)]
    assert names(rank(hits, limit=10)) == ["a-v1:0", "c-v1:0"]


def test_what_is_recommended_comes_before_what_explains_it_and_references_last() -> None:
    hits = [
        replace(hit("a", at, 0.7), section=("Guideline", title))
        for at, title in enumerate(("9 References", "3.2 Justification", "3.1 Dose"))
    ]
    assert names(rank(hits, limit=10)) == ["a-v1:2", "a-v1:1", "a-v1:0"]
    titled = replace(hit("b", 0, 0.7), document="References", section=("References",))
    # The title of a document is no section of it, but what comes first in one may be.
    assert names(rank([*hits, titled], limit=10))[:2] == ["a-v1:2", "b-v1:0"]
    first = replace(hit("b", 0, 0.7), section=("References",))
    assert names(rank([*hits, first], limit=10))[:2] == ["a-v1:2", "a-v1:1"]


def test_limit_per_document() -> None:
    hits = [*(hit("a", index, 0.9 - index / 100) for index in range(5)), *(hit("b", index, 0.7) for index in range(2))]
    assert names(rank(hits, limit=5)) == ["a-v1:0", "a-v1:1", "a-v1:2", "b-v1:0", "b-v1:1"]


def test_deduplicate_respects_cap() -> None:
    """Of copies as many are looked at as there are candidates: three for each passage that is shown, at least 50."""
    copies = [hit("a", index, 0.9 - index / 1000, text=LEAFLET) for index in range(50)]
    assert names(rank([*copies, hit("b", 0, 0.5)], limit=5)) == ["a-v1:0"]
    assert names(rank([*copies, hit("b", 0, 0.5)], limit=17)) == ["a-v1:0", "b-v1:0"]


def test_the_newer_version_of_a_copy_wins_over_the_higher_score() -> None:
    hits = [hit("a", 0, 0.9, text=LEAFLET, version=1), hit("a", 0, 0.8, text=LEAFLET, version=2)]
    assert names(rank(hits, limit=10)) == ["a-v2:0"]


def test_of_copies_in_two_documents_the_newer_is_kept_in_the_place_of_the_better_ranked() -> None:
    old = replace(hit("a", 0, 0.9, text=LEAFLET), published=date(2015, 3, 1))
    new = replace(hit("b", 0, 0.6, text=LEAFLET), published=date(2024, 3, 1))
    undated = hit("c", 0, 0.7, text=LEAFLET)
    shown = rank([old, undated, hit("d", 0, 0.8), new], limit=10)
    assert [(one.source_id, one.rank_score, one.relevance) for one in shown] == [
        ("b-v1:0", 0.9, 0.9),
        ("d-v1:0", 0.8, 0.8),
    ]
    assert shown[0].raw_cosine == new.raw_cosine


def test_of_copies_the_current_version_comes_before_authority_and_authority_before_the_date() -> None:
    plain = replace(hit("a", 0, 0.9, text=LEAFLET), published=date(2024, 1, 1))
    named = replace(hit("b", 0, 0.8, text=LEAFLET), published=date(2020, 1, 1), publisher="A college")
    blank = replace(hit("c", 0, 0.7, text=LEAFLET), published=date(2025, 1, 1), publisher=" ")
    assert names(rank([plain, named, blank], limit=10)) == ["b-v1:0"]
    replaced = replace(named, published=date(2026, 1, 1))
    current = hit("b", 0, 0.7, text=LEAFLET, version=2)
    assert names(rank([replaced, current], limit=10)) == ["b-v2:0"]
    assert names(rank([current, replace(replaced, rank_score=0.5)], limit=10)) == ["b-v2:0"]


def test_copies_of_the_same_standing_are_told_apart_by_their_score() -> None:
    same = {"published": date(2024, 1, 1), "publisher": "A college"}
    hits = [replace(hit(name, 0, score, text=LEAFLET), **same) for name, score in (("a", 0.7), ("b", 0.9), ("c", 0.9))]
    assert names(rank(hits, limit=10)) == ["b-v1:0"]


def test_passages_that_differ_in_a_dose_or_a_negation_are_not_copies() -> None:
    hits = [
        hit("a", 0, 0.9, text=LEAFLET),
        hit("b", 0, 0.8, text=LEAFLET.replace("5 mg", "50 mg")),
        hit("c", 0, 0.7, text=LEAFLET.replace("Take", "Do not take")),
        hit("d", 0, 0.6, text=LEAFLET.replace("5 mg", "5.5 mg")),
    ]
    assert names(rank(hits, limit=10)) == ["a-v1:0", "b-v1:0", "c-v1:0", "d-v1:0"]


def test_a_hit_far_from_the_question_is_left_out() -> None:
    hits = [hit("a", 0, 0.9, cosine=0.3, relevance=0.0), hit("b", 0, 0.8, cosine=0.29, relevance=0.0)]
    assert names(rank(hits, limit=10)) == ["a-v1:0"]


def test_a_code_found_word_for_word_stays_although_its_cosine_is_low() -> None:
    assert names(rank([hit("a", 0, 0.9, cosine=0.05, relevance=0.5)], limit=10)) == ["a-v1:0"]


def test_one_guideline_alone_fills_every_place() -> None:
    hits = [hit("a", index, 0.9 - index / 100) for index in range(8)]
    assert names(rank(hits, limit=5)) == [f"a-v1:{index}" for index in range(5)]


def test_a_document_of_little_relevance_does_not_displace_the_only_relevant_one() -> None:
    hits = [*(hit("a", index, 0.9) for index in range(5)), hit("b", 0, 0.35, relevance=0.1)]
    assert names(rank(hits, limit=5)) == [f"a-v1:{index}" for index in range(5)]


def test_places_left_by_the_cap_are_filled_again() -> None:
    hits = [*(hit("a", index, 0.9) for index in range(5)), hit("b", 0, 0.8)]
    assert names(rank(hits, limit=10)) == [*(f"a-v1:{index}" for index in range(5)), "b-v1:0"]


def test_a_score_that_is_not_a_number_comes_last_and_breaks_nothing() -> None:
    hits = [
        hit("a", 0, math.nan, cosine=0.9, relevance=0.9),
        hit("b", 0, 0.8, relevance=math.nan),
        hit("c", 0, 0.7, cosine=math.nan),
        hit("d", 0, 0.6, cosine=math.nan, relevance=math.nan),
    ]
    assert names(rank(hits, limit=10)) == ["b-v1:0", "c-v1:0", "a-v1:0"]


def test_nothing_gives_nothing() -> None:
    assert (rank([], limit=10), rank([hit("a", 0, 0.9)], limit=0)) == ([], [])


FLOATS = some.floats(min_value=-1, max_value=1) | some.just(math.nan)
HITS = some.lists(
    some.builds(
        lambda document, text, score, cosine, relevance: hit(
            document, 0, score, text=text, cosine=cosine, relevance=relevance
        ),
        some.sampled_from("abc"),
        some.sampled_from(["", "x", "x y", LEAFLET, LEAFLET + " again"]),
        FLOATS,
        FLOATS,
        FLOATS,
    ),
    max_size=20,
).map(lambda hits: [replace(found, chunk_index=index) for index, found in enumerate(hits)])


@given(HITS, some.integers(min_value=0, max_value=8), some.randoms())
def test_the_outcome_does_not_depend_on_the_order_in_which_hits_arrive(hits, limit, random) -> None:
    shuffled = list(hits)
    random.shuffle(shuffled)
    shown = rank(hits, limit=limit)
    assert names(rank(shuffled, limit=limit)) == names(shown)
    assert len(shown) <= limit
    assert len(set(names(shown))) == len(shown)


LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
NEARLY_ALL = some.sets(some.sampled_from(sorted(LETTERS)), max_size=5).map(lambda gone: LETTERS - gone)


@given(some.lists(NEARLY_ALL, max_size=12))
def test_every_pair_of_copies_is_found(word_sets) -> None:
    hits = [hit("a", index, 0.9, text=" ".join(words)) for index, words in enumerate(word_sets)]
    kept: list[frozenset[str]] = []
    for words in word_sets:
        if not any(len(words & other) > 0.9 * len(words | other) for other in kept):
            kept.append(words)
    assert [frozenset(found.text.split()) for found in rank(hits, limit=50)] == kept


def test_the_number_of_candidates_grows_with_what_is_shown() -> None:
    assert [Controls().candidates(limit) for limit in (1, 16, 17, 100)] == [50, 50, 51, 300]
