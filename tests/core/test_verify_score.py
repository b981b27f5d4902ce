"""From checks to a probability."""

from __future__ import annotations

import pytest

from citewell.answer.verify.source_match import Match, PairScores, SourceMatch, facts, support
from citewell.answer.verify.support_model import Known, calibrated, carried, supported_from, weights
from citewell.types import EvidenceSpan, SentenceCheck, Verdict

SPAN = EvidenceSpan("d:0", 0, 5, "Rest.")


def _check(verdict: Verdict, support: float) -> SentenceCheck:
    return SentenceCheck(verdict, (), SPAN, support)


def test_nothing_checked_is_never_likely() -> None:
    assert calibrated([]) == 0.0
    assert calibrated([SentenceCheck(Verdict.NOT_FOUND, (), None, 0.0)]) == 0.0


def test_the_verdict_lowers_what_support_alone_would_say() -> None:
    chances = [
        calibrated([_check(verdict, 0.6)]) for verdict in (Verdict.SUPPORTED, Verdict.PARTLY, Verdict.CONTRADICTED)
    ]
    assert chances == sorted(chances, reverse=True)
    assert 0 < chances[-1] < 0.5 < chances[0] < 1


@pytest.mark.parametrize("support", [0.1, 0.5, 0.9, 1.0])
def test_what_the_source_speaks_against_is_never_more_likely_than_not(support: float) -> None:
    assert 0 < calibrated([_check(Verdict.CONTRADICTED, support)]) < 0.5


def test_an_answer_is_as_likely_as_its_sentences_on_average() -> None:
    one, other = _check(Verdict.SUPPORTED, 0.9), _check(Verdict.PARTLY, 0.3)
    assert calibrated([one, other]) == pytest.approx((calibrated([one]) + calibrated([other])) / 2)


def test_words_taken_over_unchanged_are_nearly_certain() -> None:
    assert calibrated([_check(Verdict.SUPPORTED, 1.0)]) > 0.99


@pytest.mark.parametrize("known", [{"passage": 0.9}, {"passage": 0.9, "likeness": 0.8}])
def test_each_doubt_lowers_support_and_each_sign_raises_it(known: dict[str, float]) -> None:
    for doubt in ("strange",):
        assert carried({**known, doubt: 1.0}) < carried(known)
    for sign in ("letters",):
        assert carried({**known, sign: 1.0}) > carried(known)


@pytest.mark.parametrize("known", ["words", "likeness", "pair"])
def test_the_table_says_what_every_fact_is_worth(known: Known) -> None:
    likeness = None if known == "words" else 0.5
    part = SourceMatch(likeness=likeness, judged=PairScores(1.0, -1.0) if known == "pair" else None)
    told = {*facts(Match(SPAN, 0.5, likeness, part)), "base", "supported from"}
    worth = set(weights(known)) - {"opposed from", "never from"}
    assert worth == ({"base", "read as carried", "supported from"} if known == "pair" else told)
    assert worth <= told
    assert 0 < supported_from(known) < 1


def test_the_pair_readers_word_counts_within_bounds() -> None:
    def share(carried: float, opposed: float) -> float:
        return support(Match(SPAN, 0.5, 0.5, SourceMatch(0.5, likeness=0.5, judged=PairScores(carried, opposed))))

    assert share(3.0, -3.0) > share(0.0, 0.0) > share(-3.0, 3.0)
    assert share(60.0, -60.0) == share(6.0, -6.0)
