"""Step 6: goes on training the pair reader on claims about guidelines, labels, reports and articles.

    python -m bench.reader.claims --work FOLDER --claims FOLDER --start ADAPTER --out FOLDER [--tiny]

CLAIMS holds `train*.jsonl`, `dev.jsonl`: {"claim", "evidence", "label"}, as `claims_data` writes them. The train claims
of SciFact are read with them, so that abstracts are not forgotten. Writes adapter.npz: the mean of the weights after
each of the last epochs.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.reader.batches import pace, processor, step_with
from bench.reader.figures import LABELS, tell
from bench.reader.minilm import Pieces, Reader, adapter, untrained
from bench.reader.needs import torch
from bench.reader.pairs import Pairs, judge, pairs_of

EPOCHS, LEARNING_RATE, BATCH = 2, 5e-4, 32
BATCHES_SORTED = 8
ELSEWHERE = 0.12
"""Share of claims that are also read beside another passage of the material, which settles nothing."""
SOFT = 0.05


@dataclass(frozen=True, slots=True)
class Lesson:
    """A claim, the words it cites, and whether these support it."""

    claim: str
    evidence: str
    label: str


@dataclass(frozen=True, slots=True)
class Options:
    """Where the adapters go, how often all lessons are read, and whether this is a trial."""

    out: Path
    epochs: int
    tiny: bool


def lessons_of(path: Path) -> list[Lesson]:
    """The lessons of one file."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [Lesson(row["claim"], row["evidence"], row["label"]) for row in rows]


def of_scifact(work: Path) -> list[Lesson]:
    """The train claims of SciFact beside the first sentences of what they cite."""
    data = json.loads((work / "data.json").read_text("utf-8"))
    return [
        Lesson(row["claim"], " ".join(data["docs"][document][:8]), row["label"])
        for row in data["train"]
        for document in row["docs"][:1]
        if row["label"] != "NONE" or random.random() < 0.7
    ]


def resumed(work: Path, start: Path) -> Reader:
    """A reader that goes on where an adapter stands."""
    model = untrained(work)
    named = dict(model.named_parameters())
    with np.load(start) as kept:
        for name in kept.files:
            plain = name if name.startswith("head") else f"bert.{name}"
            target = named.get(plain)
            if target is None:
                target = named[plain.removesuffix(".bias") + ".base.bias"]
            target.data.copy_(torch.from_numpy(kept[name].astype(np.float32)))
    return without_dropout(model)


def without_dropout(model: Reader) -> Reader:
    """The same model, no value of which is left out while it learns: two epochs teach nothing by heart."""
    model.bert.config.attention_probs_dropout_prob = 0.0
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = 0.0
    return model


def learn(model: Reader, lessons: Sequence[Lesson], dev: Sequence[Lesson], pieces: Pieces, options: Options) -> None:
    """Train on all lessons, each epoch in another order."""
    learned = [values for values in model.parameters() if values.requires_grad]
    optimizer = torch.optim.AdamW(learned, LEARNING_RATE, weight_decay=0.01)
    draw, begun = random.Random(3), time.time()
    steps, step = options.epochs * math.ceil(len(lessons) * (1 + ELSEWHERE) / BATCH), 0
    kept: list[dict[str, torch.Tensor]] = []
    for epoch in range(options.epochs):
        read = [*lessons, *_elsewhere(lessons, draw)]
        pairs = pairs_of(pieces, [lesson.claim for lesson in read], [lesson.evidence for lesson in read])
        labels = np.array([LABELS[lesson.label] for lesson in read])
        model.train()
        for batch in _batches(pairs, draw):
            target = torch.from_numpy(labels[batch]).to(processor())
            loss = torch.nn.functional.cross_entropy(model(*pairs.batch(batch)), target, label_smoothing=SOFT)
            step_with(optimizer, loss, LEARNING_RATE * pace(step, steps, warm_steps=0.06 * steps, least=0.03))
            step += 1
            if step % 20 == 0:
                print(f"{step}/{steps} loss {loss.item():.3f} {time.time() - begun:.0f} s", flush=True)
            if options.tiny and step >= 2:
                break
        figures(model.eval(), f"epoch {epoch + 1}", dev, pieces)
        np.savez(options.out / f"epoch{epoch + 1}.npz", **adapter(model))
        if epoch >= options.epochs - 2:
            kept.append(
                {name: values.detach().clone() for name, values in model.named_parameters() if values.requires_grad}
            )
    for name, values in model.named_parameters():
        if name in kept[0]:
            values.data.copy_(torch.stack([weights[name] for weights in kept]).mean(0))
    figures(model.eval(), "mean of the last epochs", dev, pieces)


def _elsewhere(lessons: Sequence[Lesson], draw: random.Random) -> list[Lesson]:
    """Some claims beside a passage that another claim cites."""
    chosen = draw.sample(lessons, int(len(lessons) * ELSEWHERE))
    others = [draw.choice(lessons) for _ in chosen]
    return [
        Lesson(lesson.claim, other.evidence, "NONE")
        for lesson, other in zip(chosen, others, strict=True)
        if lesson.evidence != other.evidence
    ]


def _batches(pairs: Pairs, draw: random.Random) -> list[np.ndarray]:
    """Batches of like length in a random order."""
    order = list(range(len(pairs.lengths)))
    draw.shuffle(order)
    groups = [order[start : start + BATCH * BATCHES_SORTED] for start in range(0, len(order), BATCH * BATCHES_SORTED)]
    batches = []
    for group in groups:
        group.sort(key=lambda number: pairs.lengths[number])
        batches += [np.array(group[start : start + BATCH]) for start in range(0, len(group), BATCH)]
    draw.shuffle(batches)
    return batches


def figures(model: Reader, name: str, dev: Sequence[Lesson], pieces: Pieces) -> None:
    """Print how well it judges the development claims."""
    pairs = pairs_of(pieces, [lesson.claim for lesson in dev], [lesson.evidence for lesson in dev])
    with torch.no_grad():
        tell(name, judge(model, pairs, np.arange(len(dev))), [lesson.label for lesson in dev])


def main() -> None:
    """Go on training, and write adapter.npz."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--claims", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--tiny", action="store_true", help="a trial: two steps")
    options = parser.parse_args()
    random.seed(1)
    torch.manual_seed(1)
    pieces = Pieces(options.work)
    lessons = [lesson for path in sorted(options.claims.glob("train*.jsonl")) for lesson in lessons_of(path)]
    dev = lessons_of(options.claims / "dev.jsonl")
    lessons += of_scifact(options.work)
    print(len(lessons), "lessons,", len(dev), "development claims", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    model = resumed(options.work, options.start)
    figures(model.eval(), "before", dev, pieces)
    learn(model, lessons, dev, pieces, Options(options.out, 1 if options.tiny else options.epochs, options.tiny))
    np.savez(options.out / "adapter.npz", **adapter(model))


if __name__ == "__main__":
    main()
