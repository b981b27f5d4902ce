"""What is slow to make is made once for a run, however many processes share the tests."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import sqlite3
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import citewell
from citewell.adapters.embedding.engine import TRAINED, Engine, GraphSource
from citewell.adapters.embedding.minilm import MiniLM
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


class Remembering:
    """An engine that computes the vector of a text once for all tests: the same tokens give the same vector."""

    def __init__(self, engine: Engine, file: Path) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._known: dict[bytes, bytes] = {}
        self._kept = sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF"):
            self._kept.execute(statement)
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (tokens BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    @property
    def name(self) -> str:
        return self._engine.name

    def run(self, ids: NDArray[np.int64]) -> Vectors:
        """As the engine gives them."""
        keys = [row.astype(np.uint16).tobytes() for row in ids]
        new = [place for place, key in enumerate(keys) if not self._is_known(key)]
        if new:
            self._remember([keys[place] for place in new], self._engine.run(ids[new]))
        return np.stack([np.frombuffer(self._known[key], np.float32) for key in keys])

    def _is_known(self, key: bytes) -> bool:
        if key not in self._known:
            with self._lock:
                found = self._kept.execute("SELECT vector FROM vectors WHERE tokens = ?", (key,)).fetchone()
            if found:
                self._known[key] = found[0]
        return key in self._known

    def _remember(self, keys: list[bytes], vectors: Vectors) -> None:
        found = {key: vector.tobytes() for key, vector in zip(keys, vectors, strict=True)}
        self._known |= found
        with self._lock:
            self._kept.execute("BEGIN IMMEDIATE")
            self._kept.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", found.items())
            self._kept.execute("COMMIT")

    def close(self) -> None:
        self._kept.close()


class OneMiniLM(MiniLM):
    """The built-in model, which remembers what it has computed."""

    def __init__(self, cache_dir: Path, vectors: Path, model: GraphSource = TRAINED) -> None:
        super().__init__(cache_dir, model=model)
        self._vectors = vectors
        self._opening = threading.Lock()
        self._remembering: Remembering | None = None

    @property
    def engine(self) -> Engine:
        with self._opening:
            if self._remembering is None:
                self._remembering = Remembering(super().engine, self._vectors)
            return self._remembering

    def close(self) -> None:
        if self._remembering is not None:
            self._remembering.close()
