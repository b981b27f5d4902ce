"""Small Protocols, owned by the core: what it needs from the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.types import Chunk, Chunking, Context, Document, Entry, Filing, Hit, Limits, Message, Scope, Source, Why

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
class Prompt:
    """What a model is asked: rules, turns and the question with its evidence, and how long the reply may be."""

    system: str
    messages: tuple[Message, ...]
    """History, oldest first; the last one is the question with its evidence."""
    max_reply_tokens: int
    context_window: int
    """Tokens that the whole exchange may take; always sent to servers that would cut silently."""
    schema: Mapping[str, object] | None = None
    """A JSON schema that the reply must follow, where structured output is wanted."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that a server offers."""

    name: str
    context_window: int | None = None
    digest: str | None = None
    size_bytes: int | None = None


class Model(Protocol):
    """Writes replies, piece by piece."""

    @property
    def name(self) -> str: ...

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """Pieces of the reply as they come; raises a ModelError when it cannot go on."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text, as this model or a stand-in tokenizer counts them."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Writer(Protocol):
    """Writes an answer from evidence; a model behind a prompt, or verbatim sentences without one."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int:
        """Tokens that rules, history, evidence, question and reply may take together."""
        ...

    @property
    def reply(self) -> int:
        """Tokens kept free for the reply."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def write(self, question: str, context: Context, *, rules: str) -> Iterator[str]:
        """The answer piece by piece, each sentence followed by marks such as [S1]; nothing without an answer."""
        ...

    def rate(self, question: str, context: Context, answer: str) -> float | None:
        """The writer's own estimate, in [0, 1], of how well the evidence carries the answer; None without one."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Person(Protocol):
    """Someone who may be asked."""

    @property
    def id(self) -> str: ...

    @property
    def email(self) -> str: ...


class Owners(Protocol):
    """Who knows about a tag."""

    def owner_of(self, tag: str, *, tenant: str) -> Person | None:
        """The owner of a tag in this tenant, if it has one."""
        ...


class ModelServer(Protocol):
    """What a vendor's server can tell of its models."""

    def models(self) -> list[ModelInfo]:
        """The models that are there now."""
        ...

    def check(self, name: str) -> ModelInfo:
        """The model of exactly this name and tag; ModelUnavailable says how to get one that is not there."""
        ...

    def pull(self, name: str, progress: Progress) -> None:
        """Fetch a model, where the server can."""
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


class Index(Protocol):
    """Finds candidates among what a scope may see; always rebuildable from the library."""

    def candidates(self, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int) -> list[Candidate]:
        """The union of the `limit` nearest by cosine and the `limit` best by BM25 over weighted terms.

        Nothing outside the scope influences a score: BM25 statistics are those of the scope.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What ingest makes of one file: its text, its passages and their vectors."""

    document: Document
    chunks: tuple[Chunk, ...]
    vectors: Vectors
    """One row per chunk."""
    sentence_vectors: Vectors
    """One row per sentence of each chunk, chunk by chunk."""
    embedder: str
    took_s: float


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
        return self.vectors() @ vector


class Library(Shelf, Protocol):
    """The truth: documents, their versions and who may see them. Every call but a worker's takes a scope."""

    def embedder(self) -> str | None:
        """The fingerprint of the vectors in use, or None while there are none."""
        ...

    def same(self, source: Source, *, subject: str | None, scope: Scope) -> Entry | None:
        """The current document with the same bytes, if there is one."""
        ...

    def add(self, source: Source, reading: Reading, *, filing: Filing, scope: Scope) -> Entry:
        """Store a document and make it current, superseding what it replaces, in one transaction."""
        ...

    def enqueue(self, source: Source, *, filing: Filing, scope: Scope) -> Entry:
        """Keep the bytes of a document that a worker will read."""
        ...

    def claim(self, worker: str) -> Claim | None:
        """Take the oldest queued document, of any tenant, for processing."""
        ...

    def renew(self, document_id: str, worker: str) -> bool:
        """Say that the work goes on; whether it is still this worker's."""
        ...

    def complete(self, document_id: str, reading: Reading, worker: str) -> Entry | None:
        """Make a claimed document current; None when it was deleted or taken over meanwhile."""
        ...

    def fail(self, document_id: str, error: str, worker: str) -> None:
        """Record why a claimed document could not be read."""
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

    def entries(self, scope: Scope) -> list[Entry]:
        """Every document version in scope, newest first."""
        ...

    def entry(self, document_id: str, scope: Scope) -> Entry:
        """One document version."""
        ...

    def opened(self, document_id: str, scope: Scope) -> tuple[Entry, Document, tuple[Chunk, ...]]:
        """A document version with its text, structure and passages."""
        ...

    def original(self, document_id: str, scope: Scope) -> Source:
        """The bytes as they came."""
        ...

    def refile(self, document_id: str, *, filing: Filing, scope: Scope) -> Entry:
        """Change tags and journeys; no vector is touched."""
        ...

    def erase(self, document_id: str, scope: Scope) -> list[Entry]:
        """Remove all versions of a document for good; says which they were."""
        ...

    def sentences(self, candidates: Sequence[Candidate]) -> Sentences:
        """Sentence offsets and vectors of candidates; what is shown goes through `hits`."""
        ...

    def hits(self, found: Sequence[Ranked], scope: Scope) -> list[Hit]:
        """Full hits, in the order given; what vanished meanwhile is left out."""
        ...

    def readings(self, embedder: str) -> Iterator[tuple[str, Document, Chunking | None]]:
        """Documents not embedded anew yet since a reindex began: id, content and how to cut it."""
        ...

    def regenerate(self, document_id: str, reading: Reading) -> None:
        """Store another generation beside the one in use."""
        ...

    def switch(self, embedder: str) -> int | None:
        """Put the new generations in use, all at once, and drop the others; None when one is still missing."""
        ...

    def verify(self) -> Verification:
        """Prove that text, chunks, sentences, postings and vectors agree."""
        ...


@dataclass(frozen=True, slots=True)
class Claim:
    """A document that a worker has taken."""

    document_id: str
    tenant: str
    source: Source
    chunking: Chunking | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its final scores, ready to be shown."""

    candidate: Candidate
    rank_score: float
    relevance: float
    why: Why


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` looked at, and what it found wrong."""

    documents: int
    chunks: int
    sentences: int
    problems: tuple[str, ...]
