"""Calibrates the embedder in the settings: on sentences of the library, or on judged claims that are given."""

from __future__ import annotations

import csv
import html
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from citewell.answer.fit_relevance import CalibrationFit, JudgedHits, Numbers, equate, fit_curve
from citewell.answer.rank import ScoredCandidate
from citewell.answer.relevance_curve import is_reviewed
from citewell.answer.retrieve import Search, refuse_misfit, retrieve_all
from citewell.errors import InputError
from citewell.types import Filing, LifecycleState, Scope, Source
from citewell.wiring import make_minilm

if TYPE_CHECKING:
    from citewell.adapters.store.library import SqlLibrary
    from citewell.app import App
    from citewell.ingest.library_changes import AddedDocument
    from citewell.ingest.parse_cut_embed import FileReader
    from citewell.ports import Embedder

MAX_DOCUMENTS, MAX_PAIRS = 200, 400
"""Of the library: so many documents are looked at, and so many pairs of either kind are taken."""
LEAST_LETTERS = 20
"""A shorter sentence is a heading or a cell."""
AT_ONCE = 32
"""Claims that are searched together."""
LOOKED_AT = 10
AT_RANDOM = 20_000
ALREADY = "The built-in model is already calibrated. There is nothing to do."
SCRATCH = Scope.owner("calibration")

Watch = Callable[[int, int], None]
"""Told how many of how many abstracts have been read."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What was fitted, on what, and where it was written."""

    fit: CalibrationFit
    on: str
    path: Path


def calibrate(app: App, *, data: Path | None = None, watch: Watch = lambda _done, _all: None) -> Calibrated:
    """Fit how the cosines of the embedder in the settings are read, and keep it in the home folder."""
    from citewell.adapters.embedding.relevance_files import write_calibration

    fingerprint = app.embedder.fingerprint
    if is_reviewed(fingerprint):
        raise InputError(ALREADY)
    if data is None:
        refuse_misfit(app.library.embedder(), fingerprint)
        fitted, on = on_library(app), "sentences from the library, compared with the built-in model"
    else:
        fitted, on = on_claims(app, data, watch), "judged claims"
    how = {"fitted_on": on, "pairs": fitted.pairs, "agreement": fitted.agreement, "error": fitted.error}
    return Calibrated(fitted, on, write_calibration(app.settings.home, fitted.calibration, how))


# --------------------------------------------------------------------------------------------------------- the library


def on_library(app: App) -> CalibrationFit:
    """Fitted to the built-in model on pairs of sentences: neighbours, and unrelated ones."""
    pairs = _pairs(list(_sentences(app)))
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    mine, other = (_cosines(pairs, texts, embedder) for embedder in (app.embedder, make_minilm(app.settings)))
    return equate(mine, other, embedder=app.embedder.fingerprint)


def _sentences(app: App) -> Iterator[list[str]]:
    """The sentences of each passage of the library, in their order."""
    scope = app.scope_of_owner()
    entries = [
        entry for entry in app.library.entries(scope) if entry.is_current and entry.state is LifecycleState.COMPLETED
    ]
    for entry in entries[:: max(1, len(entries) // MAX_DOCUMENTS)][:MAX_DOCUMENTS]:
        _, document, chunks = app.library.opened(entry.id, scope)
        for chunk in chunks:
            texts = (document.text[start:end].strip() for start, end in chunk.sentences)
            yield [text for text in texts if len(text) >= LEAST_LETTERS]


def _pairs(passages: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Sentences that follow each other, and sentences of two passages; the same pairs every time."""
    draw = np.random.default_rng(0)
    near = [pair for sentences in passages for pair in pairwise(sentences) if pair[0] != pair[1]]
    near = [near[at] for at in sorted(draw.permutation(len(near))[:MAX_PAIRS])]
    placed = [(number, text) for number, sentences in enumerate(passages) for text in sentences]
    drawn = draw.integers(0, max(1, len(placed)), (2 * len(near), 2)).tolist() if placed else []
    far = [(placed[a][1], placed[b][1]) for a, b in drawn if placed[a][0] != placed[b][0]]
    return [*near, *far[: len(near)]]


def _cosines(pairs: Sequence[tuple[str, str]], texts: Sequence[str], embedder: Embedder) -> Numbers:
    vectors = dict(zip(texts, embedder.embed(texts), strict=True)) if texts else {}
    return np.array([float(vectors[left] @ vectors[right]) for left, right in pairs], dtype=np.float64)


# ---------------------------------------------------------------------------------------------------------- the claims


@dataclass(frozen=True, slots=True)
class Claims:
    """Judged claims."""

    corpus: Mapping[str, tuple[str, str]]
    """Title and text of each abstract by its id."""
    cited: Mapping[str, frozenset[str]]
    """Which abstracts each claim cites."""


def on_claims(app: App, folder: Path, watch: Watch) -> CalibrationFit:
    """Fitted to the first hits of claims among abstracts, each asked for once more without those that it cites."""
    claims = read_claims(folder)
    with tempfile.TemporaryDirectory() as scratch:
        ranked = _searched(Path(scratch), claims, app, watch)
    judged = judged_of(list(claims.cited.values()), ranked)
    return fit_curve(judged, _at_random(claims, app.embedder), embedder=app.embedder.fingerprint)


def read_claims(folder: Path) -> Claims:
    """The claims in a folder of SciFact's layout that cite an abstract which is there."""
    try:
        with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines if line.strip()]
        corpus = {str(row["_id"]): (str(row.get("title") or ""), str(row["text"])) for row in rows}
        with (folder / "claims_train.csv").open(encoding="utf-8", newline="") as lines:
            table = list(csv.DictReader(lines))
        cited = {" ".join(row["claim"].split()): frozenset(re.findall(r"\w+", row["cited_doc_ids"])) for row in table}
    except OSError as error:
        raise InputError(
            f"corpus.jsonl and claims_train.csv in {folder} could not be read: {error.strerror}."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise InputError(
            f"{folder} is not in SciFact's layout: corpus.jsonl with _id, title and text on each line, and "
            "claims_train.csv with the columns claim and cited_doc_ids."
        ) from error
    there = {claim: ids & corpus.keys() for claim, ids in cited.items() if claim}
    return Claims(corpus, {claim: ids for claim, ids in there.items() if ids})


def _searched(scratch: Path, claims: Claims, app: App, watch: Watch) -> list[list[tuple[str, ScoredCandidate]]]:
    """For each claim the best passages of a library that holds the abstracts alone, with the ids of their abstracts."""
    from citewell.adapters.index.exact import ExactIndex
    from citewell.adapters.store.library import SqlLibrary
    from citewell.ingest.library_changes import Work, in_turn

    library = SqlLibrary(scratch / "library.sqlite")
    with closing(library):
        pages = (_page(abstract, title, text) for abstract, (title, text) in claims.corpus.items())
        works = (Work(len(page.data), partial(_stored, page, library)) for page in pages)
        ids: dict[str, str] = {}
        for abstract, added in zip(claims.corpus, in_turn(app.reader, works), strict=True):
            ids[added.result().entry.id] = abstract
            watch(len(ids), len(claims.corpus))
        search = Search(library, ExactIndex(library), app.embedder, app.lexicon)
        generations = {number: ids[document] for number, document in library.at(library.stamp()).versions(SCRATCH)}
        orders: list[list[ScoredCandidate]] = []

        def keep(ranked: list[list[ScoredCandidate]]) -> list[list[ScoredCandidate]]:
            orders.extend(ranked)
            return [[] for _ in ranked]

        texts = list(claims.cited)
        for start in range(0, len(texts), AT_ONCE):
            asked = texts[start : start + AT_ONCE]
            retrieve_all(asked, scope=SCRATCH, search=search, limit=LOOKED_AT, choose=keep, with_terms=False)
    return [[(generations[scored.candidate.generation], scored) for scored in order] for order in orders]


def _stored(page: Source, library: SqlLibrary, reader: FileReader) -> AddedDocument:
    from citewell.ingest.library_changes import add

    return add(page, filing=Filing(), scope=SCRATCH, library=library, reader=reader)


def judged_of(cited: Sequence[frozenset[str]], ranked: Sequence[Sequence[tuple[str, ScoredCandidate]]]) -> JudgedHits:
    """The first hit of each claim, and its first among what it does not cite, which is wrong."""
    rows = []
    for number, (right, order) in enumerate(zip(cited, ranked, strict=True)):
        wrong = next((hit for hit in order if hit[0] not in right), None)
        for abstract, scored in (*order[:1], *([wrong] if wrong else [])):
            candidate, nearest = scored.candidate, max(scored.cosines.tolist(), default=-1.0)
            rows.append((max(candidate.cosine, nearest), candidate.coverage, abstract in right, number))
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return JudgedHits(table[:, 0], table[:, 1], table[:, 2].astype(bool), table[:, 3].astype(np.int64))


def _at_random(claims: Claims, embedder: Embedder) -> Numbers:
    """Cosines of claims with abstracts that they do not cite."""
    draw = np.random.default_rng(0)
    ids, texts = list(claims.corpus), list(claims.cited)
    some = [ids[at] for at in draw.permutation(len(ids))[:MAX_DOCUMENTS]]
    few = [texts[at] for at in draw.permutation(len(texts))[: AT_RANDOM // MAX_DOCUMENTS]]
    passages = embedder.embed(["\n".join(claims.corpus[abstract]) for abstract in some])
    cosines = embedder.embed(few) @ passages.T
    apart = np.array([[abstract not in claims.cited[claim] for abstract in some] for claim in few])
    return np.asarray(cosines[apart], dtype=np.float64)


def _page(identifier: str, title: str, text: str) -> Source:
    """An abstract as a web page; the comment tells apart two of the same words."""
    title, text = html.escape(title), html.escape(text)
    body = f"<title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    return Source(f"<!doctype html><html><head><!-- {html.escape(identifier)} -->{body}".encode(), "abstract.html")
