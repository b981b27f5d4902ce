"""How fast the embedder is against plain fp32 onnxruntime, and how near its vectors are.

    python bench/speed/embed.py [--texts 128] [--data FOLDER] [--backend auto] [--json FILE]

FOLDER is in BEIR layout: a corpus.jsonl with one {"title", "text"} per line. Without it, texts are made up. Speed is in
texts per CPU second, tokenising included, so that a busy machine does not matter; the sides take turns, and the best
round of each counts. The baseline is the fp32 graph in batches of 32 texts, padded to the longest of the batch: as the
texts come, and sorted by length. It needs no mask for its speed to be known; vectors are compared without padding.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from citewell.adapters.embedding.engine import Engine, OnnxRuntime, cached_graph
from citewell.adapters.embedding.minilm import MAX_TOKENS, MiniLM
from citewell.minilm.tokenizer import WordPiece
from citewell.minilm.weights import model_file
from citewell.ports import Vectors

BATCH_TEXTS = 32


@dataclass(frozen=True)
class Row:
    """One kind of text, measured."""

    kind: str
    texts: int
    mean_tokens: float
    baseline_per_cpu_s: float
    sorted_baseline_per_cpu_s: float
    embedder_per_cpu_s: float
    ratio: float
    ratio_to_sorted: float
    cosine_min: float
    cosine_mean: float


def main() -> None:
    """Measure passages, sentences and the words they begin with, print one table, write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=128)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--backend", choices=["auto", "openvino", "onnxruntime"], default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    passages = read_passages(options.data) if options.data else made_up_passages(options.texts)
    chosen = random.Random(1).sample(passages, min(options.texts, len(passages)))
    sentences = [sentence for passage in chosen for sentence in re.split(r"(?<=[.?!])\s+", passage)]
    shorter = random.Random(1).sample(sentences, min(4 * options.texts, len(sentences)))
    shortest = list(dict.fromkeys(" ".join(one.split()[: 1 + place % 2]) for place, one in enumerate(shorter)))
    with tempfile.TemporaryDirectory() as cache:
        embedder = MiniLM(Path(cache), backend=options.backend, threads=1)
        baseline = OnnxRuntime(cached_graph(Path(cache), "float"), flavour="float")
        rows = [
            measured(kind, texts, embedder, baseline, rounds=options.rounds)
            for kind, texts in (("passages", chosen), ("sentences", shorter), ("a word or two", shortest))
        ]
        report(rows, embedder.engine.name)
        if options.json:
            result = {"engine": embedder.engine.name, "rows": [asdict(row) for row in rows]}
            options.json.write_text(json.dumps(result, indent=2) + "\n")


def read_passages(folder: Path) -> list[str]:
    """Titles and texts of a corpus in BEIR layout."""
    with (folder / "corpus.jsonl").open() as file:
        return [f"{found.get('title', '')}. {found['text']}" for found in map(json.loads, file)]


def made_up_passages(count: int) -> list[str]:
    """Passages of common words of the model's vocabulary, of lengths like those of abstracts."""
    words = [word for word in model_file("vocab.txt").read_text().splitlines() if word.isalpha() and len(word) > 3][
        :4000
    ]
    chance = random.Random(2)
    return [
        " ".join(" ".join(chance.choices(words, k=chance.randint(8, 30))) + "." for _ in range(chance.randint(3, 12)))
        for _ in range(count)
    ]


def measured(kind: str, texts: list[str], embedder: MiniLM, baseline: Engine, *, rounds: int) -> Row:
    """One row: every side in turn, some rounds."""
    sides: dict[str, Callable[[], Vectors]] = {
        "baseline": lambda: padded(baseline, texts, is_sorted=False),
        "sorted": lambda: padded(baseline, texts, is_sorted=True),
        "embedder": lambda: embedder.embed(texts),
    }
    embedder.embed(texts[:2])
    cpu_s = {name: float("inf") for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            start = time.process_time()
            side()
            cpu_s[name] = min(cpu_s[name], time.process_time() - start)
    ids = WordPiece.load().ids(texts, max_tokens=MAX_TOKENS)
    exact = np.concatenate([baseline.run(np.array([row])) for row in ids])
    cosines = (exact * embedder.embed(texts)).sum(axis=1)
    return Row(
        kind=kind,
        texts=len(texts),
        mean_tokens=sum(map(len, ids)) / len(ids),
        baseline_per_cpu_s=len(texts) / cpu_s["baseline"],
        sorted_baseline_per_cpu_s=len(texts) / cpu_s["sorted"],
        embedder_per_cpu_s=len(texts) / cpu_s["embedder"],
        ratio=cpu_s["baseline"] / cpu_s["embedder"],
        ratio_to_sorted=cpu_s["sorted"] / cpu_s["embedder"],
        cosine_min=float(cosines.min()),
        cosine_mean=float(cosines.mean()),
    )


def padded(engine: Engine, texts: list[str], *, is_sorted: bool) -> Vectors:
    """Batches padded to their longest text, as most code does it."""
    ids = WordPiece.load().ids(texts, max_tokens=MAX_TOKENS)
    if is_sorted:
        ids.sort(key=len)
    batches = [ids[start : start + BATCH_TEXTS] for start in range(0, len(ids), BATCH_TEXTS)]
    return np.concatenate(
        [engine.run(np.array([row + [0] * (max(map(len, batch)) - len(row)) for row in batch])) for batch in batches]
    )


def report(rows: list[Row], engine: str) -> None:
    """The table."""
    table = Table(title=f"Texts per CPU second; the embedder runs on {engine}")
    for heading in ("texts", "tokens", "fp32", "fp32 sorted", "embedder", "ratio", "to sorted", "cosine min", "mean"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            f"{row.texts} {row.kind}",
            f"{row.mean_tokens:.0f}",
            f"{row.baseline_per_cpu_s:.2f}",
            f"{row.sorted_baseline_per_cpu_s:.2f}",
            f"{row.embedder_per_cpu_s:.2f}",
            f"{row.ratio:.2f} x",
            f"{row.ratio_to_sorted:.2f} x",
            f"{row.cosine_min:.5f}",
            f"{row.cosine_mean:.5f}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
