"""What is slow to make is made once for a run, however many processes share the tests."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import sqlite3
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import citewell
from citewell.adapters.embedding.engine import TRAINED, Engine, GraphSource
from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.entailment.pair import LazyPairReader, Run, TrainedReader
from citewell.adapters.parsers.pdf import PdfParser
from citewell.ports import Vectors
from citewell.types import Document, ParseLimits, Source


def run_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run share."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once"
    folder.mkdir(exist_ok=True)
    return folder


@cache
def model_folder() -> Path:
    """Where the graphs of the models are built: once in an environment, until what builds them changes."""
    folders = (
        Path(citewell.__file__).parent / name for name in ("adapters/embedding", "adapters/entailment", "minilm")
    )
    sources = [path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in (".py", ".npz")]
    of = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return Path(sys.prefix) / "graphs-for-tests" / of


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """What `make` leaves at the path it is given: the first process that asks makes it, the others wait for it."""
    path = run_folder(factory) / name
    made = path.with_name(f"{name}.made")
    with path.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            make(path)
            made.touch()
    return path


def parsed(path: Path) -> Document:
    """A PDF as the product reads it."""
    source = Source(path.read_bytes(), path.name)
    return PdfParser().parse(source, media_type="application/pdf", limits=ParseLimits())


def parsed_once(path: Path, factory: pytest.TempPathFactory) -> Document:
    """The same, read once for all processes of a run."""
    kept = once(factory, f"{path.stem}.pickle", lambda to: to.write_bytes(pickle.dumps(parsed(path))))
    document: Document = pickle.loads(kept.read_bytes())
    return document


class Computed:
    """What the models computed for the same input before, in this run or an earlier one of this environment."""

    def __init__(self, name: str) -> None:
        versions = "-".join(version(library) for library in ("onnxruntime", "openvino", "tokenizers"))
        folder = model_folder()
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._known: dict[bytes, bytes] = {}
        file = folder / f"{name}-{versions}.sqlite"
        self._kept = sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF"):
            self._kept.execute(statement)
        self._kept.execute("CREATE TABLE IF NOT EXISTS computed (given BLOB PRIMARY KEY, result BLOB) WITHOUT ROWID")

    def get(self, given: bytes) -> bytes | None:
        if given not in self._known:
            with self._lock:
                found = self._kept.execute("SELECT result FROM computed WHERE given = ?", (given,)).fetchone()
            if found:
                self._known[given] = found[0]
        return self._known.get(given)

    def keep(self, new: Mapping[bytes, bytes]) -> None:
        self._known |= new
        with self._lock:
            self._kept.execute("BEGIN IMMEDIATE")
            self._kept.executemany("INSERT OR IGNORE INTO computed VALUES (?, ?)", new.items())
            self._kept.execute("COMMIT")

    def close(self) -> None:
        self._kept.close()


class Remembering:
    """An engine that computes the vector of a text once for all tests: the same tokens give the same vector."""

    def __init__(self, engine: Engine, computed: Computed) -> None:
        self._engine, self._computed = engine, computed

    @property
    def name(self) -> str:
        return self._engine.name

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """As the engine gives them."""
        keys = [row.astype(np.uint16).tobytes() for row in ids]
        found = {key: self._computed.get(key) for key in keys}
        new = [place for place, key in enumerate(keys) if found[key] is None]
        if new:
            made = {
                keys[place]: vector.tobytes() for place, vector in zip(new, self._engine.run(ids[new]), strict=True)
            }
            self._computed.keep(made)
            found |= made
        return np.stack([np.frombuffer(found[key] or b"", np.float32) for key in keys])


class OneMiniLM(MiniLM):
    """The built-in model, which remembers what it has computed."""

    def __init__(self, cache_dir: Path, model: GraphSource = TRAINED) -> None:
        super().__init__(cache_dir, model=model)
        self._computed = Computed(f"vectors-{model.weights}")
        self._opening = threading.Lock()
        self._remembering: Remembering | None = None

    @property
    def engine(self) -> Engine:
        with self._opening:
            if self._remembering is None:
                self._remembering = Remembering(super().engine, self._computed)
            return self._remembering

    def close(self) -> None:
        self._computed.close()


class OneReader(LazyPairReader):
    """A trained reader, which remembers the scores of the pairs that it has read."""

    def __init__(self, trained: TrainedReader, *given: Any) -> None:
        super().__init__(trained, *given)
        self._computed = Computed(trained.name)

    def run(self) -> Run:
        return self._remembered(super().run(), b"rounded")

    def exact(self) -> Run:
        return self._remembered(super().exact(), b"exact")

    def _remembered(self, run: Run, how: bytes) -> Run:
        def read(ids: NDArray[np.int64], types: NDArray[np.int64]) -> NDArray[np.float32]:
            given = how + b"".join(values.astype(np.uint16).tobytes() for values in (ids, types))
            scores = self._computed.get(given)
            if scores is None:
                scores = run(ids, types).tobytes()
                self._computed.keep({given: scores})
            return np.frombuffer(scores, np.float32).reshape(len(ids), -1)

        return read
