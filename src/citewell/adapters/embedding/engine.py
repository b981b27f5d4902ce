"""What runs the model: the library and the arithmetic that suit the machine."""

from __future__ import annotations

import json
import logging
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.quantisation_ranges import REFERENCE_TEXT, load, reference
from citewell.errors import MissingExtra, ModelFilesMissing
from citewell.minilm.adapter import Adapter
from citewell.minilm.tokenizer import WordPiece
from citewell.minilm.weights import SHA256, Tensors, model_file, read_tensors
from citewell.ports import Vector, Vectors


@cache
def features() -> frozenset[str]:
    """The CPU's features; empty where they cannot be known, which is always safe."""
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return frozenset({"asimddp", "asimdhp"})  # every Apple CPU that runs Python has both
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    listed = (line.partition(":")[2] for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(listed, "").split())


LEAST_LENGTH = 17.0
"""Where the sum of a text's token vectors, over the root of their number, is shorter, it is computed again in fp32.

Rounding moves every token's vector by about as much, in any direction: over many tokens it averages out, and where they
cancel each other it weighs most. Chosen on 3,500 texts: all whose cosine to fp32 was below 0.999 are shorter than this.
Nearly all texts of a word or two are, one in thirty sentences of abstracts, and no question of a hundred.
"""

FEW_TOKENS = 6
"""Texts of at most this many tokens, special tokens included, count as names and go straight to fp32.

Of 274 names of illnesses, and of 4,600 sentences and headings of articles, nine in ten of this length were weak.
"""

_log = logging.getLogger(__name__)


class ExactEngine(Protocol):
    """Computes unit vectors without rounding."""

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """Unit vectors of texts of one length, given as token ids."""
        ...


class RoundedEngine(Protocol):
    """Computes unit vectors, and tells how long they were before."""

    @property
    def name(self) -> str:
        """Library and arithmetic, for a person to read."""
        ...

    def run_with_lengths(self, ids: NDArray[np.int64]) -> tuple[Vectors, NDArray[np.float32]]:
        """Unit vectors of texts of one length, and the length of each before it was one."""
        ...


class PrecisionFallback:
    """Two engines as one; the exact one takes 75 MB and is opened by the first text that needs it."""

    def __init__(self, rounded: RoundedEngine, open_exact: Callable[[], ExactEngine | None]) -> None:
        self.name = rounded.name
        self._rounded = rounded
        self._open_exact = open_exact
        self._exact: ExactEngine | None = None
        self._is_opened = False
        self._lock = Lock()

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """Unit vectors of texts of one length, given as token ids."""
        if ids.shape[1] <= FEW_TOKENS and (exact := self._opened()) is not None:
            return exact.run(ids)
        vectors, lengths = self._rounded.run_with_lengths(ids)
        weak = np.flatnonzero(lengths * np.sqrt(ids.shape[1]) < LEAST_LENGTH)
        if len(weak) and (exact := self._opened()) is not None:
            vectors[weak] = exact.run(ids[weak])
        return vectors

    def _opened(self) -> ExactEngine | None:
        """The exact engine; None where there is no room for its graph: the rounded vectors must do then."""
        with self._lock:
            if not self._is_opened:
                try:
                    self._exact = self._open_exact()
                except ModelFilesMissing as error:
                    _log.info("the fp32 graph cannot be made, eight bits are used alone: %s", type(error).__name__)
                self._is_opened = True
            return self._exact


Backend = Literal["auto", "openvino", "onnxruntime"]
Flavour = Literal["float", "quantised", "quantised-half"]

GRAPH_VERSION = 5
"""Grows with every change of a graph, so that a cached one is built again."""

_LEAST_COSINE = 0.998

_log = logging.getLogger(__name__)


class Engine(Protocol):
    """Computes the vectors of one batch, on the calling thread."""

    @property
    def name(self) -> str:
        """Library and arithmetic, for a person to read."""
        ...

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """Unit vectors of texts of one length, given as token ids."""
        ...


@dataclass(frozen=True, slots=True)
class GraphSource:
    """MiniLM as it was published, or with what training changed, and the ranges of its inner values."""

    ranges: Path
    adapter: Path | None = None
    adapter_sha256: str = ""

    @property
    def weights(self) -> str:
        """Names the weights."""
        return f"{SHA256[:8]}+{self.adapter_sha256[:8]}" if self.adapter else SHA256[:8]

    def tensors(self) -> Tensors:
        """The weights."""
        if self.adapter is None:
            return read_tensors(model_file("model.safetensors"))
        return Adapter.load(self.adapter, self.adapter_sha256).tensors


_FOLDER = Path(__file__).parent
PUBLISHED = GraphSource(_FOLDER / "ranges.npz")
TRAINED = GraphSource(
    _FOLDER / "embedder_ranges.npz",
    _FOLDER / "embedder.npz",
    "e6d300d9673c6d2561c1aca456b16c4e4861df579b2707f895c9fd085556af42",
)
"""Questions lie near what answers them; `bench/reader/embedder.py` makes the adapter."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A library, and the graph that it runs best on this CPU."""

    library: Literal["openvino", "onnxruntime"]
    flavour: Flavour


def choose(backend: Backend, cpu: frozenset[str]) -> Choice:
    """What to run on a CPU with these features: eight bits where it multiplies them natively, bf16 where it has AMX.

    >>> choose("auto", frozenset({"asimddp", "asimdhp"}))
    Choice(library='onnxruntime', flavour='quantised-half')
    >>> choose("auto", frozenset({"avx512_vnni", "amx_bf16"}))
    Choice(library='openvino', flavour='float')
    >>> choose("auto", frozenset({"avx2"}))
    Choice(library='onnxruntime', flavour='float')
    """
    if backend == "openvino" or (backend == "auto" and "amx_bf16" in cpu):
        return Choice("openvino", "float")
    if "asimddp" in cpu:
        return Choice("onnxruntime", "quantised-half" if "asimdhp" in cpu else "quantised")
    # Without VNNI, x86 adds pairs of byte products in 16 bits, which overflows: vectors would be wrong.
    return Choice("onnxruntime", "quantised" if cpu & {"avx512_vnni", "avx_vnni"} else "float")


def open_engine(cache_dir: Path, backend: Backend, *, threads: int, model: GraphSource = TRAINED) -> Engine:
    """The engine for this machine; onnxruntime where OpenVINO is chosen by itself and does not work."""
    choice = choose(backend, features())
    if choice.library == "openvino":
        try:
            return _opened_by_openvino(cache_dir, choice.flavour, model, threads=threads)
        except (ImportError, RuntimeError) as error:
            if backend == "openvino":
                raise MissingExtra(
                    "OpenVINO was requested but does not start. Install it with: pip install 'citewell[openvino]', "
                    "or set the embedding backend to auto."
                ) from error
            _log.info("openvino does not start, onnxruntime is used: %s", type(error).__name__)
            choice = choose("onnxruntime", features())
    return _proven(cache_dir, choice.flavour, model)


def _opened_by_openvino(cache_dir: Path, flavour: Flavour, model: GraphSource, *, threads: int) -> OpenVino:
    """A graph on OpenVINO that gives the reference vector here: as cached, or built anew where that is damaged."""
    for anew in (False, True):
        try:
            engine = OpenVino(cached_graph(cache_dir, flavour, model, anew=anew), threads=threads)
            if _is_true(engine, model):
                return engine
            _log.info("the %s graph does not give the reference vector on openvino", flavour)
        except RuntimeError as error:
            if anew:
                raise
            _log.info("the %s graph does not load on openvino: %s", flavour, type(error).__name__)
    raise RuntimeError("wrong vectors")


def _proven(cache_dir: Path, flavour: Flavour, model: GraphSource) -> Engine:
    """A graph on onnxruntime that gives the reference vector here: as cached, built anew, or in fp32."""
    unfit = cache_dir / f"{_graph_name(flavour, model)}.unfit"
    if not unfit.exists():
        for anew in (False, True):
            engine = _opened(cache_dir, flavour, model, anew=anew)
            if engine is not None:
                return engine if flavour == "float" else PrecisionFallback(engine, partial(_exact, cache_dir, model))
        unfit.touch()  # so that the next start does not try again
    engine = _exact(cache_dir, model)
    if engine is None:
        raise ModelFilesMissing(
            "onnxruntime gives wrong vectors for the embedding model on this computer. Reinstall it with: pip "
            "install --force-reinstall onnxruntime"
        )
    return engine


def _exact(cache_dir: Path, model: GraphSource) -> OnnxRuntime | None:
    """The model in fp32."""
    return _opened(cache_dir, "float", model, anew=False) or _opened(cache_dir, "float", model, anew=True)


def _opened(cache_dir: Path, flavour: Flavour, model: GraphSource, *, anew: bool) -> OnnxRuntime | None:
    """The engine, unless its graph does not load or does not give the reference vector."""
    graph = cached_graph(cache_dir, flavour, model, anew=anew)
    try:
        engine = OnnxRuntime(graph, flavour=flavour)
        if _is_true(engine, model):
            return engine
        _log.info("the %s graph does not give the reference vector", flavour)
    except Exception as error:  # onnxruntime's errors have no base of their own
        _log.info("the %s graph does not load: %s", flavour, type(error).__name__)
    return None


def _is_true(engine: Engine, model: GraphSource) -> bool:
    """Whether an engine computes what it should on this CPU: a wrong vector looks like any other."""
    ids = np.array(WordPiece.load().ids([REFERENCE_TEXT], max_tokens=64))
    return is_reference(engine.run(ids)[0], model)


def is_reference(vector: Vector, model: GraphSource) -> bool:
    """Whether a vector is that of the reference text, but for the rounding of short arithmetic."""
    return bool(vector @ reference(model.ranges) > _LEAST_COSINE)


class OnnxRuntime:
    """The graph on onnxruntime."""

    def __init__(self, graph: Path, *, flavour: Flavour) -> None:
        import onnxruntime

        self.name = f"onnxruntime {flavour}"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # batches run side by side instead: that wastes no time on waiting
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """Unit vectors of texts of one length, given as token ids."""
        vectors: Vectors = self._session.run(["vectors"], {"ids": ids})[0]
        return vectors

    def run_with_lengths(self, ids: NDArray[np.int64]) -> tuple[Vectors, NDArray[np.float32]]:
        """The same of an eight-bit graph, and how long each vector was before it was of length one."""
        vectors, lengths = self._session.run(["vectors", "lengths"], {"ids": ids})
        return vectors, lengths[:, 0]


class OpenVino:
    """The graph on OpenVINO, in the shortest floats that the CPU computes in."""

    def __init__(self, graph: Path, *, threads: int) -> None:
        self._compiled = OpenVinoEngine(graph, threads=threads)
        self.name = self._compiled.name

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """Unit vectors of texts of one length, given as token ids."""
        vectors = self._compiled.infer(ids)
        # Short floats leave the length off by a thousandth.
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


class OpenVinoEngine:
    """Any graph on OpenVINO; safe to call from several threads."""

    def __init__(self, graph: Path, *, threads: int) -> None:
        import openvino

        core = openvino.Core()
        able = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        precision = next((name for name in ("BF16", "FP16") if name in able), "FP32")
        self.name = f"openvino {precision.lower()}"
        hint = {"BF16": "bf16", "FP16": "f16", "FP32": "f32"}[precision]
        settings = {
            "INFERENCE_PRECISION_HINT": hint,
            "NUM_STREAMS": threads,
            "INFERENCE_NUM_THREADS": threads,
            "CACHE_DIR": str(graph.parent / "openvino"),
        }
        # Given the file and not what is in it, it reads only what it compiled before.
        self._model = core.compile_model(str(graph), "CPU", settings)
        self._requests: SimpleQueue[Any] = SimpleQueue()

    def infer(self, *inputs: NDArray[np.int64]) -> Vectors:
        """What the graph gives first for these inputs."""
        # A request serves one batch at a time and holds memory of its own: those that are free are used again.
        try:
            request = self._requests.get_nowait()
        except Empty:
            request = self._model.create_infer_request()
        given: Vectors = np.array(request.infer(list(inputs))[0])
        self._requests.put(request)
        return given


def cached_graph(cache_dir: Path, flavour: Flavour, model: GraphSource = TRAINED, *, anew: bool = False) -> Path:
    """The built graph, made if it is not there or if the weights have changed since."""
    name = _graph_name(flavour, model)
    graph, stamp = cache_dir / name, cache_dir / f"{name}.json"
    weights = model_file("model.safetensors")
    if anew or not (graph.is_file() and _same(stamp, _stamp(weights, graph))):
        data = _build(model, flavour)
        keep(graph, data)
        keep(stamp, json.dumps(_stamp(weights, graph)).encode())
    return graph


def _graph_name(flavour: Flavour, model: GraphSource) -> str:
    return f"minilm-{model.weights}-{GRAPH_VERSION}-{flavour}.onnx"


def _build(model: GraphSource, flavour: Flavour) -> bytes:
    # Imported here, as they bring the onnx package, which nothing needs once the graph is built.
    from citewell.adapters.embedding.graph import float_graph
    from citewell.adapters.embedding.quantised import quantised_graph

    if flavour == "float":
        return float_graph(model.tensors())
    return quantised_graph(model.tensors(), load(model.ranges), half=flavour == "quantised-half")


def _stamp(weights: Path, graph: Path) -> dict[str, int]:
    """Sizes and times that tell, without reading 90 MB, whether the weights are those that were checked."""
    source = weights.stat()
    return {
        "weights_bytes": source.st_size,
        "weights_changed_ns": source.st_mtime_ns,
        "graph_bytes": graph.stat().st_size,
    }


def _same(stamp: Path, expected: dict[str, int]) -> bool:
    try:
        return bool(json.loads(stamp.read_text()) == expected)
    except (OSError, ValueError):
        return False


def keep(path: Path, data: bytes) -> None:
    """Write beside the place and rename, so that no reader ever sees half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            part = Path(file.name)
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise ModelFilesMissing(
            f"The embedding model could not be prepared: {error.strerror} in {path.parent}. Free some space there, "
            "or choose a folder that can be written to."
        ) from error
