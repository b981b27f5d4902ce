"""The write flow in one line: a file is parsed, cut and embedded into a Reading."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal

from citewell.errors import EmptyFile
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.parse import parse
from citewell.ports import Embedder, ParsedFile, Parser, Progress, Tokenizer, Vectors
from citewell.types import Chunk, Chunking, Document, ParseLimits, Source


def embed(
    document: Document, chunks: Sequence[Chunk], *, embedder: Embedder, progress: Progress | None = None
) -> tuple[Vectors, Vectors]:
    """One vector per chunk, and one per sentence of each chunk; a sentence in two chunks is computed once."""
    passages = [chunk.passage for chunk in chunks]
    sentences = [document.text[start:end] for chunk in chunks for start, end in chunk.sentences]
    vectors = embedder.embed([*passages, *sentences], progress=progress)
    return vectors[: len(passages)], vectors[len(passages) :]


@dataclass(frozen=True, slots=True)
class Step:
    """How far a file has come."""

    stage: Literal["reading", "cutting", "embedding", "storing"]
    done: int = 0
    total: int = 0


Watch = Callable[[Step], None]
"""Called at every step."""


@dataclass(frozen=True, slots=True)
class FileReader:
    """All that it takes to read a file."""

    parsers: Mapping[str, Parser]
    tokenizer: Tokenizer
    embedder: Embedder
    limits: ParseLimits
    parsing: AbstractContextManager[object] = field(default_factory=nullcontext)
    """Held while a file is parsed: of many that are read side by side, few are."""
    hold: Callable[[int], None] = lambda _characters: None
    """Told how long the text is that was parsed, and that is in memory until it is stored."""

    def read(self, source: Source, *, chunking: Chunking | None, watch: Watch) -> ParsedFile:
        """Parse, cut and embed a file."""
        watch(Step("reading"))
        started = time.perf_counter()
        with self.parsing:
            document = parse(source, parsers=self.parsers, limits=self.limits)
        return self.embedded(document, chunking=chunking, watch=watch, started=started)

    def embedded(
        self, document: Document, *, chunking: Chunking | None, watch: Watch, started: float | None = None
    ) -> ParsedFile:
        """Cut and embed a document that is parsed already."""
        started = time.perf_counter() if started is None else started
        self.hold(len(document.text))
        watch(Step("cutting"))
        how = chunking or default_chunking(document.media_type)
        chunks = tuple(chunk(document, chunking=how, tokenizer=self.tokenizer))
        if not chunks:
            raise EmptyFile("No text was found in this file. If it is a scan, install the OCR extra: citewell[ocr].")
        embedding = time.perf_counter()
        vectors, sentence_vectors = embed(
            document,
            chunks,
            embedder=self.embedder,
            progress=lambda done, total: watch(Step("embedding", done, total)),
        )
        ended = time.perf_counter()
        embedding_ms = (ended - embedding) * 1000
        fingerprint = self.embedder.fingerprint
        return ParsedFile(document, chunks, vectors, sentence_vectors, fingerprint, ended - started, embedding_ms)
