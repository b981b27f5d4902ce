"""Search against a bare numpy product over the same vectors, measured in turn: `python bench/speed/search.py`.

The library is synthetic: unit vectors in topics whose spectrum falls like a sentence encoder's, words by Zipf's law.
Add `--sizes 1000000` for the large case: it takes about 6 GB and a few minutes. Every question is a new one.

Before `product`, `search` and `filtered` (a scope that sees one document in a hundred, searched before) there is a
pause, as between two people; the `row` of each are the same questions right after another. `first` and `second` are the
first two searches in a scope, each another hundredth of the library: the second lays it out for those that follow.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

from citewell.adapters.index.exact import ExactIndex
from citewell.ingest.postings import pack
from citewell.ports import IndexedVersion, Vector, Vectors
from citewell.types import Scope

DIMENSIONS = 384
CHUNKS_PER_DOCUMENT = 25
WORDS_PER_CHUNK = 160
"""On average."""

VOCABULARY = 60_000
DISTINCT_DOCUMENTS = 2_000
"""Words repeat after this many documents, so that the large case is made in minutes; vectors never do."""

LIMIT = 100
"""What the search itself asks for."""

RECALL_AT = 15
QUESTION_WORDS = 7
SETTLE_S = 0.25
"""The product's threads spin for a while when they have done: what comes after waits until they sleep."""

ROW = 30
"""Questions right after another."""

EVERYTHING = Scope.owner("all")
ONE_PERCENT = Scope.owner("one percent")


Result = TypeVar("Result")
Question = tuple[Vector, dict[str, float]]


class SyntheticShelf:
    """A library of made-up documents; vectors lie in a file, as they would in the real one."""

    def __init__(self, chunk_count: int, folder: Path) -> None:
        random = np.random.default_rng(chunk_count)
        self.vectors = np.memmap(folder / f"{chunk_count}.f32", np.float32, "w+", shape=(chunk_count, DIMENSIONS))
        self.starts = [*range(0, chunk_count, CHUNKS_PER_DOCUMENT), chunk_count]
        _fill(self.vectors, random)
        self.texts = [_words(random) for _ in range(min(DISTINCT_DOCUMENTS, len(self.starts) - 1))]
        self.packed = [pack(text) for text in self.texts]
        self.few = self.visible(ONE_PERCENT)

    def stamp(self) -> int:
        return 1

    def current(self) -> list[int]:
        return list(range(len(self.starts) - 1))

    def visible(self, scope: Scope) -> list[int]:
        """Everything, or a hundredth that the scope's name decides."""
        return self.current() if scope == EVERYTHING else _hundredth(len(self.starts) - 1, scope.tenant)

    def load(self, generations: Sequence[int]) -> Iterator[IndexedVersion]:
        for generation in generations:
            start, end = self.starts[generation], self.starts[generation + 1]
            packed = self.packed[generation % len(self.packed)]
            if end - start < CHUNKS_PER_DOCUMENT:
                packed = pack(self.texts[generation % len(self.texts)][: end - start])
            yield IndexedVersion(generation, self.vectors[start:end], packed)

    def question(self, random: np.random.Generator) -> Question:
        """A vector near a passage, and some of the words of that passage."""
        row = int(random.integers(len(self.vectors)))
        generation, chunk = row // CHUNKS_PER_DOCUMENT, row % CHUNKS_PER_DOCUMENT
        words = random.choice(self.texts[generation % len(self.texts)][chunk], QUESTION_WORDS)
        vector = self.vectors[row] + 0.7 * _directions(1, random)[0]
        return (vector / np.linalg.norm(vector)).astype(np.float32), dict.fromkeys(words.tolist(), 1.0)


@cache
def _hundredth(count: int, name: str) -> list[int]:
    random = np.random.default_rng(list(name.encode()))
    return sorted(random.choice(count, max(1, count // 100), replace=False).tolist())


def _directions(count: int, random: np.random.Generator) -> Vectors:
    """Unit vectors whose spectrum falls slowly, as a sentence encoder's does, along no axis in particular."""
    rows = random.standard_normal((count, DIMENSIONS), dtype=np.float32) @ _spread()
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@cache
def _spread() -> Vectors:
    axes, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((DIMENSIONS, DIMENSIONS)))
    scales = (np.arange(DIMENSIONS) + 12.0) ** -0.55 * np.linspace(1, 0.3, DIMENSIONS)
    return (scales[:, np.newaxis] * axes).astype(np.float32)


def _fill(vectors: Vectors, random: np.random.Generator) -> None:
    """Chunks lie round their document, documents round their topic."""
    topics = _directions(max(8, len(vectors) // 5_000), random)
    for start in range(0, len(vectors), 50_000):
        part = vectors[start : start + 50_000]
        documents = -(-len(part) // CHUNKS_PER_DOCUMENT)
        about = topics[random.integers(len(topics), size=documents)] + _directions(documents, random)
        rows = np.repeat(about, CHUNKS_PER_DOCUMENT, axis=0)[: len(part)] + 1.2 * _directions(len(part), random)
        part[:] = rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _words(random: np.random.Generator) -> list[list[str]]:
    """The terms of one document: by Zipf's law, half of them from the few hundred words of its subject."""
    shares = 1 / (np.arange(VOCABULARY) + 20.0)
    subject = random.choice(VOCABULARY, 300, p=shares / shares.sum())
    count = CHUNKS_PER_DOCUMENT * WORDS_PER_CHUNK
    general = random.choice(VOCABULARY, count, p=shares / shares.sum())
    drawn = np.where(random.random(count) < 0.5, general, subject[random.integers(300, size=count)])
    words = [f"w{number}" for number in drawn.tolist()]
    cuts = [0, *sorted(random.choice(count, CHUNKS_PER_DOCUMENT - 1, replace=False).tolist()), count]
    return [words[start:end] for start, end in pairwise(cuts)]


class Times:
    """How long things took, by the clock and by the processor."""

    def __init__(self) -> None:
        self.walls: dict[str, list[float]] = {}
        self.cpus: dict[str, list[float]] = {}

    def take(self, name: str, action: Callable[[], Result]) -> Result:
        """Time one."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = action()
        self.cpus.setdefault(name, []).append(1000 * (time.process_time() - cpu))
        self.walls.setdefault(name, []).append(1000 * (time.perf_counter() - wall))
        return result

    def told(self) -> dict[str, float]:
        """Percentiles, and each against the product that was measured like it."""
        row = {}
        for name, times in self.walls.items():
            row |= {f"{name}_p50_ms": _percentile(times, 50), f"{name}_p95_ms": _percentile(times, 95)}
            row[f"{name}_cpu_p50_ms"] = _percentile(self.cpus[name], 50)
        for name in self.walls:
            product = "product_row" if name.endswith("_row") else "product"
            if name != product:
                row[f"{name}_ratio"] = row[f"{name}_p50_ms"] / row[f"{product}_p50_ms"]
                row[f"{name}_cpu_ratio"] = row[f"{name}_cpu_p50_ms"] / row[f"{product}_cpu_p50_ms"]
        return row


def measure(chunk_count: int, *, rounds: int, folder: Path) -> dict[str, float]:
    """One row of the table."""
    shelf = SyntheticShelf(chunk_count, folder)
    random = np.random.default_rng(7)
    questions = [shelf.question(random) for _ in range(rounds)]
    before = _own_memory_mib()
    index = ExactIndex(shelf)
    began = time.perf_counter()
    index.candidates(*questions[0], scope=EVERYTHING, limit=LIMIT)
    row = {"chunks": chunk_count, "cold_start_ms": 1000 * (time.perf_counter() - began)}
    row["memory_mib"] = _own_memory_mib() - before
    matrix = np.array(shelf.vectors)
    for scope in (EVERYTHING, ONE_PERCENT):
        for _ in range(2):
            index.candidates(*questions[0], scope=scope, limit=LIMIT)
    times = Times()
    recalls = [_paused(index, matrix, question, times) for question in questions]
    for start in range(0, rounds, ROW):
        _in_a_row(index, matrix, questions[start : start + ROW], times)
    for number, question in enumerate(questions):
        scope = Scope.owner(f"fresh {number}")
        shelf.visible(scope)  # what it takes to draw these is no part of a search
        for name in ("first", "second"):
            time.sleep(SETTLE_S)
            times.take(name, partial(index.candidates, *question, scope=scope, limit=LIMIT))
    return row | times.told() | {"recall_at_15": float(np.mean(recalls))}


def _paused(index: ExactIndex, matrix: Vectors, question: Question, times: Times) -> float:
    """One question, each way of answering it after a pause; the recall of the search."""
    time.sleep(SETTLE_S)
    products = times.take("product", lambda: matrix @ question[0])
    time.sleep(SETTLE_S)
    found = times.take("search", partial(index.candidates, *question, scope=EVERYTHING, limit=LIMIT))
    time.sleep(SETTLE_S)
    times.take("filtered", partial(index.candidates, *question, scope=ONE_PERCENT, limit=LIMIT))
    best = set(np.argpartition(-products, RECALL_AT)[:RECALL_AT].tolist())
    ours = {one.generation * CHUNKS_PER_DOCUMENT + one.chunk_index for one in found[:RECALL_AT]}
    return len(best & ours) / RECALL_AT


def _in_a_row(index: ExactIndex, matrix: Vectors, questions: Sequence[Question], times: Times) -> None:
    """Some questions, one way of answering all of them after another."""
    time.sleep(SETTLE_S)
    for vector, _ in questions:
        times.take("product_row", partial(np.matmul, matrix, vector))
    for name, scope in (("search_row", EVERYTHING), ("filtered_row", ONE_PERCENT)):
        time.sleep(SETTLE_S)
        for question in questions:
            times.take(name, partial(index.candidates, *question, scope=scope, limit=LIMIT))


def _percentile(times: Sequence[float], percent: int) -> float:
    return float(np.percentile(times, percent))


def _own_memory_mib() -> float:
    """Memory of this process that is not a mapped file."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if "RssAnon" in line) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,83247", help="chunks in the library, by commas")
    parser.add_argument("--rounds", type=int, default=30, help="questions per size")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    options = parser.parse_args()
    columns = {
        "chunks": "{:,.0f}",
        "product_p50_ms": "{:.2f}",
        "search_p50_ms": "{:.2f}",
        "search_p95_ms": "{:.2f}",
        "search_ratio": "{:.2f}",
        "search_cpu_ratio": "{:.2f}",
        "filtered_p50_ms": "{:.2f}",
        "filtered_p95_ms": "{:.2f}",
        "filtered_ratio": "{:.3f}",
        "filtered_row_ratio": "{:.3f}",
        "first_p50_ms": "{:.2f}",
        "second_p50_ms": "{:.2f}",
        "recall_at_15": "{:.4f}",
        "cold_start_ms": "{:.0f}",
        "memory_mib": "{:.0f}",
    }
    print("  ".join(f"{name:>16}" for name in columns))
    rows = []
    for size in options.sizes.split(","):
        with tempfile.TemporaryDirectory() as folder:
            row = measure(int(size), rounds=options.rounds, folder=Path(folder))
        rows.append(row)
        print("  ".join(f"{form.format(row[name]):>16}" for name, form in columns.items()), flush=True)
    if options.json:
        machine = {"cpu": platform.machine(), "cores": os.cpu_count(), "numpy": np.__version__}
        options.json.write_text(json.dumps({"machine": machine, "limit": LIMIT, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
