"""What reading a file needs: Parser, Tokenizer, Embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.types import Document, ParseLimits, Source

Vectors = NDArray[np.float32]
"""One unit row per text."""

Vector = NDArray[np.float32]
"""One unit vector."""

MANY_ROWS = 20_000
"""Fewer rows take one thread two milliseconds; several threads gain less by sharing them than they lose by waiting."""

Progress = Callable[[int, int], None]
"""Called with (done, total)."""


def products(vectors: Vectors, vector: Vector) -> NDArray[np.float32]:
    """The product of every row with a vector; only many rows wake the threads of the linear algebra library.

    When these have done, they spin for tens of milliseconds, on the cores that the next step wants; and where those are
    busy, they wait for each other longer than the whole product takes.

    >>> products(np.eye(2, dtype=np.float32), np.array([0.6, 0.8], np.float32)).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    is_many = len(vectors) >= MANY_ROWS
    found: NDArray[np.float32] = vectors @ vector if is_many else np.vecdot(vectors, vector)
    return found


class Parser(Protocol):
    """Reads one kind of file; raises an InputError that says what to do when it cannot."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document: ...


class Tokenizer(Protocol):
    """Counts and places tokens the way the default embedder sees them."""

    def starts(self, text: str) -> list[int]:
        """Where every token starts, without special ones."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens, without special ones."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def fingerprint(self) -> str:
        """Names model, weights, pooling and dimensions: equal fingerprints mean comparable vectors."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One unit vector per text, in the order given."""
        ...
