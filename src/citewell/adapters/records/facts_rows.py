"""A fact as a row: whose word it is, and which other words about it may change it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from sqlalchemy import Row

from citewell.adapters.records.fact_columns import columns_of
from citewell.adapters.store.row_mapping import now
from citewell.types.facts import Fact, fact_id
from citewell.types.facts_json import fact_json

UNVERIFIED, AS_READ, CONFIRMED, REJECTED = "unverified", "as_read", "confirmed", "rejected"
"""What waits for a person, what its source is sure of, and what a person has decided."""
AsPlain = dict[str, Any]


def content(body: AsPlain) -> AsPlain:
    """A fact without where it was read, whether somebody looked at it, and its codes, which earlier versions left."""
    return {name: value for name, value in body.items() if name not in ("origin", "is_verified", "codes")}


def is_known(fact: Fact, row: Row[Any]) -> bool:
    """Whether a fact says what is kept, or what was read before a person corrected it."""
    return content(fact_json(fact)) in (content(row.read_as), content(row.body))


def stays(row: Row[Any] | None, fact: Fact) -> bool:
    """Whether other words about a fact change nothing of it: a person decided, or they are less sure than it is."""
    if row is None or row.state == REJECTED or is_known(fact, row):
        return False
    return row.state == CONFIRMED or row.document_id is None or (row.state == AS_READ and not fact.is_verified)


def apart(fact: Fact) -> Fact:
    """Other words about a fact that stays, as a fact of their own that waits for a person."""
    said = json.dumps(content(fact_json(fact)), sort_keys=True)
    return replace(fact, id=fact_id("other words", said), is_verified=False)


def row_of(fact: Fact, tenant: str, sure: str) -> AsPlain:
    """What is kept of a fact; `sure` says whose word a verified one is."""
    body = fact_json(fact)
    return {
        "id": fact.id,
        "tenant": tenant,
        "kind": fact.kind,
        "state": sure if fact.is_verified else UNVERIFIED,
        "document_id": fact.origin.document_id,
        "body": body,
        "read_as": body,
        "changed_at": now(),
        **columns_of(fact),
    }
