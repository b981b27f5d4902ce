"""Sets up a guideline for searching: its pieces and their vectors, made once for each version."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.search_entries import SearchEntry, pieces
from citewell.assistants.guidelines.shared_terms import SharedTerms
from citewell.orders import screened_document
from citewell.ports import Embedder, Library, Vectors
from citewell.types import Scope


@dataclass(frozen=True)
class SearchableGuideline:
    """A guideline that can be searched."""

    guideline: Guideline
    document_id: str
    version: int
    publisher: str | None
    pieces: tuple[SearchEntry, ...]
    searched: tuple[SearchEntry, ...]
    """The pieces that have a vector, in the order of the rows."""
    vectors: Vectors
    shared: SharedTerms
    chunk_starts: tuple[int, ...]
    """Where the library's passages begin: a citation opens the one that holds its words."""

    def entries_at(self, start: int, end: int) -> list[SearchEntry]:
        """The rules, rows, tables and definitions that share words with a place; a rule has its own table with it."""
        return [entry for first, last, entry in self._places if first < end and start < last]

    @cached_property
    def _places(self) -> tuple[tuple[int, int, SearchEntry], ...]:
        cited = [piece for piece in self.pieces if piece.kind != "search"]
        tables = ((entry.rules[0].table, entry) for entry in cited if entry.kind == "rule")
        return (
            *((entry.start, entry.end, entry) for entry in cited),
            *((table.start, table.end, entry) for table, entry in tables if table is not None),
        )

    def chunk_at(self, start: int) -> int:
        """The index of the library's passage that holds a place."""
        return max(0, int(np.searchsorted(np.asarray(self.chunk_starts), start, side="right")) - 1)


class Books:
    """The guidelines that have been set up; vectors stay in a folder, so that a new process need not embed again."""

    def __init__(self, library: Library, embedder: Callable[[], Embedder], folder: Path) -> None:
        self._library, self._embedder, self._folder = library, embedder, folder
        self._known: dict[tuple[str, str], SearchableGuideline] = {}
        self._lock = threading.Lock()

    def book(self, guideline: Guideline, scope: Scope) -> SearchableGuideline:
        """One guideline of the library, ready to be searched."""
        entry = guideline.entry
        assert entry is not None, "a guideline outside a library is not searched"
        key = (entry.id, self._embedder().fingerprint)
        with self._lock:  # two questions at once must not embed the same guideline twice
            if key not in self._known:
                self._known[key] = self._made(guideline, entry.id, scope)
            return self._known[key]

    def _made(self, guideline: Guideline, document_id: str, scope: Scope) -> SearchableGuideline:
        entry, document, chunks = self._library.opened(document_id, scope)
        document = screened_document(document)
        search_entries = pieces(guideline, document.text)
        searched = tuple(piece for piece in search_entries if piece.matched)
        publisher = document.metadata.publisher
        starts = tuple(chunk.start for chunk in chunks)
        vectors = self.vectors([piece.matched for piece in searched])
        return SearchableGuideline(
            guideline,
            entry.id,
            entry.version,
            publisher,
            search_entries,
            searched,
            vectors,
            SharedTerms.of(searched),
            starts,
        )

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The vectors of these texts: from the folder where they are known, and into it where they are new."""
        embedder = self._embedder()
        name = hashlib.sha256("\0".join((embedder.fingerprint, *texts)).encode()).hexdigest()
        path = self._folder / f"{name}.npy"
        if path.is_file():
            kept = _loaded(path)
            if kept is not None and kept.shape == (len(texts), embedder.dimensions):
                return kept
        vectors = embedder.embed(texts)
        _keep(path, vectors)
        return vectors


def _loaded(path: Path) -> Vectors | None:
    """What a file holds; nothing where it is damaged, and it is made anew."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return np.asarray(found, dtype=np.float32)


def _keep(path: Path, vectors: Vectors) -> None:
    """Write beside and rename, so that no other process reads a half; a folder that cannot be written is no failure."""
    beside = path.with_suffix(f".{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            np.save(file, vectors)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
