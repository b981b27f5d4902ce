"""Every source sentence that a verdict rests on is told with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.answer.answer_json import check_json
from citewell.answer.audit import claim_record, quoted_words
from citewell.answer.service import _rests_on
from citewell.answer.verify import verify
from citewell.clinical import Lexicon
from citewell.types import Claim, EvidenceSpan, SentenceCheck, Verdict

ADVERSARY = Path(__file__).parents[1] / "data" / "adversary.tsv"
LEAFLET = (
    "Medicines that make warfarin stronger include fluconazole. Take it once a day, with a glass of water. "
    "Someone who does not take warfarin has an INR of about 1. Take your next tablet at the usual time."
)
LIST = "Offer bridging to patients on warfarin who have any of the following:\n• a mechanical mitral valve\n• a clot"


def _check(sentence: str, *spans: EvidenceSpan) -> SentenceCheck:
    return verify(sentence, spans, lexicon=Lexicon.load(), similarity=None)


def _span(text: str, *titles: str) -> EvidenceSpan:
    return EvidenceSpan("d:0", 0, len(text), text, titles)


def test_an_opening_line_and_its_item_decide_together_and_stand_in_their_order() -> None:
    check = _check("Offer bridging to patients with a mechanical mitral valve.", _span(LIST))
    assert [span.text for span in check.spans] == [
        "Offer bridging to patients on warfarin who have any of the following:",
        "• a mechanical mitral valve",
    ]


def test_what_one_sentence_leaves_out_is_told_by_another_and_by_none_that_denies_it() -> None:
    check = _check("Take warfarin once a day at the same time.", _span(LEAFLET, "Taking warfarin safely"))
    assert check.verdict is Verdict.SUPPORTED
    assert [span.text for span in check.spans] == [
        "Take it once a day, with a glass of water.",
        "Take your next tablet at the usual time.",
    ]


def test_a_sentence_that_says_it_all_decides_alone() -> None:
    check = _check("Take it with a glass of water once a day.", _span(LEAFLET))
    assert [span.text for span in check.spans] == ["Take it once a day, with a glass of water."]
    assert check.beside == ()


def test_what_speaks_against_a_claim_decides_alone() -> None:
    check = _check("Take it twice a day, with a glass of water.", _span(LEAFLET))
    assert check.verdict is Verdict.CONTRADICTED
    assert len(check.spans) == 1


def _written() -> list[tuple[str, EvidenceSpan]]:
    rows = [line.split("\t") for line in ADVERSARY.read_text("utf-8").splitlines() if not line.startswith("#")]
    texts = {name: text for kind, _, name, text in rows if kind == "passage"}
    return [(text, _span(texts[name])) for kind, _, name, text in rows if kind in ("close", "free")]


@pytest.mark.parametrize(("sentence", "passage"), _written())
def test_the_evidence_alone_carries_what_the_passage_carries(sentence: str, passage: EvidenceSpan) -> None:
    check = _check(sentence, passage)
    if check.verdict is Verdict.SUPPORTED:
        assert _check(sentence, *check.spans).verdict is Verdict.SUPPORTED


def test_the_check_and_the_record_tell_every_place() -> None:
    first, other = EvidenceSpan("a:0", 0, 5, "Rest."), EvidenceSpan("b:1", 7, 13, "Drink.")
    check = SentenceCheck(Verdict.SUPPORTED, (), first, 1.0, beside=(other,))
    assert [one["quote"] for one in check_json("Rest and drink.", check)["evidence"]] == ["Rest.", "Drink."]
    record = claim_record(Claim("Rest and drink as much.", check, (1, 2), is_shown=True))
    assert record["beside"] == [{"source_id": "b:1", "start": 7, "end": 13}]
    assert _rests_on(record) == {"a:0", "b:1"}
    assert quoted_words({"claims": [record]}, {"b"}) == {"Rest and drink as much.": "b"}
