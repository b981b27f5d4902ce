"""The literature in SQL: which articles are here, what was published about them since, and saved queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from citewell.adapters.store.access import visible
from citewell.adapters.store.clock import clock
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.row_mapping import notices_of
from citewell.adapters.store.schema import documents, literature, literature_queries
from citewell.adapters.store.shelf import SqlShelf
from citewell.errors import InputError, NotFound
from citewell.types import LifecycleState, Scope
from citewell.types.literature import ArticleId, NewDocument, Notice, QueryRun, SavedQuery

NO_SUCH_QUERY = "Saved query not found. `citewell literature list` shows them."


@dataclass(frozen=True, slots=True)
class KnownArticle:
    """A document that is an article of the literature."""

    document_id: str
    tenant: str
    lineage: str
    title: str
    state: LifecycleState
    ids: tuple[ArticleId, ...]
    checked_at: datetime | None
    notices: tuple[Notice, ...]


class SqlLiterature(SqlShelf):
    """What the library knows of its articles beside their text."""

    def known(self, scope: Scope | None = None) -> list[KnownArticle]:
        """The articles that a scope may see, or all: the newest version of each, whatever has become of it."""
        columns = ("id", "tenant", "lineage", "title", "name", "state", "identifiers")
        query = (
            select(*(documents.c[name] for name in columns), literature.c.checked_at, literature.c.notices)
            .outerjoin(
                literature, and_(literature.c.tenant == documents.c.tenant, literature.c.lineage == documents.c.lineage)
            )
            .where(documents.c.subject.is_(None), documents.c.state != LifecycleState.SUPERSEDED.value)
            .order_by(documents.c.version)
        )
        if scope is not None:
            query = query.where(visible(scope))
        with reading(self.engine, self.path) as connection:
            rows = {(row.tenant, row.lineage): row for row in connection.execute(query)}
        return [
            KnownArticle(
                row.id,
                row.tenant,
                row.lineage,
                row.title,
                LifecycleState(row.state),
                ids,
                row.checked_at,
                notices_of(row.notices),
            )
            for row in rows.values()
            if (ids := tuple(article_ids(row.identifiers, row.name)))
        ]

    def note(self, tenant: str, lineage: str, notices: Sequence[Notice]) -> None:
        """Keep what was published about a document, as it is known now."""
        here = and_(literature.c.tenant == tenant, literature.c.lineage == lineage)
        with writing(self.engine, self.path) as connection:
            values = {"checked_at": clock(connection), "notices": [asdict(notice) for notice in notices]}
            if connection.execute(update(literature).where(here).values(**values)).rowcount == 0:
                connection.execute(insert(literature).values(tenant=tenant, lineage=lineage, **values))

    # ------------------------------------------------------------------------------------------------- saved queries

    def save(self, saved: SavedQuery) -> None:
        """Keep a query, which is due at once; one of this name gets these words, and what it brought before stays."""
        values = {
            "source": saved.source,
            "query": saved.query,
            "most": saved.most,
            "tags": list(saved.tags),
            "journeys": list(saved.journeys),
            "saved_by": saved.saved_by,
        }
        with writing(self.engine, self.path) as connection:
            values["due_at"] = clock(connection)
            if connection.execute(update(literature_queries).where(_named(saved)).values(**values)).rowcount == 0:
                new = {"tenant": saved.tenant, "name": saved.name, "outcome": {}, "seen": []}
                connection.execute(insert(literature_queries).values(**new, **values))

    def saved(self, tenant: str) -> list[SavedQuery]:
        """The queries of a tenant by name, with what their last runs brought that is still here."""
        query = select(literature_queries).where(literature_queries.c.tenant == tenant)
        with reading(self.engine, self.path) as connection:
            rows = connection.execute(query.order_by(literature_queries.c.name)).all()
            brought = [document_id for row in rows for document_id in row.outcome.get("new", ())]
            named = select(documents.c.id, documents.c.title).where(documents.c.tenant == tenant)
            found = connection.execute(named.where(documents.c.id.in_(brought)))
            titles = {row.id: row.title for row in found}
        return [_saved(row, titles) for row in rows]

    def one(self, tenant: str, name: str) -> SavedQuery:
        """A query by its name."""
        found = next((saved for saved in self.saved(tenant) if saved.name == name), None)
        if found is None:
            raise NotFound(NO_SUCH_QUERY)
        return found

    def remove(self, saved: SavedQuery) -> None:
        """Forget a query; what it brought stays."""
        with writing(self.engine, self.path) as connection:
            connection.execute(delete(literature_queries).where(_named(saved)))

    def make_due(self, saved: SavedQuery) -> None:
        """Let a query be run at the next look."""
        with writing(self.engine, self.path) as connection:
            connection.execute(update(literature_queries).where(_named(saved)).values(due_at=clock(connection)))

    def claim(self, pause: timedelta) -> SavedQuery | None:
        """A query that is due, for the one who asks first; should that one stop, it is due again after a pause."""
        with writing(self.engine, self.path) as connection:
            now = clock(connection)
            due = (
                select(literature_queries)
                .where(literature_queries.c.due_at <= now)
                .order_by(literature_queries.c.due_at)
                .limit(1)
            )
            row = connection.execute(due.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            saved = _saved(row, {})
            connection.execute(update(literature_queries).where(_named(saved)).values(due_at=now + pause))
            return saved

    def seen(self, saved: SavedQuery) -> frozenset[str]:
        """The articles that any run of a query has brought, or could not bring."""
        with reading(self.engine, self.path) as connection:
            return frozenset(connection.execute(select(literature_queries.c.seen).where(_named(saved))).scalar() or ())

    def ran(self, saved: SavedQuery, run: QueryRun, seen: Iterable[str], *, pause: timedelta) -> None:
        """Keep what a run brought, and when the next is due."""
        with writing(self.engine, self.path) as connection:
            now = clock(connection)
            brought = [new.document_id for new in run.new]  # without their titles, which go when a document is erased
            outcome = {**asdict(run), "at": run.at.isoformat(), "new": brought}
            values = {"ran_at": now, "due_at": now + pause, "outcome": outcome, "seen": sorted(seen)}
            connection.execute(update(literature_queries).where(_named(saved)).values(**values))


def _named(saved: SavedQuery) -> ColumnElement[bool]:
    return and_(literature_queries.c.tenant == saved.tenant, literature_queries.c.name == saved.name)


def _saved(row: Row[Any], titles: Mapping[str, str]) -> SavedQuery:
    told = row.outcome
    last = (
        QueryRun(
            datetime.fromisoformat(told["at"]),
            told["total"],
            tuple(NewDocument(one, titles[one]) for one in told["new"] if one in titles),
            tuple((asked, why) for asked, why in told["failed"]),
            told["error"],
        )
        if told
        else None
    )
    fields = (row.tenant, row.name, row.source, row.query, row.most, tuple(row.tags), tuple(row.journeys))
    return SavedQuery(*fields, row.saved_by, last)


def forget(connection: Connection, tenant: str, lineage: str) -> None:
    """Nothing of a document that is erased stays."""
    others = select(1).where(documents.c.tenant == tenant, documents.c.lineage == lineage)
    if connection.execute(others).first() is None:
        connection.execute(delete(literature).where(literature.c.tenant == tenant, literature.c.lineage == lineage))


def article_ids(identifiers: Iterable[Sequence[str]], name: str) -> Iterable[ArticleId]:
    """The IDs of an article in what a document says of itself; of one that is not read yet, in its name.

    >>> [one.label for one in article_ids([["pmc", "12"], ["isbn", "1"], ["doi", "10.1000/A"]], "x.nxml")]
    ['PMC12', 'DOI 10.1000/a']
    """
    for kind, value in identifiers:
        if kind in ("pmid", "pmc", "pmcid", "doi"):
            with suppress(InputError):
                yield ArticleId.parse(f"PMC{value}" if kind in ("pmc", "pmcid") and value.isdigit() else value)
    if not identifiers and name.endswith(".nxml"):
        with suppress(InputError):
            yield ArticleId.parse(name.removesuffix(".nxml"))
