"""Fusion and relevance: order, bounds, and what happens in small libraries."""

from __future__ import annotations

import math

import numpy as np

from citewell.answer.rank import fuse, relevance
from citewell.answer.relevance_curve import built_in


def unit(*rows: list[float]) -> np.ndarray:
    vectors = np.array(rows, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def order(scores: np.ndarray) -> list[int]:
    return np.argsort(-scores, kind="stable").tolist()


def test_a_candidate_that_leads_in_every_view_comes_first_and_one_that_trails_comes_last() -> None:
    assert order(fuse([0.7, 0.3, 0.5], [0.8, 0.2, 0.5], [12.0, 0.0, 6.0], [0.9, 0.0, 0.4])) == [0, 2, 1]


def test_the_best_by_words_counts_no_more_than_the_part_of_the_question_that_it_holds() -> None:
    near_in_meaning, holds_one_common_word = [0.6, 0.4], [0.6, 0.4]
    assert order(fuse(near_in_meaning, holds_one_common_word, [0.0, 1.5], [0.0, 0.05])) == [0, 1]
    assert order(fuse(near_in_meaning, holds_one_common_word, [0.0, 1.5], [0.0, 0.95])) == [1, 0]


def test_two_candidates_keep_their_order_whatever_third_joins_them() -> None:
    two = fuse([0.5, 0.45], [0.5, 0.6], [8.0, 7.0], [0.8, 0.7])
    for cosine in (-0.5, 0.0, 0.44):
        three = fuse([0.5, 0.45, cosine], [0.5, 0.6, cosine], [8.0, 7.0, 0.0], [0.8, 0.7, 0.0])
        assert three[:2].tolist() == two.tolist()


def test_of_two_equal_candidates_the_one_like_the_best_comes_first() -> None:
    centroids = unit([1, 0], [0, 1], [0.9, 0.1])
    scores = fuse([0.8, 0.4, 0.4], [0.8, 0.4, 0.4], [9.0, 3.0, 3.0], [0.9, 0.4, 0.4], centroids)
    assert order(scores) == [0, 2, 1]


def test_without_centroids_no_candidate_supports_another() -> None:
    alone = fuse([0.4], [0.4], [3.0], [0.4])
    beside = fuse([0.4, 0.4], [0.4, 0.4], [3.0, 3.0], [0.4, 0.4])
    assert beside.tolist() == [alone[0], alone[0]]


def test_no_candidates_give_no_scores() -> None:
    none = np.zeros((0, 2), dtype=np.float32)
    assert (fuse([], [], [], [], none).tolist(), relevance([], [], [], calibration=built_in()).tolist()) == ([], [])


def test_a_score_that_is_not_a_number_counts_as_nothing() -> None:
    nothing = [0.0, math.nan, math.inf]
    assert np.isfinite(fuse(nothing, nothing, nothing, nothing, np.full((3, 2), math.nan, np.float32))).all()
    assert len(set(fuse(nothing, nothing, nothing, nothing).tolist())) == 1
    assert len(set(relevance(nothing, nothing, nothing, calibration=built_in()).tolist())) == 1


def test_relevance_is_a_probability_that_grows_with_each_of_its_parts() -> None:
    rising = relevance([0.1, 0.5, 0.5, 0.5], [0.0, 0.0, 0.7, 0.7], [0.0, 0.0, 0.0, 1.0], calibration=built_in())
    assert np.all(np.diff(rising) > 0)
    assert np.all((rising > 0) & (rising < 1))


def test_relevance_of_a_hit_does_not_depend_on_the_others() -> None:
    alone = relevance([0.5], [0.6], [0.4], calibration=built_in())
    among = relevance([0.9, 0.5, 0.1], [0.9, 0.6, 0.1], [0.9, 0.4, 0.0], calibration=built_in())
    assert alone[0] == among[1]


def test_a_code_found_word_for_word_is_relevant_although_its_meaning_is_unknown() -> None:
    assert relevance([0.05], [0.1], [1.0], calibration=built_in())[0] > 0.2
