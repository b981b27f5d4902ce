"""Consults in SQL: events that are only ever added, their words sealed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, insert, select, update

from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import consult_events, consults
from citewell.errors import ChangedMeanwhile, InputError, NotFound
from citewell.history import KeptOutcome
from citewell.ports.consult import ConsultEntry, ConsultEvent
from citewell.types import User

NO_SUCH_CONSULT = "Consultation not found. `citewell consult list` shows the IDs."
IS_SIGNED = "This consultation is signed and cannot be changed. Start a new one to add to it."
CHANGED = "This consultation was changed in another window. Nothing was lost. Reload it and repeat the last step."
SIGNED = "signed"


class SqlConsults:
    """Reads and writes only what the asker owns."""

    def __init__(self, engine: Engine, path: Path, seal: TextCipher, *, audit: SqlAudit) -> None:
        self._engine, self._path, self._seal, self._audit = engine, path, seal, audit

    def begin(self, consult_id: str, events: Sequence[ConsultEvent], *, state: str, asker: User) -> None:
        moment = now()
        row = {"id": consult_id, "tenant": asker.tenant, "user_id": asker.user_id, "state": state}
        with writing(self._engine, self._path) as connection:
            connection.execute(insert(consults).values(**row, length=len(events), made_at=moment, changed_at=moment))
            self._add(connection, consult_id, events, after=0)

    def append(self, consult_id: str, events: Sequence[ConsultEvent], *, after: int, state: str, asker: User) -> None:
        """Keep further events, unless others came after those that were read, or it is signed."""
        with writing(self._engine, self._path) as connection:
            self._grow(connection, consult_id, events, after=after, state=state, asker=asker)

    def sign(
        self,
        consult_id: str,
        events: Sequence[ConsultEvent],
        *,
        after: int,
        state: str,
        ending: KeptOutcome,
        asker: User,
    ) -> None:
        with writing(self._engine, self._path) as connection:
            self._grow(connection, consult_id, events, after=after, state=state, asker=asker)
            head = self._audit.append(connection, ending)
        self._audit.note(asker.tenant, head)

    def events(self, consult_id: str, asker: User) -> list[ConsultEvent]:
        query = select(consult_events).where(consult_events.c.consult_id == consult_id)
        with reading(self._engine, self._path) as connection:
            if connection.execute(self._mine(consult_id, asker)).first() is None:
                raise NotFound(NO_SUCH_CONSULT)
            rows = connection.execute(query.order_by(consult_events.c.position)).all()
        return [self._opened(row) for row in rows]

    def all(self, asker: User) -> list[ConsultEntry]:
        mine = (consults.c.tenant == asker.tenant) & (consults.c.user_id == asker.user_id)
        query = select(consults).where(mine).order_by(consults.c.changed_at.desc(), consults.c.id)
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(query).all()
        return [
            ConsultEntry(
                row.id, row.state, row.length, row.made_at.replace(tzinfo=UTC), row.changed_at.replace(tzinfo=UTC)
            )
            for row in rows
        ]

    def _grow(
        self,
        connection: Connection,
        consult_id: str,
        events: Sequence[ConsultEvent],
        *,
        after: int,
        state: str,
        asker: User,
    ) -> None:
        row = connection.execute(self._mine(consult_id, asker)).first()
        if row is None:
            raise NotFound(NO_SUCH_CONSULT)
        if row.state == SIGNED:
            raise InputError(IS_SIGNED)
        grown = {"state": state, "length": after + len(events), "changed_at": now()}
        unchanged = (consults.c.id == consult_id) & (consults.c.length == after) & (consults.c.state != SIGNED)
        if connection.execute(update(consults).where(unchanged).values(**grown)).rowcount == 0:
            raise ChangedMeanwhile(CHANGED)  # the update locks the row, so that of two at once one comes here
        self._add(connection, consult_id, events, after=after)

    def _mine(self, consult_id: str, asker: User) -> Any:
        owned = (consults.c.tenant == asker.tenant) & (consults.c.user_id == asker.user_id)
        return select(consults).where(consults.c.id == consult_id, owned)

    def _add(self, connection: Connection, consult_id: str, events: Sequence[ConsultEvent], *, after: int) -> None:
        for position, event in enumerate(events, after + 1):
            sealed = self._seal.close(json.dumps(asdict(event)), about=_about(consult_id, position))
            connection.execute(insert(consult_events).values(consult_id=consult_id, position=position, body=sealed))

    def _opened(self, row: Row[Any]) -> ConsultEvent:
        return ConsultEvent(**json.loads(self._seal.open(row.body, about=_about(row.consult_id, row.position))))


def _about(consult_id: str, position: int) -> str:
    return f"consult:{consult_id}:{position}"
