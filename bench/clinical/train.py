"""Trains the clinical reader: MiniLM with an adapter, which tags every token and scores every text for danger.

Needs torch and transformers; README.md beside it says how to run it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from bench.clinical.material import STATUSES, TYPES, Mark, Marked, read_marked, read_wordings
from bench.reader.adapted import Adapted
from bench.reader.needs import Tokenizer, torch, transformers

from citewell.clinical.windows import CHARACTERS, LEFT, RIGHT, WIDTH, Piece, pieces, segments

BEGIN, END = 101, 102
IGNORED = -100
SWAPPED = 0.3
"""The share of marked words that are replaced by others of their type in a text that is varied."""
SHORT, OF_LONG = 200, 0.1
"""With `--short`: characters of a short text, and the share of longer texts that are learned from beside them."""
DISTURBED = 0.12
"""The share of texts that get a line before or behind them which says nothing clinical."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Token ids, and for each the type, whether a mention begins there, and its status."""

    ids: list[int]
    types: list[int]
    begins: list[int]
    statuses: list[int]


class Reader(torch.nn.Module):
    """MiniLM with two heads: one for each token, one for the whole text."""

    def __init__(self, work: Path, kinds: int, layers: int) -> None:
        super().__init__()
        shape = transformers.BertConfig(
            vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
            max_position_embeddings=512, attn_implementation="sdpa",
        )  # fmt: skip
        self.bert = transformers.BertModel(shape, add_pooling_layer=False)
        with np.load(work / "minilm.npz") as kept:
            weights = {name: torch.from_numpy(kept[name]).float() for name in kept.files}
        self.bert.load_state_dict(weights, strict=False)
        del self.bert.encoder.layer[layers:]
        self.token_head = torch.nn.Linear(384, len(TYPES) + 1 + len(STATUSES))
        self.text_head = torch.nn.Linear(768, kinds)
        self.dropout = torch.nn.Dropout(0.1)

    def adapt(self) -> None:
        """Freeze the model but for adapters, biases, norms and heads."""
        for name, parameter in self.bert.named_parameters():
            parameter.requires_grad = name.endswith("bias") or "LayerNorm" in name
        for layer in self.bert.encoder.layer:
            attention = layer.attention
            for owner, part in (
                (attention.self, "query"), (attention.self, "key"), (attention.self, "value"),
                (attention.output, "dense"), (layer.intermediate, "dense"), (layer.output, "dense"),
            ):  # fmt: skip
                setattr(owner, part, Adapted(getattr(owner, part)))

    def hidden(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    def tokens(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.token_head(self.dropout(self.hidden(ids, mask))).float()

    def texts(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.hidden(ids, mask)
        share = mask[:, :, None].to(hidden.dtype)
        mean = (hidden * share).sum(1) / share.sum(1)
        return self.text_head(self.dropout(torch.cat([hidden[:, 0], mean], 1))).float()


# ------------------------------------------------------------------------------------------------------------ lessons


def varied(document: Marked, pool: dict[str, list[str]], draw: random.Random) -> Marked:
    """The text with some of its marked words replaced by others of their type; words that deny stay as they are."""
    out, marks, at, length = [], [], 0, 0
    for mark in document.marks:
        words = document.text[mark.start : mark.end]
        if mark.type in pool and draw.random() < SWAPPED and not denies(words):
            words = draw.choice(pool[mark.type])
        before = document.text[at : mark.start]
        out += [before, words]
        start = length + len(before)
        length = start + len(words)
        marks.append(Mark(start, length, mark.type, mark.status))
        at = mark.end
    out.append(document.text[at:])
    return Marked(document.style, "".join(out), tuple(marks))


def disturbed(document: Marked, lines: Sequence[str], draw: random.Random) -> Marked:
    """The text with a line before or behind it that must change nothing."""
    line, joint = draw.choice(lines), draw.choice((" ", "\n", ". "))
    if draw.random() < 0.5:
        return Marked(document.style, f"{document.text}{joint}{line}", document.marks)
    shift = len(line) + len(joint)
    marks = tuple(replace(mark, start=mark.start + shift, end=mark.end + shift) for mark in document.marks)
    return Marked(document.style, f"{line}{joint}{document.text}", marks)


def denies(words: str) -> bool:
    first = words.lower().split()[0]
    negative = (
        "no",
        "not",
        "can't",
        "cannot",
        "won't",
        "unable",
        "non",
        "nil",
        "never",
        "nkda",
        "nka",
        "nkda.",
        "lost",
    )
    return first in negative or first.startswith(("non-", "ex-", "un")) or "n't" in words or " not " in words


def pool_of(documents: Sequence[Marked], names: dict[str, list[str]]) -> dict[str, list[str]]:
    """The words that may stand for each other, by type: those of the material twice, and names of the lexicon once."""
    found: dict[str, list[str]] = {kind: [] for kind in TYPES}
    for document in documents:
        for mark in document.marks:
            words = document.text[mark.start : mark.end]
            if mark.type in found and not denies(words) and len(words) < 40 and "|" not in words:
                found[mark.type] += [words]
    for kind, listed in names.items():
        some = random.Random(1).sample(listed, min(len(listed), len(found[kind])))
        found[kind] += some
    return found


def lesson(document: Marked, piece: Piece, tokenizer: Tokenizer) -> Lesson:
    """The tokens of one piece; context on either side is read and not learned from."""
    text = document.text[piece.start : piece.end].replace("\n", "|")
    encoding = tokenizer.encode(text, add_special_tokens=False)
    ids, types, begins, statuses = [BEGIN], [IGNORED], [IGNORED], [IGNORED]
    marked: dict[int, Mark] = {at: mark for mark in document.marks for at in range(mark.start, mark.end)}
    for number, (low, high) in zip(encoding.ids, encoding.offsets, strict=True):
        start, end = piece.start + low, piece.start + high
        mark = next((marked[at] for at in range(start, end) if at in marked), None)
        is_own = piece.own_start <= start < piece.own_end
        ids.append(number)
        is_typed = is_own and "one sentence" not in document.style
        types.append(IGNORED if not is_typed else TYPES.index(mark.type) if mark else 0)
        begins.append(IGNORED if not is_typed or mark is None else int(start <= mark.start))
        is_known = is_own and mark is not None and mark.status in STATUSES
        statuses.append(STATUSES.index(mark.status) if is_known and mark is not None else IGNORED)
    return Lesson([*ids, END], [*types, IGNORED], [*begins, IGNORED], [*statuses, IGNORED])


def drawn(document: Marked, draw: random.Random) -> Piece:
    """The whole of a short text, or some of its sentences with what stands round them."""
    spans = segments(document.text)
    if len(spans) == 1 or (len(document.text) < CHARACTERS * WIDTH and draw.random() < 0.5):
        return (
            Piece(0, len(document.text), 0, len(document.text))
            if len(document.text) < (CHARACTERS + 1) * WIDTH
            else draw.choice(list(pieces(document.text)))
        )
    first = draw.randrange(len(spans))
    last = min(len(spans), first + draw.choice((1, 1, 2, 3, 4, 6)))
    return Piece.around(
        document.text, spans[first][0], spans[last - 1][1], left=CHARACTERS * LEFT, right=CHARACTERS * RIGHT
    )


def made_ready(
    workers: ProcessPoolExecutor, documents: Sequence[Marked], pool: dict[str, list[str]], args: argparse.Namespace
) -> list[Future[list[Lesson]]]:
    """The lessons of one epoch, being made by other processes."""
    args.seed += 4
    lines = (args.material / "distractors.lines").read_text("utf-8").splitlines()
    return [
        workers.submit(lessons_of, documents[part::4], pool, lines, args.work, args.seed + part) for part in range(4)
    ]


def lessons_of(
    documents: Sequence[Marked], pool: dict[str, list[str]], lines: Sequence[str], work: Path, seed: int
) -> list[Lesson]:
    """Some lessons of each document, more of a long one, half of them varied."""
    draw, tokenizer = random.Random(seed), tokenizer_of(work / "wordpiece.json")
    lessons = []
    for document in documents:
        is_wording = document.style == "wording"
        for turn in range(1 if is_wording else min(12, 2 + len(document.text) // 150)):
            is_varied = not is_wording and (turn % 2 or draw.random() < 0.5)
            shown = varied(document, pool, draw) if is_varied else document
            shown = disturbed(shown, lines, draw) if draw.random() < DISTURBED else shown
            lessons.append(lesson(shown, drawn(shown, draw), tokenizer))
    return [one for one in lessons if len(one.ids) <= 300]


def tokenizer_of(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def batches(lessons: Sequence[Lesson], size: int, draw: random.Random) -> Iterator[list[Lesson]]:
    order = sorted(range(len(lessons)), key=lambda number: len(lessons[number].ids) + draw.random() * 8)
    groups = [order[start : start + size] for start in range(0, len(order), size)]
    draw.shuffle(groups)
    for group in groups:
        yield [lessons[number] for number in group]


def filled(rows: Sequence[Sequence[int]], value: int, where: str) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows], device=where)


# ----------------------------------------------------------------------------------------------------------- training


def losses(model: Reader, group: list[Lesson], where: str) -> torch.Tensor:
    ids = filled([one.ids for one in group], 0, where)
    mask = filled([[1] * len(one.ids) for one in group], 0, where)
    scores = model.tokens(ids, mask)
    cross = torch.nn.functional.cross_entropy
    kinds = len(TYPES)
    types = filled([one.types for one in group], IGNORED, where)
    statuses = filled([one.statuses for one in group], IGNORED, where)
    begins = filled([one.begins for one in group], IGNORED, where)
    loss = scores.sum() * 0.0
    if (known := types.flatten() != IGNORED).any():
        loss = loss + cross(scores[..., :kinds].flatten(0, 1)[known], types.flatten()[known])
    if (known := statuses.flatten() != IGNORED).any():
        wanted = statuses.flatten()[known]
        loss = loss + 2 * cross(scores[..., kinds + 1 :].flatten(0, 1)[known], wanted, label_smoothing=0.02)
    if (known := begins.flatten() != IGNORED).any():
        begin = scores[..., kinds].flatten()[known]
        loss = loss + 0.3 * torch.nn.functional.binary_cross_entropy_with_logits(begin, begins.flatten()[known].float())
    return loss


def danger_loss(model: Reader, some: Sequence[tuple[list[int], int]], where: str) -> torch.Tensor:
    ids = filled([row for row, _ in some], 0, where)
    mask = filled([[1] * len(row) for row, _ in some], 0, where)
    wanted = torch.tensor([kind for _, kind in some], device=where)
    return torch.nn.functional.cross_entropy(model.texts(ids, mask), wanted, label_smoothing=0.02)


def train(args: argparse.Namespace) -> None:  # noqa: PLR0915 (one straight flow)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    draw = random.Random(args.seed)
    torch.manual_seed(args.seed)
    tokenizer = tokenizer_of(args.work / "wordpiece.json")
    documents = [one for path in sorted(args.material.glob("*.txt")) for one in read_marked(path)]
    dangers = [
        tuple(line.split("\t", 1))
        for path in sorted(args.material.glob("*.tsv"))
        for line in path.read_text("utf-8").splitlines()
        if "\t" in line
    ]
    kinds = sorted({kind for kind, _ in dangers} | {"none"})
    draw.shuffle(documents)
    draw.shuffle(dangers)
    if args.tiny:
        documents, dangers = documents[:40], dangers[:40]
    held = documents[: len(documents) // 12] if args.hold_out else []
    held_dangers = dangers[: len(dangers) // 8] if args.hold_out else []
    learned, learned_dangers = documents[len(held) :], dangers[len(held_dangers) :]
    if args.short:
        learned = [one for one in learned if len(one.text) < SHORT or draw.random() < OF_LONG]
    names = json.loads((args.work / "names.json").read_text("utf-8"))
    pool = pool_of(learned, names)
    known = json.loads((args.work / "concepts.json").read_text("utf-8"))
    kinds_of = {name: one["kind"] for name, one in known.items()}
    wordings = [one for path in sorted(args.material.glob("wordings/*.tsv")) for one in read_wordings(path, kinds_of)]
    learned += wordings[:40] if args.tiny else [one for one in wordings if not args.short or draw.random() < OF_LONG]
    model = Reader(args.work, len(kinds), args.layers)
    model.adapt()
    if args.start:
        go_on_from(model, args.start)
    model.to(where)
    rows = [(tokenizer.encode(text.replace("\n", "|")).ids[:160], kinds.index(kind)) for kind, text in learned_dangers]
    epochs = 1 if args.tiny else args.epochs
    optimizer = torch.optim.AdamW(
        [one for one in model.parameters() if one.requires_grad], lr=args.rate, weight_decay=0.01
    )
    count = sum(1 if one.style == "wording" else min(12, 2 + len(one.text) // 150) for one in learned)
    steps = epochs * (count // args.batch + 1)
    started, step = time.monotonic(), 0
    workers = ProcessPoolExecutor(4)
    args.seed += 1
    pending = made_ready(workers, learned, pool, args)
    for epoch in range(epochs):
        model.train()
        lessons = [one for made in pending for one in made.result()]
        if epoch + 1 < epochs:
            pending = made_ready(workers, learned, pool, args)
        total = torch.zeros((), device=where)
        for number, group in enumerate(batches(lessons, args.batch, draw)):
            with torch.autocast(where, torch.bfloat16, enabled=where == "cuda"):
                loss = losses(model, group, where)
                if rows:
                    loss = loss + danger_loss(model, draw.sample(rows, min(24, len(rows))), where)
            step += 1
            progress = max(step / steps, (time.monotonic() - started) / args.seconds)
            for group_of_weights in optimizer.param_groups:
                group_of_weights["lr"] = (
                    args.rate * min(1.0, progress / 0.05) * max(0.0, math.cos(progress * math.pi / 2))
                )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.detach()
            if progress >= 1 or (args.tiny and number >= 1):
                break
        print(f"epoch {epoch + 1}: {len(lessons)} lessons, loss {total / (number + 1):.3f}", flush=True)
        if progress >= 1:
            break
    model.eval()
    figures = {"held out": measured(model, held, tokenizer, where)} if held else {}
    for path in sorted(args.sets.glob("*.txt")) if args.sets else ():
        figures[path.name] = measured(model, read_marked(path), tokenizer, where)
    if held_dangers:
        figures["danger held out"] = measured_dangers(model, held_dangers, kinds, tokenizer, where)
    print(json.dumps(figures, indent=1))
    keep(model, kinds, args.out)
    (args.out / "figures.json").write_text(json.dumps(figures, indent=1))


# ---------------------------------------------------------------------------------------------------------- measuring


@torch.no_grad()
def measured(model: Reader, documents: Sequence[Marked], tokenizer: Tokenizer, where: str) -> dict[str, object]:
    """Status of the marked words, and how many marked words are found as such."""
    right = total = overlap = tagged = 0
    wrong: dict[str, int] = {}
    kinds = len(TYPES)
    for document in documents:
        status: dict[int, np.ndarray] = {}
        named: list[tuple[int, int]] = []
        for piece in pieces(document.text):
            text = document.text[piece.start : piece.end].replace("\n", "|")
            encoding = tokenizer.encode(text, add_special_tokens=False)
            ids = torch.tensor([[BEGIN, *encoding.ids, END]], device=where)
            scores = model.tokens(ids, torch.ones_like(ids))[0, 1:-1].cpu().numpy()
            for (low, high), row in zip(encoding.offsets, scores, strict=True):
                start = piece.start + low
                if piece.own_start <= start < piece.own_end:
                    status[start] = row[kinds + 1 :] - np.logaddexp.reduce(row[kinds + 1 :])
                    if row[:kinds].argmax() > 0:
                        named.append((start, piece.start + high))
        for mark in document.marks:
            if mark.status not in STATUSES:
                continue
            rows = [row for start, row in status.items() if mark.start <= start < mark.end]
            if not rows:
                continue
            said = STATUSES[int(np.mean(rows, axis=0).argmax())]
            total += 1
            right += said == mark.status
            if said != mark.status:
                wrong[f"{mark.status} -> {said}"] = wrong.get(f"{mark.status} -> {said}", 0) + 1
            overlap += any(start < mark.end and mark.start < end for start, end in named)
        tagged += sum(not any(start < mark.end and mark.start < end for mark in document.marks) for start, end in named)
    return {
        "marks": total, "status right": round(right / max(total, 1), 4), "found": round(overlap / max(total, 1), 4),
        "tokens tagged beside": tagged, "wrong": dict(sorted(wrong.items(), key=lambda pair: -pair[1])[:14]),
    }  # fmt: skip


@torch.no_grad()
def measured_dangers(
    model: Reader, held: Sequence[tuple[str, ...]], kinds: list[str], tokenizer: Tokenizer, where: str
) -> dict[str, object]:
    caught = alarms = right = 0
    missed, false = [], []
    for kind, text in held:
        ids = torch.tensor([tokenizer.encode(text.replace("\n", "|")).ids[:160]], device=where)
        shares = model.texts(ids, torch.ones_like(ids)).softmax(-1)[0].cpu().numpy()
        danger = 1 - shares[kinds.index("none")]
        right += kinds[int(shares.argmax())] == kind
        if kind == "none":
            alarms += danger > 0.5
            if danger > 0.5:
                false.append(text)
        else:
            caught += danger > 0.5
            if danger <= 0.5:
                missed.append(text)
    there = sum(kind != "none" for kind, _ in held)
    return {
        "caught": f"{caught} of {there}", "false alarms": f"{alarms} of {len(held) - there}",
        "kind right": round(right / len(held), 3), "missed": missed[:12], "false": false[:12],
    }  # fmt: skip


def kept_name(name: str) -> str:
    """The name under which the product reads a weight."""
    return name.removeprefix("bert.").replace(".base.", ".")


def go_on_from(model: Reader, path: Path) -> None:
    """Take what an earlier training learned."""
    with np.load(path) as file, torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and kept_name(name) in file.files:
                parameter.copy_(torch.from_numpy(file[kept_name(name)].astype(np.float32)))


def keep(model: Reader, kinds: Sequence[str], out: Path) -> None:
    """What was learned, in half precision, under the names that the product reads."""
    out.mkdir(parents=True, exist_ok=True)
    kept: dict[str, np.ndarray] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        kept[kept_name(name)] = parameter.detach().float().cpu().numpy().astype(np.float16)
    kept["types"], kept["statuses"], kept["dangers"] = np.array(TYPES), np.array(STATUSES), np.array(list(kinds))
    np.savez_compressed(out / "adapter.npz", **kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--material", type=Path, default=Path("bench/clinical/material"))
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--start", type=Path, help="A reader to go on from.")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3_600, help="Learn no longer than this.")
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--short", action="store_true", help="Go on with short texts, and with a few of the others.")
    parser.add_argument("--tiny", action="store_true")
    train(parser.parse_args())
