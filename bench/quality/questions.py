"""Questions with marked answers, asked through the product's own flow: right, first, wrong, held back.

    python bench/quality/questions.py --data ../shared/data/questions [--json [FILE]] [--sets NAME ...] [--count 100]
        [--held-out] [--without-reader]

A folder holds `documents.jsonl.gz` (`{"id", "set", "title", "sentences"}`) and `questions.jsonl.gz` (`{"set",
"question", "answers": [[document id, [sentence numbers]], ...]}`). Of each set some questions are drawn, with their
documents and others up to `DOCUMENTS`, or with `ARTICLES` long ones. An answer is right where something shown is a
marked sentence. Each question is asked again with its documents taken out: what is shown then answers nothing. The
baseline shows the three statements of the same passages with the most of cosine and of the question's words.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import md5
from pathlib import Path
from typing import Any

from citewell.answer.rank import ANSWERING
from citewell.answer.retrieve import retrieve
from citewell.answer.select import candidates
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Evidence, Filing, Scope, Source
from citewell.types.answers import Answer

DOCUMENTS, ARTICLES, LONG = 400, 12, 100
"""Documents of a library; articles where documents have more sentences than the third number."""
SHORTEST = 20
"""Letters that must agree for two texts to be the same sentence."""


@dataclass(frozen=True)
class Document:
    """One document of a set."""

    id: str
    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Shelved:
    """A document in the library: the tag that it alone has, and its id there."""

    document: Document
    tag: str
    entry_id: str


@dataclass(frozen=True)
class Question:
    """A question, and by document the sentences that answer it."""

    text: str
    answers: tuple[tuple[str, frozenset[int]], ...]


@dataclass(frozen=True)
class Shown:
    """What became of a question."""

    is_right: bool
    is_first: bool
    is_held: bool
    confidence: float
    characters: int
    is_right_by_baseline: bool = False


def read(folder: Path) -> tuple[dict[str, list[Document]], dict[str, list[Question]]]:
    """Documents and questions by set."""
    documents: dict[str, list[Document]] = {}
    for row in _rows(folder / "documents.jsonl.gz"):
        documents.setdefault(row["set"], []).append(Document(row["id"], row["title"], tuple(row["sentences"])))
    questions: dict[str, list[Question]] = {}
    for row in _rows(folder / "questions.jsonl.gz"):
        answers = tuple((name, frozenset(numbers)) for name, numbers in row["answers"])
        questions.setdefault(row["set"], []).append(Question(row["question"], answers))
    return documents, questions


def _rows(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


FOLDS = 10


def fold_of(name: str) -> int:
    """The part of ten that a document belongs to."""
    return int(md5(f"answers {name.casefold().strip()}".encode()).hexdigest(), 16) % FOLDS


def group_of(set_: str, document_id: str, title: str) -> str:
    """What is held out together: a topic of MedQuAD, else a document."""
    return title if set_ == "medquad" else document_id


def held_out(
    name: str, documents: Sequence[Document], questions: Sequence[Question]
) -> tuple[list[Document], list[Question]]:
    """The documents of a set that reader and embedder have not learned, and the questions about them alone."""
    kept = {one.id: one for one in documents if fold_of(group_of(name, one.id, one.title)) == 0}
    return list(kept.values()), [one for one in questions if all(document in kept for document, _ in one.answers)]


def drawn(
    documents: Sequence[Document], questions: Sequence[Question], count: int, seed: int
) -> tuple[list[Document], list[Question]]:
    """Some questions with their documents, and other documents beside them."""
    draw = random.Random(seed)
    by_id = {one.id: one for one in documents}
    is_long = sum(len(one.sentences) for one in documents) > LONG * len(documents)
    if is_long:
        asked_of = sorted({name for one in questions for name, _ in one.answers})
        kept = set(draw.sample(asked_of, min(ARTICLES, len(asked_of))))
        inside = [one for one in questions if all(name in kept for name, _ in one.answers)]
        chosen = draw.sample(inside, min(count, len(inside)))
    else:
        chosen = draw.sample(list(questions), min(count, len(questions)))
        kept = {name for one in chosen for name, _ in one.answers}
        others = sorted(set(by_id) - kept)
        kept |= set(draw.sample(others, max(0, min(len(others), DOCUMENTS - len(kept)))))
    return [by_id[name] for name in sorted(kept)], chosen


def measure(documents: Sequence[Document], questions: Sequence[Question], settings: Settings) -> dict[str, object]:
    """Ask every question with and without its documents."""
    with build(settings) as app:
        shelf = {one.id: Shelved(one, f"d{number}", _added(app, one, number)) for number, one in enumerate(documents)}
        answered = [_asked(app, one, shelf, is_there=True) for one in questions]
        without = [_asked(app, one, shelf, is_there=False) for one in questions]
    shown = [one for one in answered if not one.is_held]
    count = max(1, len(questions))
    return {
        "questions": len(questions),
        "documents": len(documents),
        "right": round(sum(one.is_right for one in answered) / count, 3),
        "baseline": round(sum(one.is_right_by_baseline for one in answered) / count, 3),
        "first": round(sum(one.is_first for one in answered) / count, 3),
        "wrong": round(sum(not one.is_right for one in shown) / count, 3),
        "held_back": round(sum(one.is_held for one in answered) / count, 3),
        "answered_without": round(sum(not one.is_held for one in without) / count, 3),
        "characters": round(sum(one.characters for one in shown) / max(1, len(shown))),
        "area_of_confidence": area(
            [one.confidence for one in shown if one.is_right],
            [one.confidence for one in (*shown, *without) if not one.is_right and not one.is_held],
        ),
    }


def _added(app: App, document: Document, number: int) -> str:
    source = Source(f"# {document.title}\n\n{' '.join(document.sentences)}\n".encode(), f"d{number}.md")
    return app.add_source(source, filing=Filing(tags=frozenset({f"d{number}"}))).entry.id


def _asked(app: App, question: Question, shelf: Mapping[str, Shelved], *, is_there: bool) -> Shown:
    asker = app.owner()
    if not is_there:
        own = {name for name, _ in question.answers}
        others = frozenset(one.tag for name, one in shelf.items() if name not in own)
        asker = replace(asker, scope=replace(asker.scope, tags=others))
    marked = {
        shelf[name].entry_id: [shelf[name].document.sentences[at] for at in places] for name, places in question.answers
    }
    shown = judged(app.ask(question.text, asker=asker), marked)
    return replace(shown, is_right_by_baseline=is_there and _is_nearest(app, question.text, asker.scope, marked))


def _is_nearest(app: App, question: str, scope: Scope, marked: dict[str, list[str]]) -> bool:
    """Whether a marked sentence is among the three statements with the most of cosine and of the question's words."""
    hits = retrieve(question, scope=scope, search=app.knowledge.search, limit=5, controls=ANSWERING).hits
    evidence = [Evidence(number, hit, hit.start, hit.end) for number, hit in enumerate(hits, 1)]
    found = candidates(question, evidence, reader=None, expansions=())
    best = sorted(found, key=lambda one: -(one.features.nearness + one.features.coverage))[:3]
    return any(is_same(one.statement.text, text) for one in best for text in marked.get(one.hit.document_id, ()))


def judged(answer: Answer, marked: dict[str, list[str]]) -> Shown:
    """Whether something shown is a marked sentence, and whether the first is."""
    cited = {one.n: one for one in answer.citations}
    shown = [one for one in answer.claims if one.is_shown]
    right = [
        any(
            is_same(cited[n].quote, sentence)
            for n in claim.citations
            if n in cited
            for sentence in marked.get(cited[n].document_id, ())
        )
        for claim in shown
    ]
    return Shown(any(right), bool(right) and right[0], not shown, answer.confidence.calibrated, len(answer.text))


def is_same(quote: str, sentence: str) -> bool:
    one, other = _plain(quote), _plain(sentence)
    return min(len(one), len(other)) >= min(SHORTEST, len(other)) and (one in other or other in one)


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def area(right: Sequence[float], wrong: Sequence[float]) -> float | None:
    """How often a right answer has more confidence than another: the area under the curve."""
    if not right or not wrong:
        return None
    won = sum((one > other) + (one == other) / 2 for one in right for other in wrong)
    return round(won / (len(right) * len(wrong)), 3)


def main(wishes: Iterable[str] | None = None) -> None:
    """Measure every set of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--held-out", action="store_true", help="only the tenth of documents that was not learned")
    parser.add_argument("--without-reader", action="store_true", help="words and cosines alone choose")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, nargs="?", const=Path("bench/results/questions.json"))
    chosen = parser.parse_args(None if wishes is None else list(wishes))
    documents, questions = read(chosen.data)
    figures: dict[str, object] = {}
    for name in chosen.sets or sorted(questions):
        some, about = documents[name], questions[name]
        if chosen.held_out:
            some, about = held_out(name, some, about)
        of_set, asked = drawn(some, about, chosen.count, chosen.seed)
        with tempfile.TemporaryDirectory() as home:
            figures[name] = measure(of_set, asked, Settings(home=Path(home), answer_reader=not chosen.without_reader))
        print(name, json.dumps(figures[name]), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
