"""The teacher: a language model that learns to judge claims, and to write them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench.reader import qwen
from bench.reader.batches import pace, padded, processor, step_with
from bench.reader.figures import LABELS, Scores
from bench.reader.material import Claim, Material
from bench.reader.needs import torch
from bench.reader.words import Prompts, Words

EPOCHS, TINY_STEPS = 3, 2
LEARNING_RATE = 2e-4
BATCH = 16
WARM_STEPS = 20
ELSEWHERE_SHARE = 0.35
"""How often a claim that its abstract settles is also shown beside a near abstract, as neither."""
TRIAL = "The most common side effect of metformin is"


@dataclass(frozen=True, slots=True)
class Teacher:
    """The network with its words and prompts."""

    words: Words
    prompts: Prompts
    model: Any
    tiny: bool


@dataclass(frozen=True, slots=True)
class Lesson:
    """Tokens to read, of which the last ones are to be learned."""

    tokens: list[int]
    learned: int


def open_teacher(work: Path, material: Material, *, tiny: bool) -> Teacher:
    """The untrained teacher; it goes on with a sentence, to show that its weights were read well."""
    words = Words(work)
    teacher = Teacher(words, Prompts(words, material.abstracts), qwen.build(work, tiny=tiny), tiny)
    begun = torch.tensor(words.read([TRIAL]), device=processor())
    said = teacher.model.generate(
        input_ids=begun, max_new_tokens=12, do_sample=False, pad_token_id=words.pad, eos_token_id=words.end
    )
    print(f"the teacher says: {words.say(said.tolist())[0]}", flush=True)
    return teacher


def lessons(teacher: Teacher, material: Material, claims: Sequence[Claim], chance: random.Random) -> list[Lesson]:
    """Judge each claim, some also beside a near abstract, and write each claim."""
    asked: list[tuple[str, list[str], int, bool]] = []
    for claim in claims:
        label = LABELS[claim.label]
        asked.append((claim.text, claim.abstracts, label, False))
        if label != LABELS["NONE"] and chance.random() < ELSEWHERE_SHARE:
            asked.append((claim.text, [material.another(claim.abstracts[0], chance)], LABELS["NONE"], False))
        asked.append((claim.text, claim.abstracts[:1], label, True))
    prompts, words = teacher.prompts, teacher.words
    questions = prompts.ask([(text, abstracts) for text, abstracts, _, _ in asked])
    texts = words.read([f" {text}\n" for text, _, _, _ in asked])
    found = []
    for (_, abstracts, label, is_written), question, text in zip(asked, questions, texts, strict=True):
        if is_written:
            found.append(Lesson([*prompts.body(abstracts), *prompts.write[label], *text, words.end], len(text) + 1))
        else:
            found.append(Lesson([*question, prompts.answers[label]], 1))
    return found


def tune(teacher: Teacher, material: Material, claims: Sequence[Claim], *, seed: int) -> None:
    """Teach the labels of claims and the claims themselves; what is learned goes into the network's own layers."""
    chance = random.Random(seed)
    learned = qwen.adapt(teacher.model)
    optimizer = torch.optim.AdamW(learned, LEARNING_RATE, weight_decay=0.01, betas=(0.9, 0.98))
    every = lessons(teacher, material, claims, chance)
    steps = TINY_STEPS if teacher.tiny else EPOCHS * math.ceil(len(every) / BATCH)
    print(f"the teacher learns {len(every)} lessons in {steps} steps", flush=True)
    teacher.model.train()
    for step, batch in enumerate(_shuffled(every, steps, chance)):
        speed = pace(step, steps, warm_steps=WARM_STEPS, least=0.05)
        step_with(optimizer, _loss(teacher, batch), LEARNING_RATE * speed)
    teacher.model.eval()
    qwen.fuse(teacher.model)


def _shuffled(every: list[Lesson], steps: int, chance: random.Random) -> Iterator[list[Lesson]]:
    """As many batches as there are steps, each epoch in an order of its own."""
    taken = 0
    while taken < steps:
        order = list(range(len(every)))
        chance.shuffle(order)
        for start in range(0, len(order), BATCH):
            if taken == steps:
                return
            yield [every[number] for number in order[start : start + BATCH]]
            taken += 1


def _loss(teacher: Teacher, batch: list[Lesson]) -> torch.Tensor:
    """The cross-entropy of what is to be learned; each lesson weighs the same."""
    filled, mask = padded([lesson.tokens for lesson in batch], teacher.words.pad)
    hidden = teacher.model.model(input_ids=filled, attention_mask=mask).last_hidden_state
    rows, places, targets, weights = [], [], [], []
    for row, lesson in enumerate(batch):
        for place in range(len(lesson.tokens) - lesson.learned, len(lesson.tokens)):
            rows.append(row)
            places.append(place - 1)
            targets.append(lesson.tokens[place])
            weights.append(1.0 / lesson.learned)
    said = teacher.model.lm_head(hidden[rows, places]).float()
    wrong = torch.nn.functional.cross_entropy(said, torch.tensor(targets, device=processor()), reduction="none")
    return (wrong * torch.tensor(weights, device=processor())).sum() / len(batch)


@torch.no_grad()
def judge(teacher: Teacher, pairs: Sequence[tuple[str, Sequence[str]]], *, size: int = 192) -> Scores:
    """The logarithms of support, contradict and neither for each claim and its abstracts."""
    asked = teacher.prompts.ask(pairs)
    order = sorted(range(len(asked)), key=lambda number: len(asked[number]))
    found = np.zeros((len(asked), 3), np.float32)
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        filled, mask = padded([asked[number] for number in chosen], teacher.words.pad)
        hidden = teacher.model.model(input_ids=filled, attention_mask=mask).last_hidden_state
        last = hidden[torch.arange(len(chosen), device=processor()), mask.sum(1) - 1]
        said = teacher.model.lm_head(last).float()[:, teacher.prompts.answers]
        found[chosen] = torch.log_softmax(said, 1).cpu().numpy()
    return found
