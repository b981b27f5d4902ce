"""Parts what a person decided from the paper that it was read from, before the paper goes and takes its facts along."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Engine, and_, select, update

from citewell.adapters.records.facts import tenant_of
from citewell.adapters.records.facts_rows import CONFIRMED, REJECTED
from citewell.adapters.store.engine import writing
from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import facts
from citewell.types import Scope
from citewell.types.facts import REPORTED, Fact
from citewell.types.facts_json import fact_json, read_fact


def let_go(engine: Engine, path: Path, document_ids: Collection[str], scope: Scope) -> tuple[list[Fact], list[Fact]]:
    """Which facts stay, as the person's own word, and which go with these papers; what was rejected stays rejected."""
    mine = and_(facts.c.tenant == tenant_of(scope), facts.c.document_id.in_(document_ids))
    kept, gone = [], []
    with writing(engine, path) as connection:
        for row in connection.execute(select(facts).where(mine)).all():
            if row.state not in (CONFIRMED, REJECTED):
                gone.append(read_fact(row.body))
                continue
            body = fact_json(replace(read_fact(row.body), origin=REPORTED))
            this = and_(facts.c.tenant == row.tenant, facts.c.id == row.id)
            connection.execute(update(facts).where(this).values(body=body, document_id=None, changed_at=now()))
            kept += [read_fact(body)] if row.state == CONFIRMED else []
    return kept, gone
