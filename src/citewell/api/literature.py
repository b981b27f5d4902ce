"""The literature for a visitor: added through the queue, under tags that are theirs to give."""

from __future__ import annotations

from collections.abc import Iterable

from citewell.api import document_changes
from citewell.api.bodies.literature import SaveQueryRequest
from citewell.api.document_changes import who
from citewell.api.server_state import ServerState
from citewell.api.uploads import ADDED_BY
from citewell.api.visitor import Visitor
from citewell.operations.literature import Literature
from citewell.types import Filing
from citewell.types.literature import SavedQuery


def literature(site: ServerState, visitor: Visitor) -> Literature:
    """The literature as a visitor may see and change it; close it afterwards."""
    return Literature(
        site.app,
        scope=visitor.whole,
        put=lambda source, filing: document_changes.queue(site, source, filing, visitor),
    )


def filing(site: ServerState, visitor: Visitor, tags: Iterable[str] | None, journeys: Iterable[str] | None) -> Filing:
    """Where articles belong; what is not the visitor's to file is refused before anything is fetched."""
    wanted = visitor.filed(frozenset(tags) if tags else None, before=None)
    known = site.app.journeys.known(journeys, visitor.whole) if journeys else None
    return Filing(tags=wanted, journeys=known, added_by=visitor.email or ADDED_BY)


def save(site: ServerState, visitor: Visitor, asked: SaveQueryRequest) -> SavedQuery:
    """Keep a query and let it run; what it brings is filed as said."""
    filed = filing(site, visitor, asked.tags, asked.journeys)
    with literature(site, visitor) as fetching:
        source = fetching.source(asked.source).name
    where = (tuple(sorted(filed.tags or ())), tuple(sorted(filed.journeys or ())))
    query = SavedQuery(visitor.tenant, asked.name, source, asked.query, asked.most, *where, who(visitor))
    site.app.literature.save(query)
    site.literature.look_soon()
    return query


def run(site: ServerState, visitor: Visitor, name: str) -> None:
    """Let a saved query run now, beside other work."""
    site.app.literature.make_due(site.app.literature.one(visitor.tenant, name))
    site.literature.look_soon()
