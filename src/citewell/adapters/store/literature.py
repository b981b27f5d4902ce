"""The literature in SQL: which articles are here, what was published about them since, and saved queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, delete, insert, select, update

from citewell.adapters.store.access import visible
from citewell.adapters.store.clock import clock
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import documents, literature
from citewell.adapters.store.shelf import SqlShelf
from citewell.errors import InputError
from citewell.types import LifecycleState, Scope
from citewell.types.literature import ArticleId, Notice


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
        query = (
            select(documents, literature.c.checked_at, literature.c.notices)
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
                tuple(Notice(**notice) for notice in row.notices or ()),
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
