"""From the question to the first checked sentence, against the search alone: `bench/speed/answer.py --data FOLDER`.

The library holds 10,000 passages made of real sentences of the corpus in the folder (BEIR layout), drawn anew for each;
the questions are its test queries. Measured in turn, by the extractive writer. Then the check of a text of ten
sentences that was not checked before, the models open: sentences of five passages with a word put before each; the same
with one word changed; and true sentences in words of their own (`tests/data/adversary.tsv`), each held against one to
three passages.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from citewell.answer.events import SentenceChecked
from citewell.answer.gate import check
from citewell.app import App, build
from citewell.config import Settings
from citewell.ingest.chunk import SECTIONS, chunk
from citewell.ports import ParsedFile
from citewell.sentences import sentences
from citewell.types import Block, Document, EvidenceSpan, Filing, Source, source_id

SENTENCES = 4_000
SENTENCES_PER_PASSAGE = 8
PASSAGES_PER_DOCUMENT = 25
TEN = 10
"""Sentences of a text that is checked."""
CHECKS = 20
"""Texts that are checked of each kind, where there are so many."""
FREE = Path(__file__).parents[2] / "tests" / "data" / "adversary.tsv"

Text = tuple[list[str], Callable[[str], Sequence[EvidenceSpan]]]
"""The sentences of a text, and what each is held against."""


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
        reading = ParsedFile(document, chunks, means, np.concatenate(rows), app.embedder.fingerprint, 0.0)
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
    return next((event for event in events if isinstance(event, SentenceChecked)), None)


def measure(app: App, questions: list[str]) -> dict[str, float]:
    """Medians over the questions."""
    limit = app.settings.context_chunks
    first_sentence(app, questions[0])
    searched = [timed(lambda one=one: app.search(one, limit=limit)) for one in questions]
    asked = [timed(lambda one=one: first_sentence(app, one)) for one in questions]
    return {
        "passages": sum(entry.chunk_count for entry in app.entries()),
        "search_p50_ms": _median(searched, 0),
        "first_sentence_p50_ms": _median(asked, 0),
        "ratio": _median(asked, 0) / _median(searched, 0),
        "cpu_ratio": _median(asked, 1) / _median(searched, 1),
        **checks(app, questions),
    }


def checks(app: App, questions: list[str]) -> dict[str, float]:
    """Medians over texts of ten sentences, kind by kind; beside the last what embedding its sentences takes alone."""
    found = [one for one in questions if len(app.search(one, limit=5).hits) == 5]
    some, others, free = found[:CHECKS], found[CHECKS : 2 * CHECKS] or found, in_own_words(app)
    kinds: dict[str, list[Text]] = {
        "word_added": [of_passages(app, one, _with_a_word) for one in some],
        "word_changed": [of_passages(app, one, _with_another_word) for one in others],
        "free_words": free,
    }
    # The models are open and every rule has been asked once; what is measured has not been checked before.
    _check(app, of_passages(app, found[-1], _with_another_word))
    _check(app, free.pop())
    if app.pair_reader is not None:
        app.pair_reader.exactly("It is open.", "It is open.")
    row: dict[str, float] = {}
    for kind, texts in kinds.items():
        times = [timed(lambda text=text: _check(app, text)) for text in texts]
        row |= {f"check_{kind}_p50_ms": _median(times, 0), f"check_{kind}_cpu_p50_ms": _median(times, 1)}
    embedded = [timed(lambda said=said: [app.embedder.embed([one]) for one in said]) for said, _ in free]
    row["embed_free_words_cpu_p50_ms"] = _median(embedded, 1)
    return row


def _check(app: App, text: Text) -> None:
    said, find = text
    checked = check("\n\n".join(said), find=find, verify=app.verify_sentence)
    assert [sentence for sentence, _ in checked] == said


def of_passages(app: App, question: str, alter: Callable[[str], str]) -> Text:
    """Ten sentences of the passages that a question finds, each altered, held against all five."""
    hits = app.search(question, limit=5).hits
    spans = [EvidenceSpan(hit.source_id, hit.start, hit.end, hit.text) for hit in hits]
    found = [hit.text[start:end] for hit in hits for start, end in sentences(hit.text)[:2]]
    return [alter(text) for text in found[:TEN]], lambda _: spans


def _with_a_word(text: str) -> str:
    return f"Notably, {text[0].lower()}{text[1:]}"


def _with_another_word(text: str) -> str:
    """With “kidney” for the longest word."""
    longest = max(re.findall(r"[^\W\d_]+", text), key=len)
    return re.sub(rf"\b{longest}\b", "kidney", text, count=1)


def in_own_words(app: App) -> list[Text]:
    """Texts of ten true sentences about passages of their own, which each cite theirs and up to two more of these."""
    rows = [line.split("\t") for line in FREE.read_text("utf-8").splitlines() if not line.startswith("#")]
    passages = {name: text for kind, _, name, text in rows if kind == "passage"}
    order = list(passages)
    said = sorted(((name, text) for kind, _, name, text in rows if kind == "free"), key=lambda one: order.index(one[0]))
    pages = "".join(f"## {name}\n\n{text}\n\n" for name, text in passages.items())
    added = app.add_source(Source(f"# Passages\n\n{pages}".encode(), "passages.md"))
    chunks = app.show(added.entry.id)[2]
    spans = {
        name: EvidenceSpan(source_id(added.entry.id, one.index), one.start, one.end, one.text)
        for name in passages
        for one in chunks
        if one.section[-1] == name
    }
    texts: list[Text] = []
    for first in range(0, len(said) - TEN + 1, TEN):
        part = said[first : first + TEN]
        names = list(dict.fromkeys(name for name, _ in part))
        cited = {
            text: [spans[name], *[spans[other] for other in names if other != name][: place % 3]]
            for place, (name, text) in enumerate(part)
        }
        texts.append((list(cited), cited.__getitem__))
    return texts


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
