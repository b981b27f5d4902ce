"""Ingest against the bare embedder: how much of the time goes into anything but vectors.

python bench/speed/ingest.py --data FOLDER [--documents 200] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import citewell


def texts(folder: Path, count: int) -> list[tuple[str, str]]:
    """Titles and texts of a BEIR corpus."""
    rows = (json.loads(line) for line in (folder / "corpus.jsonl").open())
    return [(row["title"], row["text"]) for row, _ in zip(rows, range(count), strict=False)]


def measure(folder: Path, documents: int) -> dict[str, float]:
    """Embed the same passages and sentences with and without the library round them."""
    corpus = texts(folder, documents)
    with tempfile.TemporaryDirectory() as home, citewell.open(Path(home)) as app:
        files = [Path(home) / f"{number}.md" for number in range(len(corpus))]
        for path, (title, text) in zip(files, corpus, strict=True):
            path.write_text(f"# {title}\n\n{text}")
        app.embedder.embed(["warm up"])
        started = time.perf_counter(), time.process_time()
        assert [outcome.error for outcome in app.add_all(files)] == [None] * len(files)
        ingest_s, ingest_cpu_s = time.perf_counter() - started[0], time.process_time() - started[1]
        passages = [
            [one.passage for one in chunks] + [document.text[a:b] for one in chunks for a, b in one.sentences]
            for _, document, chunks in (app.show(entry.id) for entry in app.entries())
        ]
        started = time.perf_counter(), time.process_time()
        for group in passages:
            app.embedder.embed(group)
        bare_s, bare_cpu_s = time.perf_counter() - started[0], time.process_time() - started[1]
        chunks_made = sum(len(chunks) for _, _, chunks in (app.show(entry.id) for entry in app.entries()))
        file_bytes = sum(path.stat().st_size for path in Path(home).glob("library.sqlite*"))
    count = sum(map(len, passages))
    return {
        "documents": documents,
        "passages": chunks_made,
        "texts": count,
        "ingest_texts_per_s": count / ingest_s,
        "bare_texts_per_s": count / bare_s,
        "ratio": bare_s / ingest_s,
        "ratio_per_cpu_second": bare_cpu_s / ingest_cpu_s,
        "disk_kib_per_passage": file_bytes / chunks_made / 1024,
    }


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
