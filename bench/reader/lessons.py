"""What a student learns from: claims that the teacher labelled, sentences beside themselves, and the train claims."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.reader.figures import LABELS
from bench.reader.material import Material
from bench.reader.minilm import Pair, pairs_of
from bench.reader.write_claims import FILE, TITLE, read

SAME, OTHER = (0.98, 0.01, 0.01), (0.03, 0.02, 0.95)
"""What is to be said of a sentence beside itself, and beside another one of its abstract."""
SENTENCE_LETTERS = range(31, 400)
LEAST_SENTENCES = 3
TRAIN_CLAIM_WEIGHT = 3.0
TINY_PAIRS = 200


@dataclass(frozen=True, slots=True)
class Lesson:
    """A pair, what is to be said of it, how much it counts, and where it comes from."""

    pair: Pair
    chances: tuple[float, ...]
    weight: float
    abstract: str
    """The first abstract that it is held against."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A lesson whose texts have not yet been cut into pieces."""

    claim: str
    evidence: str
    chances: tuple[float, ...]
    abstract: str


def made_lessons(work: Path, material: Material, *, tiny: bool) -> list[Lesson]:
    """The lessons that need no person's label."""
    drafts = _labelled(work, material, tiny=tiny) + _sentences(material, random.Random(5))
    return _lessons(material, drafts, 1.0)


def claim_lessons(material: Material) -> list[Lesson]:
    """The train claims, in their order."""
    vectors = material.embed([claim.text for claim in material.claims])
    drafts = []
    for claim, vector in zip(material.claims, vectors, strict=True):
        chances = tuple(float(place == LABELS[claim.label]) for place in range(3))
        evidence = material.evidence(vector, claim.abstracts)
        drafts.append(_Draft(claim.text, evidence, chances, claim.abstracts[0]))
    return _lessons(material, drafts, TRAIN_CLAIM_WEIGHT)


def _lessons(material: Material, drafts: Sequence[_Draft], weight: float) -> list[Lesson]:
    pairs = pairs_of(material.pieces, [one.claim for one in drafts], [one.evidence for one in drafts])
    return [Lesson(pair, one.chances, weight, one.abstract) for pair, one in zip(pairs, drafts, strict=True)]


def _labelled(work: Path, material: Material, *, tiny: bool) -> list[_Draft]:
    """The claims that the teacher has labelled, with what it said of each."""
    written = read(work / FILE)
    if tiny:
        written = [one for one in written if one.abstract in material.abstracts][:TINY_PAIRS]
    vectors = material.embed([one.claim for one in written])
    chances = np.exp(np.array([one.log_chances for one in written], np.float32))
    chances /= chances.sum(1, keepdims=True)
    drafts = []
    for one, vector, row in zip(written, vectors, chances.tolist(), strict=True):
        evidence = material.evidence(vector, [one.abstract], is_title=one.source == TITLE)
        drafts.append(_Draft(one.claim, evidence, tuple(row), one.abstract))
    return drafts


def _sentences(material: Material, chance: random.Random) -> list[_Draft]:
    """Sentences beside themselves, alone or with another, and beside another one of their abstract."""
    drafts = []
    for abstract in material.free:
        sentences = [text for text in material.abstracts[abstract] if len(text) in SENTENCE_LETTERS]
        if len(sentences) < LEAST_SENTENCES:
            continue
        one, other = chance.sample(sentences, 2)
        if chance.random() < 0.5:
            both = " ".join(text for text in sentences if text in (one, other))
            drafts.append(_Draft(one, one if chance.random() < 0.5 else both, SAME, abstract))
        if chance.random() < 0.5:
            drafts.append(_Draft(one, other, OTHER, abstract))
    return drafts
