"""The pair reader: the embedding model, with an adapter, reads a sentence and the words it cites as one text.

The adapter (`adapter.npz`, 2.7 MB) holds low-rank changes of the weights of all-MiniLM-L6-v2, which is installed
anyway, and three outputs: carried, opposed, neither. `bench/reader` trained it; docs, verification-notes.md.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.calibration import load
from citewell.adapters.embedding.cpu import features
from citewell.adapters.embedding.engine import Backend, Compiled, Flavour, choose, keep
from citewell.answer.verify_weigh import Judged
from citewell.errors import ModelFilesMissing
from citewell.minilm.forward import adapted as with_changes
from citewell.minilm.tokenizer import SEPARATOR, WordPiece
from citewell.minilm.weights import SHA256, Tensors, model_file, read_tensors

ADAPTER = Path(__file__).parent / "adapter.npz"
RANGES = Path(__file__).parent / "ranges.npz"
"""What values flow through the reader, for eight bits; `scripts/calibrate_pair_reader.py` measures them."""

GRAPH_VERSION = 2
"""Grows with every change of the graph, so that a cached one is built again."""

SENTENCE_TOKENS, EVIDENCE_TOKENS = 72, 224
"""Tokens of each that are read, as in training."""

REMEMBERED = 1_000
STRENGTH = 2.0
"""How strongly the low-rank changes count, as in training."""

REFERENCE = ("Aspirin lowers the risk of stroke.", "In this trial aspirin reduced the risk of stroke by a fifth.")
REFERENCE_CARRIED = 4.26
"""The log-odds that the reference pair gets in fp32; short floats are a little off."""
REFERENCE_WITHIN = 0.5

ROUNDED_WITHIN = 0.15
"""How far the log-odds in eight bits may be from fp32: of 541 pairs 99 in 100 are nearer, the farthest 0.22."""

Run = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]

Way = tuple[Flavour, Callable[[Path], Run]]
"""A graph, and what opens it."""

_log = logging.getLogger(__name__)


class PairReader:
    """Tells how likely cited words carry a sentence, or speak against it; safe to call from several threads."""

    def __init__(self, cache_dir: Path, backend: Backend = "auto", threads: int | None = None) -> None:
        self._cache_dir, self._backend = cache_dir, backend
        self._threads = threads or os.cpu_count() or 1
        self._run: Run | None = None
        self._exact: Run | None = None
        self._lock = Lock()
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._judged)
        self._remembered_exactly = lru_cache(maxsize=REMEMBERED)(self._judged_exactly)
        is_rounded = choose(backend, features()).flavour != "float"
        self.within = ROUNDED_WITHIN if is_rounded else 0.0

    @cached_property
    def name(self) -> str:
        """Which model it is, as every record tells."""
        return f"pair reader, sha256 {_digest()}"

    def __call__(self, sentence: str, evidence: str) -> Judged:
        """The log-odds that the evidence carries the sentence, and that it says otherwise."""
        return self._remembered(sentence, evidence)

    def exactly(self, sentence: str, evidence: str) -> Judged:
        """The same in fp32, which takes 75 MB and is opened by the first pair that needs it."""
        return self._remembered_exactly(sentence, evidence)

    def is_true(self) -> bool:
        """Whether it computes what it should on this machine."""
        return is_true(self._opened())

    def _judged(self, sentence: str, evidence: str) -> Judged:
        return judged(self._opened(), sentence, evidence)

    def _judged_exactly(self, sentence: str, evidence: str) -> Judged:
        with self._lock:
            if self._exact is None:
                self._exact = _opened(self._cache_dir, [("float", on_onnxruntime)])
        return judged(self._exact, sentence, evidence)

    def _opened(self) -> Run:
        with self._lock:
            if self._run is None:
                self._run = _opened(self._cache_dir, _ways(self._backend, threads=self._threads))
            return self._run


def tokens(sentence: str, evidence: str) -> tuple[list[int], list[int]]:
    """The token ids of both texts as one, and of which of them each is."""
    words = WordPiece.load()
    first = words.ids([sentence], max_tokens=SENTENCE_TOKENS + 2)[0]
    second = [*words.ids([evidence], max_tokens=EVIDENCE_TOKENS + 2)[0][1:-1], SEPARATOR]
    return [*first, *second], [0] * len(first) + [1] * len(second)


def judged(run: Run, sentence: str, evidence: str) -> Judged:
    """The log-odds of one pair."""
    ids, types = tokens(sentence, evidence)
    return Judged.of(*map(float, run(np.array([ids], np.int64), np.array([types], np.int64))[0]))


def is_true(run: Run) -> bool:
    """Whether the reference pair gets what it should."""
    return abs(judged(run, *REFERENCE).carried - REFERENCE_CARRIED) < REFERENCE_WITHIN


def _ways(backend: Backend, *, threads: int) -> list[Way]:
    """The graph and library that the CPU is made for, then fp32 on onnxruntime."""
    choice = choose(backend, features())
    plain: Way = ("float", on_onnxruntime)
    if choice.library == "openvino":
        return [(choice.flavour, lambda graph: Compiled(graph, threads=threads).infer), plain]
    return [plain] if choice.flavour == "float" else [(choice.flavour, on_onnxruntime), plain]


def _opened(cache_dir: Path, ways: Sequence[Way]) -> Run:
    """The first graph that gives the reference here; as cached, or built anew."""
    for flavour, way in ways:
        for anew in (False, True):
            graph = cached_graph(cache_dir, flavour, anew=anew)
            try:
                run = way(graph)
                if is_true(run):
                    return run
                _log.info("the pair reader does not give its reference")
            except Exception as error:  # the errors of neither library have a base of their own
                _log.info("the pair reader does not load: %s", type(error).__name__)
    raise ModelFilesMissing(
        "The model that reads a sentence with the words it cites does not give what it should on this machine. "
        "Reinstall onnxruntime with: pip install --force-reinstall onnxruntime, or set CITEWELL_PAIR_READER=false."
    )


def on_onnxruntime(graph: Path) -> Run:
    """The graph on onnxruntime, on one thread: other people ask at the same time."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def run(ids: NDArray[np.int64], types: NDArray[np.int64]) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = session.run(["scores"], {"ids": ids, "types": types})[0]
        return scores

    return run


def cached_graph(cache_dir: Path, flavour: Flavour, *, anew: bool = False) -> Path:
    """The built graph, made where it is not there; its name tells weights, adapter and layout."""
    graph = cache_dir / f"pair-{SHA256[:8]}-{_digest()[:8]}-{GRAPH_VERSION}-{flavour}.onnx"
    if anew or not graph.is_file():
        keep(graph, _built(flavour))
    return graph


def _built(flavour: Flavour) -> bytes:
    # Imported here, as they bring the onnx package, which nothing needs once the graph is built.
    from citewell.adapters.entailment.pair_graph import pair_graph, quantised_pair_graph

    if flavour == "float":
        return pair_graph(adapted())
    return quantised_pair_graph(adapted(), load(RANGES), half=flavour == "quantised-half")


def adapted() -> Tensors:
    """The weights of the embedding model with the changes of the adapter, and its outputs."""
    tensors = read_tensors(model_file("model.safetensors"))
    with np.load(ADAPTER, allow_pickle=False) as file:
        changes = {name: file[name].astype(np.float32) for name in file.files}
    return with_changes(tensors, changes, strength=STRENGTH)


@lru_cache(maxsize=1)
def _digest() -> str:
    return hashlib.sha256(ADAPTER.read_bytes()).hexdigest()
