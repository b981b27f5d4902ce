"""What runs the model: one engine per vendor library, chosen for the machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal, Protocol

import numpy as np

from citewell.adapters.embedding.graph import GRAPH_VERSION, write_graph
from citewell.adapters.embedding.weights import SHA256, model_file, read_tensors
from citewell.ports import Vectors

Backend = Literal["auto", "openvino", "onnxruntime"]


class Engine(Protocol):
    """Computes the vectors of one batch on the calling thread."""

    @property
    def name(self) -> str: ...

    def run(self, ids: Sequence[Sequence[int]]) -> Vectors: ...


def open_engine(cache_dir: Path, backend: Backend) -> Engine:
    """The engine for this machine."""
    return OnnxRuntime(cache_dir)


class OnnxRuntime:
    """The graph in fp32 on onnxruntime."""

    name = "onnxruntime"

    def __init__(self, cache_dir: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # batches run side by side instead: that wastes no time on waiting
        graph = cached_graph(cache_dir, f"minilm-{SHA256[:8]}-{GRAPH_VERSION}.onnx")
        self._session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def run(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """Unit vectors of texts given as token ids."""
        width = max(map(len, ids))
        padded = np.zeros((len(ids), width), np.int64)
        mask = np.zeros((len(ids), width), np.int64)
        for row, tokens in enumerate(ids):
            padded[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        vectors: Vectors = self._session.run(None, {"ids": padded, "mask": mask})[0]
        return vectors


def cached_graph(cache_dir: Path, name: str) -> Path:
    """The built graph, made if it is not there or if the weights have changed since."""
    graph, stamp = cache_dir / name, cache_dir / f"{name}.json"
    weights = model_file("model.safetensors")
    if not (graph.is_file() and _same(stamp, _stamp_of(weights, graph))):
        cache_dir.mkdir(parents=True, exist_ok=True)
        tensors = read_tensors(weights)
        _write(graph, lambda path: write_graph(tensors, path))
        text = json.dumps(_stamp_of(weights, graph))
        _write(stamp, lambda path: path.write_text(text))
    return graph


def _stamp_of(weights: Path, graph: Path) -> dict[str, int]:
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


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the place and rename, so that no reader ever sees half a file."""
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        part = Path(file.name)
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
