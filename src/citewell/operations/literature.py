"""The literature in: articles by their ID into the library, each whole or not at all."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Literal, Self

from citewell.adapters.literature.clients import EuropePmc, LiteratureSource, PubMed, Zotero, parts
from citewell.adapters.literature.records import jats
from citewell.adapters.literature.reference_files import references_in
from citewell.adapters.parsers.nxml import ABSTRACT_ONLY
from citewell.adapters.parsers.sandbox import apart_parsers
from citewell.adapters.store.literature import KnownArticle
from citewell.app import App
from citewell.config import Settings
from citewell.errors import CitewellError, DoesNotFit, EmptyFile, InputError, LibraryError, NotFound, Unavailable
from citewell.ingest.library_changes import AddedDocument
from citewell.ingest.parse import parse
from citewell.ingest.worker import reason
from citewell.types import Filing, LibraryEntry, LifecycleState, Scope, Source
from citewell.types.hashed_ids import logged
from citewell.types.literature import (
    Article,
    ArticleId,
    CitedNotice,
    NewDocument,
    Notice,
    QueryRun,
    SavedQuery,
    SearchedArticles,
)

log = logging.getLogger(__name__)

FIRST_LOOK_S, LOOK_EVERY_S = 5.0, 60.0
AGAIN = timedelta(hours=1)
"""When a query is run again that could not be run, or whose process stopped."""
NEVER = datetime.min  # noqa: DTZ901 - as a column holds it
OFF = (
    "Fetching literature is switched off, so nothing was contacted. An administrator can allow it with "
    'CITEWELL_LITERATURE=\'["pubmed", "europepmc"]\'.'
)
NOT_ALLOWED = "{name} is not among the sources that CITEWELL_LITERATURE allows."
NOTHING_TO_READ = "There is neither an abstract nor an open-access full text, so there is nothing to add."
NOT_TRIED = "Not tried, because the server stopped responding. Run the same command again to continue."
SILENT_ARTICLES = 3
"""After so many articles in a row whose server did not respond, the others are not tried."""
AT_ONCE = 100

State = Literal["added", "changed", "unchanged", "known", "failed"]
Put = Callable[[Source, Filing], AddedDocument]
"""Takes a file into the library, or into its queue."""


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What became of one article."""

    asked: str
    """The ID, or the title where there is none."""
    state: State
    detail: str
    document_id: str | None = None
    title: str | None = None
    is_full_text: bool | None = None
    notices: tuple[Notice, ...] = ()
    error: CitewellError | None = None

    @classmethod
    def failed(cls, asked: str, error: CitewellError) -> ImportOutcome:
        return cls(asked, "failed", str(error), error=error)

    @property
    def said(self) -> tuple[str, ...]:
        """What was published about it since."""
        notices = (CitedNotice.of(self.document_id or "", self.title or self.asked, one) for one in self.notices)
        return tuple(notice.text for notice in notices)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What is new about an article that was looked at again."""

    document_id: str
    title: str
    new: tuple[CitedNotice, ...]
    error: CitewellError | None = None


def outcome_json(outcome: ImportOutcome) -> dict[str, Any]:
    """What became of one article, as programs read it."""
    shown = {name: value for name, value in asdict(outcome).items() if name != "error"}
    return {**shown, "kind": type(outcome.error).__name__ if outcome.error else None}


def outcomes_json(outcomes: Iterable[ImportOutcome]) -> dict[str, Any]:
    """What became of each article."""
    articles = [outcome_json(outcome) for outcome in outcomes]
    return {"articles": articles, "failed": sum(one["state"] == "failed" for one in articles)}


def article_json(article: Article, here: KnownArticle | None) -> dict[str, Any]:
    """An article as a list shows it, and the document that it is already."""
    return {
        "id": article.ids[0].label if article.ids else None,
        "title": article.title,
        "authors": list(article.authors),
        "journal": article.journal,
        "published": article.published,
        "pmid": article.pmid,
        "pmcid": article.pmcid,
        "doi": article.doi,
        "notices": [asdict(notice) for notice in article.notices],
        "document_id": here.document_id if here else None,
    }


class Literature:
    """Fetches articles for a scope, from the sources that the settings allow; without one, looks at all tenants'."""

    def __init__(self, app: App, *, scope: Scope | None, put: Put | None = None) -> None:
        self._app, self._scope, self._put = app, scope, put
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @cached_property
    def sources(self) -> tuple[LiteratureSource, ...]:
        """The indexes that may be asked, in the order of the settings."""
        allowed = tuple(make_sources(self._app.settings))
        for source in allowed:
            self._open.callback(source.close)
        if not allowed:
            raise DoesNotFit(OFF)
        return allowed

    def source(self, name: str | None) -> LiteratureSource:
        """One of them by its name; the first unless one is named."""
        found = next((source for source in self.sources if name in (None, source.name)), None)
        if found is None:
            raise DoesNotFit(NOT_ALLOWED.format(name=name))
        return found

    @property
    def _is_allowed(self) -> bool:
        """Whether any index may be asked."""
        return any(name != "zotero" for name in self._app.settings.literature)

    # ------------------------------------------------------------------------------------------------------- articles

    def add(self, asked: Iterable[str], *, filing: Filing, is_fresh: bool = False) -> Iterator[ImportOutcome]:
        """Articles by PMID, PMCID or DOI; what is here already is left alone unless it is to be fetched afresh."""
        ids: list[ArticleId] = []
        for text in dict.fromkeys(one.strip() for one in asked):
            try:
                ids.append(ArticleId.parse(text))
            except InputError as error:
                yield ImportOutcome.failed(text, error)
        ids, known = list(dict.fromkeys(ids)), self._known()
        there = [] if is_fresh else [one for one in ids if one in known]
        yield from (_known_outcome(one.label, known[one]) for one in there)
        left = [one for one in ids if one not in there]
        found = ((one.label, article) for some in parts(left, AT_ONCE) for one, article in self._found(some).items())
        yield from self._taken_each(found, filing, known)

    def add_articles(
        self, articles: Iterable[Article], *, filing: Filing, is_fresh: bool = False
    ) -> Iterator[ImportOutcome]:
        """Articles whose record is here already."""
        known, new = self._known(), []
        for article in articles:
            there = None if is_fresh else next((known[one] for one in article.ids if one in known), None)
            if there is None:
                new.append((_label(article), article))
            else:
                yield _known_outcome(_label(article), there)
        yield from self._taken_each(new, filing, known)

    def add_references(
        self, found: Iterable[tuple[int, Article | InputError]], *, filing: Filing
    ) -> Iterator[ImportOutcome]:
        """The references of a file: what the sources know of them, where they may be asked, else what the file says."""
        known, new = self._known(), []
        for number, article in found:
            if isinstance(article, InputError):
                yield ImportOutcome.failed(f"Reference {number}", article)
            elif there := next((known[one] for one in article.ids if one in known), None):
                yield _known_outcome(_label(article), there)
            else:
                new.append(article)
        yield from self._taken_each(((_label(one), told) for one, told in self._as_indexed(new)), filing, known)

    def add_files(self, sources: Iterable[Source], *, filing: Filing) -> Iterator[ImportOutcome]:
        """The references of files; one that holds none does not stop the others."""
        for source in sources:
            try:
                yield from self.add_references(references_in(source), filing=filing)
            except InputError as error:
                yield ImportOutcome.failed(source.name, error)

    def _as_indexed(self, articles: Sequence[Article]) -> Iterator[tuple[Article, Article | CitewellError]]:
        """Each article as the sources know it; one whose source does not respond waits."""
        for some in parts(articles, AT_ONCE):
            ids = list(dict.fromkeys(article.ids[0] for article in some if article.ids))
            indexed = self._found(ids) if ids and self._is_allowed else {}
            for article in some:
                told = indexed.get(article.ids[0]) if article.ids else None
                if isinstance(told, Article):
                    told = replace(told.with_ids_of(article), abstract=told.abstract or article.abstract)
                yield article, told if isinstance(told, Article | Unavailable) else article

    def _taken_each(
        self,
        found: Iterable[tuple[str, Article | CitewellError]],
        filing: Filing,
        known: dict[ArticleId, KnownArticle],
    ) -> Iterator[ImportOutcome]:
        """Take in one after the other, as long as somebody responds."""
        silent = 0
        for label, article in found:
            if silent >= SILENT_ARTICLES:
                yield ImportOutcome.failed(label, Unavailable(NOT_TRIED))
                continue
            outcome = self._taken(label, article, filing, known)
            silent = silent + 1 if isinstance(outcome.error, Unavailable) else 0
            yield outcome

    def check(self, *, before: datetime | None = None) -> Iterator[CheckOutcome]:
        """Look again for what was published about the articles here; of those that were looked at before a moment."""
        due = [
            one
            for one in self._app.literature.known(self._scope)
            if one.state is LifecycleState.COMPLETED and (before is None or (one.checked_at or NEVER) < before)
        ]
        by_id = {one.ids[0]: one for one in due}
        for some in parts(list(by_id), AT_ONCE):
            outcomes = [self._checked(by_id[one], article) for one, article in self._found(some).items()]
            yield from outcomes
            if sum(isinstance(outcome.error, Unavailable) for outcome in outcomes) >= SILENT_ARTICLES:
                return

    def _checked(self, known: KnownArticle, article: Article | CitewellError) -> CheckOutcome:
        if isinstance(article, CitewellError) and not isinstance(article, NotFound):
            return CheckOutcome(known.document_id, known.title, (), article)
        notices = article.notices if isinstance(article, Article) else known.notices
        self._app.literature.note(known.tenant, known.lineage, notices)
        new = tuple(CitedNotice.of(known.document_id, known.title, one) for one in notices if one not in known.notices)
        return CheckOutcome(known.document_id, known.title, new)

    def search(self, query: str, *, source: str | None = None, limit: int) -> SearchedArticles:
        """The newest articles that a query finds; nothing is added."""
        if not query.strip():
            raise InputError("Enter a query first.")
        return self.source(source).search(query.strip(), limit=limit)

    def run(self, saved: SavedQuery) -> Generator[ImportOutcome]:
        """Run a saved query: what it has not brought before comes in; what is done is kept, however it ends."""
        store, at = self._app.literature, datetime.now(UTC)
        pause = timedelta(hours=self._app.settings.literature_hours)
        seen = set(store.seen(saved))
        filing = Filing(
            tags=frozenset(saved.tags) or None, journeys=frozenset(saved.journeys) or None, added_by=saved.saved_by
        )
        done: list[ImportOutcome] = []
        total, error = 0, None
        try:
            found = self.search(saved.query, source=saved.source, limit=saved.most)
            total = found.total
            new = [article for article in found.articles if seen.isdisjoint(_marks(article))]
            for article, outcome in zip(new, self.add_articles(new, filing=filing), strict=True):
                done.append(outcome)
                if not isinstance(outcome.error, Unavailable):
                    seen.update(_marks(article))
                yield outcome
        except CitewellError as problem:
            error, pause = str(problem), min(pause, AGAIN)
            raise
        finally:
            added = [one for one in done if one.state in ("added", "changed") and one.document_id]
            brought = tuple(NewDocument(one.document_id or "", one.title or "") for one in added)
            failed = tuple((one.asked, one.detail) for one in done if one.error is not None)
            store.ran(saved, QueryRun(at, total, brought, failed, error), seen, pause=pause)

    def known(self, articles: Iterable[Article]) -> dict[Article, KnownArticle]:
        """The documents that articles are already."""
        known = self._known()
        return {article: known[one] for article in articles for one in reversed(article.ids) if one in known}

    def zotero(self, library: str, collection: str | None = None) -> Iterator[tuple[int, Article | InputError]]:
        """The references of a library of Zotero's web API, such as users/123."""
        settings = self._app.settings
        if "zotero" not in settings.literature:
            raise DoesNotFit(NOT_ALLOWED.format(name="zotero"))
        key = settings.zotero_key.get_secret_value() if settings.zotero_key else None
        client = Zotero(settings.zotero_url, key=key, max_bytes=settings.limits.max_bytes)
        self._open.callback(client.close)
        return client.references(library, collection)

    # --------------------------------------------------------------------------------------------------------- inside

    def _known(self) -> dict[ArticleId, KnownArticle]:
        return {one: article for article in self._app.literature.known(self._scope) for one in article.ids}

    def _found(self, ids: Sequence[ArticleId]) -> dict[ArticleId, Article | CitewellError]:
        """What the sources say of IDs: each asked only for what those before it do not have."""
        found: dict[ArticleId, Article | CitewellError] = {}
        for source in self.sources:
            left = [one for one in ids if not isinstance(found.get(one), Article)]
            for one, article in source.articles(left).items() if left else ():
                if isinstance(article, Article) or not isinstance(found.get(one), Unavailable):
                    found[one] = article
        return {one: found[one] for one in ids}

    def _taken(
        self, label: str, article: Article | CitewellError, filing: Filing, known: dict[ArticleId, KnownArticle]
    ) -> ImportOutcome:
        """Take one article in; what goes wrong concerns it alone, unless the library itself cannot be written."""
        if isinstance(article, CitewellError):
            return ImportOutcome.failed(label, article)
        try:
            return self._stored(label, article, filing, known)
        except LibraryError:
            raise
        except CitewellError as error:
            return ImportOutcome.failed(label, error)

    def _stored(
        self, label: str, article: Article, filing: Filing, known: dict[ArticleId, KnownArticle]
    ) -> ImportOutcome:
        before = next((known[one] for one in article.ids if one in known), None)
        text, problem = self._full_text(article)
        if text is None and not article.abstract:
            off = "" if self._is_allowed else f" {OFF}"
            raise problem or EmptyFile(NOTHING_TO_READ + off)
        source, is_whole = Source(text or jats(article), article.name), text is not None
        if before is not None:
            self._app.literature.note(before.tenant, before.lineage, article.notices)
            if kept := self._kept(before, source, problem, is_whole=is_whole):
                return ImportOutcome(label, "unchanged", kept, before.document_id, before.title, None, article.notices)
            filing = replace(filing, replaces=before.document_id)
        else:
            filing = replace(filing, title=article.title or None)
        assert self._put is not None
        added = self._put(source, filing)
        self._app.literature.note(added.entry.tenant, added.entry.lineage, article.notices)
        known.update(dict.fromkeys(article.ids, _known_as(added.entry, article)))
        state: State = "known" if added.was_there else "added" if before is None else "changed"
        why = "The full text is not open access." if self._is_allowed else "Nothing was fetched."
        told = "Full text." if is_whole else f"Abstract only. {problem or why}"
        return ImportOutcome(label, state, told, added.document_id, article.title, is_whole, article.notices)

    def _full_text(self, article: Article) -> tuple[bytes | None, CitewellError | None]:
        """The full text of the first source that has it, and what went wrong where none gave it.

        Where one does not respond the article waits: an abstract would stand in the place of its text.
        """
        problem: CitewellError | None = None
        for source in self.sources if self._is_allowed else ():
            try:
                if (text := source.full_text(article)) is not None:
                    return text, None
            except CitewellError as error:
                problem = error if not isinstance(problem, Unavailable) else problem
        if isinstance(problem, Unavailable):
            raise problem
        return None, problem

    def _kept(
        self, before: KnownArticle, source: Source, problem: CitewellError | None, *, is_whole: bool
    ) -> str | None:
        """Why the version that is here stays; None where another text takes its place."""
        if before.state is not LifecycleState.COMPLETED:
            return _known_outcome("", before).detail  # what is out of use is not brought back by itself
        entry, document, _ = self._app.library.opened(before.document_id, Scope.owner(before.tenant))
        if not is_whole and ABSTRACT_ONLY not in entry.notes:
            return f"The full text here was kept. {problem or 'Only the abstract is open access now.'}"
        read = parse(source, parsers=apart_parsers(), limits=self._app.settings.limits)
        return "Nothing has changed." if read.text == document.text else None


def make_sources(settings: Settings) -> Iterator[LiteratureSource]:
    """The indexes that the settings allow; nothing is sent yet."""
    max_bytes = settings.limits.max_bytes
    for name in settings.literature:
        if name == "pubmed":
            key = settings.pubmed_key.get_secret_value() if settings.pubmed_key else None
            yield PubMed(settings.pubmed_url, settings.pubmed_ids_url, key=key, max_bytes=max_bytes)
        elif name == "europepmc":
            yield EuropePmc(settings.europepmc_url, max_bytes=max_bytes)


def _label(article: Article) -> str:
    return article.ids[0].label if article.ids else article.title


def _marks(article: Article) -> set[str]:
    """What an article is remembered by: hashes, which say nothing of one that was erased."""
    known = [one.label for one in article.ids] or [article.title]
    return {hashlib.sha256(label.encode()).hexdigest()[:32] for label in known}


def _known_as(entry: LibraryEntry, article: Article) -> KnownArticle:
    return KnownArticle(
        entry.id, entry.tenant, entry.lineage, article.title, entry.state, article.ids, None, article.notices
    )


def _known_outcome(label: str, known: KnownArticle) -> ImportOutcome:
    words = {
        LifecycleState.COMPLETED: "Already in the library.",
        LifecycleState.WITHDRAWN: "In the library, but withdrawn. Restore it to use it.",
        LifecycleState.FAILED: "In the library, but it could not be read. Re-process it.",
    }
    told = words.get(known.state, "Already in the library, and still being processed.")
    return ImportOutcome(label, "known", told, known.document_id, known.title, None, known.notices)


# --------------------------------------------------------------------------------------------------------- on schedule


class LiteratureTimer:
    """Runs saved queries and looks for retractions when it is time; where nothing is allowed, never."""

    def __init__(self, app: App, nudge: Callable[[], object] = bool) -> None:
        self._app, self._nudge = app, nudge
        self._stopped, self._woken = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the clock beside everything else."""
        if self._app.settings.literature and self._thread is None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self.run, name="literature", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop watching; what is being fetched comes to its end."""
        self.end()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def end(self) -> None:
        """Stop watching soon."""
        self._stopped.set()
        self._woken.set()

    def look_soon(self) -> None:
        """Look now rather than at the next stroke."""
        self._woken.set()

    def run(self) -> None:
        """Watch the clock until told to stop."""
        self._woken.wait(FIRST_LOOK_S)
        while not self._stopped.is_set():
            self._woken.clear()
            try:
                self.look()
            except Exception as error:
                log.warning("literature: %s", reason(error))
            self._woken.wait(LOOK_EVERY_S)

    def look(self) -> None:
        """Do all that is due."""
        self._run_queries()
        self._check_again()

    def _run_queries(self) -> None:
        while not self._stopped.is_set() and (saved := self._app.literature.claim(AGAIN)) is not None:
            scope = Scope.owner(saved.tenant)
            # What goes wrong is kept with the query.
            with (
                Literature(self._app, scope=scope, put=partial(self._queued, scope)) as literature,
                suppress(CitewellError),
                closing(literature.run(saved)) as running,
            ):
                for _ in running:
                    if self._stopped.is_set():
                        break

    def _queued(self, scope: Scope, source: Source, filing: Filing) -> AddedDocument:
        entry = self._app.library.enqueue(source, filing=filing, scope=scope)
        self._nudge()
        return AddedDocument(entry, was_there=False)

    def _check_again(self) -> None:
        """Look for retractions of what was not looked at for long enough."""
        before = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=self._app.settings.literature_hours)
        with Literature(self._app, scope=None) as literature:
            for outcome in literature.check(before=before):
                if outcome.new:
                    log.warning("document %s: a retraction, doubt or correction is new", logged(outcome.document_id))
                if self._stopped.is_set():
                    return
