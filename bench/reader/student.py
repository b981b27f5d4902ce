"""Step 5: trains the pair reader, and says how it judges train claims that it has not seen.

    python -m bench.reader.student --work FOLDER --out FOLDER [--tiny]

Writes unseen.json: for each train claim the logarithms of support, contradict and neither, by the student of its fold,
which learned from what the fold's own teacher wrote; neither of them was shown the claim. Then adapter.npz, which the
product reads, by a student that learned everything.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from bench.reader.batches import pace, processor, step_with
from bench.reader.figures import Scores, tell
from bench.reader.lessons import LESSONS, SENTENCE, TRAIN_CLAIM, Lessons, read_lessons
from bench.reader.material import FOLDS, Claim, train_claims
from bench.reader.minilm import Reader, adapter, untrained
from bench.reader.needs import torch
from bench.reader.pairs import Numbers, judge

FOLD_EPOCHS, FINAL_EPOCHS = (5, 4, 4), 3
TINY_STEPS = 2
LEARNING_RATE = 1e-3
BATCH, TINY_BATCH = 256, 8
BATCHES_SORTED = 16
"""Lessons of so many batches are sorted by length together, so that little is padded."""
WARM_SHARE = 0.06
CLAIMS_SHARE, LEAST_CLAIM_WEIGHT = 0.05, 3.0
"""The train claims weigh together as much as this share of the other lessons, and each at least so much."""
FINAL_SEED = 9


@dataclass(frozen=True, slots=True)
class School:
    """What there is to learn."""

    work: Path
    claims: list[Claim]
    lessons: Lessons
    tiny: bool

    @property
    def train_claims(self) -> Numbers:
        """The numbers of the lessons that are train claims, in their order."""
        return np.flatnonzero(self.lessons.origin == TRAIN_CLAIM)


def learn(school: School, chosen: Numbers, *, epochs: int, seed: int) -> Reader:
    """One student, from some of the lessons."""
    torch.manual_seed(seed)
    model = untrained(school.work)
    model.train()
    learned = [values for values in model.parameters() if values.requires_grad]
    optimizer = torch.optim.AdamW(learned, LEARNING_RATE, weight_decay=0.01, fused=processor() == "cuda")
    size = TINY_BATCH if school.tiny else BATCH
    steps = TINY_STEPS if school.tiny else epochs * math.ceil(len(chosen) / size)
    weights = _weights(school.lessons, chosen)
    batches = _batches(school.lessons.pairs.lengths[chosen], steps, size, seed)
    for step, batch in enumerate(batches):
        speed = pace(step, steps, warm_steps=steps * WARM_SHARE, least=0.02)
        loss = _loss(model, school.lessons, chosen[batch], weights[batch])
        step_with(optimizer, loss, LEARNING_RATE * speed)
    return model.eval()


def _weights(lessons: Lessons, chosen: Numbers) -> Scores:
    """How much each lesson counts."""
    is_claim = lessons.origin[chosen] == TRAIN_CLAIM
    even = CLAIMS_SHARE * (~is_claim).sum() / max(1, is_claim.sum())
    return np.where(is_claim, max(LEAST_CLAIM_WEIGHT, even), 1.0).astype(np.float32)


def _batches(lengths: Numbers, steps: int, size: int, seed: int) -> Iterator[Numbers]:
    """As many batches of lessons of like length as there are steps, each epoch in an order of its own."""
    order_of = np.random.default_rng(seed)
    taken = 0
    while taken < steps:
        order = order_of.permutation(len(lengths))
        batches = []
        for start in range(0, len(order), size * BATCHES_SORTED):
            group = order[start : start + size * BATCHES_SORTED]
            group = group[np.argsort(lengths[group])]
            batches += [group[place : place + size] for place in range(0, len(group), size)]
        random.Random(taken + seed).shuffle(batches)
        batches = batches[: steps - taken]
        yield from batches
        taken += len(batches)


def _loss(model: Reader, lessons: Lessons, numbers: Numbers, weights: Scores) -> torch.Tensor:
    """The weighted cross-entropy of a batch."""
    target = torch.from_numpy(lessons.chances[numbers]).to(processor())
    weight = torch.from_numpy(weights).to(processor())
    with torch.autocast(processor(), torch.bfloat16):
        said = model(*lessons.pairs.batch(numbers))
    wrong = -(target * torch.log_softmax(said, 1)).sum(1)
    return (wrong * weight).sum() / weight.sum()


def unseen(school: School) -> Scores:
    """What is said of each train claim by the student of its fold, which has not seen it."""
    lessons, labels = school.lessons, [claim.label for claim in school.claims]
    folds = np.array([claim.fold for claim in school.claims])
    found = np.zeros((len(folds), 3), np.float32)
    for fold in range(FOLDS):
        own = (lessons.origin == fold) | (lessons.origin == SENTENCE)
        written = np.flatnonzero(own & ~lessons.is_cited[:, fold] & ~lessons.is_held)
        held = np.flatnonzero(folds == fold)
        chosen = np.concatenate([written, school.train_claims[folds != fold]])
        student = learn(school, chosen, epochs=FOLD_EPOCHS[fold], seed=fold)
        _tell_agreement(student, lessons, fold)
        found[held] = judge(student, lessons.pairs, school.train_claims[held])
        tell(f"student of fold {fold}, unseen", found[held], [labels[number] for number in held])
    tell("students, unseen", found, labels)
    return found


def _tell_agreement(student: Reader, lessons: Lessons, fold: int) -> None:
    """Print how often a student says what its teacher said of claims about abstracts that it has not seen."""
    held = np.flatnonzero(lessons.is_held & (lessons.origin == fold))
    if len(held):
        same = judge(student, lessons.pairs, held).argmax(1) == lessons.chances[held].argmax(1)
        print(f"student of fold {fold} agrees with its teacher on {same.mean():.4f} of {len(held)} pairs", flush=True)


def table(claims: Sequence[Claim], found: Scores) -> dict[str, list[float]]:
    """The numbers of each claim under a hash of its text and first abstract: its text is not ours to keep.

    A claim whose text stands in another fold too was learned there, and is left out.
    """
    folds: dict[str, set[int]] = {}
    for claim in claims:
        folds.setdefault(claim.text, set()).add(claim.fold)
    return {
        sha256(f"{claim.text}\t{claim.abstracts[0]}".encode()).hexdigest()[:16]: [round(value, 3) for value in row]
        for claim, row in zip(claims, found.tolist(), strict=True)
        if len(folds[claim.text]) == 1
    }


def main() -> None:
    """Train a student for each fold, then the one that is shipped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tiny", action="store_true", help="a trial on a CPU: two steps of eight lessons")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    claims = train_claims(options.work, tiny=options.tiny)
    school = School(options.work, claims, read_lessons(options.work / LESSONS), options.tiny)
    if len(school.train_claims) != len(claims):
        raise SystemExit(
            f"{LESSONS} holds {len(school.train_claims)} of {len(claims)} train claims: run bench.reader.lessons"
        )
    (options.out / "unseen.json").write_text(json.dumps(table(claims, unseen(school))), "utf-8")
    everything = np.arange(len(school.lessons.origin))
    final = learn(school, everything, epochs=FINAL_EPOCHS, seed=FINAL_SEED)
    np.savez(options.out / "adapter.npz", **adapter(final))


if __name__ == "__main__":
    main()
