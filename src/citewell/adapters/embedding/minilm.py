"""The default embedder: all-MiniLM-L6-v2, trained on clinical questions, on the CPU and offline."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.engine import TRAINED, Backend, Engine, GraphSource, open_engine
from citewell.errors import ModelFilesMissing
from citewell.minilm.tokenizer import WordPiece
from citewell.minilm.weights import DIMENSIONS
from citewell.ports import Progress, Vectors
from citewell.work import spend

MODEL = "minilm-l6-v2"
MAX_TOKENS = 256
"""Longer texts are cut: the model was trained on no more."""

_WINDOW_TEXTS = 4096
"""Texts tokenised and sorted at a time: a batch then holds texts of nearly one length, in bounded memory."""

_BATCH_TOKENS = 512
"""Tokens computed at a time: enough to keep the CPU busy, few enough to stay in its cache."""

TOKEN_S = 0.0005
"""Processor time of a token, at most."""


class MiniLM:
    """Turns texts into unit vectors; safe to call from several threads."""

    def __init__(
        self, cache_dir: Path, backend: Backend = "auto", threads: int | None = None, model: GraphSource = TRAINED
    ) -> None:
        self._cache_dir, self._model = cache_dir, model
        self._backend: Backend = backend
        self._threads = threads or os.cpu_count() or 1
        self._engine: Engine | None = None
        self._lock = Lock()

    @property
    def fingerprint(self) -> str:
        """The same for every backend, as their vectors are comparable: cosine 0.999 or more between them."""
        return f"{MODEL}:{self._model.weights}:mean:{MAX_TOKENS}:{DIMENSIONS}"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    @property
    def engine(self) -> Engine:
        """What runs the model on this machine, opened at first use."""
        with self._lock:
            if self._engine is None:
                self._engine = open_engine(self._cache_dir, self._backend, threads=self._threads, model=self._model)
            return self._engine

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One unit vector per text, in the order given; equal texts are computed once."""
        places: dict[str, int] = {}
        rows = [places.setdefault(text, len(places)) for text in texts]
        distinct = list(places)
        vectors = np.empty((len(distinct), DIMENSIONS), np.float32)
        if len(distinct) == 1:
            ids = np.array(WordPiece.load().ids(distinct, max_tokens=MAX_TOKENS))
            vectors[:], elsewhere_s = _timed(self.engine, ids)
            spend(elsewhere_s)
        elif distinct:
            with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as workers:
                try:
                    self._fill(vectors, distinct, workers, progress=_scaled(progress, len(distinct), len(texts)))
                finally:
                    workers.shutdown(cancel_futures=True)  # who stops half-way does not wait for the rest
        if not np.isfinite(vectors).all():
            raise ModelFilesMissing(
                f"The embedding model gives invalid vectors: its prepared copy in {self._cache_dir} is damaged. "
                "Delete that folder and try again; it will be rebuilt."
            )
        if progress is not None:
            progress(len(texts), len(texts))
        return vectors if len(distinct) == len(texts) else vectors[rows]

    def _fill(self, vectors: Vectors, texts: list[str], workers: Executor, *, progress: Progress | None) -> None:
        engine, words = self.engine, WordPiece.load()
        done = 0
        for start in range(0, len(texts), _WINDOW_TEXTS):
            ids = words.ids(texts[start : start + _WINDOW_TEXTS], max_tokens=MAX_TOKENS)
            running = {
                workers.submit(_timed, engine, np.array([ids[row] for row in rows]), is_apart=True): rows
                for rows in _batches(ids)
            }
            for finished in as_completed(running):
                rows = running[finished]
                vectors[np.array(rows) + start], elsewhere_s = finished.result()
                spend(elsewhere_s)
                done += len(rows)
                if progress is not None and done < len(texts):
                    progress(done, len(texts))


def _timed(engine: Engine, ids: NDArray[np.int64], *, is_apart: bool = False) -> tuple[Vectors, float]:
    """The vectors of texts, and the processor time that they took outside of the thread that asked."""
    started_s, own_s = time.perf_counter(), time.thread_time()
    vectors = engine.run(ids)
    here_s = time.thread_time() - own_s
    if not engine.name.startswith("openvino"):
        return vectors, here_s if is_apart else 0.0
    # It computes in threads of its own: the time that passed, or what so many tokens take where others held it up.
    taken_s = max(here_s, min(time.perf_counter() - started_s, ids.size * TOKEN_S))
    return vectors, taken_s if is_apart else taken_s - here_s


def _batches(ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Places of texts that are computed together: of one length, so that none is padded; the longest first."""
    batch: list[int] = []
    for row in sorted(range(len(ids)), key=lambda row: -len(ids[row])):
        length = len(ids[row])
        if batch and (len(ids[batch[0]]) != length or (len(batch) + 1) * length > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _scaled(progress: Progress | None, distinct: int, total: int) -> Progress | None:
    """Progress over distinct texts, told as progress over all of them."""
    if progress is None:
        return None
    report = progress
    return lambda done, _: report(done * total // distinct, total)
