"""The pair reader: the real model with its adapter, on the libraries that run it here."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.embedding.engine import Compiled
from citewell.adapters.embedding.tokenizer import SEPARATOR, WordPiece
from citewell.adapters.entailment import pair
from citewell.adapters.entailment.pair import PairReader
from citewell.answer.verify import verify
from citewell.answer.verify_score import never_from, opposed_from
from citewell.answer.verify_weigh import Judged
from citewell.bootstrap import build
from citewell.clinical import Lexicon
from citewell.config import Settings
from citewell.errors import ModelFilesMissing
from citewell.types import Span, Verdict

EVIDENCE = (
    "We followed 2,300 adults who drank green tea every day. Their systolic blood pressure was lower than that of "
    "those who drank none. The number of strokes did not differ between the groups."
)
CARRIED = "Daily green tea is associated with a reduction of blood pressure in adults."
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


def test_openvino_and_onnxruntime_read_alike(cache: Path) -> None:
    pytest.importorskip("openvino", reason="the extra openvino is not installed")
    graph = pair.cached_graph(cache)
    runs = pair.on_onnxruntime(graph), Compiled(graph, threads=1).infer
    for text in (CARRIED, OPPOSED, NEITHER):
        one, other = (pair.judged(run, text, EVIDENCE) for run in runs)
        assert one == pytest.approx(other, abs=0.3)


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
    alone = [pair.judged(reader._opened(), text, EVIDENCE) for text in texts]
    with ThreadPoolExecutor(4) as workers:
        found = list(workers.map(lambda text: reader(text, EVIDENCE), texts))
    assert np.array(found) == pytest.approx(np.array(alone), abs=1e-3)


def test_a_damaged_graph_is_built_anew(tmp_path: Path) -> None:
    graph = pair.cached_graph(tmp_path)
    whole = graph.stat().st_size
    graph.write_bytes(graph.read_bytes()[: whole // 2])
    assert PairReader(tmp_path).is_true()
    assert graph.stat().st_size == whole


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file stands there")
    with pytest.raises(ModelFilesMissing, match="cannot be prepared"):
        PairReader(tmp_path / "cache")(CARRIED, EVIDENCE)


def test_it_has_a_say_in_every_check_and_its_name_is_on_record(tmp_path: Path) -> None:
    span = Span("a:0", 0, len(EVIDENCE), EVIDENCE)
    with build(Settings(home=tmp_path)) as app:
        assert app.verify_sentence(CARRIED, [span]).verdict is Verdict.SUPPORTED
        assert app.verify_sentence(OPPOSED, [span]).verdict is Verdict.CONTRADICTED
        assert app.verify_sentence(NEITHER, [span]).verdict is not Verdict.SUPPORTED
        assert app.knowledge.built()["pair_reader"].startswith("pair reader, sha256 ")


def test_it_never_lifts_a_veto(tmp_path: Path) -> None:
    words = "Adults take 5 mg of the tablet at night."
    with build(Settings(home=tmp_path)) as app:
        app.__dict__["pair_reader"] = lambda _sentence, _evidence: Judged(6.0, -6.0)
        check = app.verify_sentence("At night, adults take 50 mg of the tablet.", [Span("a:0", 0, len(words), words)])
    assert check.verdict is Verdict.CONTRADICTED


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
        [Span("a:0", 0, len(EVIDENCE), EVIDENCE)],
        lexicon=Lexicon.load(),
        similarity=lambda _sentence, parts: [0.6] * len(parts),
        pair=lambda _sentence, _evidence: Judged(carried, opposed),
    )
    assert check.verdict is verdict


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path, pair_reader=False)) as app:
        assert app.pair_reader is None
        assert "pair_reader" not in app.knowledge.built()
