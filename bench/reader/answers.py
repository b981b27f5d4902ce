"""Answers, step 2: trains the reader that says whether a statement answers a question.

    python -m bench.reader.answers --work FOLDER --out FOLDER [--guidelines] [--tiny]

Reads what `answers_data` wrote. Documents of part 0 are held out, and it is told how often the statement that is put
first is one that answers, beside cosine, and how well the best score tells a question with an answer from the same one
without. With `--guidelines` all guidelines and labels are learned. Writes answers.npz, which the product reads.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench.reader.batches import pace, processor, step_with
from bench.reader.minilm import BEGIN, END, PAD, Pieces, Reader, adapter, embed, untrained
from bench.reader.needs import torch
from numpy.typing import NDArray

MATERIAL = "answers.json.xz"
QUESTION_PIECES, STATEMENT_PIECES = 64, 160
"""Pieces of each that are read, as the product reads them."""
LISTED = 16
NEAREST = 48
"""Statements nearest to a question by cosine, among which others are drawn."""
LISTS_AT_ONCE = 32
LEARNING_RATE, EPOCHS = 1e-3, 3
BINARY = 0.5
"""What the binary loss counts beside the one over the list."""
GUIDELINES = 3
"""How often questions about guidelines and labels are read in an epoch; the others once."""
TOLD_QUESTIONS = 400
READ_AT_ONCE = 512

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """A question, the statements that answer it, those that surely do not, and those that are left alone."""

    text: str
    set: str
    is_held: bool
    answers: list[int]
    misses: list[int]
    unclear: frozenset[int]
    inside: range | None
    """The statements of its document, where it is asked inside one."""


@dataclass
class Material:
    """All statements as pieces, and the questions."""

    statements: list[list[int]]
    asked: list[list[int]]
    questions: list[Question]
    near: list[Numbers]
    """For each question the statements nearest to it by cosine, best first."""


# ------------------------------------------------------------------------------------------------------------ material

INSIDE = ("covidqa", "evinf", "pubmedqa", "selqa", "guidelines")
"""Sets that ask inside one document."""


@dataclass(frozen=True)
class Texts:
    """Statements with their titles, by document and by set, and the questions."""

    titles: list[str]
    statements: list[str]
    documents: list[range]
    sets: dict[str, list[int]]
    questions: list[Question]

    def with_titles(self) -> list[str]:
        return [_titled(*one) for one in zip(self.titles, self.statements, strict=True)]


def _titled(title: str, text: str) -> str:
    return f"{title} : {text}" if title else text


def read(work: Path, *, tiny: bool, held: Sequence[str] = ()) -> Texts:
    """What `answers_data` wrote; for a trial a few questions with their documents."""
    with lzma.open(work / MATERIAL, "rt", encoding="utf-8") as file:
        kept: dict[str, Any] = json.load(file)
    documents, asked = kept["documents"], kept["questions"]
    if tiny:
        asked = [one for one in asked if one["set"] == "pubmedqa"][::40]
        wanted = {name for one in asked for name, _ in one["answers"] + one["not"]}
        documents = [one for one in documents if one["id"] in wanted]
    found = Texts([], [], [], {}, [])
    places: dict[str, range] = {}
    for document in documents:
        own = range(len(found.statements), len(found.statements) + len(document["passages"]))
        places[document["id"]] = own
        found.titles.extend(title for title, _ in document["passages"])
        found.statements.extend(text for _, text in document["passages"])
        found.documents.append(own)
        found.sets.setdefault(document["set"], []).extend(own)
    fold = {one["id"]: 0 if one["id"] in held else one["fold"] for one in documents}
    found.questions.extend(one for row in asked if (one := _question(row, places, fold)) is not None)
    return found


def load(work: Path, *, tiny: bool) -> Material:
    """Read, cut into pieces and embed everything."""
    texts, pieces = read(work, tiny=tiny), Pieces(work)
    texts.questions[:] = [one for one in texts.questions if one.set != "scifact"]
    cut = [[BEGIN, *row[:QUESTION_PIECES], END] for row in pieces.read([one.text for one in texts.questions])]
    rows = [[*row[:STATEMENT_PIECES], END] for row in pieces.read(texts.with_titles())]
    return Material(rows, cut, texts.questions, nearest(texts, Reader(work).to(processor()).eval(), pieces))


def nearest(texts: Texts, model: Reader, pieces: Pieces) -> list[Numbers]:
    """For each question the statements nearest to it by cosine, best first; those of its document before others."""
    vectors = torch.from_numpy(embed(model, pieces, texts.statements)).to(processor())
    sought = torch.from_numpy(embed(model, pieces, [one.text for one in texts.questions])).to(processor())
    pools = {name: torch.tensor(several, device=processor()) for name, several in texts.sets.items()}
    of_set = {name: vectors[pool] for name, pool in pools.items()}
    near: list[Numbers] = []
    for number, one in enumerate(texts.questions):
        pool = pools[one.set]
        score = of_set[one.set] @ sought[number]
        best = pool[score.topk(min(NEAREST, len(pool))).indices].cpu().numpy()
        if one.inside is not None:
            own = slice(one.inside.start, one.inside.stop)
            order = (vectors[own] @ sought[number]).argsort(descending=True).cpu().numpy() + one.inside.start
            best = np.concatenate([order, best[~np.isin(best, order)]])
        near.append(best)
    return near


def _question(row: dict[str, Any], places: dict[str, range], fold: dict[str, int]) -> Question | None:
    answers = [places[name][at] for name, several in row["answers"] for at in several if name in places]
    misses = [places[name][at] for name, several in row["not"] for at in several if name in places]
    named = [name for name, _ in row["answers"] + row["not"] if name in places]
    if not named:
        return None
    is_inside = row["set"] in INSIDE
    unclear = frozenset() if is_inside else frozenset(at for name in named for at in places[name]) - frozenset(answers)
    inside = places[named[0]] if is_inside else None
    is_held = fold[named[0]] == 0
    return Question(row["text"], row["set"], is_held, answers, misses, unclear, inside)


# ------------------------------------------------------------------------------------------------------------ learning


def drawn(material: Material, number: int, draw: random.Random) -> tuple[list[int], int]:
    """One list: a statement that answers, first, and others that do not; and how many of them answer, one or none."""
    one = material.questions[number]
    barred = set(one.answers) | one.unclear
    near = [at for at in material.near[number].tolist() if at not in barred]
    chosen = [draw.choice(one.answers)] if one.answers else []
    answering = len(chosen)
    chosen += draw.sample(one.misses, min(len(one.misses), 3))
    room = LISTED - len(chosen)
    if one.inside is not None:
        own = [at for at in near if at in one.inside]
        chosen += own[: min(4, len(own))]
        chosen += draw.sample(own[4:], min(len(own[4:]), 6)) if len(own) > 4 else []
        near = [at for at in near if at not in one.inside]
        room = LISTED - len(chosen)
    hard = near[:10]
    chosen += draw.sample(hard, min(len(hard), room // 2 + 1))
    rest = [at for at in near if at not in chosen]
    chosen += draw.sample(rest, max(0, min(len(rest), LISTED - len(chosen))))
    while len(chosen) < LISTED:
        chosen.append(draw.randrange(len(material.statements)))
    return chosen[:LISTED], answering


def batch(material: Material, pairs: Sequence[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pieces, mask and types of questions with statements."""
    rows = [material.asked[question] + material.statements[statement] for question, statement in pairs]
    width = max(map(len, rows))
    filled = np.full((len(rows), width), PAD, np.int64)
    types = np.zeros((len(rows), width), np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for at, (row, (question, _)) in enumerate(zip(rows, pairs, strict=True)):
        filled[at, : len(row)] = row
        mask[at, : len(row)] = 1
        types[at, len(material.asked[question]) : len(row)] = 1
    where = processor()
    return tuple(torch.from_numpy(one).to(where) for one in (filled, mask, types))  # type: ignore[return-value]


@dataclass(frozen=True)
class Plan:
    """How long to learn."""

    work: Path
    epochs: int
    seconds: float
    seed: int
    tiny: bool


def learn(material: Material, chosen: Sequence[int], plan: Plan) -> Reader:
    """The reader, from some of the questions."""
    torch.manual_seed(plan.seed)
    model = untrained(plan.work, 1)
    model.train()
    learned = [values for values in model.parameters() if values.requires_grad]
    optimizer = torch.optim.AdamW(learned, LEARNING_RATE, weight_decay=0.01, fused=processor() == "cuda")
    draw = random.Random(plan.seed)
    size = 2 if plan.tiny else LISTS_AT_ONCE
    more = [number for number in chosen if material.questions[number].set == "guidelines"] * (GUIDELINES - 1)
    order = [number for _ in range(plan.epochs) for number in draw.sample([*chosen, *more], len(chosen) + len(more))]
    steps = 2 if plan.tiny else len(order) // size
    begun = time.monotonic()
    for step in range(steps):
        share = max(step / steps, (time.monotonic() - begun) / plan.seconds)
        if share >= 1:
            break
        lists = [drawn(material, number, draw) for number in order[step * size : (step + 1) * size]]
        numbers = order[step * size : (step + 1) * size]
        pairs = [(number, at) for number, (several, _) in zip(numbers, lists, strict=True) for at in several]
        with torch.autocast(processor(), torch.bfloat16, enabled=processor() == "cuda"):
            scores = model(*batch(material, pairs)).view(len(lists), LISTED)
        listed, binary = losses(scores, [count for _, count in lists])
        warm = pace(step, steps, warm_steps=steps * 0.06, least=0.02) if share < 1 else 0.02
        step_with(optimizer, listed + BINARY * binary, LEARNING_RATE * min(warm, max(0.02, 1 - share)))
        if step % 200 == 0:
            took = time.monotonic() - begun
            print(f"step {step} of {steps}, {took:.0f} s: {float(listed):.3f} {float(binary):.3f}", flush=True)
    return model.eval()


def losses(scores: torch.Tensor, answering: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The cross-entropy over lists whose first statement answers, and the binary one over all statements."""
    weight = torch.tensor(answering, dtype=torch.float32, device=scores.device)
    listed = (-torch.log_softmax(scores, 1)[:, 0] * weight).sum() / weight.sum().clamp(min=1)
    target = torch.zeros_like(scores)
    target[:, 0] = weight
    return listed, torch.nn.functional.binary_cross_entropy_with_logits(scores, target)


# ------------------------------------------------------------------------------------------------------------- telling


@torch.no_grad()
def scores_of(model: Reader, material: Material, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    """What the reader says of pairs."""
    found = np.zeros(len(pairs), np.float32)
    order = sorted(range(len(pairs)), key=lambda at: len(material.statements[pairs[at][1]]))
    for start in range(0, len(order), READ_AT_ONCE):
        some = order[start : start + READ_AT_ONCE]
        with torch.autocast(processor(), torch.bfloat16, enabled=processor() == "cuda"):
            found[some] = model(*batch(material, [pairs[at] for at in some]))[:, 0].cpu().numpy()
    return found


def tell(model: Reader, material: Material) -> dict[str, dict[str, float]]:
    """How well held-out questions are answered, set by set."""
    told: dict[str, dict[str, float]] = {}
    for name in sorted({one.set for one in material.questions}):
        held = [at for at, one in enumerate(material.questions) if one.set == name and one.is_held and one.answers]
        held = random.Random(1).sample(held, min(len(held), TOLD_QUESTIONS))
        if held:
            told[name] = _figures(model, material, held)
            print(name, json.dumps(told[name]), flush=True)
    return told


def _figures(model: Reader, material: Material, held: Sequence[int]) -> dict[str, float]:
    first = near = there = 0
    with_answer, without = [], []
    for number in held:
        one = material.questions[number]
        listed = [at for at in material.near[number].tolist() if at not in one.unclear]
        if one.inside is not None:
            listed = [at for at in listed if at in one.inside]
        listed = listed[:NEAREST]
        near += listed[0] in one.answers
        there += any(at in one.answers for at in listed)
        scores = scores_of(model, material, [(number, at) for at in listed])
        first += listed[int(scores.argmax())] in one.answers
        with_answer.append(float(scores.max()))
        others = [score for at, score in zip(listed, scores, strict=True) if at not in one.answers]
        without.append(max(others, default=-9.0))
    area = np.mean([(one > other) + (one == other) / 2 for one in with_answer for other in without])
    count = len(held)
    figures = {"questions": count, "cosine": near / count, "reader": first / count, "listed": there / count}
    return {name: round(float(value), 3) for name, value in {**figures, "area": float(area)}.items()}


def main() -> None:
    """Train, and say how held-out questions are answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--guidelines", action="store_true", help="learn the held-out guidelines too")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="a trial on a CPU: two steps of two lists")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    material = load(options.work, tiny=options.tiny)
    print(
        f"{len(material.statements)} statements, {len(material.questions)} questions, {time.monotonic() - begun:.0f} s"
    )
    learns = "guidelines" if options.guidelines else ""
    chosen = [at for at, one in enumerate(material.questions) if not one.is_held or one.set == learns]
    model = learn(material, chosen, Plan(options.work, options.epochs, options.seconds, options.seed, options.tiny))
    np.savez(options.out / "answers.npz", **adapter(model))
    (options.out / "answers.json").write_text(json.dumps(tell(model, material), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
