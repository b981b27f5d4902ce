"""Trains the head that tells the kind of a question, and compares it with words on questions of other topics.

.venv/bin/python -m bench.clinical.questions --set dev                       # figures
.venv/bin/python -m bench.clinical.questions --set dev --out FILE.npz        # and the weights, with their sha256
.venv/bin/python -m bench.clinical.questions --tiny                          # every line, in seconds; worth nothing
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.minilm import MiniLM
from citewell.assistants.guidelines.chat_cues import has, spelled
from citewell.assistants.records.question_kinds import QuestionKindRule, weigh
from citewell.clinical.questions import QuestionKind, question_cues, runs

Array = NDArray[np.float32]
Question = tuple[str, str]

SETS = Path(__file__).parent / "questions"
KINDS = tuple(kind.value for kind in QuestionKind)
DECAY = {"words": 1e-4, "embedding": 3e-4, "both": 2e-4}
"""How strongly large weights are held back; chosen on dev among 1e-2, 3e-3 … 1e-4."""
STEPS, RATE = 400, 0.1
MIN_COUNT = 2
"""Questions in which a run of words must stand to be learned."""
BY_WORDS = (
    ("dose", {"dose"}),
    ("frequency", {"frequency"}),
    ("duration", {"duration"}),
    ("criteria", {"referral", "who"}),
    ("timing", {"timing", "time"}),
    ("value", {"number", "target"}),
    ("test", {"diagnosis"}),
    ("treatment", {"treatment", "medicine"}),
    ("reason", {"why"}),
    ("harm", {"avoid"}),
    ("features", {"which"}),
    ("definition", {"what"}),
    ("permission", {"advice"}),
)
"""The kind that the cues of `question_cues.tsv` stand for; the first that matches counts. None is for procedures."""


def read(name: str) -> list[Question]:
    """Kind and question of a set."""
    lines = (SETS / f"{name}.tsv").read_text("utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(kind, question) for kind, question in pairs]


def learned_runs(questions: Sequence[Question]) -> list[str]:
    """The runs of words that stand in several questions."""
    counts = Counter(run for _, question in questions for run in runs(question))
    return sorted(run for run, count in counts.items() if count >= MIN_COUNT)


def as_rows(questions: Sequence[Question], known: Sequence[str]) -> Array:
    """One row a question, a column a run, of unit length."""
    places = {run: place for place, run in enumerate(known)}
    table = np.zeros((len(questions), len(known)), np.float32)
    for row, (_, question) in enumerate(questions):
        table[row, [places[run] for run in runs(question) if run in places]] = 1
    return table / np.sqrt(np.maximum(table.sum(axis=1, keepdims=True), 1))


def fitted(features: Array, kinds: NDArray[np.int64], *, decay: float, steps: int) -> Array:
    """Weights of a multinomial logistic regression, the last row those of the kinds as such.

    The weights are sums of the examples (features.T @ shares), so each step costs the square of their number.
    """
    gram, wanted = features @ features.T, np.eye(len(KINDS), dtype=np.float32)[kinds]
    shares, bias = np.zeros_like(wanted), np.zeros(len(KINDS), np.float32)
    moments = [np.zeros_like(shares), np.zeros_like(bias)]
    squares = [np.zeros_like(shares), np.zeros_like(bias)]
    for step in range(1, steps + 1):
        scores = gram @ shares + bias
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        missed = (raised / raised.sum(axis=1, keepdims=True) - wanted) / len(wanted)
        for at, (value, slope) in enumerate(((shares, missed + decay * shares), (bias, missed.sum(axis=0)))):
            moments[at] = 0.9 * moments[at] + 0.1 * slope
            squares[at] = 0.99 * squares[at] + 0.01 * slope * slope
            mean, spread = moments[at] / (1 - 0.9**step), squares[at] / (1 - 0.99**step)
            np.subtract(value, RATE * (1 - step / steps) * mean / (np.sqrt(spread) + 1e-8), out=value)
    return np.vstack([features.T @ shares, bias]).astype(np.float32)


def guessed(features: Array, weights: Array) -> list[str]:
    """The likeliest kind of each question."""
    best = (features @ weights[:-1] + weights[-1]).argmax(axis=1)
    return [KINDS[at] for at in best.tolist()]


def by_words(question: str) -> str:
    """The kind that the words of today's tables give, those of chat and records among them; none where none match."""
    cues, text = question_cues(question), spelled(question)
    if any(has(what, text) for what in ("smalltalk", "meta", "chitchat")):
        return "chat"
    sums = weigh(question)
    if "oneself" in cues and max(sums[QuestionKindRule.FACTUAL], sums[QuestionKindRule.TIMELINE]) >= max(
        3, *sums.values()
    ):
        return "record"
    return next((kind for kind, names in BY_WORDS if names & cues), "none")


def figures(name: str, guesses: Sequence[str], questions: Sequence[Question]) -> None:
    """Right in all, and precision and recall of each kind."""
    right = sum(guess == kind for guess, (kind, _) in zip(guesses, questions, strict=True))
    print(f"{name}: {right} of {len(questions)}")
    for kind in KINDS:
        hits = sum(guess == kind == gold for guess, (gold, _) in zip(guesses, questions, strict=True))
        total, asked = guesses.count(kind), sum(gold == kind for gold, _ in questions)
        print(f"  {kind:11} precision {hits / max(1, total):.2f}  recall {hits / max(1, asked):.2f}  of {asked}")


def main() -> None:
    """Train, compare, and write the weights if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("dev", "kept"), default="dev")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    train, asked = read("train"), read(options.set)
    if options.tiny:
        train, asked = train[::12], asked[::12]
    steps = 20 if options.tiny else STEPS
    with tempfile.TemporaryDirectory() as cache:
        embedder = MiniLM(Path(cache), threads=1)
        vectors, asked_vectors = (embedder.embed([text for _, text in one]) for one in (train, asked))
        model = embedder.fingerprint
    known = learned_runs(train)
    words, asked_words = as_rows(train, known), as_rows(asked, known)
    kinds = np.array([KINDS.index(kind) for kind, _ in train])
    inputs = {
        "words": (words, asked_words),
        "embedding": (vectors, asked_vectors),
        "both": (np.hstack([vectors, words]), np.hstack([asked_vectors, asked_words])),
    }
    figures("cues", [by_words(question) for _, question in asked], asked)
    weights = {}
    for name, (features, asked_features) in inputs.items():
        weights[name] = fitted(features, kinds, decay=DECAY[name], steps=steps)
        guesses = guessed(asked_features, weights[name])
        figures(f"head over {name}", guesses, asked)
        if options.misses:
            pairs = zip(guesses, asked, strict=True)
            print(*(f"  {kind} taken for {guess}: {text}" for guess, (kind, text) in pairs if guess != kind), sep="\n")
    if options.out:
        write(options.out, known, weights["both"], model)


def write(path: Path, known: Sequence[str], weights: Array, model: str) -> None:
    """The weights of the head over both, with a header; prints their sha256."""
    header = {
        "decides": "the kind of a question (citewell/clinical/questions.py)",
        "trained by": "bench/clinical/questions.py on bench/clinical/questions/train.tsv",
        "embedding": model,
        "licence": "Apache-2.0, questions written for this project",
    }
    np.savez_compressed(
        path,
        header=np.array(json.dumps(header)),
        kinds=np.array(KINDS),
        runs=np.array(known),
        weights=weights.astype(np.float16),
    )
    print(f"{path}: {path.stat().st_size:,} bytes, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
