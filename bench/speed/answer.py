"""From the question to the first checked sentence, against the search alone: `bench/speed/answer.py --data FOLDER`.

The library holds 10,000 passages made of real sentences of the corpus in the folder (BEIR layout), drawn anew for each;
the questions are its test queries. Measured in turn, by the extractive writer. Then the check of an answer of ten
sentences that stand nowhere word for word, against the five passages they come from.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from citewell.answer.check import check
from citewell.answer.stream import Sentence
from citewell.bootstrap import App, build
from citewell.config import Settings
from citewell.ingest.chunk import SECTIONS, chunk
from citewell.ports import Reading
from citewell.types import Block, Document, Filing, Source, Span
from citewell.words import sentences

SENTENCES = 4_000
SENTENCES_PER_PASSAGE = 8
PASSAGES_PER_DOCUMENT = 25


def read(folder: Path, questions: int) -> tuple[list[str], list[str]]:
    """Distinct sentences of the corpus, and some of its questions."""
    corpus = [json.loads(line)["text"] for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    cut = (text[start:end] for text in corpus for start, end in sentences(text) if 40 <= end - start <= 300)
    asked = [json.loads(line)["text"] for line in (folder / "queries.test.jsonl").open(encoding="utf-8")]
    return random.Random(1).sample(list(dict.fromkeys(cut)), SENTENCES), asked[:questions]


def fill(app: App, pool: list[str], passages: int) -> None:
    """Documents of sections of eight sentences each, with the vectors that those sentences have."""
    vectors = dict(zip(pool, app.embedder.embed(pool), strict=True))
    draw = random.Random(2)
    for number in range(passages // PASSAGES_PER_DOCUMENT):
        document = _document(number, [draw.sample(pool, SENTENCES_PER_PASSAGE) for _ in range(PASSAGES_PER_DOCUMENT)])
        chunks = tuple(chunk(document, chunking=SECTIONS, tokenizer=app.reader.tokenizer))
        rows = [[_vector(document.text[start:end], vectors) for start, end in one.sentences] for one in chunks]
        means = np.array([np.mean(row, axis=0) for row in rows], np.float32)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        reading = Reading(document, chunks, means, np.concatenate(rows), app.embedder.fingerprint, 0.0)
        source = Source(document.text.encode(), f"{number}.md")
        app.library.add(source, reading, filing=Filing(), scope=app.scope_of_owner())


def _document(number: int, sections: list[list[str]]) -> Document:
    title = f"Document {number}"
    text, blocks = "", []
    for place, section in enumerate(sections):
        words = " ".join(section)
        blocks.append(Block("paragraph", len(text), len(text) + len(words), (title, f"Section {place}")))
        text += words + "\n\n"
    return Document(title, "text/markdown", text, tuple(blocks))


def _vector(text: str, vectors: dict[str, np.ndarray]) -> np.ndarray:
    """The vector of a sentence; of the first of several that were cut as one."""
    return vectors.get(text, next(iter(vectors.values())))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU time in milliseconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu)


def first_sentence(app: App, question: str) -> object:
    """Ask until the first sentence was checked."""
    events: Iterator[object] = app.knowledge.ask(question, scope=app.scope())
    return next((event for event in events if isinstance(event, Sentence)), None)


def measure(app: App, questions: list[str]) -> dict[str, float]:
    """Medians over the questions."""
    limit = app.settings.context_chunks
    first_sentence(app, questions[0])
    searched = [timed(lambda one=one: app.search(one, limit=limit)) for one in questions]
    asked = [timed(lambda one=one: first_sentence(app, one)) for one in questions]
    found = [one for one in questions if len(app.search(one, limit=5).hits) == 5]
    checked = [timed(check_of_ten(app, one)) for one in found[:20]]
    return {
        "passages": sum(entry.chunk_count for entry in app.entries()),
        "search_p50_ms": _median(searched, 0),
        "first_sentence_p50_ms": _median(asked, 0),
        "ratio": _median(asked, 0) / _median(searched, 0),
        "cpu_ratio": _median(asked, 1) / _median(searched, 1),
        "check_of_ten_p50_ms": _median(checked, 0),
        "check_of_ten_cpu_p50_ms": _median(checked, 1),
    }


def check_of_ten(app: App, question: str) -> Callable[[], None]:
    """Holds ten sentences, each with a word put before it, against the passages of a search that was made before."""
    hits = app.search(question, limit=5).hits
    spans = [Span(hit.source_id, hit.start, hit.end, hit.text) for hit in hits]
    found = [hit.text[start:end] for hit in hits for start, end in sentences(hit.text)[:2]][:10]
    said = [f"Notably, {text[0].lower()}{text[1:]}" for text in found]

    def work() -> None:
        check("\n\n".join(said), find=lambda _: spans, verify=app.verify_sentence)

    return work


def _median(times: list[tuple[float, float]], place: int) -> float:
    return round(float(np.median([one[place] for one in times])), 3)


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder in BEIR layout")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    options = parser.parse_args()
    pool, questions = read(options.data, options.questions)
    with tempfile.TemporaryDirectory() as home, build(Settings(home=Path(home))) as app:
        fill(app, pool, options.passages)
        row = measure(app, questions)
    for name, value in row.items():
        print(f"{name:28}{value:>12,.2f}")
    if options.json:
        options.json.write_text(json.dumps(row, indent=2) + "\n")


if __name__ == "__main__":
    main()
