"""Answers, step 1, in the project's own environment: questions and the statements that answer them, for training.

    python -m bench.reader.answers_data --data FOLDER --work FOLDER

FOLDER is the data folder: its `questions` set by set, and its `guidelines`, cut into statements by the product, with
the questions of `bench/reader/questions` about them. Every document belongs to one part of ten (`fold`), by title; the
documents of part 0 are held out.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import lzma
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.quality.questions import fold_of, group_of
from bench.reader.data import write_minilm

import citewell
from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.answer.statements import Statement, statements, titled
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.parse import parse
from citewell.minilm.tokenizer import WordPiece
from citewell.types import Document, Evidence, Hit, MatchReason, ParseLimits, Source

QUESTIONS = Path(__file__).parent / "questions"
HELD_GUIDELINES = ("nice-ng226-osteoarthritis", "fda-metformin")
SAMPLES = Path(citewell.__file__).parent / "samples"
MATERIAL = "answers.json.xz"


def of_sets(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Documents and questions of the public sets."""
    documents = []
    for row in _rows(folder / "documents.jsonl.gz"):
        name = group_of(row["set"], row["id"], row["title"])
        passages = [(row["title"], text) for text in row["sentences"]]
        documents.append({"id": row["id"], "set": row["set"], "fold": fold_of(name), "passages": passages})
    questions = [
        {"set": row["set"], "text": row["question"], "answers": row["answers"], "not": row.get("not", [])}
        for row in _rows(folder / "questions.jsonl.gz")
    ]
    return documents, questions


def _rows(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def of_claims(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Abstracts whole, and claims for training with the abstracts that they cite: for the embedder alone."""
    documents = []
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            name, passages = f"scifact {row['_id']}", [(row["title"], row["text"])]
            documents.append({"id": name, "set": "scifact", "fold": fold_of(name), "passages": passages})
    with (folder / "claims_train.csv").open(encoding="utf-8", newline="") as lines:
        cited = {row["claim"]: re.findall(r"\d+", row["cited_doc_ids"]) for row in csv.DictReader(lines)}
    questions = [
        {"set": "scifact", "text": claim, "answers": [[f"scifact {one}", [0]] for one in several], "not": []}
        for claim, several in cited.items()
    ]
    return documents, questions


def of_guideline(path: Path, asked: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One guideline or label cut into statements, and the questions about it by the numbers of statements."""
    document = parse(Source(path.read_bytes(), path.name), parsers=all_parsers(), limits=ParseLimits())
    cut = list(_statements(document))
    passages = [(titled(document.title, one), one.text) for one in cut]
    questions = []
    for line in asked.read_text("utf-8").splitlines():
        places, kind, text = line.split("\t")
        right, _, wrong = places.partition("!")
        answers, misses = (_numbers(several, cut) for several in (right, wrong))
        if answers or (kind == "x" and misses):
            no = [[path.stem, misses]] if misses else []
            questions.append(
                {"set": "guidelines", "text": text, "answers": [[path.stem, answers]] if answers else [], "not": no}
            )
    fold = 0 if path.stem in HELD_GUIDELINES else 1
    return {"id": path.stem, "set": "guidelines", "fold": fold, "passages": passages}, questions


def _statements(document: Document) -> Iterator[Statement]:
    """The statements of a document, each once."""
    seen: set[tuple[tuple[int, int], ...]] = set()
    for passage in chunk(document, chunking=default_chunking(document.media_type), tokenizer=WordPiece.load()):
        text = document.text[passage.start : passage.end]
        hit = Hit(
            "d", document.title, 1, passage.index, passage.start, passage.end, text, None, passage.section, (),
            0.0, 0.0, 0.0, MatchReason(None, None, (), None),
        )  # fmt: skip
        for one in statements(Evidence(1, hit, passage.start, passage.end)):
            if one.pieces not in seen:
                seen.add(one.pieces)
                yield one


def _numbers(places: str, cut: Sequence[Statement]) -> list[int]:
    """The statements that hold most of a place."""
    spans = [tuple(map(int, place.split("-"))) for place in places.split(",") if place]
    found = []
    for number, one in enumerate(cut):
        for start, end in spans:
            shared = sum(max(0, min(end, high) - max(start, low)) for low, high in one.pieces)
            if shared > 0.6 * (end - start) or (shared and shared > 0.6 * sum(high - low for low, high in one.pieces)):
                found.append(number)
                break
    return found


def main() -> None:
    """Write answers.json.xz, minilm.npz and wordpiece.json into the work folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    documents, questions = of_sets(options.data / "questions")
    abstracts, claims = of_claims(options.data / "scifact")
    documents, questions = documents + abstracts, questions + claims
    files = [*(options.data / "guidelines").rglob("*"), *SAMPLES.iterdir()]
    for asked in sorted(QUESTIONS.glob("*.tsv")):
        document, about = of_guideline(next(path for path in files if path.stem == asked.stem), asked)
        print(asked.stem, len(document["passages"]), "statements", len(about), "questions")
        documents.append(document)
        questions += about
    with lzma.open(options.work / MATERIAL, "wt", encoding="utf-8") as file:
        json.dump({"documents": documents, "questions": questions}, file)
    write_minilm(options.work)


if __name__ == "__main__":
    main()
