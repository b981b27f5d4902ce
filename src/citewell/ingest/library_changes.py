"""Changes to a library: add or replace a document, embed all of it anew."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from citewell.errors import CitewellError, EmbedderMismatch, InputError, LibraryError
from citewell.ingest.embed_batching import BatchingEmbedder
from citewell.ingest.file_bytes import read_source, size_of
from citewell.ingest.memory_budget import MemoryReservations
from citewell.ingest.parse import safe_name
from citewell.ingest.parse_cut_embed import FileReader, Step, Watch
from citewell.ports import Library
from citewell.types import Chunking, Document, Filing, LibraryEntry, Scope, Source

AT_ONCE = 32
"""Files that are read side by side at most: some are cut or stored while others are embedded."""
PARSED_AT_ONCE = 2
"""Files that are parsed at the same time: that is what takes memory."""
AT_ONCE_BYTES = 4_000_000
"""No third file is begun while those that are read are larger than this: memory stays bounded."""
AT_ONCE_CHARACTERS = 4_000_000
"""No third file is parsed while the texts of those that were are longer than this: small files may hold long ones."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """What became of a file: its entry, whether it was there already, and whether it was filed anew."""

    entry: LibraryEntry
    was_there: bool
    was_refiled: bool = False
    embedding_ms: float = 0.0
    """What embedding took; nothing where nothing was embedded."""
    indexing_ms: float = 0.0
    """What it took to make it current: text, passages, vectors and words in one transaction."""

    @property
    def document_id(self) -> str:
        return self.entry.id

    @property
    def chunks_indexed(self) -> int:
        """Passages of it that a search finds."""
        return self.entry.chunk_count

    @property
    def replaced_existing(self) -> bool:
        """Whether an earlier version made place for it."""
        return not self.was_there and self.entry.version > 1


def unwatched(_step: Step) -> None:
    """Nobody looks."""


def add(
    source: Source, *, filing: Filing, scope: Scope, library: Library, reader: FileReader, watch: Watch = unwatched
) -> AddedDocument:
    """Read a file and make it current; the same bytes twice do nothing again, a failure leaves nothing behind."""
    return prepared(source, filing=filing, scope=scope, library=library, reader=reader, watch=watch)()


def prepared(
    source: Source, *, filing: Filing, scope: Scope, library: Library, reader: FileReader, watch: Watch = unwatched
) -> Callable[[], AddedDocument]:
    """Read a file; what is returned makes it current. Nothing is changed before that."""
    source = Source(source.data, safe_name(source.name))
    if filing.replaces is None and (entry := library.same(source, subject=filing.subject, scope=scope)) is not None:
        if filing.chunking is None or filing.chunking == entry.chunking:
            return partial(refiled, entry, filing=filing, scope=scope, library=library)
        filing = replace(filing, replaces=entry.id)  # the same bytes, to be cut otherwise
    check_embedder(library, reader.embedder.fingerprint)
    reading = reader.read(source, chunking=filing.chunking, watch=watch)

    def store() -> AddedDocument:
        watch(Step("storing"))
        started = time.perf_counter()
        entry = library.add(source, reading, filing=filing, scope=scope)
        indexing_ms = (time.perf_counter() - started) * 1000
        return AddedDocument(entry, was_there=False, embedding_ms=reading.embedding_ms, indexing_ms=indexing_ms)

    return store


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file of several: added, or an error that says what to do."""

    path: Path
    added: AddedDocument | None
    error: CitewellError | None


def add_files(
    paths: Iterable[Path],
    *,
    filing: Filing,
    scope: Scope,
    library: Library,
    reader: FileReader,
    watch: Callable[[Path, Step], None] | None = None,
) -> Generator[FileOutcome]:
    """Add many files, some read while others are stored; one that cannot be read does not stop the others."""

    def prepare(path: Path, reader: FileReader) -> Callable[[], AddedDocument]:
        return prepared(
            read_source(path, reader.limits.max_bytes),
            filing=filing,
            scope=scope,
            library=library,
            reader=reader,
            watch=unwatched if watch is None else partial(watch, path),
        )

    files = list(paths)
    made: set[str] = set()
    works = (Work(size_of(path), partial(prepare, path)) for path in files)
    with closing(in_turn(reader, works)) as reading:
        for path, ready in zip(files, reading, strict=True):
            try:
                added = ready.result()()
                is_twin = added.entry.id in made  # read beside its twin, before that was stored
                made.add(added.entry.id)
                yield FileOutcome(path, replace(added, was_there=added.was_there or is_twin), None)
            except InputError as error:
                yield FileOutcome(path, None, error)
            except LibraryError as error:  # the rest would meet the same
                yield FileOutcome(path, None, error)
                return


@dataclass(frozen=True, slots=True)
class Work(Generic[T]):
    """A file to be read, and how large it is."""

    size_bytes: int
    do: Callable[[FileReader], T]


def in_turn(reader: FileReader, works: Iterable[Work[T]]) -> Generator[Future[T]]:
    """Do several at a time, so that some are cut or stored while others are embedded; results in the order given.

    What is read at the same time is embedded together: each work is given a reader that does so. Who closes it before
    the end waits for nothing but what cannot be left half-way.
    """
    rest = enumerate(works)
    with BatchingEmbedder(reader.embedder) as embedder, ThreadPoolExecutor(AT_ONCE, "citewell-reading") as workers:
        room = MemoryReservations(at_once=PARSED_AT_ONCE, max_characters=AT_ONCE_CHARACTERS, go_on=embedder.go_on)
        together = replace(reader, embedder=embedder)

        def begun(number: int, work: Work[T]) -> Future[T]:
            mine = replace(together, parsing=room.place(number), hold=partial(room.hold, number))
            return workers.submit(work.do, mine)

        waiting: deque[tuple[int, int, Future[T]]] = deque()
        try:
            while True:
                while len(waiting) < 2 or (
                    len(waiting) < AT_ONCE and sum(size for _, size, _ in waiting) < AT_ONCE_BYTES
                ):
                    if (numbered := next(rest, None)) is None:
                        break
                    number, work = numbered
                    waiting.append((number, work.size_bytes, begun(number, work)))
                if not waiting:
                    return
                number, _, future = waiting.popleft()
                yield future
                room.leave(number)
        finally:
            embedder.stop()
            room.stop()
            workers.shutdown(cancel_futures=True)


def refiled(entry: LibraryEntry, *, filing: Filing, scope: Scope, library: Library) -> AddedDocument:
    """A document that is there already, with the tags and journeys that are said now."""
    tags_differ = filing.tags is not None and filing.tags != frozenset(entry.tags)
    journeys_differ = filing.journeys is not None and filing.journeys != frozenset(entry.journeys)
    if not tags_differ and not journeys_differ:
        return AddedDocument(entry, was_there=True)
    return AddedDocument(library.refile(entry.id, filing=filing, scope=scope), was_there=True, was_refiled=True)


def check_embedder(library: Library, fingerprint: str) -> None:
    """Refuse to mix the vectors of two embedders, before any work is done."""
    known = library.embedder()
    if known is not None and known != fingerprint:
        raise EmbedderMismatch(
            f"This library was indexed with {known}, not {fingerprint}. Run `citewell evidence reingest` to index it "
            "again, or restore the previous embedding model if you changed it."
        )


def reindex(*, library: Library, reader: FileReader, progress: Callable[[str, Step], None]) -> int:
    """Cut and embed every document anew beside the old vectors, then switch over at once; says how many.

    The old vectors answer until the switch. Stopped half-way, the next call goes on where this one was.
    """
    fingerprint = reader.embedder.fingerprint
    while True:
        works = (
            Work(len(document.text), partial(_anew, document_id, document, chunking, partial(progress, document.title)))
            for document_id, document, chunking in library.readings(fingerprint)
        )
        with closing(in_turn(reader, works)) as anew:
            for ready in anew:
                ready.result()(library)
        if (count := library.switch(fingerprint)) is not None:
            return count


def _anew(
    document_id: str, document: Document, chunking: Chunking | None, watch: Watch, reader: FileReader
) -> Callable[[Library], None]:
    """Embed a document again; what is returned stores that beside the vectors in use."""
    reading = reader.embedded(document, chunking=chunking, watch=watch)

    def store(library: Library) -> None:
        watch(Step("storing"))
        library.regenerate(document_id, reading)

    return store
