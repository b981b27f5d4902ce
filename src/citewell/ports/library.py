"""The truth and what is made from it: Library, Shelf, Index, and the nouns that pass between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.ports.reading import Vector, Vectors, products
from citewell.types import Chunk, Chunking, Document, Filing, Hit, LibraryEntry, MatchReason, Scope, Source


@dataclass(frozen=True, slots=True)
class IndexedVersion:
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

    def load(self, generations: Sequence[int]) -> Iterator[IndexedVersion]:
        """Vectors and postings of these generations, in any order."""
        ...


class Candidate(NamedTuple):
    """A passage that may answer, with both of its scores; a rank is None outside the first `limit` of its list.

    A tuple, because a search makes hundreds of them.
    """

    generation: int
    chunk_index: int
    cosine: float
    lexical_score: float
    dense_rank: int | None
    lexical_rank: int | None
    coverage: float = 0.0
    """Part of the question's words, weighted by rarity in the scope, that the passage holds."""


Asked = tuple[Vector, Mapping[str, float]]
"""A question as an index takes it: its vector and its weighted terms."""


class Index(Protocol):
    """Finds candidates among what a scope may see; always rebuildable from the library."""

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int) -> list[Candidate]:
        """The union of the `limit` nearest by cosine and the `limit` best by BM25 over weighted terms.

        Nothing outside the scope influences a score: BM25 statistics are those of the scope.
        """
        ...

    def candidates_of_each(self, asked: Sequence[Asked], *, scope: Scope, limit: int) -> list[list[Candidate]]:
        """The same of several questions, after one look at what the scope may see."""
        ...


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What ingest makes of one file: its text, its passages and their vectors."""

    document: Document
    chunks: tuple[Chunk, ...]
    vectors: Vectors
    """One row per chunk."""
    sentence_vectors: Vectors
    """One row per sentence of each chunk, chunk by chunk."""
    embedder: str
    took_s: float
    embedding_ms: float = 0.0
    """What of that was embedding."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of several passages, laid one after another; passages without any are left out."""

    keys: tuple[tuple[int, int], ...]
    """(generation, chunk index) of each passage."""
    starts: NDArray[np.int64]
    """Where the sentences of each passage begin; one more than keys."""
    spans: NDArray[np.uint32]
    """Offsets of each sentence in its document's text."""
    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    """A sentence's vector is its code times its scale."""

    def vectors(self) -> Vectors:
        """The unit vector of every sentence."""
        vectors: Vectors = self.codes.astype(np.float32)
        vectors *= self.scales[:, None]
        return vectors

    def similarities(self, vector: Vector) -> NDArray[np.float32]:
        """The cosine of every sentence with a unit vector."""
        return products(self.vectors(), vector)


class Library(Shelf, Protocol):
    """The truth: documents, their versions and who may see them. Every call but a worker's takes a scope."""

    def embedder(self) -> str | None:
        """The fingerprint of the vectors in use, or None while there are none."""
        ...

    def same(self, source: Source, *, subject: str | None, scope: Scope) -> LibraryEntry | None:
        """The current document with the same bytes, if there is one."""
        ...

    def add(self, source: Source, reading: ParsedFile, *, filing: Filing, scope: Scope) -> LibraryEntry:
        """Store a document and make it current, superseding what it replaces, in one transaction."""
        ...

    def enqueue(self, source: Source, *, filing: Filing, scope: Scope) -> LibraryEntry:
        """Keep the bytes of a document that a worker will read."""
        ...

    def claim(self, worker: str, *, embedder: str | None = None, document_id: str | None = None) -> JobLease | None:
        """Take the oldest document that waits, of any tenant, or the one named, if the worker's embedder fits."""
        ...

    def renew(self, document_id: str, worker: str) -> bool:
        """Say that the work goes on; whether it is still this worker's."""
        ...

    def complete(self, document_id: str, reading: ParsedFile, worker: str) -> LibraryEntry | None:
        """Make a claimed document current; None when it was deleted or taken over meanwhile."""
        ...

    def fail(self, document_id: str, error: str, worker: str) -> None:
        """Record why a claimed document could not be read."""
        ...

    def retry_later(self, document_id: str, error: str, worker: str, *, pause_s: float) -> None:
        """Put a document back that may be read at another time, and say when and why."""
        ...

    def put_back(self, document_id: str, worker: str) -> None:
        """Return a document to the queue as if it had not been taken: the worker was told to stop."""
        ...

    def release(self, workers: Sequence[str]) -> int:
        """Queue again what these workers held, and what any worker held for too long; says how many."""
        ...

    def claimants(self) -> list[str]:
        """The workers that hold documents now."""
        ...

    def beat(self, worker: str, embedder: str, *, done: int = 0, failed: int = 0) -> None:
        """Say that a worker is there, and how much it has done."""
        ...

    def leave(self, worker: str) -> None:
        """Say that a worker ends."""
        ...

    def entries(self, scope: Scope) -> list[LibraryEntry]:
        """Every document version in scope, newest first."""
        ...

    def entry(self, document_id: str, scope: Scope) -> LibraryEntry:
        """One document version."""
        ...

    def opened(self, document_id: str, scope: Scope) -> tuple[LibraryEntry, Document, tuple[Chunk, ...]]:
        """A document version with its text, structure and passages."""
        ...

    def original(self, document_id: str, scope: Scope) -> Source:
        """The bytes as they came."""
        ...

    def refile(self, document_id: str, *, filing: Filing, scope: Scope) -> LibraryEntry:
        """Change tags and journeys; no vector is touched."""
        ...

    def erase(self, document_id: str, scope: Scope) -> list[LibraryEntry]:
        """Remove all versions of a document for good; says which they were: none where it was erased before."""
        ...

    def sentences(self, candidates: Sequence[Candidate]) -> Sentences:
        """Sentence offsets and vectors of candidates; what is shown goes through `hits`."""
        ...

    def hits(self, found: Sequence[RankedCandidate], scope: Scope) -> list[Hit]:
        """Full hits, in the order given; what vanished meanwhile is left out."""
        ...

    def readings(self, embedder: str) -> Iterator[tuple[str, Document, Chunking | None]]:
        """Documents not embedded anew yet since a reindex began: id, content and how to cut it."""
        ...

    def regenerate(self, document_id: str, reading: ParsedFile) -> None:
        """Store another generation beside the one in use."""
        ...

    def switch(self, embedder: str) -> int | None:
        """Put the new generations in use, all at once, and drop the others; None when one is still missing."""
        ...

    def switch_when_whole(self, embedder: str) -> int | None:
        """Switch if everything was to be embedded anew and now is; else nothing."""
        ...

    def verify(self) -> Verification:
        """Prove that text, chunks, sentences, postings and vectors agree."""
        ...


@dataclass(frozen=True, slots=True)
class JobLease:
    """A document that a worker has taken."""

    document_id: str
    tenant: str
    name: str
    fetch: Callable[[], Source]
    parsed: Callable[[], Document] | None
    """The text as it was read before, where only its vectors are to be made anew."""
    chunking: Chunking | None
    size_bytes: int
    attempts: int
    """The so-manyth time, this one included."""
    is_rework: bool
    """Whether it is read a second time, while the first reading goes on answering."""

    @property
    def source(self) -> Source:
        """The bytes to read, from wherever they are kept."""
        return self.fetch()


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A candidate with its final scores, ready to be shown."""

    candidate: Candidate
    rank_score: float
    relevance: float
    why: MatchReason


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` looked at, and what it found wrong."""

    documents: int
    chunks: int
    sentences: int
    problems: tuple[str, ...]
