"""What is slow to make is made once for a run, however many processes share the tests."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    return kept_folder("graphs", *_sources("adapters/embedding", "adapters/entailment", "minilm"))


@cache
def _parsed_folder() -> Path:
    """Where documents are kept as they were parsed, until what parses them changes."""
    own = _sources("adapters/parsers", "ingest", "types", "vocabulary", ".")
    return kept_folder("parsed", *own, libraries=("pypdfium2", "pdfplumber", "pdfminer.six"))


def kept_folder(kind: str, *sources: Path, libraries: Iterable[str] = ()) -> Path:
    """A folder of this environment for what is made by these sources and libraries, until they change."""
    parts = (*(path.read_bytes() for path in sources), *(version(library).encode() for library in libraries))
    of = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
    return Path(sys.prefix) / f"{kind}-for-tests" / of


def _sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        files = sorted((Path(citewell.__file__).parent / folder).iterdir())
        yield from (path for path in files if path.suffix in (".py", ".npz"))


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """What `make` leaves at the path it is given: the first process of a run that asks makes it, the others wait."""
    return _once(run_folder(factory) / name, make)


def _once(path: Path, make: Callable[[Path], object]) -> Path:
    made = path.with_name(f"{path.name}.made")
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            make(path)
            made.touch()
    return path


def parsed(path: Path) -> Document:
    """A PDF as the product reads it."""
    source = Source(path.read_bytes(), path.name)
    return PdfParser().parse(source, media_type="application/pdf", limits=ParseLimits())


def parsed_once(path: Path) -> Document:
    """The same, read once in an environment."""
    folder = _parsed_folder()
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{path.stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}.pickle"
    kept = _once(folder / name, lambda to: to.write_bytes(pickle.dumps(parsed(path))))
    document: Document = pickle.loads(kept.read_bytes())
    return document


class Computed:
    """What was computed for the same input before, in this run or an earlier one of this environment."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._known: dict[bytes, bytes] = {}
        self._kept = sqlite3.connect(
            folder / f"{name}.sqlite", timeout=60, isolation_level=None, check_same_thread=False
        )
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


def computed_by(model: str) -> Computed:
    """What a model computed before."""
    versions = "-".join(version(library) for library in ("onnxruntime", "openvino", "tokenizers"))
    return Computed(model_folder(), f"{model}-{versions}")


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
        self._computed = computed_by(f"vectors-{model.weights}")
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
        self._computed = computed_by(trained.name)

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
