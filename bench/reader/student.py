"""Step 5: trains the pair reader, and says how it judges train claims that it has not seen.

    python -m bench.reader.student --work FOLDER --out FOLDER [--tiny]

Writes adapter.npz, which the product reads, and unseen.json: for each train claim the logarithms of support, contradict
and neither, by a student that was shown neither the claim nor any pair with an abstract that its fold cites.
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
from typing import Any

import numpy as np
from bench.reader.adapted import Adapted
from bench.reader.batches import pace, processor, step_with
from bench.reader.figures import Scores, tell
from bench.reader.lessons import Lesson, claim_lessons, made_lessons
from bench.reader.material import FOLDS, Material, load
from bench.reader.minilm import Reader, judge, tensors_of
from bench.reader.needs import torch

EPOCHS, TINY_STEPS = 5, 2
LEARNING_RATE = 8e-4
BATCH = 128
BATCHES_SORTED = 16
"""Lessons of so many batches are sorted by length together, so that little is padded."""
WARM_SHARE = 0.06
FINAL_SEED = 9
NOT_LEARNED = ("word_embeddings", "position", ".base.weight")


@dataclass(frozen=True, slots=True)
class School:
    """What there is to learn."""

    work: Path
    material: Material
    made: list[Lesson]
    claims: list[Lesson]
    """One for each train claim."""
    tiny: bool


def untrained(work: Path) -> Reader:
    """MiniLM with adapters; only they, biases, norms, token types and the head learn."""
    model = Reader(work)
    for name, values in model.named_parameters():
        values.requires_grad_(values.ndim == 1 or "head" in name or "token_type" in name)
    for layer in model.bert.encoder.layer:
        attention = layer.attention
        for name in ("query", "key", "value"):
            setattr(attention.self, name, Adapted(getattr(attention.self, name)))
        for owner in (attention.output, layer.intermediate, layer.output):
            owner.dense = Adapted(owner.dense)
    return model.to(processor())


def learn(school: School, lessons: Sequence[Lesson], seed: int) -> Reader:
    """One student."""
    torch.manual_seed(seed)
    model = untrained(school.work)
    model.train()
    learned = [values for values in model.parameters() if values.requires_grad]
    optimizer = torch.optim.AdamW(learned, LEARNING_RATE, weight_decay=0.01)
    steps = TINY_STEPS if school.tiny else EPOCHS * math.ceil(len(lessons) / BATCH)
    for step, chosen in enumerate(_batches([len(one.pair.pieces) for one in lessons], steps, seed)):
        speed = pace(step, steps, warm_steps=steps * WARM_SHARE, least=0.02)
        step_with(optimizer, _loss(model, [lessons[number] for number in chosen]), LEARNING_RATE * speed)
    return model.eval()


def _batches(lengths: Sequence[int], steps: int, seed: int) -> Iterator[Sequence[int]]:
    """As many batches of lessons of like length as there are steps, each epoch in an order of its own."""
    length = np.array(lengths)
    order_of = np.random.default_rng(seed)
    taken = 0
    while taken < steps:
        order = order_of.permutation(len(length))
        batches = []
        for start in range(0, len(order), BATCH * BATCHES_SORTED):
            group = order[start : start + BATCH * BATCHES_SORTED]
            group = group[np.argsort(length[group])]
            batches += [group[place : place + BATCH] for place in range(0, len(group), BATCH)]
        random.Random(taken + seed).shuffle(batches)
        batches = batches[: steps - taken]
        yield from batches
        taken += len(batches)


def _loss(model: Reader, lessons: Sequence[Lesson]) -> torch.Tensor:
    """The weighted cross-entropy of a batch."""
    target = torch.tensor([one.chances for one in lessons], device=processor())
    weight = torch.tensor([one.weight for one in lessons], device=processor())
    with torch.autocast(processor(), torch.bfloat16):
        said = model(*tensors_of([one.pair for one in lessons]))
    wrong = -(target * torch.log_softmax(said, 1)).sum(1)
    return (wrong * weight).sum() / weight.sum()


def unseen(school: School) -> Scores:
    """What is said of each train claim by the student of its fold, which has not seen it."""
    claims = school.material.claims
    found = np.zeros((len(claims), 3), np.float32)
    for fold in range(FOLDS):
        held = [number for number, claim in enumerate(claims) if claim.fold == fold]
        cited = {abstract for number in held for abstract in claims[number].abstracts}
        lessons = [one for one in school.made if one.abstract not in cited]
        lessons += [one for one, claim in zip(school.claims, claims, strict=True) if claim.fold != fold]
        student = learn(school, lessons, fold)
        found[held] = judge(student, [school.claims[number].pair for number in held])
        tell(f"student of fold {fold}, unseen", found[held], [claims[number].label for number in held])
    tell("students, unseen", found, [claim.label for claim in claims])
    return found


def adapter(model: Reader) -> dict[str, Any]:
    """What was learned, in half precision under the names of MiniLM; weight = base + 2 * b @ a."""
    return {
        name.removeprefix("bert.").replace(".base.bias", ".bias"): values.detach().cpu().to(torch.float16).numpy()
        for name, values in model.state_dict().items()
        if not any(part in name for part in NOT_LEARNED)
    }


def table(material: Material, found: Scores) -> dict[str, list[float]]:
    """The numbers of each claim under a hash of its text and first abstract: its text is not ours to keep."""
    return {
        sha256(f"{claim.text}\t{claim.abstracts[0]}".encode()).hexdigest()[:16]: [round(value, 4) for value in row]
        for claim, row in zip(material.claims, found.tolist(), strict=True)
    }


def main() -> None:
    """Train the student that is shipped, then one for each fold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tiny", action="store_true", help="a trial on a CPU: two steps, few pairs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    material = load(options.work, tiny=options.tiny)
    made = made_lessons(options.work, material, tiny=options.tiny)
    school = School(options.work, material, made, claim_lessons(material), options.tiny)
    print(f"{len(school.made)} made lessons, {len(school.claims)} train claims", flush=True)
    np.savez(options.out / "adapter.npz", **adapter(learn(school, school.made + school.claims, FINAL_SEED)))
    (options.out / "unseen.json").write_text(json.dumps(table(material, unseen(school))), "utf-8")


if __name__ == "__main__":
    main()
