"""Fusion and relevance: orders, bounds, and small libraries."""

from __future__ import annotations

import math

import numpy as np

from citewell.answer.fuse import fuse, relevance


def test_a_candidate_that_leads_in_every_view_comes_first_and_one_that_trails_comes_last() -> None:
    scores = fuse([0.7, 0.3, 0.5], [0.8, 0.2, 0.5], [12.0, 0.0, 6.0])
    assert np.argsort(-scores).tolist() == [0, 2, 1]


def test_no_candidates_give_no_scores() -> None:
    assert (fuse([], [], []).tolist(), relevance([], [], []).tolist()) == ([], [])


def test_a_score_that_is_not_a_number_counts_as_nothing() -> None:
    scores = fuse([0.7, math.nan], [math.nan, math.nan], [12.0, math.nan])
    assert (scores[0] > scores[1], np.isfinite(scores).all()) == (True, True)
    assert np.isfinite(relevance([math.nan], [math.nan], [math.nan])).all()


def test_relevance_is_a_probability_that_grows_with_each_of_its_parts() -> None:
    rising = relevance([0.1, 0.5, 0.5, 0.5], [0.0, 0.0, 0.7, 0.7], [0.0, 0.0, 0.0, 1.0])
    assert np.all(np.diff(rising) > 0)
    assert np.all((rising > 0) & (rising < 1))


def test_relevance_of_a_hit_does_not_depend_on_the_others() -> None:
    alone = relevance([0.5], [0.6], [0.4])
    among = relevance([0.9, 0.5, 0.1], [0.9, 0.6, 0.1], [0.9, 0.4, 0.0])
    assert alone[0] == among[1]
