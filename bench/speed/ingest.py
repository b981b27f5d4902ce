"""Ingest against the bare embedder: how much of the time goes into anything but vectors.

The embedder alone is given the texts of one document at a time, and then those of all documents of a turn at once.

python bench/speed/ingest.py --data FOLDER [--documents 200] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TypeVar

import citewell
from citewell.app import App
from citewell.ingest.library_changes import FileOutcome

Result = TypeVar("Result")

IN_TURN = 40
"""Documents that are added, then embedded alone: what else the machine does weighs on both."""


def texts(folder: Path, count: int) -> list[tuple[str, str]]:
    """Titles and texts of a BEIR corpus."""
    rows = (json.loads(line) for line in (folder / "corpus.jsonl").open())
    return [(row["title"], row["text"]) for row, _ in zip(rows, range(count), strict=False)]


def measure(folder: Path, documents: int) -> dict[str, float]:
    """Embed the same texts with the library round them and without it, some documents each way in turn."""
    corpus = texts(folder, documents)
    with tempfile.TemporaryDirectory() as home, citewell.open(Path(home)) as app:
        files = [Path(home) / f"{number}.md" for number in range(len(corpus))]
        for path, (title, text) in zip(files, corpus, strict=True):
            path.write_text(f"# {title}\n\n{text}")
        app.embedder.embed(["warm up"])
        ingest, bare, at_once, counts = [], [], [], []
        for start in range(0, len(files), IN_TURN):
            outcomes, took = timed(partial(_added, app, files[start : start + IN_TURN]))
            groups = [_embedded(app, outcome) for outcome in outcomes]
            ingest.append(took)
            bare.append(timed(partial(list, map(app.embedder.embed, groups)))[1])
            at_once.append(timed(partial(app.embedder.embed, list(chain(*groups))))[1])
            counts.append(sum(map(len, groups)))
        chunks_made = sum(entry.chunk_count for entry in app.entries())
        file_bytes = sum(path.stat().st_size for path in Path(home).glob("library.sqlite*"))

    def ratio(baseline: list[tuple[float, float]], clock: int) -> float:
        return median(alone[clock] / whole[clock] for alone, whole in zip(baseline, ingest, strict=True))

    return {
        "documents": documents,
        "passages": chunks_made,
        "texts": sum(counts),
        "ingest_texts_per_s": median(count / wall for count, (wall, _) in zip(counts, ingest, strict=True)),
        "bare_texts_per_s": median(count / wall for count, (wall, _) in zip(counts, bare, strict=True)),
        "ratio": ratio(bare, 0),
        "ratio_per_cpu_second": ratio(bare, 1),
        "at_once_texts_per_s": median(count / wall for count, (wall, _) in zip(counts, at_once, strict=True)),
        "ratio_to_at_once": ratio(at_once, 0),
        "disk_kib_per_passage": file_bytes / chunks_made / 1024,
    }


def timed(action: Callable[[], Result]) -> tuple[Result, tuple[float, float]]:
    """What it gives, and how long that took by the clock and by the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def _added(app: App, files: Sequence[Path]) -> list[FileOutcome]:
    return list(app.add_all(files))


def _embedded(app: App, outcome: FileOutcome) -> list[str]:
    """The texts of a document that were embedded."""
    assert outcome.added is not None, outcome.error
    _, document, chunks = app.show(outcome.added.entry.id)
    return [one.passage for one in chunks] + [document.text[a:b] for one in chunks for a, b in one.sentences]


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = measure(options.data, options.documents)
    for key, value in result.items():
        print(f"{key:24} {value:10.3f}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
