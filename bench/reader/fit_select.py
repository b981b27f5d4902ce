"""Answers, step 3: fits what each feature of a statement counts, on documents that the reader has not learned.

    python -m bench.reader.fit_select dump --data FOLDER --out FILE     # what is seen of statements, with labels
    python -m bench.reader.fit_select fit FILE [--write]                # weights and limits, into select.json

`dump` asks held-out questions of libraries of held-out documents, and of the guidelines, labels and samples, and keeps
features and labels alone. A question is asked twice: as it is, and with the documents that answer it left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from bench.quality import mismatches
from bench.quality.questions import Document, Question, held_out, is_same, read
from bench.reader.answers_data import HELD_GUIDELINES, QUESTIONS, SAMPLES

from citewell.answer.assistant import PASSAGES_READ
from citewell.answer.expand import expand
from citewell.answer.generate import Budget, assemble
from citewell.answer.rank import ANSWERING
from citewell.answer.retrieve import retrieve
from citewell.answer.select import NAMES, WEIGHTS, candidates, rerank
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Filing, Source

COUNT, DOCUMENTS = 120, 300
NEARNESS = NAMES.index("nearness")
WRONG, CLUTTER = 0.1, 0.035
"""What a wrong answer and a further statement that does not answer cost beside a right answer."""
OWN = 3
"""What guidelines, labels and samples count beside another set: they are what the product is used for."""
BUDGET = Budget(1_000_000, 0, 100_000, 0)


def dump(data: Path, homes: Path, out: Path, *, count: int) -> None:
    """Write one line for each question: its set, and for each candidate features, label and place."""
    with gzip.open(out, "wt", encoding="utf-8") as file:
        parts = chain(
            _of_sets(data / "questions", homes, count),
            _of_guidelines(data / "guidelines", homes, count),
            _of_patients(homes),
        )
        for name, rows in parts:
            for row in rows:
                file.write(json.dumps({"set": name, **row}) + "\n")
            print(name, len(rows), flush=True)


def _of_sets(folder: Path, homes: Path, count: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    documents, questions = read(folder)
    for name in ("medquad", "bioasq", "covidqa", "evinf", "pubmedqa"):
        several, asked = held_out(name, documents[name], questions[name])
        held = {one.id: one for one in several}
        chosen = random.Random(3).sample(asked, min(COUNT, len(asked)))
        needed = {document for one in chosen for document, _ in one.answers}
        is_long = name in ("covidqa", "evinf")
        others = [] if is_long else sorted(set(held) - needed)
        some = random.Random(4).sample(others, max(0, min(len(others), DOCUMENTS - len(needed))))
        if is_long:
            kept = set(random.Random(5).sample(sorted(needed), min(12, len(needed))))
            chosen = [one for one in asked if all(document in kept for document, _ in one.answers)]
            needed = kept
        with build(Settings(home=homes / name, answer_reader=True)) as app:
            ids = _filled(app, [held[one] for one in [*sorted(needed), *some]])
            yield name, [row for one in chosen[:count] for row in _both(app, one, held, ids)]


def _filled(app: App, documents: Sequence[Document]) -> dict[str, tuple[str, str]]:
    """By document the id and the tag that it has in a library; a library that is there from another run is used."""
    sources = [
        Source(f"# {one.title}\n\n{' '.join(one.sentences)}\n".encode(), f"d{number}.md")
        for number, one in enumerate(documents)
    ]
    return {
        one.id: _added(app, source, number) for number, (one, source) in enumerate(zip(documents, sources, strict=True))
    }


def _added(app: App, source: Source, number: int) -> tuple[str, str]:
    """The id of a document and its tag; one that the library has is not read again."""
    return app.add_source(source, filing=Filing(tags=frozenset({f"d{number}"}))).entry.id, f"d{number}"


def _both(
    app: App, question: Question, documents: dict[str, Document], ids: dict[str, tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    own = {name for name, _ in question.answers}
    marked = {ids[name][0]: [documents[name].sentences[at] for at in places] for name, places in question.answers}
    for tags in (None, frozenset(tag for name, (_, tag) in ids.items() if name not in own)):
        rows = []
        for one in _candidates(app, question.text, tags):
            text, sentences = one.statement.text, marked.get(one.hit.document_id, ()) if tags is None else ()
            rows.append([*one.features.values(), int(any(is_same(text, sentence) for sentence in sentences))])
        yield {"there": tags is None, "rows": rows}


def _candidates(app: App, question: str, tags: frozenset[str] | None) -> Sequence[Any]:
    scope = app.owner().scope if tags is None else replace(app.owner().scope, tags=tags)
    search = app.knowledge.search
    found = retrieve(question, scope=scope, search=search, limit=PASSAGES_READ, controls=ANSWERING).hits
    added = expand(question, lexicon=search.lexicon, to_answer=True)
    assert app.answer_reader is not None
    limit = app.knowledge.limits.chunks
    hits = rerank(question, found, reader=app.answer_reader, expansions=added, limit=limit)
    context = assemble(question, hits, (), system="", budget=BUDGET, count=len)
    return candidates(question, context.evidence, reader=app.answer_reader, expansions=added)


def _of_guidelines(folder: Path, homes: Path, count: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    names = [path.stem for path in sorted(QUESTIONS.glob("*.tsv"))]
    files = {path.stem: path for path in (*folder.iterdir(), *SAMPLES.iterdir()) if path.stem in names}
    with build(Settings(home=homes / "guidelines", answer_reader=True)) as app:
        ids = {
            name: _added(app, Source(path.read_bytes(), path.name), number)
            for number, (name, path) in enumerate(sorted(files.items()))
        }
        for name in sorted(files):
            is_sample = files[name].parent == SAMPLES
            if not is_sample and name not in HELD_GUIDELINES:
                continue
            lines = [line.split("\t") for line in (QUESTIONS / f"{name}.tsv").read_text("utf-8").splitlines()]
            rows: list[dict[str, Any]] = []
            for places, _, text in random.Random(6).sample(lines, min(len(lines), count // (2 if is_sample else 1))):
                right = [tuple(map(int, one.split("-"))) for one in places.partition("!")[0].split(",") if one]
                rows += _of_guideline(app, text, right, ids, name)
            yield "samples" if is_sample else "guidelines", rows


def _of_guideline(
    app: App, text: str, right: Sequence[tuple[int, ...]], ids: dict[str, tuple[str, str]], name: str
) -> Iterator[dict[str, Any]]:
    for tags in (None, frozenset(tag for other, (_, tag) in ids.items() if other != name)):
        rows = []
        for one in _candidates(app, text, tags):
            shared = 0.0
            for start, end in right if one.hit.document_id == ids[name][0] else ():
                inside = sum(max(0, min(end, high) - max(start, low)) for low, high in one.statement.pieces)
                length = sum(high - low for low, high in one.statement.pieces)
                shared = max(shared, inside / max(1, end - start), inside / max(1, length))
            rows.append([*one.features.values(), int(shared > 0.6)])
        yield {"there": tags is None and bool(right), "rows": rows}


def _of_patients(homes: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Questions about one patient each, whose answers are marked by some of their words."""
    questions = mismatches.questions("dev")
    with build(Settings(home=homes / "patients", answer_reader=True)) as app:
        for number, path in enumerate(mismatches.documents(questions)):
            _added(app, Source(path.read_bytes(), path.name), number)
        rows: list[dict[str, Any]] = []
        for question in questions:
            found = [
                [*one.features.values(), int(mismatches.holds(one.statement.text, question["right"]))]
                for one in _candidates(app, question["question"], None)
            ]
            rows += [{"there": bool(question["right"]), "rows": found}] * 2  # the parts of a fit are of two each
        yield "patients", rows


# ------------------------------------------------------------------------------------------------------------- fitting


READ = ("reader", "share")
"""Features that there are only with the reader."""


def fit(path: Path, *, write: bool) -> None:
    """Fit the weights with the reader and without, by questions of five parts, and say what they give."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        asked = [json.loads(line) for line in file]
    made = {"reader": _fit(asked), "words": _fit([_unread(one) for one in asked])}
    if write:
        WEIGHTS.write_text(json.dumps(made, indent=2) + "\n", "utf-8")


def _unread(one: dict[str, Any]) -> dict[str, Any]:
    """A question as it is without the reader."""
    rows = [[0.0 if name in READ else value for name, value in zip((*NAMES, ""), row, strict=True)] for row in one["rows"]]  # fmt: skip  # noqa: E501
    return {**one, "rows": rows}


def _fit(asked: Sequence[dict[str, Any]]) -> dict[str, Any]:
    weights, bias, chances = _fitted(asked)
    least, further = _limits(asked, chances)
    slope, shift = _of_answers(asked, chances, least, further)
    made = {
        "bias": round(bias, 4),
        "features": {one: round(float(weights[at]), 4) for at, one in enumerate(NAMES)},
        "least": round(least, 3),
        "further": round(further, 3),
        "slope": round(slope, 3),
        "shift": round(shift, 3),
    }
    print(json.dumps(made))
    _tell(asked, chances, least, further)
    return made


def _fitted(asked: Sequence[dict[str, Any]]) -> tuple[Any, float, list[Any]]:
    """Weights from all questions, and chances of each from a fit that has not seen it."""
    chances: list[Any] = [np.zeros(0)] * len(asked)
    for part in range(5):
        held = [at for at in range(len(asked)) if (at // 2) % 5 == part]
        weights, bias = _logistic([one for at, one in enumerate(asked) if (at // 2) % 5 != part])
        for at in held:
            rows = np.array([row[:-1] for row in asked[at]["rows"]]).reshape(-1, len(NAMES))
            chances[at] = 1 / (1 + np.exp(-(rows @ weights + bias)))
    weights, bias = _logistic(asked)
    return weights, bias, chances


def _logistic(asked: Sequence[dict[str, Any]]) -> tuple[Any, float]:
    sets = {one["set"] for one in asked}
    rows_of = {name: sum(len(one["rows"]) for one in asked if one["set"] == name) for name in sets}
    share = {name: (OWN if name in ("guidelines", "samples") else 1) / rows_of[name] for name in sets}
    rows = np.array([row for one in asked for row in one["rows"]], dtype=float)
    weight = np.array([share[one["set"]] for one in asked for _ in one["rows"]])
    weight *= len(weight) / weight.sum()
    features = np.hstack([np.ones((len(rows), 1)), rows[:, :-1]])
    labels, found = rows[:, -1], np.zeros(len(NAMES) + 1)
    for _ in range(40):
        chance = 1 / (1 + np.exp(-features @ found))
        slope = features.T @ (weight * (chance - labels)) + 0.5 * np.r_[0, found[1:]]
        curve = (features * (weight * chance * (1 - chance))[:, None]).T @ features + 0.5 * np.eye(len(found))
        found = found - np.linalg.solve(curve, slope)
    return found[1:], float(found[0])


def _of_answers(
    asked: Sequence[dict[str, Any]], chances: Sequence[Any], least: float, further: float
) -> tuple[float, float]:
    """From the log-odds of the best statement to those of an answer that is right."""
    found = [(float(chance.max()), _shown(one, chance, least, further)[0]) for one, chance in zip(asked, chances, strict=True) if len(chance) and chance.max() >= least]  # fmt: skip  # noqa: E501
    odds = np.array([np.log(chance / (1 - chance)) for chance, _ in found])
    right = np.array([is_right for _, is_right in found], dtype=float)
    slope, shift = 1.0, 0.0
    for _ in range(60):
        said = 1 / (1 + np.exp(-(slope * odds + shift)))
        rows = np.stack([odds, np.ones_like(odds)], 1)
        curve = (rows * (said * (1 - said))[:, None]).T @ rows + 1e-3 * np.eye(2)
        slope, shift = np.array([slope, shift]) - np.linalg.solve(curve, rows.T @ (said - right))
    return float(slope), float(shift)


def _limits(asked: Sequence[dict[str, Any]], chances: Sequence[Any]) -> tuple[float, float]:
    """The limits with the most right answers, less what wrong ones and further statements that do not answer cost."""
    best = (-1e9, 0.0, 0.0)
    for least in np.arange(0.04, 0.5, 0.02):
        for further in np.arange(0.3, 0.9, 0.1):
            figures = [_shown(one, chance, least, further) for one, chance in zip(asked, chances, strict=True)]
            value = sum(right - WRONG * wrong - CLUTTER * more for right, wrong, more in figures)
            best = max(best, (value, float(least), float(further)))
    return best[1], best[2]


def _shown(one: dict[str, Any], chance: Any, least: float, further: float) -> tuple[int, int, int]:
    """Whether something right is shown, whether only wrong things are, and how many wrong ones."""
    order = np.argsort(-chance)[:3]
    shown = [at for at in order if chance[at] >= max(least, further * chance[order[0]] if at != order[0] else 0.0)]
    right = any(one["rows"][at][-1] for at in shown)
    return int(right), int(bool(shown) and not right), sum(not one["rows"][at][-1] for at in shown)


def _tell(asked: Sequence[dict[str, Any]], chances: Sequence[Any], least: float, further: float) -> None:
    for name in sorted({one["set"] for one in asked}):
        there = [at for at, one in enumerate(asked) if one["set"] == name and one["there"]]
        gone = [at for at, one in enumerate(asked) if one["set"] == name and not one["there"]]
        shown = [_shown(asked[at], chances[at], least, further) for at in there]
        empty = [_shown(asked[at], chances[at], least, further) for at in gone]
        listed = sum(any(row[-1] for row in asked[at]["rows"]) for at in there)
        first = sum(bool(len(chances[at])) and asked[at]["rows"][int(np.argmax(chances[at]))][-1] for at in there)
        near = sum(
            bool(asked[at]["rows"]) and max(asked[at]["rows"], key=lambda row: row[NEARNESS])[-1] for at in there
        )
        best = [(float(chances[at].max()), bool(shown[n][0])) for n, at in enumerate(there) if len(chances[at])]
        best += [(float(chances[at].max()), False) for at in gone if len(chances[at])]
        ups, downs = [c for c, r in best if r], [c for c, r in best if not r]
        area = np.mean([(u > d) + (u == d) / 2 for u in ups for d in downs]) if ups and downs else float("nan")
        figures = {
            "listed": listed / max(1, len(there)),
            "nearest": near / max(1, len(there)),
            "first": first / max(1, len(there)),
            "right": sum(right for right, _, _ in shown) / max(1, len(there)),
            "wrong": sum(wrong for _, wrong, _ in shown) / max(1, len(there)),
            "clutter": sum(more for _, _, more in shown) / max(1, len(there)),
            "shown without": sum(right or wrong for right, wrong, _ in empty) / max(1, len(gone)),
            "area": float(area),
        }
        print(f"{name:11} {len(there):4}", ", ".join(f"{what} {value:.2f}" for what, value in figures.items()))


def main() -> None:
    """Dump or fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    dumping = steps.add_parser("dump")
    dumping.add_argument("--data", type=Path, required=True)
    dumping.add_argument("--out", type=Path, required=True)
    dumping.add_argument("--homes", type=Path, help="where the libraries are kept for another run")
    dumping.add_argument("--count", type=int, default=COUNT)
    fitting = steps.add_parser("fit")
    fitting.add_argument("file", type=Path)
    fitting.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.step == "dump":
        with tempfile.TemporaryDirectory() as scratch:
            dump(options.data, options.homes or Path(scratch), options.out, count=options.count)
    else:
        fit(options.file, write=options.write)


if __name__ == "__main__":
    main()
