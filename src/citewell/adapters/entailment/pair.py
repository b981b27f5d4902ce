"""Readers of two texts: the embedding model with an adapter that was trained here reads both as one.

`bench/reader` trained them. ENTAILMENT reads a sentence with the words it cites: supported, contradicted, neither.
ANSWERS reads a question with a statement: does the statement answer it? Each adapter (2.7 MB) holds low-rank changes of
the weights of all-MiniLM-L6-v2, which is installed anyway.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.engine import Backend, Flavour, OpenVinoEngine, choose, features, keep
from citewell.adapters.embedding.quantisation_ranges import load
from citewell.answer.verify.source_match import PairScores
from citewell.errors import ModelFilesMissing
from citewell.minilm.forward import adapted as with_changes
from citewell.minilm.tokenizer import SEPARATOR, WordPiece
from citewell.minilm.weights import SHA256, Tensors, model_file, read_tensors

GRAPH_VERSION = 2
"""Grows with every change of the graph, so that a cached one is built again."""

REMEMBERED = 1_000
STRENGTH = 2.0
"""How strongly the low-rank changes count, as in training."""

ROUNDED_WITHIN = 0.15
"""How far the log-odds in eight bits may be from fp32: of 541 pairs 99 in 100 are nearer, the farthest 0.22."""

Run = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]

Way = tuple[Flavour, Callable[[Path], Run]]
"""A graph, and what opens it."""

_FOLDER = Path(__file__).parent
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TrainedReader:
    """An adapter, and a pair of texts that tells whether it computes what it should."""

    name: str
    adapter: Path
    sha256: str
    ranges: Path
    """What values flow through it, for eight bits; `scripts/calibrate_pair_reader.py` measures them."""
    first_tokens: int
    second_tokens: int
    """Tokens of each text that are read, as in training."""
    reference: tuple[str, str]
    scores_expected: tuple[float, ...]
    """The scores of the reference pair in fp32; short floats are a little off."""
    setting: str
    """The variable that switches it off."""
    within: float = 0.5

    def tokens(self, first: str, second: str) -> tuple[list[int], list[int]]:
        """The token ids of both texts as one, and of which of them each is."""
        words = WordPiece.load()
        before = words.ids([first], max_tokens=self.first_tokens + 2)[0]
        behind = [*words.ids([second], max_tokens=self.second_tokens + 2)[0][1:-1], SEPARATOR]
        return [*before, *behind], [0] * len(before) + [1] * len(behind)

    def scores(self, run: Run, first: str, second: str) -> NDArray[np.float32]:
        """The scores of one pair."""
        ids, types = self.tokens(first, second)
        found: NDArray[np.float32] = run(np.array([ids], np.int64), np.array([types], np.int64))[0]
        return found

    def is_true(self, run: Run) -> bool:
        """Whether the reference pair gets what it should."""
        found = self.scores(run, *self.reference)
        return bool(np.abs(found - np.array(self.scores_expected)).max() < self.within)

    def tensors(self) -> Tensors:
        """The weights of the embedding model with the changes of the adapter, and its outputs."""
        read = self.adapter.read_bytes() if self.adapter.is_file() else b""
        if hashlib.sha256(read).hexdigest() != self.sha256:
            raise ModelFilesMissing(f"{self.adapter.name} is missing or damaged. Reinstall Citewell.")
        with np.load(self.adapter, allow_pickle=False) as file:
            changes = {name: file[name].astype(np.float32) for name in file.files}
        return with_changes(read_tensors(model_file("model.safetensors")), changes, strength=STRENGTH)

    def graph(self, cache_dir: Path, flavour: Flavour, *, rebuild: bool = False) -> Path:
        """The built graph, made where it is not there; its name tells weights, adapter and layout."""
        graph = cache_dir / f"{self.name}-{SHA256[:8]}-{self.sha256[:8]}-{GRAPH_VERSION}-{flavour}.onnx"
        if rebuild or not graph.is_file():
            keep(graph, self._built(flavour))
        return graph

    def _built(self, flavour: Flavour) -> bytes:
        # Imported here, as they bring the onnx package, which nothing needs once the graph is built.
        from citewell.adapters.entailment.pair_graph import pair_graph, quantised_pair_graph

        if flavour == "float":
            return pair_graph(self.tensors())
        return quantised_pair_graph(self.tensors(), load(self.ranges), half=flavour == "quantised-half")


ENTAILMENT = TrainedReader(
    "pair",
    _FOLDER / "adapter.npz",
    "2586d1f5ad2635b6ca9477e4684f8a65ae6bf144f031735481a89f02744fae3c",
    _FOLDER / "ranges.npz",
    72,
    224,
    ("Aspirin lowers the risk of stroke.", "In this trial aspirin reduced the risk of stroke by a fifth."),
    (1.36, -0.03, -1.19),
    "CITEWELL_PAIR_READER",
)
ANSWERS = TrainedReader(
    "answers",
    _FOLDER / "answers.npz",
    "d3a246dfd3a8a763942f50b2e46dfe9ed38c6cbffed4dc86d2323a4b8f76d96d",
    _FOLDER / "answers_ranges.npz",
    64,
    160,
    ("How often is warfarin taken?", "Warfarin : Take warfarin once a day, at the same time each day."),
    (2.73,),
    "CITEWELL_ANSWER_READER",
)


class LazyPairReader:
    """A trained reader, opened by the first pair; safe to call from several threads."""

    def __init__(self, trained: TrainedReader, cache_dir: Path, backend: Backend, threads: int | None) -> None:
        self._trained, self._cache_dir, self._backend = trained, cache_dir, backend
        self._threads = threads or os.cpu_count() or 1
        self._run: Run | None = None
        self._exact: Run | None = None
        self._lock = Lock()

    def run(self) -> Run:
        """What computes it: in eight bits where the CPU is made for them."""
        with self._lock:
            if self._run is None:
                self._run = self._first(_ways(self._backend, threads=self._threads))
            return self._run

    def exact(self) -> Run:
        """The same in fp32, which takes 75 MB."""
        with self._lock:
            if self._exact is None:
                self._exact = self._first([("float", on_onnxruntime)])
            return self._exact

    def _first(self, ways: Sequence[Way]) -> Run:
        """The first graph that gives the reference here; as cached, or rebuilt."""
        trained = self._trained
        for flavour, way in ways:
            for rebuild in (False, True):
                try:
                    run = way(trained.graph(self._cache_dir, flavour, rebuild=rebuild))
                    if trained.is_true(run):
                        return run
                    _log.info("reader %s does not give its reference", trained.name)
                except ModelFilesMissing:
                    raise
                except Exception as error:  # the errors of neither library have a base of their own
                    _log.info("reader %s does not load: %s", trained.name, type(error).__name__)
        raise ModelFilesMissing(
            f"The trained reader ({trained.name}) fails its self-test on this computer. Reinstall onnxruntime with: "
            f"pip install --force-reinstall onnxruntime, or set {trained.setting}=false."
        )


class PairReader:
    """Tells how likely cited words carry a sentence, or speak against it; safe to call from several threads."""

    def __init__(self, cache_dir: Path, backend: Backend = "auto", threads: int | None = None) -> None:
        self._opened = LazyPairReader(ENTAILMENT, cache_dir, backend, threads)
        self._remembered = lru_cache(maxsize=REMEMBERED)(lambda *pair: judged(self._opened.run(), *pair))
        self._remembered_exactly = lru_cache(maxsize=REMEMBERED)(lambda *pair: judged(self._opened.exact(), *pair))
        self.within = ROUNDED_WITHIN if choose(backend, features()).flavour != "float" else 0.0

    @cached_property
    def name(self) -> str:
        """Which model it is, as every record tells."""
        return f"pair reader, sha256 {ENTAILMENT.sha256}"

    def __call__(self, sentence: str, evidence: str) -> PairScores:
        """The log-odds that the evidence carries the sentence, and that it says otherwise."""
        return self._remembered(sentence, evidence)

    def exactly(self, sentence: str, evidence: str) -> PairScores:
        """The same in fp32, opened by the first pair that needs it."""
        return self._remembered_exactly(sentence, evidence)

    def is_true(self) -> bool:
        """Whether it computes what it should on this machine."""
        return ENTAILMENT.is_true(self._opened.run())


class AnswerReader:
    """Tells how likely statements answer questions; safe to call from several threads."""

    def __init__(self, cache_dir: Path, backend: Backend = "auto", threads: int | None = None) -> None:
        self._opened = LazyPairReader(ANSWERS, cache_dir, backend, threads)
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._score)
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "citewell-answers")

    @property
    def name(self) -> str:
        """Which model it is, as every record tells."""
        return f"answer reader, sha256 {ANSWERS.sha256}"

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The log-odds that each statement, with its titles before it, answers its question; read side by side."""
        return list(self._threads.map(self._remembered, *zip(*pairs, strict=True))) if pairs else []

    def is_true(self) -> bool:
        """Whether it computes what it should on this machine."""
        return ANSWERS.is_true(self._opened.run())

    def _score(self, question: str, statement: str) -> float:
        return float(ANSWERS.scores(self._opened.run(), question, statement)[0])


def judged(run: Run, sentence: str, evidence: str) -> PairScores:
    """The log-odds of a sentence and its evidence."""
    return PairScores.of(*map(float, ENTAILMENT.scores(run, sentence, evidence)))


def _ways(backend: Backend, *, threads: int) -> list[Way]:
    """The graph and library that the CPU is made for, then fp32 on onnxruntime."""
    choice = choose(backend, features())
    plain: Way = ("float", on_onnxruntime)
    if choice.library == "openvino":
        return [(choice.flavour, lambda graph: OpenVinoEngine(graph, threads=threads).infer), plain]
    return [plain] if choice.flavour == "float" else [(choice.flavour, on_onnxruntime), plain]


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
