"""What the models learn from: claims, abstracts, and which sentences and abstracts are near each other."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench.reader.batches import processor
from bench.reader.minilm import Pieces, Reader, Vectors, embed
from bench.reader.needs import torch

FOLDS = 3
KEPT_SENTENCES = 4
NEIGHBOURS = 12
TINY_CLAIMS, TINY_ABSTRACTS = 24, 40


def number_of(text: str, count: int) -> int:
    """A number below the count that is always the same for a text.

    >>> number_of("r24983", 3)
    0
    """
    return int(hashlib.md5(text.encode()).hexdigest(), 16) % count


@dataclass(frozen=True, slots=True)
class Claim:
    """A train claim, the abstracts to hold it against, and what they say of it."""

    text: str
    abstracts: list[str]
    label: str

    @property
    def fold(self) -> int:
        """Claims of one abstract are in one fold."""
        return number_of(f"r2{self.abstracts[0]}", FOLDS)


@dataclass(frozen=True, slots=True)
class Material:
    """All that is read, with vectors of all sentences."""

    claims: list[Claim]
    abstracts: dict[str, list[str]]
    """The sentences of each, its title first."""
    free: list[str]
    """Abstracts from which claims may be written."""
    vectors: dict[str, Vectors]
    near: dict[str, list[str]]
    """The free abstracts most like each free one, the nearest first."""
    embedder: Reader
    pieces: Pieces

    def another(self, abstract: str, chance: random.Random) -> str:
        """A free abstract on nearly the same matter, which seldom settles the same claim."""
        near = self.near.get(abstract)
        return chance.choice(near[:NEIGHBOURS] if near else self.free)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts."""
        return embed(self.embedder, self.pieces, texts)

    def evidence(self, vector: Vectors, abstracts: Sequence[str], *, is_title: bool = False) -> str:
        """The four sentences nearest to a claim, in their order; a title is not held against itself."""
        sentences = [text for one in abstracts for text in self.abstracts[one]]
        cosines = np.concatenate([self.vectors[one] @ vector for one in abstracts])
        usable = np.ones(len(sentences), bool)
        if is_title and len(sentences) > 1:
            usable[0], cosines[0] = False, -np.inf
        nearest = sorted(np.argsort(-cosines)[:KEPT_SENTENCES])
        return " ".join(sentences[place] for place in nearest if usable[place])


def train_claims(work: Path, *, tiny: bool) -> list[Claim]:
    """The train claims that bench.reader.data has prepared; a few where it is a trial."""
    rows = _data(work)["train"]
    return [Claim(row["claim"], row["docs"], row["label"]) for row in (rows[:TINY_CLAIMS] if tiny else rows)]


def load(work: Path, *, tiny: bool) -> Material:
    """All that bench.reader.data has prepared; a few claims and abstracts of it where it is a trial."""
    data, claims = _data(work), train_claims(work, tiny=tiny)
    abstracts: dict[str, list[str]] = data["docs"]
    if tiny:
        kept = {one for claim in claims for one in claim.abstracts} | set(list(abstracts)[:TINY_ABSTRACTS])
        abstracts = {one: sentences for one, sentences in abstracts.items() if one in kept}
    barred = set(data["barred"])
    free = [one for one in abstracts if one not in barred]
    embedder, pieces = Reader(work).to(processor()).eval(), Pieces(work)
    vectors = _vectors(embedder, pieces, abstracts)
    return Material(claims, abstracts, free, vectors, _near(free, vectors), embedder, pieces)


def _data(work: Path) -> Any:
    return json.loads((work / "data.json").read_text("utf-8"))


def _vectors(embedder: Reader, pieces: Pieces, abstracts: dict[str, list[str]]) -> dict[str, Vectors]:
    """The vectors of each abstract's sentences."""
    every = embed(embedder, pieces, [text for sentences in abstracts.values() for text in sentences])
    ends = np.cumsum([len(sentences) for sentences in abstracts.values()])[:-1]
    return dict(zip(abstracts, np.split(every, ends), strict=True))


def _near(free: list[str], vectors: dict[str, Vectors]) -> dict[str, list[str]]:
    """The neighbours of each free abstract by the mean of its sentences, itself left out."""
    means = np.stack([vectors[one].mean(0) for one in free])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    place = torch.from_numpy(means).to(processor())
    nearest = (place @ place.T).topk(min(16, len(free)), 1).indices.cpu().numpy()
    return {one: [free[other] for other in row if free[other] != one] for one, row in zip(free, nearest, strict=True)}
