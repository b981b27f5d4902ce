"""The guidelines chat on questions as clinicians type them, over guidelines that it was not made for.

python bench/quality/guideline_chat.py --data FOLDER [--set FILE] [--library FOLDER] [--misses] [--json FILE]

Each question names the guidelines that are loaded, the recommendations that answer it and the words that an answer must
show. `first` is the share of answerable questions whose first citation is a right recommendation, `five` the share with
one among the first five citations, `words` the share whose answer has all of those words; `refused` is the share of the
questions that no loaded guideline answers and that got no citation.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import citewell
from citewell.errors import InputError
from citewell.types import Answer, Citation

DEV = Path(__file__).with_name("chat_dev.jsonl")
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Judged:
    """What one question got, and what it should have got."""

    question: Mapping[str, Any]
    cited: tuple[str, ...]
    """The places cited, best first."""
    is_right: tuple[bool, ...]
    has_words: bool
    refused: str

    @property
    def kind(self) -> str:
        return str(self.question["kind"])


def plain(text: str) -> str:
    """A text as it is compared: one space between words, one kind of dash and case."""
    return " ".join(text.replace("\u2013", "-").replace("\u2019", "'").casefold().split())


def is_right(citation: Citation, question: Mapping[str, Any], documents: Mapping[str, str]) -> bool:
    """Whether a citation is one of the recommendations, or stands under one of the headings, that answer."""
    if documents.get(citation.document_id) != question.get("doc"):
        return False
    label = citation.section[-1] if citation.section else ""
    number = label.partition(" §")[2].partition(",")[0]
    for right in (*question.get("right", ()), *question.get("also", ())):
        if number == right or any(plain(right) in plain(section) for section in citation.section):
            return True
    return False


def judged(question: Mapping[str, Any], answer: Answer, documents: Mapping[str, str]) -> Judged:
    """An answer beside what was wanted."""
    cited = tuple(f"{citation.section[-1] if citation.section else citation.document}" for citation in answer.citations)
    right = tuple(is_right(citation, question, documents) for citation in answer.citations)
    shown = plain(answer.text)
    has_words = bool(answer.citations) and all(plain(words) in shown for words in question.get("must", ()))
    return Judged(question, cited, right, has_words, "" if answer.citations else answer.text[:90].replace("\n", " "))


def figures(cases: Sequence[Judged]) -> dict[str, Any]:
    """Shares over the answerable questions and over those that no guideline answers."""
    asked = [case for case in cases if case.kind == "answerable"]
    near = [case for case in cases if case.kind == "near_miss"]
    outside = [case for case in cases if case.kind == "out_of_scope"]
    return {
        "answerable": len(asked),
        "first": share(case.is_right[:1] == (True,) for case in asked),
        "five": share(any(case.is_right[:SHOWN]) for case in asked),
        "words": share(case.has_words for case in asked),
        "unanswered": share(not case.cited for case in asked),
        "near_misses": len(near),
        "near_misses_refused": share(not case.cited for case in near),
        "out_of_scope": len(outside),
        "out_of_scope_refused": share(not case.cited for case in outside),
    }


def share(marks: Any) -> float:
    """The part of the marks that are true."""
    marks = list(marks)
    return round(sum(marks) / len(marks), 3) if marks else 0.0


def run(questions: Sequence[Mapping[str, Any]], data: Path, library: Path) -> list[Judged]:
    """Ask each question of the guidelines that it names."""
    with citewell.open(library) as app:
        ids: dict[str, str] = {}
        for name in sorted({name for question in questions for name in question["loaded"]}):
            path = data / "guidelines" / name
            try:
                ids[name] = app.guidelines.add(path).entry.id
            except InputError as error:
                print(f"{name}: {error}")
        documents = {document: name for name, document in ids.items()}
        told = []
        for question in questions:
            only = [ids[name] for name in question["loaded"] if name in ids]
            if not only:
                told.append(Judged(question, (), (), has_words=False, refused="no guideline was read"))
                continue
            done = app.chat.answer(question["question"], asker=app.owner(), only=only)
            told.append(judged(question, done.answer, documents))
    return told


def main() -> None:
    """Ask, print the figures and the misses, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", type=Path, default=DEV)
    parser.add_argument("--library", type=Path, help="keep the library here, and use it again")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    questions = [json.loads(line) for line in given.set.read_text("utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        cases = run(questions, given.data, given.library or Path(folder))
    if given.misses:
        for case in cases:
            is_fine = case.is_right[:1] == (True,) if case.kind == "answerable" else not case.cited
            if not is_fine:
                wanted = "/".join(case.question.get("right", ())) or case.kind
                print(f"{case.question['id']} [{wanted}] {case.question['question'][:150]}")
                print(f"    {', '.join(case.cited[:6]) or 'refused: ' + case.refused}")
    told = {"set": given.set.name, **figures(cases)}
    print(json.dumps(told, indent=2))
    if given.json:
        given.json.write_text(json.dumps(told, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
