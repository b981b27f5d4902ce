"""Trains the clinical reader: MiniLM, or a larger base, with an adapter: tags every token, scores texts for danger.

Needs torch and transformers; README.md beside it says how to run it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from bench.clinical.material import ANY, NOTHING, STATUSES, TYPES, Mark, Marked, read_marked, read_wordings
from bench.reader.adapted import Adapted
from bench.reader.needs import Tokenizer, torch, transformers

from citewell.clinical.emergencies import MESSAGE, messages
from citewell.clinical.reader_windows import CHARACTERS, LEFT, RIGHT, WIDTH, Window, pieces, segments

BASES = ("minilm", "arctic")
"""The models that an adapter is trained over: all-MiniLM-L6-v2 and snowflake-arctic-embed-s, of 6 and 12 layers."""
BEGIN, END = 101, 102
IGNORED = -100
SHORT = ("wording", "name")
"""The styles of texts that are read once in each epoch."""
SWAPPED = 0.3
"""The share of marked words that are replaced by others of their type in a text that is varied."""
SHARPNESS = 20.0
"""By what the cosine of words and meaning is multiplied."""
AVERAGED = 1_000
"""About how many steps the mean of the weights reaches back."""
LINES = (
    ("no ", "", "absent"), ("No ", ".", "absent"), ("no ", " x1", "absent"), ("denies ", "", "absent"),
    ("nil ", "", "absent"),
    ("has no ", " at all", "absent"), ("never any ", "", "absent"), ("", " -ve", "absent"), ("", ": nil", "absent"),
    ("without ", "", "absent"), ("?", "", "unclear"), ("possible ", "", "unclear"), ("mother had ", "", "family"),
    ("dad has ", "", "family"), ("", " x2", "present"), ("still ", "", "present"), ("c/o ", "", "present"),
)  # fmt: skip
UNSURE = "unsure"
"""A note of which it is not said whether it tells of danger: nothing is learned of it."""
DISTURBED = 0.12
"""The share of texts that get a line before or behind them which says nothing clinical."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Token ids, and for each the type, whether a mention begins there, and its status; and what mentions mean."""

    ids: list[int]
    types: list[int]
    begins: list[int]
    statuses: list[int]
    meanings: list[tuple[int, int, int]]
    """First token of a mention, the token behind it, and the number of its meaning."""


Danger = tuple[list[int], int]
"""The tokens of a text, and the number of the kind of danger that it tells of, or of none."""


class Reader(torch.nn.Module):
    """A base with three heads: one for each token, one for each mention, one for the whole text."""

    def __init__(self, base: Path, kinds: int, meanings: int) -> None:
        super().__init__()
        weights = weights_of(base)
        shape = transformers.BertConfig(
            vocab_size=30522, hidden_size=384, num_hidden_layers=sum("query.bias" in name for name in weights),
            num_attention_heads=12, intermediate_size=1536, max_position_embeddings=512, attn_implementation="sdpa",
        )  # fmt: skip
        self.bert = transformers.BertModel(shape, add_pooling_layer=False)
        found = self.bert.load_state_dict(weights, strict=False)
        if missing := [name for name in found.missing_keys if "position_ids" not in name]:
            raise SystemExit(f"{base.name} lacks {', '.join(missing)}: run bench.clinical.prepare again")
        self.token_head = torch.nn.Linear(384, len(TYPES) + 1 + len(STATUSES))
        self.text_head = torch.nn.Linear(768, kinds)
        self.meanings = torch.nn.Parameter(torch.randn(meanings, 384) / 20)
        self.commonness = torch.nn.Parameter(torch.zeros(meanings))
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

    def tokens(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.token_head(self.dropout(hidden)).float()

    def meant(self, hidden: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """How near the mentions at some places (row, first token, token behind the last) are to each meaning."""
        sums = torch.nn.functional.pad(hidden.float().cumsum(1), (0, 0, 1, 0))
        row, first, behind = places.unbind(1)
        means = (sums[row, behind] - sums[row, first]) / (behind - first)[:, None]
        normal = torch.nn.functional.normalize
        return SHARPNESS * normal(means) @ normal(self.meanings).T + self.commonness

    def texts(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        share = mask[:, :, None].to(hidden.dtype)
        mean = (hidden * share).sum(1) / share.sum(1)
        return self.text_head(self.dropout(torch.cat([hidden[:, 0], mean], 1))).float()


def weights_of(base: Path) -> dict[str, torch.Tensor]:
    """The weights of a base; those in eight bits times their scale."""
    with np.load(base) as kept:
        weights = {name: torch.from_numpy(kept[name]).float() for name in kept.files}
    scales = {name: weights.pop(name) for name in list(weights) if name.endswith(".scale")}
    return weights | {
        name.removesuffix(".scale"): weights[name.removesuffix(".scale")] * by for name, by in scales.items()
    }


# ------------------------------------------------------------------------------------------------------------ lessons


def varied(document: Marked, pool: dict[str, list[str]], stated: frozenset[str], draw: random.Random) -> Marked:
    """The text with some of its marked words replaced by others of their type; words that deny stay as they are.

    Words that are only ever denied stay too: “weight steady” says by itself that nothing is wrong."""
    out, marks, at, length = [], [], 0, 0
    for mark in document.marks:
        words, name = document.text[mark.start : mark.end], mark.name
        is_free = not denies(words) and (mark.status != "absent" or words.lower() in stated)
        if mark.type in pool and draw.random() < SWAPPED and is_free:
            words, name = draw.choice(pool[mark.type]), ""
        before = document.text[at : mark.start]
        out += [before, words]
        start = length + len(before)
        length = start + len(words)
        marks.append(Mark(start, length, mark.type, mark.status, name))
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
            is_free = mark.status != "absent" and not denies(words)  # “afebrile” is denied by itself
            if mark.type in found and is_free and len(words) < 40 and "|" not in words:
                found[mark.type] += [words]
    for kind, listed in names.items():
        some = random.Random(1).sample(listed, min(len(listed), len(found[kind])))
        found[kind] += some
    return found


def lesson(document: Marked, piece: Window, tokenizer: Tokenizer, numbers: Mapping[str, int]) -> Lesson:
    """The tokens of one piece; context on either side is read and not learned from.

    What a mention means is learned where it is told, or where its words are a name of the lexicon (`numbers`)."""
    text = document.text[piece.start : piece.end].replace("\n", "|")
    encoding = tokenizer.encode(text, add_special_tokens=False)
    ids, types, begins, statuses = [BEGIN], [IGNORED], [IGNORED], [IGNORED]
    marked: dict[int, Mark] = {at: mark for mark in document.marks for at in range(mark.start, mark.end)}
    for number, (low, high) in zip(encoding.ids, encoding.offsets, strict=True):
        start, end = piece.start + low, piece.start + high
        mark = next((marked[at] for at in range(start, end) if at in marked), None)
        is_own = piece.own_start <= start < piece.own_end
        ids.append(number)
        is_typed = is_own and "one sentence" not in document.style and (mark is None or mark.type != ANY)
        types.append(IGNORED if not is_typed else TYPES.index(mark.type) if mark else 0)
        begins.append(IGNORED if not is_typed or mark is None else int(start <= mark.start))
        is_known = is_own and mark is not None and mark.status in STATUSES
        statuses.append(STATUSES.index(mark.status) if is_known and mark is not None else IGNORED)
    meanings = []
    for mark in document.marks:
        number = numbers.get(mark.name or document.text[mark.start : mark.end].lower()) if mark.type != ANY else None
        inside = [
            at
            for at, (low, high) in enumerate(encoding.offsets, 1)
            if piece.start + low < mark.end and mark.start < piece.start + high
        ]
        if number is not None and inside and piece.own_start <= mark.start and mark.end <= piece.own_end:
            meanings.append((inside[0], inside[-1] + 1, number))
    return Lesson([*ids, END], [*types, IGNORED], [*begins, IGNORED], [*statuses, IGNORED], meanings)


def drawn(document: Marked, draw: random.Random) -> Window:
    """The whole of a short text, or some of its sentences with what stands round them."""
    spans = segments(document.text)
    if len(spans) == 1 or (len(document.text) < CHARACTERS * WIDTH and draw.random() < 0.5):
        return (
            Window(0, len(document.text), 0, len(document.text))
            if len(document.text) < (CHARACTERS + 1) * WIDTH
            else draw.choice(list(pieces(document.text)))
        )
    first = draw.randrange(len(spans))
    last = min(len(spans), first + draw.choice((1, 1, 2, 3, 4, 6)))
    return Window.around(
        document.text, spans[first][0], spans[last - 1][1], left=CHARACTERS * LEFT, right=CHARACTERS * RIGHT
    )


@dataclass(frozen=True, slots=True)
class Words:
    """What lessons are made with beside the documents."""

    pool: dict[str, list[str]]
    """Words that may stand for each other, by type."""
    stated: frozenset[str]
    """All of them, as one set."""
    numbers: dict[str, int]
    """Names of the lexicon, and the numbers of their meanings."""
    lines: list[str]
    """Lines that must change nothing."""


def made_ready(
    workers: ProcessPoolExecutor, documents: Sequence[Marked], words: Words, args: argparse.Namespace
) -> list[Future[list[Lesson]]]:
    """The lessons of one epoch, being made by other processes."""
    parts = os.cpu_count() or 1
    args.seed += parts
    return [
        workers.submit(lessons_of, documents[part::parts], words, args.work, args.seed + part) for part in range(parts)
    ]


def lessons_of(documents: Sequence[Marked], words: Words, work: Path, seed: int) -> list[Lesson]:
    """Some lessons of each document, more of a long one, half of them varied."""
    draw, tokenizer = random.Random(seed), tokenizer_of(work / "wordpiece.json")
    lessons = []
    for document in documents:
        is_wording = document.style in SHORT
        for turn in range(1 if is_wording else min(12, 2 + len(document.text) // 150)):
            is_varied = not is_wording and (turn % 2 or draw.random() < 0.5)
            shown = varied(document, words.pool, words.stated, draw) if is_varied else document
            shown = in_a_line(document, draw) if document.style == "name" else shown
            shown = disturbed(shown, words.lines, draw) if draw.random() < DISTURBED else shown
            lessons.append(lesson(shown, drawn(shown, draw), tokenizer, words.numbers))
    return [one for one in lessons if len(one.ids) <= 300]


def named(words: str, name: str, kind: str) -> Marked:
    """A name of the lexicon by itself."""
    return Marked("name", words, (Mark(0, len(words), kind, "present", name),))


def in_a_line(document: Marked, draw: random.Random) -> Marked:
    """A name of the lexicon in a line as short as people type them: “no haematuria”, “?BCC”."""
    (mark,) = document.marks
    before, behind, status = draw.choice(LINES)
    if draw.random() < 0.5 or denies(document.text):
        return document
    shown = replace(mark, start=len(before), end=len(before) + mark.end, status=status)
    return Marked(document.style, f"{before}{document.text}{behind}", (shown,))


def split(all_of: Sequence[Any], text: Callable[[Any], str], args: argparse.Namespace) -> tuple[list[Any], list[Any]]:
    """What is held out, one text in twelve and the same in each training, and what is learned from."""
    parts: tuple[list[Any], list[Any]] = ([], [])
    for one in all_of:
        parts[not args.hold_out or zlib.crc32(text(one).encode()) % 12 > 0].append(one)
    return parts


def tokenizer_of(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def harmless(questions: Path, judged: Path) -> list[str]:
    """The questions about guidelines and labels that tell of no danger: all but those that were judged by hand."""
    kept = {line.split("\t", 1)[-1] for line in judged.read_text("utf-8").splitlines()}
    rows = [
        line.split("\t") for path in sorted(questions.glob("*.tsv")) for line in path.read_text("utf-8").splitlines()
    ]
    return [row[2] for row in rows if len(row) > 2 and row[2] not in kept]


def noted_dangers(labels: Path) -> Iterator[tuple[str, str]]:
    """The marked documents of some files as texts for danger: those that are not in the list tell of none.

    What tells of none is learned from as a whole and in the parts in which the product reads it."""
    rows = [line.split("\t") for line in labels.read_text("utf-8").splitlines()]
    kinds = {(file, int(number)): kind for file, number, kind in rows}
    for file in sorted({file for file, _ in kinds}):
        for number, document in enumerate(read_marked(labels.parent / file), 1):
            kind = kinds.get((file, number), "none")
            if kind == UNSURE:
                continue
            yield kind, document.text
            if kind == "none" and len(document.text.split()) > MESSAGE:
                yield from ((kind, part) for part in messages(document.text))


def batches(
    lessons: Sequence[Lesson], dangers: Sequence[Danger], size: int, draw: random.Random
) -> Iterator[tuple[list[Lesson], list[Danger]]]:
    """Lessons of about one length, with texts for danger from the same part of theirs, so that little is padding."""
    order = sorted(range(len(lessons)), key=lambda number: len(lessons[number].ids) + draw.random() * 8)
    starts = list(range(0, len(order), size))
    draw.shuffle(starts)
    dangers = sorted(dangers, key=lambda one: len(one[0]))
    count = min(size // 3, len(dangers))
    for start in starts:
        first = round(start / len(order) * (len(dangers) - 2 * count)) if len(dangers) > 2 * count else 0
        group = [lessons[number] for number in order[start : start + size]]
        yield group, draw.sample(dangers[first : first + 2 * count], count)


# ----------------------------------------------------------------------------------------------------------- training


class Average:
    """The running mean of the weights that are learned: it reads unseen text better than the last of them."""

    def __init__(self, model: Reader) -> None:
        self.weights = [one for one in model.parameters() if one.requires_grad]
        self.mean: list[torch.Tensor] = []
        self.count = 1

    @torch.no_grad()
    def take(self, progress: float) -> None:
        """Take the weights of a step into the mean, from the middle of the training on."""
        if not self.mean and progress >= 0.5:
            self.mean = [one.clone() for one in self.weights]
        elif self.mean:
            self.count += 1
            torch._foreach_lerp_(self.mean, self.weights, max(1 / self.count, 1 / AVERAGED))

    @torch.no_grad()
    def give(self) -> None:
        """Put the mean in the place of the last weights."""
        for weight, mean in zip(self.weights, self.mean, strict=False):
            weight.copy_(mean)


def losses(model: Reader, group: Sequence[Lesson], dangers: Sequence[Danger], where: str) -> torch.Tensor:
    """What the model still gets wrong, of lessons and of texts that tell of danger or of none; read together."""
    count = len(group)
    width = max(len(row) for row in (*(one.ids for one in group), *(row for row, _ in dangers)))
    rows = np.full((4, count + len(dangers), width), IGNORED)
    for at, one in enumerate(group):
        rows[:, at, : len(one.ids)] = one.ids, one.types, one.begins, one.statuses
    for at, (row, _) in enumerate(dangers, count):
        rows[0, at, : len(row)] = row
    ids, types, begins, statuses = torch.from_numpy(rows).to(where, non_blocking=True)
    mask = ids != IGNORED
    hidden = model.hidden(ids.clamp(min=0), mask)
    cross, kinds = torch.nn.functional.cross_entropy, len(TYPES)
    told, types, begins, statuses = hidden[:count], types[:count], begins[:count], statuses[:count]
    scores = model.tokens(told)
    loss = mean_of(cross(scores[..., :kinds].flatten(0, 1), types.flatten(), reduction="none"), types)
    held = cross(scores[..., kinds + 1 :].flatten(0, 1), statuses.flatten(), reduction="none", label_smoothing=0.02)
    begin = torch.nn.functional.binary_cross_entropy_with_logits(
        scores[..., kinds].flatten(), begins.flatten().clamp(min=0).float(), reduction="none"
    )
    loss = loss + 2 * mean_of(held, statuses) + 0.3 * mean_of(begin, begins)
    meant = [(row, *place) for row, one in enumerate(group) for place in one.meanings]
    if meant:
        known = torch.tensor(meant, device=where)
        loss = loss + cross(model.meant(told, known[:, :3]), known[:, 3], label_smoothing=0.05)
    if dangers:
        wanted = torch.tensor([kind for _, kind in dangers], device=where)
        loss = loss + cross(model.texts(hidden[count:], mask[count:]), wanted, label_smoothing=0.02)
    return loss


def mean_of(losses: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The mean over the tokens of which something is known."""
    known = wanted.flatten() != IGNORED
    return (losses * known).sum() / known.sum().clamp(min=1)


def train(args: argparse.Namespace) -> None:  # noqa: PLR0915 (one straight flow)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    draw = random.Random(args.seed)
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    tokenizer = tokenizer_of(args.work / "wordpiece.json")
    documents = [one for path in sorted(args.material.glob("*.txt")) for one in read_marked(path)]
    dangers = [
        tuple(line.split("\t", 1))
        for path in sorted(args.material.glob("*.tsv"))
        for line in path.read_text("utf-8").splitlines()
        if "\t" in line
    ]
    dangers += noted_dangers(args.material / "notes.dangers")
    dangers += [("none", question) for question in harmless(args.questions, args.judged)]
    kinds = sorted({kind for kind, _ in dangers} | {"none"})
    draw.shuffle(documents)
    draw.shuffle(dangers)
    if args.tiny:
        documents, dangers = documents[:40], dangers[:40]
    held, learned = split(documents, lambda one: one.text, args)
    held_dangers, learned_dangers = split(dangers, lambda one: one[1], args)
    names = json.loads((args.work / "names.json").read_text("utf-8"))
    pool = pool_of(learned, names)
    known = json.loads((args.work / "concepts.json").read_text("utf-8"))
    types_of = {name: one["kind"] for name, one in known.items()}
    wordings = [one for path in sorted(args.material.glob("wordings/*.tsv")) for one in read_wordings(path, types_of)]
    draw.shuffle(wordings)
    held_wordings, wordings = split(wordings, lambda one: one.text, args)
    wordings = [one for one in wordings if draw.random() < args.wordings]
    wordings += [named(words, name, types_of[name]) for name, one in known.items() for words in one["names"]]
    meanings = [NOTHING, *sorted(known)]
    numbers = {words.lower(): meanings.index(name) for name, one in known.items() for words in one["names"]}
    numbers |= {name: number for number, name in enumerate(meanings)}
    learned += wordings[:40] if args.tiny else wordings
    stated = frozenset(one.lower() for of_type in pool.values() for one in of_type)
    words = Words(pool, stated, numbers, (args.material / "distractors.lines").read_text("utf-8").splitlines())
    model = Reader(args.work / f"{args.base}.npz", len(kinds), len(meanings))
    model.adapt()
    if args.start:
        go_on_from(model, args.start, args.base, meanings)
    model.to(where)
    rows = [(tokenizer.encode(text.replace("\n", "|")).ids[:160], kinds.index(kind)) for kind, text in learned_dangers]
    epochs = 1 if args.tiny else args.epochs
    optimizer = torch.optim.AdamW(
        [one for one in model.parameters() if one.requires_grad],
        lr=args.rate,
        weight_decay=0.01,
        fused=where == "cuda",
    )
    count = sum(1 if one.style in SHORT else min(12, 2 + len(one.text) // 150) for one in learned)
    steps = epochs * (count // args.batch + 1)
    average = Average(model)
    started, step = time.monotonic(), 0
    workers = ProcessPoolExecutor()
    args.seed += 1
    pending = made_ready(workers, learned, words, args) if epochs else []
    for epoch in range(epochs):
        model.train()
        lessons = [one for made in pending for one in made.result()]
        if epoch + 1 < epochs:
            pending = made_ready(workers, learned, words, args)
        total = torch.zeros((), device=where)
        for number, (group, some) in enumerate(batches(lessons, rows, args.batch, draw)):
            loss = losses(model, group, some, where)
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
            average.take(progress)
            total += loss.detach()
            if progress >= 1 or (args.tiny and number >= 1):
                break
        seconds = time.monotonic() - started
        print(
            f"epoch {epoch + 1}: {len(lessons)} lessons, loss {total / (number + 1):.3f}, {seconds:.0f} s", flush=True
        )
        if progress >= 1:
            break
    average.give()
    model.eval()
    keep(model, args.base, kinds, meanings, args.out)
    if args.figures:
        figures: dict[str, object] = {"held out": measured(model, held, tokenizer, where)}
        told = [one for one in held if any(mark.name for mark in one.marks)]
        figures["meanings held out"] = measured_meanings(model, [*held_wordings, *told], meanings, tokenizer, where)
        figures["danger held out"] = measured_dangers(model, held_dangers, kinds, tokenizer, where)
        for path in sorted(args.sets.glob("*.txt")) if args.sets else ():
            figures[path.name] = measured(model, read_marked(path), tokenizer, where)
        print(json.dumps(figures, indent=1, ensure_ascii=False))
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
            scores = model.tokens(model.hidden(ids, torch.ones_like(ids)))[0, 1:-1].cpu().numpy()
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
        mask = torch.ones_like(ids)
        shares = model.texts(model.hidden(ids, mask), mask).softmax(-1)[0].cpu().numpy()
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
        "kind right": round(right / max(len(held), 1), 3), "missed": missed[:12], "false": false[:12],
    }  # fmt: skip


@torch.no_grad()
def measured_meanings(
    model: Reader, held: Sequence[Marked], names: Sequence[str], tokenizer: Tokenizer, where: str
) -> dict[str, object]:
    """How often words are read as what they mean, by how sure the reader is."""
    found = []
    numbers = {name: number for number, name in enumerate(names)}
    for one in (lesson(document, piece, tokenizer, numbers) for document in held for piece in pieces(document.text)):
        if not one.meanings:
            continue
        ids = torch.tensor([one.ids], device=where)
        places = torch.tensor([(0, first, behind) for first, behind, _ in one.meanings], device=where)
        shares = model.meant(model.hidden(ids, torch.ones_like(ids)), places).softmax(-1).max(-1)
        found += [
            (float(share), int(number), wanted)
            for share, number, (_, _, wanted) in zip(*shares, one.meanings, strict=True)
        ]
    figures: dict[str, object] = {
        "wordings": len(found), "right": round(sum(read == name for _, read, name in found) / max(len(found), 1), 3)
    }  # fmt: skip
    for sure in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
        taken = [read == name for share, read, name in found if share >= sure and read]
        figures[f"from {sure}"] = f"{len(taken)} taken, {sum(taken) / max(len(taken), 1):.3f} right"
    return figures


def kept_name(name: str) -> str:
    """The name under which the product reads a weight."""
    return name.removeprefix("bert.").replace(".base.", ".")


def go_on_from(model: Reader, path: Path, base: str, meanings: Sequence[str]) -> None:
    """Take what an earlier training of the same base learned; meanings that it did not know begin anew."""
    with np.load(path) as file, torch.no_grad():
        former = str(file["base"]) if "base" in file.files else BASES[0]
        if former != base:
            raise SystemExit(f"{path} was trained over {former}, not over {base}: choose --base {former}")
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and kept_name(name) in file.files:
                learned = torch.from_numpy(file[kept_name(name)].astype(np.float32))
                if name in ("meanings", "commonness"):
                    known = {one: at for at, one in enumerate(file["names"].tolist())}
                    rows = [(at, known[one]) for at, one in enumerate(meanings) if one in known]
                    parameter[[at for at, _ in rows]] = learned[[at for _, at in rows]]
                else:
                    parameter.copy_(learned)
        model.meanings.copy_(torch.nn.functional.normalize(model.meanings))


def keep(model: Reader, base: str, kinds: Sequence[str], meanings: Sequence[str], out: Path) -> None:
    """What was learned, in half precision, under the names that the product reads."""
    out.mkdir(parents=True, exist_ok=True)
    kept: dict[str, np.ndarray] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        kept[kept_name(name)] = parameter.detach().float().cpu().numpy().astype(np.float16)
    head = SHARPNESS * torch.nn.functional.normalize(model.meanings)
    kept["meanings"] = head.detach().cpu().numpy().astype(np.float16)
    kept["types"], kept["statuses"], kept["dangers"] = np.array(TYPES), np.array(STATUSES), np.array(list(kinds))
    kept["names"], kept["base"] = np.array(list(meanings)), np.array(base)
    np.savez_compressed(out / "adapter.npz", **kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--material", type=Path, default=Path("bench/clinical/material"))
    parser.add_argument("--questions", type=Path, default=Path("bench/reader/questions"))
    parser.add_argument("--judged", type=Path, default=Path("bench/clinical/sets/dev/emergencies_questions.tsv"))
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--base", choices=BASES, default=BASES[0])
    parser.add_argument("--start", type=Path, help="A reader over the same base to go on from.")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3_600, help="Learn no longer than this.")
    parser.add_argument("--wordings", type=float, default=1.0, help="The share of the wordings that is learned from.")
    parser.add_argument("--hold-out", action="store_true", help="Do not learn from one text in twelve.")
    parser.add_argument("--figures", action="store_true", help="Measure what was held out, and --sets, in the end.")
    parser.add_argument("--tiny", action="store_true")
    train(parser.parse_args())
