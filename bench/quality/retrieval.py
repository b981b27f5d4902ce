"""How well the product's own search finds what people judged relevant, on any folder in BEIR layout.

    python bench/quality/retrieval.py --data FOLDER [--json [FILE]] [--scratch FOLDER]

Every abstract goes through the product: parsed, cut, embedded, stored, indexed. A document scores as its best passage.
`lexical`, `dense` and `sentence` rank everything by one view; `hybrid` is what a person gets from a search.
Vectors are kept in the scratch folder, so that a second run embeds only what has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import math
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.store.library import SqlLibrary
from citewell.answer.expand import expand
from citewell.answer.retrieve import Search, retrieve, weighted_terms
from citewell.clinical import Lexicon
from citewell.ingest.library_changes import unwatched
from citewell.ingest.parse import parse
from citewell.ingest.parse_cut_embed import FileReader
from citewell.minilm.tokenizer import WordPiece
from citewell.ports import Candidate, Embedder, Progress, RankedCandidate, Vectors
from citewell.types import Filing, MatchReason, ParseLimits, Scope, Source

SCRATCH = Path(__file__).parent.parent / "results" / "scratch"
SCOPE = Scope.owner("bench")
GAIN_AT, RECALL_AT = 10, 100
BLOCK = 2_048
"""Texts embedded before they are kept: what a stopped run loses."""
VIEWS = ("lexical", "dense", "sentence", "hybrid")

Judgements: TypeAlias = dict[str, dict[str, int]]
"""By question, the relevance of each judged document."""
Result: TypeAlias = dict[str, dict[str, float]]


# ------------------------------------------------------------------------------------------------------------ the data


@dataclass(frozen=True, slots=True)
class Data:
    """A test collection."""

    corpus: dict[str, tuple[str, str]]
    """Title and text by id."""
    questions: dict[str, str]
    judgements: Judgements


def read_data(folder: Path) -> Data:
    """The collection in a folder, with the questions that have a relevant document."""
    corpus = {row["_id"]: (row.get("title") or "", row["text"]) for row in _rows(folder / "corpus.jsonl")}
    judgements: Judgements = {}
    for line in _first(folder, "qrels/test.tsv", "qrels.test.tsv").read_text().splitlines()[1:]:
        question, document, score = line.split("\t")
        if int(score) > 0:
            judgements.setdefault(question, {})[document] = int(score)
    questions = _rows(_first(folder, "queries.test.jsonl", "queries.jsonl"))
    return Data(corpus, {row["_id"]: row["text"] for row in questions if row["_id"] in judgements}, judgements)


def _rows(path: Path) -> Iterable[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _first(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).exists():
            return folder / name
    sys.exit(f"{folder} has no {' or '.join(names)}: it is not in BEIR layout.")


# --------------------------------------------------------------------------------------------------------- the library


class Remembering:
    """An embedder that keeps its vectors in a file between runs."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._path = folder / f"vectors-{embedder.fingerprint.replace(':', '-')}.npz"
        self._known: dict[bytes, Vectors] = {}
        if self._path.exists():
            with np.load(self._path) as stored:
                self._known = dict(zip(map(bytes, stored["keys"]), stored["vectors"], strict=True))

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One unit vector per text, computed if it is not known; kept at once when somebody watches."""
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        missing = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in self._known]
        for start in range(0, len(missing), BLOCK):
            block = dict(missing[start : start + BLOCK])
            self._known.update(zip(block, self._embedder.embed(list(block.values())), strict=True))
            if progress is not None:
                self.save()
                progress(min(start + BLOCK, len(missing)), len(missing))
        return np.array([self._known[key] for key in keys], np.float32).reshape(-1, self.dimensions)

    def save(self) -> None:
        """Keep what is known."""
        keys = np.frombuffer(b"".join(self._known), np.uint8).reshape(-1, 32)
        np.savez(self._path, keys=keys, vectors=np.array(list(self._known.values()), np.float32))


def page(document_id: str, title: str, text: str) -> Source:
    """A document as a web page; the comment tells apart two of the same words."""
    title, text = html.escape(title), html.escape(text)
    body = f"<title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    return Source(f"<!doctype html><html><head><!-- {html.escape(document_id)} -->{body}".encode(), "abstract.html")


def fill(library: SqlLibrary, corpus: Mapping[str, tuple[str, str]], embedder: Remembering) -> dict[str, str]:
    """Add every document; says which corpus id each document id of the library stands for."""
    reader = FileReader(all_parsers(), WordPiece.load(), embedder, ParseLimits())
    sources = {one: page(one, title, text) for one, (title, text) in corpus.items()}
    documents = {one: parse(source, parsers=reader.parsers, limits=ParseLimits()) for one, source in sources.items()}
    gatherer = Gatherer(embedder.fingerprint, embedder.dimensions)
    gathering = FileReader(reader.parsers, reader.tokenizer, gatherer, ParseLimits())
    for document in documents.values():
        gathering.embedded(document, chunking=None, watch=unwatched)
    # All texts at once, so that batches hold texts of one length; each document then finds its vectors ready.
    embedder.embed(list(gatherer.texts), progress=_tell)
    return {
        library.add(
            sources[one], reader.embedded(document, chunking=None, watch=unwatched), filing=Filing(), scope=SCOPE
        ).id: one
        for one, document in documents.items()
    }


class Gatherer:
    """Notes what would be embedded."""

    def __init__(self, fingerprint: str, dimensions: int) -> None:
        self.fingerprint = fingerprint
        self.dimensions = dimensions
        self.texts: dict[str, None] = {}

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:  # noqa: ARG002
        """Vectors that say nothing."""
        self.texts.update(dict.fromkeys(texts))
        return np.zeros((len(texts), self.dimensions), np.float32)


def _tell(done: int, total: int) -> None:
    print(f"\rembedding {done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr, flush=True)


# --------------------------------------------------------------------------------------------------------- the measure


def measure(data: Data, scratch: Path) -> Result:
    """nDCG@10 and recall@100 of each view, means over the questions."""
    scratch.mkdir(parents=True, exist_ok=True)
    embedder = Remembering(MiniLM(scratch), scratch)
    with tempfile.TemporaryDirectory() as home:
        library = SqlLibrary(Path(home) / "library.sqlite")
        names = fill(library, data.corpus, embedder)
        embedder.embed(list(data.questions.values()), progress=_tell)
        search = Search(library, ExactIndex(library), embedder, Lexicon.load())
        found = Rankings(search, names).of(data.questions)
        library.close()
    return {
        view: {
            f"ndcg@{GAIN_AT}": _mean(gain(found[view][one], data.judgements[one]) for one in data.questions),
            f"recall@{RECALL_AT}": _mean(recall(found[view][one], data.judgements[one]) for one in data.questions),
        }
        for view in VIEWS
    }


class Rankings:
    """The corpus ids in the order of each view."""

    def __init__(self, search: Search, names: Mapping[str, str]) -> None:
        self.search = search
        self.names = names
        self.chunk_count = sum(entry.chunk_count for entry in search.library.entries(SCOPE))
        everything = self._all("the")
        self.sentences = search.library.sentences(everything)
        why = MatchReason(None, None, (), None)
        hits = search.library.hits([RankedCandidate(each, 0.0, 0.0, why) for each in everything], SCOPE)
        self.document_of = {
            (each.generation, each.chunk_index): names[hit.document_id]
            for each, hit in zip(everything, hits, strict=True)
        }

    def of(self, questions: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
        """By view and question."""
        found: dict[str, dict[str, list[str]]] = {view: {} for view in VIEWS}
        for one, text in questions.items():
            candidates = self._all(text)
            found["lexical"][one] = self._order(candidates, [each.lexical_score or -1.0 for each in candidates])
            found["dense"][one] = self._order(candidates, [each.cosine for each in candidates])
            found["sentence"][one] = self._order(candidates, self._best_sentences(candidates, text))
            hits = retrieve(text, scope=SCOPE, search=self.search, limit=RECALL_AT).hits
            found["hybrid"][one] = list(dict.fromkeys(self.names[hit.document_id] for hit in hits))
        return found

    def _all(self, text: str) -> list[Candidate]:
        """Every passage with its scores."""
        vector = self.search.embedder.embed([text])[0]
        terms = weighted_terms(text, expand(text, lexicon=self.search.lexicon))
        return self.search.index.candidates(vector, terms, scope=SCOPE, limit=self.chunk_count)

    def _best_sentences(self, candidates: Sequence[Candidate], text: str) -> list[float]:
        similarities = self.sentences.similarities(self.search.embedder.embed([text])[0])
        best = np.maximum.reduceat(similarities, self.sentences.starts[:-1]).tolist()
        by_key = dict(zip(self.sentences.keys, best, strict=True))
        return [by_key.get((each.generation, each.chunk_index), -1.0) for each in candidates]

    def _order(self, candidates: Sequence[Candidate], scores: Sequence[float]) -> list[str]:
        """Documents by their best passage; what has no score at all is left out."""
        best: dict[str, float] = {}
        for each, score in zip(candidates, scores, strict=True):
            name = self.document_of[each.generation, each.chunk_index]
            best[name] = max(best.get(name, -1.0), score)
        return sorted((name for name, score in best.items() if score > -1.0), key=lambda name: (-best[name], name))


def gain(ranked: Sequence[str], judged: Mapping[str, int]) -> float:
    """nDCG at 10.

    >>> gain(["a", "b"], {"b": 1})
    0.6309297535714575
    """
    ideal = sum(score / math.log2(place + 2) for place, score in enumerate(sorted(judged.values())[::-1][:GAIN_AT]))
    got = sum(judged.get(name, 0) / math.log2(place + 2) for place, name in enumerate(ranked[:GAIN_AT]))
    return got / ideal


def recall(ranked: Sequence[str], judged: Mapping[str, int]) -> float:
    """The part of the relevant documents among the first 100."""
    return len(judged.keys() & set(ranked[:RECALL_AT])) / len(judged)


def _mean(values: Iterable[float]) -> float:
    return round(float(np.mean(list(values))), 4)


def main() -> None:
    """Measure, print one table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder in BEIR layout")
    parser.add_argument("--json", nargs="?", const="-", help="print JSON, or write it to this file")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="where vectors are kept")
    options = parser.parse_args()
    result = measure(read_data(options.data), options.scratch)
    written = json.dumps(result, indent=2)
    if options.json == "-":
        print(written)
        return
    print(f"{'':10}{'nDCG@10':>10}{'recall@100':>12}")
    for view, numbers in result.items():
        print(f"{view:10}{numbers['ndcg@10']:10.4f}{numbers['recall@100']:12.4f}")
    if options.json:
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(written + "\n")


if __name__ == "__main__":
    main()
