"""What values flow through the model: measured once on many texts, so that eight bits are placed well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citewell.minilm.forward import Array, hidden_states
from citewell.minilm.tokenizer import WordPiece
from citewell.minilm.weights import Tensors

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


def load(path: Path) -> Ranges:
    """The ranges that the package brings, of this model or another of its shape."""
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name].astype(np.float32) for name in file.files if name != _REFERENCE}
    return {name: Range(*rows) for name, rows in stored.items()}


def reference(path: Path) -> Array:
    """The fp32 vector of the reference text."""
    with np.load(path, allow_pickle=False) as file:
        vector: Array = file[_REFERENCE]
    return vector


def save(ranges: Ranges, path: Path, vector: Array | None = None) -> None:
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

    def watch(name: str, value: Array) -> None:
        if not name.endswith(("key", "value")):
            ranges[name] = Range(value.min(axis=0), value.max(axis=0), value.mean(axis=0))

    hidden_states(tensors, tokens, types=types, watch=watch)
    return ranges
