"""Whether the pipeline of guidelines costs more per passage as a shelf grows: `bookshelf_growth.py --data FOLDER`.

One shelf of the books of `bookshelf.py`, with as many passages as are asked for, is parsed and embedded as a whole, by
an embedder that gives vectors of no meaning at no cost: what is left is all that the pipeline does beside embedding
(read, cut, describe, write lines; read, cut, store). It is told in processor seconds per thousand passages, for the
first thousand, the first ten thousand and all. What the bare embedder takes for a thousand is measured in the same run
on a few books, so that the ratio at each size can be told: 1 + beside / embedder.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from bookshelf import measure, pool, write_book

from citewell.app import App, build
from citewell.config import Settings
from citewell.operations.bookshelf import Done, Parsing, embed
from citewell.ports import Progress, Vectors
from citewell.types import Filing

PASSAGES_PER_BOOK = 140
"""About as many as a book of `bookshelf.py` has."""


class Given:
    """Unit vectors out of a drawer: they cost nothing and mean nothing."""

    fingerprint = "given:384"
    dimensions = 384

    def __init__(self) -> None:
        drawn = np.random.default_rng(1).standard_normal((4096, self.dimensions)).astype(np.float32)
        self._drawer: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One vector per text."""
        if progress is not None:
            progress(len(texts), len(texts))
        return self._drawer.take([hash(text) % len(self._drawer) for text in texts], axis=0)


def walk(steps: Iterator[Done], marks: Sequence[int]) -> dict[int, tuple[int, float]]:
    """Passages and processor seconds when each mark was passed, and at the end."""
    found: dict[int, tuple[int, float]] = {}
    started, made = time.process_time(), 0
    for one in steps:
        assert one.error is None, one
        made += one.count
        for mark in marks:
            if made >= mark and mark not in found:
                found[mark] = (made, time.process_time() - started)
    found.setdefault(marks[-1], (made, time.process_time() - started))
    return found


def grown(app: App, shelf: Path, marks: Sequence[int]) -> dict[str, float]:
    """Processor seconds per thousand passages beside embedding, at each mark."""
    parsed = walk(Parsing(app, shelf).run(), marks)
    stored = walk(embed(app, shelf, filing=Filing()), marks)
    row: dict[str, float] = {"passages": stored[marks[-1]][0]}
    for mark in marks:
        for name, found in (("parse", parsed), ("embed", stored)):
            made, took = found[mark]
            row[f"{name}_cpu_s_per_1000_at_{mark}"] = round(1000 * took / made, 3)
    return row


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder in BEIR layout")
    parser.add_argument("--passages", type=int, default=83_247)
    parser.add_argument("--embedded", type=int, default=250, help="passages on which the bare embedder is timed")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    options = parser.parse_args()
    said = pool(options.data)
    marks = sorted({one for one in (1_000, 10_000, options.passages) if one <= options.passages})
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with build(Settings(home=home / "real")) as app:
            real = measure(app, home / "real-shelves", said, options.embedded, lambda told: print(told, flush=True))
        draw = random.Random(4)
        for number in range(options.passages // PASSAGES_PER_BOOK + 1):
            write_book(home / "shelf", number, said, draw)
        with build(Settings(home=home / "home")) as app:
            app.__dict__["embedder"] = Given()
            row = grown(app, home / "shelf", marks)
    bare = 1000 * real["bare_cpu_s"] / real["passages"]
    row["embedder_cpu_s_per_1000"] = round(bare, 2)
    for mark in marks:
        beside = row[f"parse_cpu_s_per_1000_at_{mark}"] + row[f"embed_cpu_s_per_1000_at_{mark}"]
        row[f"cpu_ratio_at_{mark}"] = round(1 + beside / bare, 3)
    for name, value in row.items():
        print(f"{name:40}{value:>14,.3f}")
    if options.json:
        options.json.write_text(json.dumps(row, indent=2) + "\n")


if __name__ == "__main__":
    main()
