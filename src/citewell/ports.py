"""Small Protocols, owned by the core: what it needs from the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.types import Document, Limits, Scope, Source

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


@dataclass(frozen=True, slots=True)
class Stored:
    """What the library keeps of one document version for the index: a vector per chunk, and its words."""

    generation: int
    vectors: Vectors
    postings: bytes
    """As `ingest.postings.pack` wrote them."""


class Shelf(Protocol):
    """What an index needs of the library that it is rebuilt from."""

    def stamp(self) -> int:
        """Grows with every change of what is current or who may see it."""
        ...

    def current(self) -> list[int]:
        """The generations that are current, of all tenants."""
        ...

    def visible(self, scope: Scope) -> list[int]:
        """The current generations that the scope may see: the one place where access is decided."""
        ...

    def load(self, generations: Sequence[int]) -> Iterator[Stored]:
        """Vectors and postings of these generations, in any order."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that may answer, with both of its scores; a rank is None outside the first `limit` of its list."""

    generation: int
    chunk_index: int
    cosine: float
    lexical_score: float
    dense_rank: int | None
    lexical_rank: int | None


class Index(Protocol):
    """Finds candidates among what a scope may see; always rebuildable from the library."""

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int) -> list[Candidate]:
        """The union of the `limit` nearest by cosine and the `limit` best by BM25 over weighted terms.

        Nothing outside the scope influences a score: BM25 statistics are those of the scope.
        """
        ...
