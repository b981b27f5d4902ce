"""Fits what a question asks a record for to the examples in `intent_examples.tsv`: softmax regression over vectors.

python bench/quality/fit_intents.py           how well wordings that were left out are read, fold by fold
python bench/quality/fit_intents.py --write   fit to all and write src/citewell/assistants/records/intent_head.npz
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.minilm import MiniLM
from citewell.assistants.records.intent_head import FILE
from citewell.assistants.records.plain_question import plain_question
from citewell.assistants.records.tables import rows

FILLED = 8
"""How often a wording is filled with subjects."""
FOLDS, STEPS, PULL, RATE = 5, 200, 0.05, 0.1
Floats = NDArray[np.float64]


def examples() -> tuple[list[str], list[str], list[int]]:
    """The questions, their wishes, and which wording each was filled from."""
    table = rows("intent_examples.tsv")
    subjects = {name.removeprefix("subject "): words.split("|") for name, words in table if name.startswith("subject ")}
    chance = random.Random(3)
    texts, wishes, wordings = list[str](), list[str](), list[int]()
    for number, (wish, words) in enumerate(row for row in table if not row[0].startswith("subject ")):
        filled = dict.fromkeys(
            plain_question(re.sub(r"\{(\w+)\}", lambda slot: chance.choice(subjects[slot[1]]), words)).text
            for _ in range(FILLED)
        )
        texts += filled
        wishes += [wish] * len(filled)
        wordings += [number] * len(filled)
    return texts, wishes, wordings


def fitted(vectors: Floats, targets: NDArray[np.int64], weights: Floats, kinds: int) -> Floats:
    """The weights of each wish, by Adam; the last of each is its bias."""
    shares = np.array([weights[targets == kind].sum() for kind in range(kinds)])
    balanced = weights * np.sqrt(shares.mean() / np.maximum(shares[targets], 1e-9))
    balanced /= balanced.mean()
    inputs, wanted = np.c_[vectors, np.ones(len(vectors))], np.eye(kinds)[targets]
    found = np.zeros((inputs.shape[1], kinds))
    first, second = np.zeros_like(found), np.zeros_like(found)
    for step in range(1, STEPS + 1):
        slope = inputs.T @ ((odds(found.T, vectors) - wanted) * balanced[:, None]) / len(inputs)
        slope[:-1] += PULL * found[:-1] / len(inputs)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        found -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return found.T


def odds(weights: Floats, vectors: Floats) -> Floats:
    """The probability of each wish for each vector."""
    scores = vectors @ weights[:, :-1].T + weights[:, -1]
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=1, keepdims=True)
    return shares


def main() -> None:
    """Print how well left-out wordings are read, or write what is fitted to all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    texts, wishes, wordings = examples()
    names = list(dict.fromkeys(wishes))
    targets, numbers = np.array([names.index(wish) for wish in wishes]), np.array(wordings)
    weights = 1 / np.sqrt(np.bincount(numbers)[numbers])
    with tempfile.TemporaryDirectory() as folder:
        vectors = np.array(MiniLM(Path(folder)).embed(texts), dtype=np.float64)
    if given.write:
        found = fitted(vectors, targets, weights, len(names))
        np.savez_compressed(FILE, wishes=np.array(names), weights=found.astype(np.float16))
        print(f"{len(set(wordings))} wordings, {len(texts)} questions, {len(names)} wishes: {FILE.name}")
        return
    folds = np.random.RandomState(0).permutation(len(set(wordings)))[numbers] % FOLDS
    shares = np.zeros((len(texts), len(names)))
    for fold in range(FOLDS):
        kept = folds != fold
        shares[~kept] = odds(fitted(vectors[kept], targets[kept], weights[kept], len(names)), vectors[~kept])
    is_right, sure = shares.argmax(axis=1) == targets, shares.max(axis=1)
    print(f"left-out wordings read right: {np.average(is_right, weights=weights):.1%}")
    for least in (0.4, 0.5, 0.6, 0.7):
        print(f"from {least}: {np.mean(sure >= least):.0%} of them, {np.mean(is_right[sure >= least]):.0%} right")


if __name__ == "__main__":
    main()
