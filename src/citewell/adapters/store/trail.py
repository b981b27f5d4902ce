"""The trail: who opened, searched, exported or administered what, by ids alone; chained like the log of answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from citewell.adapters.store.chain import EMPTY, HashChain
from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import trail, trail_heads
from citewell.history import AuditHead, Proof, TrailEvent, TrailFilter, TrailRecord


class SqlTrail:
    """Records in one table, never changed; each tenant's are a chain of their own."""

    def __init__(
        self,
        engine: Engine,
        path: Path,
        seal: TextCipher,
        *,
        is_vault: bool = False,
        outside: Callable[[Iterable[Mapping[str, Any]]], None] | None = None,
    ) -> None:
        self._engine, self._path, self._outside = engine, path, outside
        self.chain = HashChain(
            engine,
            path,
            seal,
            records=trail,
            heads=trail_heads,
            name="trail",
            hash_of=_hash,
            is_vault=is_vault,
        )

    def keep(self, events: Sequence[TrailEvent]) -> None:
        """Keep what happened: all of it or nothing."""
        heads: dict[str, AuditHead] = {}
        linked: list[dict[str, Any]] = []
        with writing(self._engine, self._path) as connection:
            for tenant, several in groupby(sorted(events, key=lambda event: event.tenant), lambda event: event.tenant):
                heads[tenant], rows = self.chain.append(connection, [_row(event) for event in several])
                linked += rows
        for tenant, head in heads.items():
            self.chain.note(tenant, head)
        if self._outside is not None:
            self._outside([_record(row).as_json() for row in linked])

    def records(self, tenant: str, sought: TrailFilter) -> list[TrailRecord]:
        """The newest records that are sought, or those before a number."""
        with reading(self._engine, self._path) as connection:
            query = _query(tenant, sought).order_by(trail.c.number.desc()).limit(sought.limit)
            return [_record(dict(row)) for row in connection.execute(query).mappings().all()]

    def exported(self, tenant: str, sought: TrailFilter) -> Iterator[TrailRecord]:
        """All records that are sought, the oldest first."""
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(_query(tenant, sought).order_by(trail.c.number)).mappings()
            for some in rows.partitions(500):
                yield from (_record(dict(row)) for row in some)

    def verify_chain(self, tenant: str, *, known: Iterable[AuditHead] = ()) -> Proof:
        """Walk a tenant's trail from the first record to the last, then hold its end against what was said of it."""
        told: list[str] = []
        hashes, last = {0: EMPTY.hash}, EMPTY
        query = select(trail).where(trail.c.tenant == tenant).order_by(trail.c.number)
        with reading(self._engine, self._path) as connection:
            for row, wrong in self.chain.links(connection.execute(query).yield_per(500)):
                told += wrong
                last = AuditHead(row.number, row.hash)
                hashes[row.number] = row.hash
            told += self.chain.wrong_end(connection, tenant, last)
        told += self.chain.wrong_notes(tenant, hashes, known)
        return Proof(len(hashes) - 1, last, tuple(told))


def _query(tenant: str, sought: TrailFilter) -> Any:
    query = select(trail).where(trail.c.tenant == tenant)
    for column, value in (
        (trail.c.user_id, sought.user_id),
        (trail.c.object_id, sought.object_id),
        (trail.c.outcome, sought.outcome),
    ):
        query = query.where(column == value) if value is not None else query
    if sought.action is not None:
        query = query.where(trail.c.action.startswith(sought.action, autoescape=True))
    if sought.before is not None:
        query = query.where(trail.c.number < sought.before)
    if sought.since is not None:
        query = query.where(trail.c.made_at >= sought.since.astimezone(UTC).replace(tzinfo=None))
    return query


def _row(event: TrailEvent) -> dict[str, Any]:
    return {
        "tenant": event.tenant,
        "user_id": event.user_id,
        "made_at": event.at.astimezone(UTC).replace(tzinfo=None),
        "way": event.way,
        "action": event.action,
        "object_id": event.object_id,
        "outcome": event.outcome,
    }


def _record(row: Mapping[str, Any]) -> TrailRecord:
    names = ("tenant", "user_id", "way", "action", "object_id", "outcome")
    event = TrailEvent(**{name: row[name] for name in names}, at=row["made_at"].replace(tzinfo=UTC))
    return TrailRecord(row["number"], event, row["hash"])


def _hash(row: Mapping[str, Any]) -> str:
    """The hash of a record and of all that came before it."""
    names = ("previous_hash", "number", "tenant", "user_id", "way", "action", "object_id", "outcome")
    told = [*(row[name] for name in names), row["made_at"].isoformat()]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
