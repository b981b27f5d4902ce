"""What reading a file needs: Parser, Tokenizer, Embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.types import Document, Limits, Source

Vectors = NDArray[np.float32]
"""One unit row per text."""

Vector = NDArray[np.float32]
"""One unit vector."""

Progress = Callable[[int, int], None]
"""Called with (done, total)."""


class Parser(Protocol):
    """Reads one kind of file; raises an InputError that says what to do when it cannot."""

    def parse(self, source: Source, *, media_type: str, limits: Limits) -> Document: ...


class Tokenizer(Protocol):
    """Counts and places tokens the way the default embedder sees them."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The offsets of every token, without special ones."""
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
