"""build(settings) -> App: the only place where ports meet adapters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from citewell.adapters.store.library import SqlLibrary
from citewell.answer.stream import Done
from citewell.config import Settings
from citewell.errors import CitewellError, InputError, LibraryError, LibraryReadOnly, NotFound, TooLarge
from citewell.types import Answer, Check, Chunk, Document, Entry, Filing, Hit, Message, Scope, Source, Span, source_id

if TYPE_CHECKING:
    from citewell.adapters.index.exact import ExactIndex
    from citewell.adapters.store.people import SqlPeople
    from citewell.answer.expand import Expansion
    from citewell.answer.retrieve import Search
    from citewell.answer.stream import Event
    from citewell.assistants.knowledge import Knowledge
    from citewell.clinical import Lexicon
    from citewell.ingest.library import Added
    from citewell.ingest.read import Reader, Step
    from citewell.ingest.worker import Worker
    from citewell.ports import Embedder, Verification, Writer

LIBRARY_FILE = "library.sqlite"


@dataclass(frozen=True, slots=True)
class Results:
    """What a search found, and how."""

    question: str
    hits: tuple[Hit, ...]
    expansions: tuple[Expansion, ...]
    took_ms: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file of several: added, or an error that says what to do."""

    path: Path
    added: Added | None
    error: CitewellError | None


class App:
    """An open library, with everything that can be done to it. Parts are loaded when first needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        _make_home(settings.home)
        self.library = SqlLibrary(_private(settings.home / LIBRARY_FILE))

    def __enter__(self) -> App:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the worker and give back the files."""
        if "worker" in self.__dict__:
            self.worker.stop()
        self.library.close()

    # ------------------------------------------------------------------------------------------------------ parts

    @cached_property
    def embedder(self) -> Embedder:
        """What the settings ask for."""
        return _embedder(self.settings)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The clinical words."""
        from citewell.clinical import Lexicon

        return Lexicon.load()

    @cached_property
    def index(self) -> ExactIndex:
        """The index in memory."""
        from citewell.adapters.index.exact import ExactIndex

        return ExactIndex(self.library)

    @cached_property
    def reader(self) -> Reader:
        """What reads files."""
        from citewell.adapters.embedding.tokenizer import WordPiece
        from citewell.adapters.parsers import all_parsers
        from citewell.ingest.read import Reader

        return Reader(all_parsers(), WordPiece.load(), self.embedder, self.settings.limits)

    @cached_property
    def worker(self) -> Worker:
        """What works through the queue; start it yourself."""
        from citewell.ingest.worker import Worker

        return Worker(self.library, self.reader)

    @cached_property
    def _search(self) -> Search:
        from citewell.answer.retrieve import Search

        return Search(self.library, self.index, self.embedder, self.lexicon)

    @cached_property
    def people(self) -> SqlPeople:
        """Users, and who owns which tag."""
        from citewell.adapters.store.people import SqlPeople

        return SqlPeople(self.library.engine, self.library.path)

    @cached_property
    def writer(self) -> Writer:
        """Who writes answers: verbatim sentences, or the model in the settings."""
        return _writer(self.settings, self.embedder, self.lexicon)

    @cached_property
    def knowledge(self) -> Knowledge:
        """The assistant for a tenant's documents."""
        from citewell.answer.finish import Policy
        from citewell.answer.verify_score import calibrated
        from citewell.assistants.knowledge import Knowledge, Limits

        chosen = self.settings
        return Knowledge(
            search=self._search,
            writer=self.writer,
            verify=self.verify_sentence,
            calibrate=lambda claims, _context: calibrated([claim.check for claim in claims]),
            owners=self.people,
            admin_email=chosen.admin_email,
            policy=Policy(threshold=chosen.confidence_threshold),
            limits=Limits(chosen.context_chunks, chosen.max_context_tokens, chosen.max_history_tokens),
        )

    def scope(
        self, *, tags: Iterable[str] | None = None, journey: str | None = None, subject: str | None = None
    ) -> Scope:
        """The scope of the person at this machine: all tags unless some are named; universal documents only
        unless a journey is."""
        owner = self.scope_of_owner()
        return Scope(owner.tenant, owner.tags if tags is None else frozenset(tags), journey, subject)

    def scope_of_owner(self) -> Scope:
        """All that this library's tenant has: for the person who keeps it."""
        return Scope.owner(self.settings.tenant)

    # --------------------------------------------------------------------------------------------------- changing

    def add(
        self, path: Path | str, *, filing: Filing | None = None, watch: Callable[[Step], None] | None = None
    ) -> Added:
        """Read a file and make it current."""
        return self.add_source(read_source(Path(path), self.settings.limits.max_bytes), filing=filing, watch=watch)

    def add_source(
        self, source: Source, *, filing: Filing | None = None, watch: Callable[[Step], None] | None = None
    ) -> Added:
        """Make bytes current that are in memory already."""
        from citewell.ingest.library import add, unwatched

        return add(
            source,
            filing=filing or Filing(),
            scope=self.scope_of_owner(),
            library=self.library,
            reader=self.reader,
            watch=watch or unwatched,
        )

    def add_all(
        self,
        paths: Iterable[Path],
        *,
        filing: Filing | None = None,
        watch: Callable[[Path, Step], None] | None = None,
    ) -> Iterator[Outcome]:
        """Add many files; one that cannot be read does not stop the others."""
        for path in paths:
            try:
                step = None if watch is None else _bound(watch, path)
                yield Outcome(path, self.add(path, filing=filing, watch=step), None)
            except InputError as error:
                yield Outcome(path, None, error)
            except LibraryError as error:  # the rest would meet the same
                yield Outcome(path, None, error)
                return

    def refile(self, document_id: str, filing: Filing) -> Entry:
        """Change tags and journeys of a document; nothing is embedded again."""
        return self.library.refile(document_id, filing=filing, scope=self.scope_of_owner())

    def delete(self, document_id: str) -> list[Entry]:
        """Erase all versions of a document."""
        return self.library.erase(document_id, self.scope_of_owner())

    def reindex(self, progress: Callable[[str, Step], None] | None = None) -> int:
        """Cut and embed everything anew; says how many documents."""
        from citewell.ingest.library import reindex

        return reindex(library=self.library, reader=self.reader, progress=progress or (lambda _title, _step: None))

    # ---------------------------------------------------------------------------------------------------- reading

    def search(self, question: str, *, scope: Scope | None = None, limit: int = 10) -> Results:
        """The passages nearest to a question."""
        from citewell.answer.retrieve import retrieve

        started = time.perf_counter()
        found = retrieve(question, scope=scope or self.scope(), search=self._search, limit=limit)
        took_ms = (time.perf_counter() - started) * 1000
        return Results(question, found.hits, found.expansions, took_ms)

    def ask(self, question: str, *, scope: Scope | None = None, history: Sequence[Message] = ()) -> Answer:
        """One question, one checked answer from the knowledge assistant."""
        *_, last = self.ask_stream(question, scope=scope, history=history)
        assert isinstance(last, Done)
        return last.answer

    def ask_stream(
        self, question: str, *, scope: Scope | None = None, history: Sequence[Message] = ()
    ) -> Iterator[Event]:
        """The same, sentence by sentence; the last event holds the answer."""
        return self.knowledge.ask(question, scope=scope or self.scope(), history=history)

    def verify_sentence(self, sentence: str, spans: Sequence[Span]) -> Check:
        """Hold one sentence against the words that it cites."""
        from citewell.answer.verify import verify

        return verify(sentence, spans, lexicon=self.lexicon, similarity=self._similarity)

    def _similarity(self, sentence: str, parts: Sequence[Span]) -> list[float]:
        vectors = self.embedder.embed([sentence, *(part.text for part in parts)])
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]

    def check(
        self, text: str, *, against: str | None = None, evidence: str | None = None, scope: Scope | None = None
    ) -> list[tuple[str, Check]]:
        """Check any text, sentence by sentence: against the library, one document, or words given with it."""
        from citewell.answer.check import check

        scope = scope or self.scope()
        spans: list[Span] | None = None
        if evidence is not None:
            spans = [Span("given", 0, len(evidence), evidence)]
        elif against is not None:
            chunks = self.show(against, scope)[2]
            spans = [Span(source_id(against, one.index), one.start, one.end, one.text) for one in chunks]

        def find(sentence: str) -> list[Span]:
            if spans is not None:
                return spans
            hits = self.search(sentence, scope=scope, limit=self.settings.context_chunks).hits
            return [Span(hit.source_id, hit.start, hit.end, hit.text) for hit in hits]

        return check(text, find=find, verify=self.verify_sentence)

    def entries(self, scope: Scope | None = None) -> list[Entry]:
        """Every document version, newest first."""
        return self.library.entries(scope or self.scope_of_owner())

    def show(self, document_id: str, scope: Scope | None = None) -> tuple[Entry, Document, tuple[Chunk, ...]]:
        """A document with its text and passages."""
        return self.library.opened(document_id, scope or self.scope_of_owner())

    def find(self, prefix: str) -> str:
        """The full id that starts with these characters."""
        found = {entry.id for entry in self.entries() if entry.id.startswith(prefix.lower())} if prefix else set()
        if len(found) > 1:
            raise InputError(f"{len(found)} documents have ids that start with these characters: give more of them.")
        if not found:
            raise NotFound("There is no such document here. `citewell list` shows the ids.")
        return found.pop()

    def page_image(self, document_id: str, number: int, *, width_px: int, scope: Scope | None = None) -> bytes:
        """A page of a PDF as PNG."""
        from citewell.adapters.parsers.pdf_image import render_page

        source = self.library.original(document_id, scope or self.scope_of_owner())
        return render_page(source.data, number, width_px=width_px)

    def verify(self) -> Verification:
        """Prove that text, chunks and vectors agree."""
        return self.library.verify()


def build(settings: Settings) -> App:
    """Open the library that the settings name, made where there is none."""
    return App(settings)


def open_library(home: Path | str | None = None) -> App:
    """Open a library by its folder, or the one that the environment names."""
    return build(Settings() if home is None else Settings(home=Path(home)))


def read_source(path: Path, max_bytes: int) -> Source:
    """The bytes of a file, unless it is too large to read."""
    try:
        if not path.is_file():
            raise InputError(f"There is no file at {path}.")
        if path.stat().st_size > max_bytes:
            raise TooLarge(
                f"{path.name} has {path.stat().st_size / 1_048_576:,.0f} MiB and the limit is "
                f"{max_bytes / 1_048_576:,.0f}. Split it, or raise CITEWELL_MAX_FILE_MB."
            )
        return Source(path.read_bytes(), path.name)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def _embedder(settings: Settings) -> Embedder:
    """The built-in model, or a server that the person has named."""
    if settings.embedder == "minilm":
        from citewell.adapters.embedding.minilm import MiniLM

        return MiniLM(settings.home / "cache", backend=settings.embedder_backend)
    if settings.embedder_model is None:
        raise InputError(f"CITEWELL_EMBEDDER is {settings.embedder}: name its model in CITEWELL_EMBEDDER_MODEL too.")
    if settings.embedder == "openai":
        from citewell.adapters.embedding.openai import OpenAIEmbedder

        key = settings.embedder_key.get_secret_value() if settings.embedder_key else None
        return OpenAIEmbedder(settings.embedder_model, url=settings.embedder_url, key=key)
    from citewell.adapters.embedding.ollama import OllamaEmbedder

    return OllamaEmbedder(settings.embedder_model, url=settings.embedder_url)


def _writer(settings: Settings, embedder: Embedder, lexicon: Lexicon) -> Writer:
    """The extractive writer, or a model behind a server."""
    if settings.model == "extractive":
        from citewell.adapters.llm.extractive import Embedded, Extractive

        return Extractive(Embedded(embedder), lexicon)
    from citewell.adapters.llm import make_model
    from citewell.answer.generate import ModelWriter
    from citewell.assistants.knowledge import RATING

    key = settings.model_key.get_secret_value() if settings.model_key else None
    model = make_model(
        settings.model,
        url=settings.model_url,
        key=key,
        timeout_s=settings.model_timeout_s,
        allowed=settings.allowed_models,
    )
    limits = model.limits
    return ModelWriter(model, window=limits.context_window, reply=limits.max_reply_tokens, rating=RATING)


def _make_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LibraryReadOnly(
            f"The folder {home} cannot be made ({error.strerror}). Choose another with --home or CITEWELL_HOME."
        ) from error


def _private(path: Path) -> Path:
    """The library's file, made readable by its owner alone; what SQLite puts beside it gets the same mode."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    return path


def _bound(watch: Callable[[Path, Step], None], path: Path) -> Callable[[Step], None]:
    return lambda step: watch(path, step)
