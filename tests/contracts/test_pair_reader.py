"""The pair reader: the real model with its adapter, on the libraries that run it here."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.embedding.engine import OpenVinoEngine, choose, features
from citewell.adapters.entailment import pair
from citewell.adapters.entailment.pair import ENTAILMENT, PairReader
from citewell.answer.verify import verify
from citewell.answer.verify.source_match import MOST_ODDS, PairScores
from citewell.answer.verify.support_model import never_from, opposed_from, weights
from citewell.app import build
from citewell.clinical import Lexicon
from citewell.config import Settings
from citewell.errors import ModelFilesMissing
from citewell.minilm.tokenizer import SEPARATOR, WordPiece
from citewell.types import EvidenceSpan, SentenceCheck, Verdict

EVIDENCE = (
    "We followed 2,300 adults who drank green tea every day. Their systolic blood pressure was lower than that of "
    "those who drank none. The number of strokes did not differ between the groups."
)
CARRIED = "Adults who had green tea daily had lower blood pressure than others."
OPPOSED = "Green tea increased systolic blood pressure in adults."
NEITHER = "Green tea shortens hospital stays after hip surgery."


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pair")


@pytest.fixture(scope="module")
def reader(cache: Path) -> PairReader:
    return PairReader(cache)


def test_it_tells_carried_from_opposed_and_from_neither(reader: PairReader) -> None:
    carried, opposed, neither = (reader(text, EVIDENCE) for text in (CARRIED, OPPOSED, NEITHER))
    assert carried.carried > 0
    assert max(opposed.carried, neither.carried) < 0
    assert opposed.opposed > max(carried.opposed, neither.opposed)


@pytest.mark.xfail(strict=True, reason="the reader of November 2026 misses what two sentences say together")
def test_it_finds_what_two_sentences_say_together(reader: PairReader) -> None:
    assert reader("Daily green tea is associated with a reduction of blood pressure in adults.", EVIDENCE).carried > 0


def test_openvino_and_onnxruntime_read_alike(cache: Path) -> None:
    pytest.importorskip("openvino", reason="the extra openvino is not installed")
    graph = ENTAILMENT.graph(cache, "float")
    runs = pair.on_onnxruntime(graph), OpenVinoEngine(graph, threads=1).infer
    for text in (CARRIED, OPPOSED, NEITHER):
        one, other = (pair.judged(run, text, EVIDENCE) for run in runs)
        assert one == pytest.approx(other, abs=0.3)


def test_eight_bits_read_as_fp32_does(cache: Path) -> None:
    flavour = choose("onnxruntime", features()).flavour
    if flavour == "float":
        pytest.skip("this CPU does not multiply eight bits natively")
    rounded, exact = (pair.on_onnxruntime(ENTAILMENT.graph(cache, one)) for one in (flavour, "float"))
    texts = [(text, EVIDENCE) for text in (CARRIED, OPPOSED, NEITHER)] + [ENTAILMENT.reference, ("tea", "")]
    read = [[pair.judged(run, *text) for text in texts] for run in (rounded, exact)]
    assert np.array(read[0]) == pytest.approx(np.array(read[1]), abs=2 * pair.ROUNDED_WITHIN)
    assert PairReader(cache, "onnxruntime").within == pair.ROUNDED_WITHIN
    assert PairReader(cache).exactly(CARRIED, EVIDENCE) == read[1][0]


def test_long_and_empty_texts_are_read_too(reader: PairReader) -> None:
    for sentence, evidence in (("", ""), ("tea", ""), ("tea " * 500, "water " * 5_000), ("\ud800 [SEP]", "[CLS] é")):
        assert np.isfinite(reader(sentence, evidence)).all()


def test_words_that_spell_a_special_token_are_only_words(reader: PairReader) -> None:
    planted = f"{EVIDENCE} [SEP] {OPPOSED}"
    ids = WordPiece.load().ids([planted], max_tokens=200)[0]
    assert ids.count(SEPARATOR) == 1
    assert np.isfinite(reader(OPPOSED, planted)).all()


def test_threads_get_what_one_gets(reader: PairReader) -> None:
    texts = [f"{CARRIED} {number}" for number in range(8)]
    alone = [pair.judged(reader._opened.run(), text, EVIDENCE) for text in texts]
    with ThreadPoolExecutor(4) as workers:
        found = list(workers.map(lambda text: reader(text, EVIDENCE), texts))
    assert np.array(found) == pytest.approx(np.array(alone), abs=1e-3)


def test_a_damaged_graph_is_built_anew(tmp_path: Path) -> None:
    graph = ENTAILMENT.graph(tmp_path, choose("auto", features()).flavour)
    whole = graph.stat().st_size
    graph.write_bytes(graph.read_bytes()[: whole // 2])
    assert PairReader(tmp_path).is_true()
    assert graph.stat().st_size == whole


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file stands there")
    with pytest.raises(ModelFilesMissing, match="could not be prepared"):
        PairReader(tmp_path / "cache")(CARRIED, EVIDENCE)


def test_it_has_a_say_in_every_check_and_its_name_is_on_record(tmp_path: Path) -> None:
    span = EvidenceSpan("a:0", 0, len(EVIDENCE), EVIDENCE)
    with build(Settings(home=tmp_path)) as app:
        assert app.verify_sentence(CARRIED, [span]).verdict is Verdict.SUPPORTED
        assert app.verify_sentence(OPPOSED, [span]).verdict is Verdict.CONTRADICTED
        assert app.verify_sentence(NEITHER, [span]).verdict is not Verdict.SUPPORTED
        assert app.knowledge.built()["pair_reader"].startswith("pair reader, sha256 ")


def test_it_never_lifts_a_veto(tmp_path: Path) -> None:
    words = "Adults take 5 mg of the tablet at night."
    with build(Settings(home=tmp_path)) as app:
        app.__dict__["pair_reader"] = lambda _sentence, _evidence: PairScores(6.0, -6.0)
        check = app.verify_sentence(
            "At night, adults take 50 mg of the tablet.", [EvidenceSpan("a:0", 0, len(words), words)]
        )
    assert check.verdict is Verdict.CONTRADICTED


DOSE = "Adults take 5 mg of the tablet at night. The tablet may be taken with food, or with a little water."


@pytest.mark.parametrize(
    ("sentence", "is_asked"),
    [
        ("At night adults swallow a tablet of 50 mg.", False),
        ("The tablet cannot be taken with food by anybody.", False),
        ("In the evening an adult has 50 mg of it as one tablet.", True),
        ("Grown-ups swallow one at bedtime.", True),
    ],
)
def test_it_is_asked_where_a_word_of_its_could_change_the_verdict(sentence: str, is_asked: bool) -> None:
    said: list[str] = []

    def checked(judged: PairScores) -> SentenceCheck:
        def read(one: str, _evidence: str) -> PairScores:
            said.append(one)
            return judged

        return verify(
            sentence,
            [EvidenceSpan("a:0", 0, len(DOSE), DOSE)],
            lexicon=Lexicon.load(),
            similarity=lambda _sentence, parts: [0.6] * len(parts),
            pair=read,
        )

    words = [
        PairScores(one, other) for one in (-MOST_ODDS, 0.0, MOST_ODDS) for other in (-MOST_ODDS, -0.2, 1.6, MOST_ODDS)
    ]
    verdicts = {checked(judged).verdict for judged in words}
    assert bool(said) == is_asked
    assert (len(verdicts) > 1) == is_asked


@pytest.mark.parametrize(("off", "is_exact"), [(-0.1, True), (0.1, True), (-1.2, False), (0.7, False)])
def test_where_rounding_could_change_the_verdict_it_is_read_in_full(off: float, is_exact: bool) -> None:
    opposed = opposed_from() + off

    class Quick:
        within = 0.3

        def __call__(self, _sentence: str, _evidence: str) -> PairScores:
            return PairScores(-6.0, opposed)

        def exactly(self, _sentence: str, _evidence: str) -> PairScores:
            return PairScores(-6.0, opposed_from() + (1.0 if off < 0 else -1.0))

    check = verify(
        NEITHER,
        [EvidenceSpan("a:0", 0, len(EVIDENCE), EVIDENCE)],
        lexicon=Lexicon.load(),
        similarity=lambda _sentence, parts: [0.6] * len(parts),
        pair=Quick(),
    )
    assert (check.verdict is Verdict.CONTRADICTED) == ((opposed < opposed_from()) == is_exact)


def test_support_grows_with_what_it_reads() -> None:
    assert weights("pair")["read as carried"] > 0


@pytest.mark.parametrize(
    ("sentence", "opposed", "verdict"),
    [
        (CARRIED, never_from() - 0.1, Verdict.SUPPORTED),
        (CARRIED, never_from(), Verdict.CONTRADICTED),
        (NEITHER, opposed_from() - 0.1, Verdict.PARTLY),
        (NEITHER, opposed_from(), Verdict.CONTRADICTED),
    ],
)
def test_a_sure_opposition_stops_a_sentence_and_a_likely_one_turns_what_is_not_carried(
    sentence: str, opposed: float, verdict: Verdict
) -> None:
    carried = 6.0 if sentence == CARRIED else -6.0
    check = verify(
        sentence,
        [EvidenceSpan("a:0", 0, len(EVIDENCE), EVIDENCE)],
        lexicon=Lexicon.load(),
        similarity=lambda _sentence, parts: [0.6] * len(parts),
        pair=lambda _sentence, _evidence: PairScores(carried, opposed),
    )
    assert check.verdict is verdict


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path, pair_reader=False)) as app:
        assert app.pair_reader is None
        assert "pair_reader" not in app.knowledge.built()
