"""Trains the reader of meanings: which thing of the lexicon words stand for that no table has.

MiniLM with an adapter reads the words alone, and a head of one row for each thing says which of them they mean.
Needs torch and transformers; README.md beside it says how to run it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bench.clinical.material import NOTHING, Marked, read_wordings
from bench.clinical.train import Reader, filled, go_on_from, kept_name, tokenizer_of
from bench.reader.needs import Tokenizer, torch

SHARPNESS = 20.0
"""By what the cosine of words and meaning is multiplied."""
LONGEST = 24


class Meanings(torch.nn.Module):
    """Says for the words of a mention how near they are to each meaning."""

    def __init__(self, work: Path, count: int) -> None:
        super().__init__()
        self.reader = Reader(work, 1, 6)
        self.reader.adapt()
        self.head = torch.nn.Parameter(torch.randn(count, 384) / 20)
        self.bias = torch.nn.Parameter(torch.zeros(count))

    def vectors(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.reader.hidden(ids, mask)
        share = mask[:, :, None].to(hidden.dtype)
        return torch.nn.functional.normalize((hidden * share).sum(1) / share.sum(1))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return SHARPNESS * self.vectors(ids, mask) @ torch.nn.functional.normalize(self.head).T + self.bias


def words_of(document: Marked) -> str:
    (mark,) = document.marks
    return document.text[mark.start : mark.end]


def rows_of(texts: Sequence[str], tokenizer: Tokenizer) -> list[list[int]]:
    return [tokenizer.encode(text.replace("\n", " ")).ids[:LONGEST] for text in texts]


def scores(model: Meanings, rows: Sequence[list[int]], where: str) -> torch.Tensor:
    return model(filled(rows, 0, where), filled([[1] * len(row) for row in rows], 0, where)).float()


def train(args: argparse.Namespace) -> None:
    """Learn, measure on what was held out, and keep."""
    where = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    draw, tokenizer = random.Random(args.seed), tokenizer_of(args.work / "wordpiece.json")
    known = json.loads((args.work / "concepts.json").read_text("utf-8"))
    names = [NOTHING, *sorted(known)]
    kinds = {name: one["kind"] for name, one in known.items()}
    wordings = [one for path in sorted(args.material.glob("*.tsv")) for one in read_wordings(path, kinds)]
    draw.shuffle(wordings)
    held = wordings[: len(wordings) // 10] if args.hold_out or args.tiny else []
    learned = [(words_of(one), names.index(one.marks[0].name)) for one in wordings[len(held) :]]
    learned += [(words, names.index(name)) for name, one in known.items() for words in one["names"]]
    if args.tiny:
        learned, held = learned[:64], held[:16]
    model = Meanings(args.work, len(names)).to(where)
    if args.start:
        go_on_from(model.reader, args.start)
        with np.load(args.start) as file, torch.no_grad():
            model.head.copy_(torch.from_numpy(file["head"].astype(np.float32)) / SHARPNESS)
            model.bias.copy_(torch.from_numpy(file["bias"].astype(np.float32)))
    rows = list(
        zip(rows_of([words for words, _ in learned], tokenizer), [number for _, number in learned], strict=True)
    )
    optimizer = torch.optim.AdamW(
        [one for one in model.parameters() if one.requires_grad], lr=args.rate, weight_decay=0.01
    )
    epochs, started, step = 1 if args.tiny else args.epochs, time.monotonic(), 0
    steps = epochs * math.ceil(len(rows) / args.batch)
    for epoch in range(epochs):
        model.train()
        order = sorted(rows, key=lambda row: len(row[0]) + draw.random() * 4)
        groups = [order[at : at + args.batch] for at in range(0, len(order), args.batch)]
        draw.shuffle(groups)
        total = 0.0
        for group in groups:
            step += 1
            progress = max(step / steps, (time.monotonic() - started) / args.seconds)
            for weights in optimizer.param_groups:
                weights["lr"] = args.rate * min(1.0, progress / 0.05) * max(0.0, math.cos(progress * math.pi / 2))
            wanted = torch.tensor([number for _, number in group], device=where)
            loss = torch.nn.functional.cross_entropy(
                scores(model, [row for row, _ in group], where), wanted, label_smoothing=0.05
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
            if progress >= 1:
                break
        print(f"epoch {epoch + 1}: loss {total / len(groups):.3f}, {time.monotonic() - started:.0f} s", flush=True)
        if held and (epoch % 3 == 2 or epoch + 1 == epochs):
            print(json.dumps(measured(model, held, names, tokenizer, where)), flush=True)
        if progress >= 1:
            break
    keep(model, names, args.out)


@torch.no_grad()
def measured(
    model: Meanings, held: Sequence[Marked], names: Sequence[str], tokenizer: Tokenizer, where: str
) -> dict[str, object]:
    """How often words are read as what they mean, by how sure the reader is."""
    model.eval()
    found = []
    for at in range(0, len(held), 64):
        group = held[at : at + 64]
        shares, best = scores(model, rows_of([words_of(one) for one in group], tokenizer), where).softmax(-1).max(-1)
        found += [
            (float(share), names[int(number)], one.marks[0].name)
            for share, number, one in zip(shares, best, group, strict=True)
        ]
    figures: dict[str, object] = {
        "wordings": len(found),
        "right": round(sum(read == name for _, read, name in found) / max(len(found), 1), 3),
    }
    for sure in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
        taken = [read == name for share, read, name in found if share >= sure and read != NOTHING]
        figures[f"from {sure}"] = f"{len(taken)} taken, {sum(taken) / max(len(taken), 1):.3f} right"
    return figures


def keep(model: Meanings, names: Sequence[str], out: Path) -> None:
    """What was learned, in half precision, under the names that the product reads."""
    out.mkdir(parents=True, exist_ok=True)
    kept = {
        kept_name(name): parameter.detach().float().cpu().numpy().astype(np.float16)
        for name, parameter in model.reader.bert.named_parameters()
        if parameter.requires_grad
    }
    head = SHARPNESS * torch.nn.functional.normalize(model.head)
    kept["head"] = head.detach().cpu().numpy().astype(np.float16)
    kept["bias"] = model.bias.detach().cpu().numpy().astype(np.float16)
    kept["names"] = np.array(list(names))
    np.savez_compressed(out / "meanings.npz", **kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--material", type=Path, default=Path("bench/clinical/material/wordings"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="A reader to go on from.")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3_600, help="Learn no longer than this.")
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    train(parser.parse_args())
