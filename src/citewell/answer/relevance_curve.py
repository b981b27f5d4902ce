"""How relevance is read from cosines and words: a reviewed row for each known embedder, and a rule for all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from citewell import vocabulary

Reach = Literal["near", "wide"]
"""How far from the question a passage may be that a search keeps; the profile that searches chooses."""

ANY = "*"
"""The row of embedders of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic curve on two numbers that mean the same in every search with one embedder."""

    embedder: str
    """Its fingerprint."""
    bias: float
    cosine: float
    coverage: float
    near: float
    """The least cosine that a search keeps whatever the words."""
    wide: float
    """The same for a search that looks wide."""
    is_fitted: bool = True
    """Whether it was fitted to this embedder; if not, it reads shared words alone, and drops nothing for its cosine."""

    def least(self, reach: Reach) -> float:
        """The least cosine of a search."""
        return self.near if reach == "near" else self.wide


Calibrations = Callable[[str], Calibration]
"""Gives the calibration for the fingerprint of an embedder."""


def known(embedder: str) -> Calibration:
    """The reviewed row of an embedder; for any other, what shared words alone say.

    >>> known("openai:another:8").is_fitted, known("openai:another:8").cosine
    (False, 0.0)
    """
    row = _table().get(embedder)
    return replace(_table()[ANY], embedder=embedder, is_fitted=False) if row is None else row


def is_reviewed(embedder: str) -> bool:
    """Whether the package brings a row for an embedder; no file takes its place."""
    return embedder in _table()


def built_in() -> Calibration:
    """The row of the built-in model, to which others are held."""
    return next(iter(_table().values()))


@cache
def _table() -> Mapping[str, Calibration]:
    found = {}
    for name, *numbers, _ in vocabulary.rows("relevance.tsv"):
        bias, cosine, coverage, near, wide = map(float, numbers)
        found[name] = Calibration(name, bias, cosine, coverage, near=near, wide=wide)
    return found
