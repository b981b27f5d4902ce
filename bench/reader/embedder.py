"""Answers, step 2b: trains the embedder to put questions near the statements that answer them.

    python -m bench.reader.embedder --work FOLDER --out FOLDER [--anchor 4] [--seconds 60] [--tiny]

Reads what `answers_data` wrote. A text is a statement, with or without its title, or a statement among its neighbours,
as a passage of the index is. Texts must stay near the vectors that they had (`--anchor`): what the model knew of words
that no question here has is kept. Held-out documents and the product's samples are not learned.
Writes an adapter for each anchor.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bench.reader.answers import Question, Texts, nearest, read
from bench.reader.batches import padded, processor, step_with
from bench.reader.minilm import BEGIN, EMBED_PIECES, END, PAD, Pieces, Reader, adapter, untrained
from bench.reader.needs import torch

SAMPLES = ("anticoagulants-policy", "breathlessness-guideline", "child-dehydration-chapter", "warfarin-leaflet")
TOGETHER = 256
"""Questions learned at a time; the texts of the others are wrong for each."""
HARD, HARDEST = 3, 24
"""Texts near a question that do not answer it, and among how many they are drawn."""
SHARPNESS = 20.0
"""What cosines are multiplied with."""
LEARNING_RATE, EPOCHS = 5e-4, 6
AROUND = 2
"""Statements on each side of one that is read as a passage, at most."""
GUIDELINES = 3
TOLD = 400


class Shelf:
    """All texts as pieces."""

    def __init__(self, texts: Texts, pieces: Pieces) -> None:
        self.titles = pieces.read(texts.titles)
        self.statements = pieces.read(texts.statements)
        self.questions = pieces.read([one.text for one in texts.questions])
        self.document = {at: own for own in texts.documents for at in own}

    def text(self, at: int, form: int) -> list[int]:
        """A statement: 0 by itself, 1 with its title, 2 or more with its title and neighbours."""
        own = self.document[at]
        around = max(0, form - 1)
        inside = range(max(own.start, at - around), min(own.stop, at + around + 1))
        title = self.titles[at] if form else []
        row = [*title[:64], *(piece for one in inside for piece in self.statements[one])]
        return [BEGIN, *row[:EMBED_PIECES], END]

    def holds(self, at: int, form: int) -> range:
        """The statements that a text is made of."""
        own, around = self.document[at], max(0, form - 1)
        return range(max(own.start, at - around), min(own.stop, at + around + 1))

    def question(self, number: int) -> list[int]:
        return [BEGIN, *self.questions[number][:EMBED_PIECES], END]


def vectors(model: Reader, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """Unit vectors, as the product makes them."""
    filled, mask = padded(rows, PAD)
    with torch.autocast(processor(), torch.bfloat16, enabled=processor() == "cuda"):
        hidden = model.bert(input_ids=filled, attention_mask=mask).last_hidden_state.float()
    share = mask[:, :, None].float()
    return torch.nn.functional.normalize((hidden * share).sum(1) / share.sum(1))


def learn(
    texts: Texts, shelf: Shelf, near: Sequence[np.ndarray], chosen: Sequence[int], options: argparse.Namespace
) -> Reader:
    """The embedder, from some of the questions."""
    torch.manual_seed(1)
    model, before = untrained(options.work, 1).eval(), Reader(options.work).to(processor()).eval()
    learned = [values for name, values in model.named_parameters() if values.requires_grad and "head" not in name]
    optimizer = torch.optim.AdamW(learned, LEARNING_RATE, weight_decay=0.01, fused=processor() == "cuda")
    draw, size = random.Random(1), 4 if options.tiny else TOGETHER
    more = [number for number in chosen if texts.questions[number].set == "guidelines"] * (GUIDELINES - 1)
    order = [number for _ in range(EPOCHS) for number in draw.sample([*chosen, *more], len(chosen) + len(more))]
    steps, begun = 2 if options.tiny else len(order) // size, time.monotonic()
    for step in range(steps):
        share = max(step / steps, (time.monotonic() - begun) / options.seconds)
        if share >= 1:
            break
        some = order[step * size : (step + 1) * size]
        answers, others = _drawn(texts.questions, shelf, near, some, draw)
        listed = [*answers, *(one for several in others for one in several)]
        rows = [*map(shelf.question, some), *(shelf.text(*one) for one in listed)]
        found = _in_parts(model, rows)
        with torch.no_grad():
            known = _in_parts(before, rows)
        scores = SHARPNESS * found[: len(some)] @ found[len(some) :].T
        barred = _barred(texts.questions, shelf, some, listed).to(scores.device)
        right = torch.arange(len(some), device=scores.device)
        near_loss = torch.nn.functional.cross_entropy(scores.masked_fill(barred, -1e4), right)
        moved = (1 - (found * known).sum(1)).mean()
        warm = min(1.0, (step + 1) / (steps * 0.05 + 1)) if step < steps * 0.05 else 1.0
        step_with(optimizer, near_loss + options.anchor * moved, LEARNING_RATE * warm * max(0.02, 1 - share))
        if step % 50 == 0:
            took = time.monotonic() - begun
            print(f"step {step} of {steps}, {took:.0f} s: {near_loss.item():.3f} {moved.item():.3f}", flush=True)
    return model.eval()


def _in_parts(model: Reader, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """Short texts and long ones apart, so that few places are empty."""
    order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
    parts = [order[start : start + 256] for start in range(0, len(order), 256)]
    found = torch.cat([vectors(model, [rows[at] for at in part]) for part in parts])
    back = torch.empty(len(order), dtype=torch.long, device=found.device)
    back[torch.tensor(order, device=found.device)] = torch.arange(len(order), device=found.device)
    return found[back]


Text = tuple[int, int]


def _drawn(
    questions: Sequence[Question], shelf: Shelf, near: Sequence[np.ndarray], some: Sequence[int], draw: random.Random
) -> tuple[list[Text], list[list[Text]]]:
    """For each question a text that answers it and some that nearly do, all in one form."""
    answers, others = [], []
    for number in some:
        one, form = questions[number], draw.choice((0, 1, 1, 2, 2 if draw.random() < 0.5 else 1 + AROUND))
        barred = set(one.answers) | one.unclear
        close = [
            at
            for at in (*one.misses, *near[number][: HARDEST + len(barred)].tolist())
            if at not in barred and barred.isdisjoint(shelf.holds(at, form))
        ][:HARDEST]
        answers.append((draw.choice(one.answers), form))
        others.append([(at, form) for at in draw.sample(close, min(HARD, len(close)))])
    return answers, others


def _barred(questions: Sequence[Question], shelf: Shelf, some: Sequence[int], listed: Sequence[Text]) -> torch.Tensor:
    """Which texts may answer a question although they were drawn for another one."""
    barred = np.zeros((len(some), len(listed)), bool)
    by_statement: dict[int, list[int]] = {}
    for place, (at, form) in enumerate(listed):
        for inside in shelf.holds(at, form):
            by_statement.setdefault(inside, []).append(place)
    for row, number in enumerate(some):
        for at in {*questions[number].answers, *questions[number].unclear}:
            barred[row, by_statement.get(at, [])] = True
        barred[row, row] = False
    return torch.from_numpy(barred)


@torch.no_grad()
def tell(model: Reader, texts: Texts, shelf: Shelf, held: Sequence[int]) -> dict[str, dict[str, float]]:
    """How often a statement that answers is among the nearest of the held-out documents, set by set."""
    told = {}
    for name in sorted({texts.questions[number].set for number in held}):
        asked = [number for number in held if texts.questions[number].set == name and texts.questions[number].answers]
        asked = random.Random(1).sample(asked, min(TOLD, len(asked)))
        pool = sorted({at for number in asked for one in texts.questions[number].answers for at in shelf.document[one]})
        sought = _in_parts(model, [shelf.question(number) for number in asked])
        line: dict[str, float] = {"questions": len(asked), "statements": len(pool)}
        for form in (0, 1):
            found = _in_parts(model, [shelf.text(at, form) for at in pool])
            best = (sought @ found.T).topk(min(16, len(pool))).indices.cpu().numpy()
            for count in (1, 5, 16):
                hits = [any(pool[at] in texts.questions[n].answers for at in row[:count]) for n, row in zip(asked, best, strict=True)]  # fmt: skip  # noqa: E501
                line[f"{'titled ' if form else ''}{count}"] = round(sum(hits) / len(hits), 3)
        told[name] = line
        print(name, json.dumps(line), flush=True)
    return told


def main() -> None:
    """Train, and say how near held-out questions are to their answers, before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--anchor", type=float, nargs="+", default=[4.0])
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--tiny", action="store_true", help="a trial on a CPU: two steps of four questions")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pieces, texts = Pieces(options.work), read(options.work, tiny=options.tiny, held=SAMPLES)
    shelf = Shelf(texts, pieces)
    before = Reader(options.work).to(processor()).eval()
    near = nearest(texts, before, pieces)
    held = [at for at, one in enumerate(texts.questions) if one.is_held]
    chosen = [at for at, one in enumerate(texts.questions) if one.answers and not one.is_held]
    print(f"{len(texts.statements)} statements, {len(chosen)} questions learned, {len(held)} held out", flush=True)
    figures = {"before": tell(before, texts, shelf, held)}
    for anchor in options.anchor:
        options.anchor = anchor
        model = learn(texts, shelf, near, chosen, options)
        learned = {name: values for name, values in adapter(model).items() if not name.startswith("head")}
        np.savez(options.out / f"embedder_{anchor:g}.npz", **learned)
        figures[f"anchor {anchor:g}"] = tell(model, texts, shelf, held)
    (options.out / "embedder.json").write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
