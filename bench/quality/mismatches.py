"""Questions about one patient, over documents that also advise on others: is anything shown that is for somebody else?

    python bench/quality/mismatches.py --set NAME [--every N] [--json FILE] [--home FOLDER] [--verbose]

NAME is dev, kept, natural-dev or natural-kept; or unseen-dev or unseen-kept, about invented documents that no reader
has learned.

Each question names words that answer it and words for another age, weight, result, condition or purpose. An answer is
right where words that answer are shown and none for others; it misleads where words for others are shown and none that
answer, and is mixed where both are. Where nothing answers, only holding back is right.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Source
from citewell.types.answers import Answer, Cite, Qualified

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared/data/guidelines"
SAMPLES = HERE.parents[1] / "src/citewell/samples"
SETS = {
    "dev": "mismatches_dev.jsonl",
    "kept": "mismatches_kept.jsonl",
    "natural-dev": "natural_dev.jsonl",
    "natural-kept": "natural_kept.jsonl",
}
UNSEEN = HERE / "unseen"
UNSEEN_SETS = {"unseen-dev": 0, "unseen-kept": 1}
"""Invented documents that no reader has learned; every other one is for development."""


def main() -> None:
    """Ask every question of a set over all its documents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--set", choices=[*SETS, *UNSEEN_SETS], default="dev", dest="name")
    parser.add_argument("--every", type=int, default=1, help="ask one question of so many")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--home", type=Path, help="a library that holds the documents, or is to")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    asked = questions(arguments.name)[:: arguments.every]
    with tempfile.TemporaryDirectory() as folder:
        home = arguments.home or Path(folder)
        is_new = not home.exists() or not any(home.iterdir())
        with build(Settings(home=home)) as app:
            for path in documents(asked) if is_new else ():
                app.add_source(Source(path.read_bytes(), path.name))
            judged = [_judged(app, question, is_verbose=arguments.verbose) for question in asked]
    result = {"set": arguments.name, "all": _counted(judged)}
    for kind in sorted({one["class"] for one in judged}):
        result[kind] = _counted([one for one in judged if one["class"] == kind])
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(f"{text}\n", "utf-8")


def questions(name: str) -> list[dict[str, Any]]:
    """The questions of a set."""
    if name in UNSEEN_SETS:
        return [one for path in sorted(UNSEEN.glob("*.tsv"))[UNSEEN_SETS[name] :: 2] for one in about(path)]
    lines = (HERE / SETS[name]).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


KINDS = {"c": "doctor", "n": "nurse", "p": "patient", "x": "unanswerable", "y": "near miss"}


def about(path: Path) -> Iterator[dict[str, Any]]:
    """The questions about an invented document: what answers them, and the near miss that does not."""
    for line in path.read_text("utf-8").splitlines():
        kind, question, right, wrong = (*line.split("\t"), "", "")[:4]
        answering, seeming = ([one.strip() for one in several.split("||") if one.strip()] for several in (right, wrong))
        misleading = seeming if kind == "y" else []
        yield {
            "document": f"{path.stem}.md", "question": question, "class": KINDS[kind],
            "right": answering, "wrong": misleading,
        }  # fmt: skip


def documents(asked: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    """The documents that questions are about."""
    for name in sorted({question["document"] for question in asked}):
        places = (UNSEEN / name, SAMPLES / name, SHARED / name, SHARED / "nigeria-stg" / name)
        yield next(path for path in places if path.exists())


def _judged(app: App, question: Mapping[str, Any], *, is_verbose: bool) -> dict[str, Any]:
    answer = app.ask(question["question"], asker=app.owner())
    shown = _flat(answer.text) if _is_shown(answer) else ""
    right = [words for words in question["right"] if _flat(words) in shown]
    wrong = [words for words in question["wrong"] if _flat(words) in shown]
    is_right = not wrong and (bool(right) if question["right"] else not shown)
    confidence = answer.confidence.calibrated
    if is_verbose and not is_right:
        print(
            f"\n{question['class']}: {question['question']}\n  {confidence:.2f} wrong {wrong} asked {question['right']}"
        )
        print(f"  {answer.text[:500]!r}" if shown else "  held back")
    return {
        "class": question["class"], "is_right": is_right, "is_held": not shown, "is_sure": confidence >= SURE,
        "misleads": bool(wrong) and not right, "is_mixed": bool(wrong and right),
    }  # fmt: skip


SURE = 0.75
"""From this confidence on an answer is shown without a reservation."""


def _is_shown(answer: Answer) -> bool:
    return isinstance(answer.action, Cite | Qualified)


def holds(text: str, words: Sequence[str]) -> bool:
    """Whether a text holds some of the words."""
    return any(_flat(one) in _flat(text) for one in words)


def _flat(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").casefold().split())


def _counted(judged: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    misleading = [one for one in judged if one["misleads"]]
    return {
        "questions": len(judged),
        "right": sum(one["is_right"] for one in judged),
        "mixed": sum(one["is_mixed"] for one in judged),
        "misleading": len(misleading),
        "misleading_unreserved": sum(one["is_sure"] for one in misleading),
        "held_back": sum(one["is_held"] for one in judged),
    }


if __name__ == "__main__":
    main()
