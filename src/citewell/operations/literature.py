"""The literature in: articles by their ID into the library, each whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import TracebackType
from typing import Any, Literal, Self

from citewell.adapters.literature.clients import EuropePmc, LiteratureSource, PubMed, parts
from citewell.adapters.literature.records import jats
from citewell.adapters.parsers.nxml import ABSTRACT_ONLY
from citewell.adapters.parsers.sandbox import apart_parsers
from citewell.adapters.store.literature import KnownArticle
from citewell.app import App
from citewell.config import Settings
from citewell.errors import CitewellError, DoesNotFit, EmptyFile, InputError, LibraryError, Unavailable
from citewell.ingest.library_changes import AddedDocument
from citewell.ingest.parse import parse
from citewell.types import Filing, LibraryEntry, LifecycleState, Scope, Source
from citewell.types.literature import Article, ArticleId, CitedNotice, Notice, SearchedArticles

OFF = (
    "Fetching literature is switched off, so nothing was contacted. An administrator can allow it with "
    'CITEWELL_LITERATURE=\'["pubmed", "europepmc"]\'.'
)
NOT_ALLOWED = "{name} is not among the sources that CITEWELL_LITERATURE allows."
NOTHING_TO_READ = "{label} has neither an abstract nor an open-access full text, so there is nothing to add."
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


def outcome_json(outcome: ImportOutcome) -> dict[str, Any]:
    """What became of one article, as programs read it."""
    shown = {name: value for name, value in asdict(outcome).items() if name != "error"}
    return {**shown, "kind": type(outcome.error).__name__ if outcome.error else None}


class Literature:
    """Fetches articles for one tenant, from the sources that the settings allow."""

    def __init__(self, app: App, *, scope: Scope, put: Put) -> None:
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
            label = article.ids[0].label if article.ids else article.title
            there = None if is_fresh else next((known[one] for one in article.ids if one in known), None)
            if there is None:
                new.append((label, article))
            else:
                yield _known_outcome(label, there)
        yield from self._taken_each(new, filing, known)

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

    def search(self, query: str, *, source: str | None = None, limit: int) -> SearchedArticles:
        """The newest articles that a query finds; nothing is added."""
        if not query.strip():
            raise InputError("Enter a query first.")
        return self.source(source).search(query.strip(), limit=limit)

    def known(self, article: Article) -> KnownArticle | None:
        """The document that an article is already."""
        known = self._known()
        return next((known[one] for one in article.ids if one in known), None)

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
            raise problem or EmptyFile(NOTHING_TO_READ.format(label=label))
        source, is_whole = Source(text or jats(article), article.name), text is not None
        if before is not None:
            self._app.literature.note(before.tenant, before.lineage, article.notices)
            if kept := self._kept(before, source, problem, is_whole=is_whole):
                return ImportOutcome(label, "unchanged", kept, before.document_id, before.title, None, article.notices)
            filing = replace(filing, replaces=before.document_id)
        added = self._put(source, filing)
        self._app.literature.note(self._scope.tenant, added.entry.lineage, article.notices)
        known.update(dict.fromkeys(article.ids, _known_as(added.entry, article)))
        state: State = "known" if added.was_there else "added" if before is None else "changed"
        told = "Full text." if is_whole else f"Abstract only. {problem or 'The full text is not open access.'}"
        return ImportOutcome(label, state, told, added.document_id, article.title, is_whole, article.notices)

    def _full_text(self, article: Article) -> tuple[bytes | None, CitewellError | None]:
        """The full text of the first source that has it, and what went wrong where none gave it.

        Where one does not respond the article waits: an abstract would stand in the place of its text.
        """
        problem: CitewellError | None = None
        for source in _allowed(self._app.settings, self):
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


def _allowed(settings: Settings, literature: Literature) -> Sequence[LiteratureSource]:
    return literature.sources if any(name != "zotero" for name in settings.literature) else ()


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
