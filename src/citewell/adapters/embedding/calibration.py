"""What values flow through the model: measured once on many texts, so that eight bits are placed well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.tokenizer import WordPiece
from citewell.adapters.embedding.weights import DIMENSIONS, EPSILON, HEAD_SIZE, HEADS, LAYERS, Tensors

Array = NDArray[np.float32]

_FILE = Path(__file__).with_name("ranges.npz")
_REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Range:
    """How one layer's input behaves, channel by channel."""

    low: Array
    high: Array
    mean: Array


Ranges = dict[str, Range]
"""By the name of the linear layer whose input it is; the query's stands for key and value too."""


REFERENCE_TEXT = "This is an example sentence"
"""A text whose fp32 vector the package brings, so that any machine can check its own arithmetic."""


def load(path: Path = _FILE) -> Ranges:
    """The ranges that the package brings, of this model or another of its shape."""
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name].astype(np.float32) for name in file.files if name != _REFERENCE}
    return {name: Range(*rows) for name, rows in stored.items()}


def reference() -> Array:
    """The fp32 vector of the reference text."""
    with np.load(_FILE) as file:
        vector: Array = file[_REFERENCE]
    return vector


def save(ranges: Ranges, vector: Array | None = None, path: Path = _FILE) -> None:
    """Write the ranges that the package brings, and the reference vector where the model gives one."""
    rows = {name: np.stack([found.low, found.high, found.mean]).astype(np.float16) for name, found in ranges.items()}
    known = {} if vector is None else {_REFERENCE: vector}
    np.savez_compressed(path, allow_pickle=False, **rows, **known)


def measure(tensors: Tensors, texts: Sequence[str]) -> Ranges:
    """The ranges over some texts, from a plain numpy run of the model."""
    tokens = WordPiece.load().ids(texts, max_tokens=256)
    return measure_tokens(tensors, tokens, [[0] * len(ids) for ids in tokens])


def measure_tokens(tensors: Tensors, tokens: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> Ranges:
    """The ranges over texts that are cut into tokens, each of a type."""
    ranges: Ranges = {}

    def linear(name: str, value: Array) -> Array:
        if not name.endswith(("key", "value")):
            ranges[name] = Range(value.min(axis=0), value.max(axis=0), value.mean(axis=0))
        result: Array = value @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
        return result

    def norm(name: str, value: Array) -> Array:
        centred = value - value.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + EPSILON)
        result: Array = scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
        return result

    words, positions, kinds = (
        tensors[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")
    )
    placed = [
        words[np.array(ids)] + positions[: len(ids)] + kinds[np.array(of)]
        for ids, of in zip(tokens, types, strict=True)
    ]
    hidden = norm("embeddings.LayerNorm", np.concatenate(placed))
    ends = np.cumsum([len(ids) for ids in tokens])[:-1]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        parts = [np.split(linear(f"{name}.attention.self.{part}", hidden), ends) for part in ("query", "key", "value")]
        mixed = np.concatenate([_attended(query, key, value) for query, key, value in zip(*parts, strict=True)])
        hidden = norm(f"{name}.attention.output.LayerNorm", linear(f"{name}.attention.output.dense", mixed) + hidden)
        wide = _gelu(linear(f"{name}.intermediate.dense", hidden))
        hidden = norm(f"{name}.output.LayerNorm", linear(f"{name}.output.dense", wide) + hidden)
    return ranges


def _attended(query: Array, key: Array, value: Array) -> Array:
    query, key, value = (part.reshape(-1, HEADS, HEAD_SIZE).swapaxes(0, 1) for part in (query, key, value))
    scores = query @ key.swapaxes(1, 2) * np.float32(HEAD_SIZE**-0.5)
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    mixed: Array = (shares / shares.sum(axis=2, keepdims=True)) @ value
    return mixed.swapaxes(0, 1).reshape(-1, DIMENSIONS)


def _gelu(value: Array) -> Array:
    """The tanh form, near enough for ranges."""
    inner = np.float32(0.7978845608) * value * (1 + np.float32(0.044715) * value * value)
    result: Array = value * np.float32(0.5) * (1 + np.tanh(inner))
    return result
