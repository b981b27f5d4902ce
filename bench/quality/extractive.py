"""How often the sentences that the extractive writer shows hold one that people pointed at as evidence.

    python bench/quality/extractive.py --data FOLDER [--json [FILE]] [--scratch FOLDER] [--split train|validation]

SciFact claims that have evidence are asked of a library with all of its abstracts, through the product's own search.
The baseline shows the first three sentences of the top passages: of as many passages as our sentences come from (`same
passages`), and of the first three (`top three`), where it shows about three times as many sentences.
`unanswerable` asks each claim without the abstracts it cites: the writer should say nothing more often.
Vectors and the library are kept in the scratch folder for another run.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from retrieval import SCOPE, SCRATCH, Remembering, fill, read_data

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.store.library import SqlLibrary
from citewell.answer.expand import Expansion
from citewell.answer.extract import extract
from citewell.answer.rank import ANSWERING
from citewell.answer.retrieve import Search, retrieve
from citewell.clinical import Lexicon
from citewell.types import Evidence, Hit
from citewell.words import sentences

SPLITS = ("train", "validation")
PASSAGES = 6
"""Passages given to the writer."""
OPENING = 3
"""Sentences that the baseline shows of a passage."""
SPARE = 14
"""Further passages looked for, to stand in where a claim's own abstracts are left out."""

Spans: TypeAlias = list[tuple[int, int]]


# ------------------------------------------------------------------------------------------------------------ the data


@dataclass(slots=True)
class Claim:
    """A claim, the abstracts it cites, and by abstract the numbers of the sentences that are evidence."""

    text: str
    cited: set[str] = field(default_factory=set)
    evidence: dict[str, set[int]] = field(default_factory=dict)


def read_claims(folder: Path, split: str) -> list[Claim]:
    """The claims of a split that have evidence."""
    claims: dict[str, Claim] = {}
    with (folder / f"claims_{split}.csv").open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            claim = claims.setdefault(row["id"], Claim(row["claim"]))
            claim.cited |= set(re.findall(r"\d+", row["cited_doc_ids"]))
            if row["evidence_doc_id"]:
                numbers = claim.evidence.setdefault(row["evidence_doc_id"], set())
                numbers |= {int(number) for number in re.findall(r"\d+", row["evidence_sentences"])}
    return [claim for claim in claims.values() if claim.evidence]


class Shelf:
    """The library of all abstracts, made once; knows stored sentence vectors and which sentence is which."""

    def __init__(self, corpus: Mapping[str, tuple[str, str]], embedder: Remembering, folder: Path) -> None:
        path, names = folder / "extractive.sqlite", folder / "extractive.json"
        if not names.exists():
            path.unlink(missing_ok=True)
            self.library = SqlLibrary(path)
            self.names = fill(self.library, corpus, embedder)
            names.write_text(json.dumps(self.names))
        else:
            self.library = SqlLibrary(path)
            self.names = json.loads(names.read_text())
        self.search = Search(self.library, ExactIndex(self.library), embedder, Lexicon.load())

    def gold(self, claim: Claim, hit: Hit) -> Spans:
        """Offsets of the evidence sentences in the document of a hit, by their number in its abstract."""
        numbers = claim.evidence.get(self.names[hit.document_id], set())
        if not numbers:
            return []
        document = self.library.opened(hit.document_id, SCOPE)[1]
        body = (block for block in document.blocks if block.kind != "heading")
        spans = [span for block in body for span in sentences(document.text, block.start, block.end)]
        return [spans[number] for number in numbers if number < len(spans)]


# --------------------------------------------------------------------------------------------------------- the measure


@dataclass(slots=True)
class Tally:
    """How often evidence was shown, and how much was shown to get there."""

    found: list[bool] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)

    def add(self, spans: Iterable[tuple[Hit, Spans]], gold: Mapping[str, Spans]) -> None:
        """Count one answer."""
        listed = [(hit.document_id, start, end) for hit, mine in spans for start, end in mine]
        self.shown.append(len(listed))
        self.found.append(any(_overlaps(start, end, gold.get(name, [])) for name, start, end in listed))

    def row(self) -> dict[str, float]:
        """The figures of a table row."""
        return {
            "claims": len(self.found),
            "evidence_shown": round(float(np.mean(self.found)), 4),
            "sentences": round(float(np.mean(self.shown)), 2),
            "said_nothing": round(float(np.mean([count == 0 for count in self.shown])), 4),
        }


def _overlaps(start: int, end: int, gold: Spans) -> bool:
    """Whether at least half of an evidence sentence lies in the span."""
    return any(2 * (min(end, last) - max(start, first)) >= last - first for first, last in gold)


def opening(hit: Hit) -> Spans:
    """The first sentences of a passage after its title."""
    spans = [(start + hit.start, end + hit.start) for start, end in sentences(hit.text)]
    return [span for span in spans if hit.text[span[0] - hit.start : span[1] - hit.start] != hit.document][:OPENING]


def measure(shelf: Shelf, claims: Sequence[Claim]) -> dict[str, dict[str, float]]:
    """All tallies over the claims, and what writing costs beside searching."""
    tallies = {name: Tally() for name in ("ours", "same passages", "top three", "unanswerable")}
    searching, writing = [], []
    for claim in claims:
        started = time.perf_counter()
        found = retrieve(claim.text, scope=SCOPE, search=shelf.search, limit=PASSAGES + SPARE, controls=ANSWERING)
        searched = time.perf_counter()
        others = [hit for hit in found.hits if shelf.names[hit.document_id] not in claim.cited | claim.evidence.keys()]
        hits = found.hits[:PASSAGES]
        gold = {hit.document_id: shelf.gold(claim, hit) for hit in hits}
        begun = time.perf_counter()
        answer = _write(claim, hits, found.expansions)
        searching.append(searched - started)
        writing.append(time.perf_counter() - begun)
        tallies["ours"].add(answer, gold)
        tallies["same passages"].add([(hit, opening(hit)) for hit in hits[: len({id(hit) for hit, _ in answer})]], gold)
        tallies["top three"].add([(hit, opening(hit)) for hit in hits[:3]], gold)
        tallies["unanswerable"].add(_write(claim, others[:PASSAGES], found.expansions), {})
    rows = {name: tally.row() for name, tally in tallies.items()}
    for name in ("same passages", "top three"):
        rows["ours"][f"ratio_to_{name.replace(' ', '_')}"] = round(
            rows["ours"]["evidence_shown"] / rows[name]["evidence_shown"], 2
        )
    rows["ours"]["answer_to_search_time"] = round(1 + float(np.median(writing) / np.median(searching)), 2)
    return rows


def _write(claim: Claim, hits: Sequence[Hit], expansions: Sequence[Expansion]) -> list[tuple[Hit, Spans]]:
    """What the extractive writer shows."""
    evidence = [Evidence(number, hit, hit.start, hit.end) for number, hit in enumerate(hits, 1)]
    shown = extract(claim.text, evidence, expansions=expansions)
    return [(hits[one.number - 1], list(one.pieces)) for one in shown]


def main() -> None:
    """Measure, print one table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="SciFact: corpus.jsonl and claims_*.csv")
    parser.add_argument("--json", nargs="?", const="-", help="print JSON, or write it to this file")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="where vectors and the library are kept")
    parser.add_argument("--split", choices=SPLITS, default=SPLITS[0])
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    embedder = Remembering(MiniLM(options.scratch), options.scratch)
    shelf = Shelf(read_data(options.data).corpus, embedder, options.scratch)
    claims = read_claims(options.data, options.split)
    embedder.embed([claim.text for claim in claims])
    rows = measure(shelf, claims)
    written = json.dumps({options.split: rows}, indent=2)
    if options.json == "-":
        print(written)
        return
    print(f"{options.split:16}{'evidence shown':>15}{'sentences':>11}{'said nothing':>14}")
    for name, row in rows.items():
        print(f"{name:16}{row['evidence_shown']:15.3f}{row['sentences']:11.2f}{row['said_nothing']:14.3f}")
    print(", ".join(f"{name} {value}" for name, value in rows["ours"].items() if "_to_" in name))
    if options.json:
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(written + "\n")


if __name__ == "__main__":
    main()
