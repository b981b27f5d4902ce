"""Whether one tenant has a library to itself."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, func, select

from citewell.adapters.store.engine import reading
from citewell.adapters.store.schema import documents, users


def tenants(engine: Engine, path: Path) -> frozenset[str]:
    """The first and the last by name of all that have documents or users: none, one, or some of several."""
    # An index gives the ends at once, however many there are between them.
    ends = [
        select(end(table.c.tenant)).scalar_subquery() for table in (documents, users) for end in (func.min, func.max)
    ]
    with reading(engine, path) as connection:
        found = connection.execute(select(*ends)).one()
    return frozenset(one for one in found if one is not None)
