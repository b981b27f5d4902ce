"""Answers that were shared within their tenant: a link that can be ended."""

from __future__ import annotations

import secrets
from datetime import UTC
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Engine, Row, and_, delete, insert, select

from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import shares
from citewell.errors import NotFound
from citewell.history import Share
from citewell.types import User

ID_BYTES = 16
NO_SUCH_LINK = "This link does not work: it was ended, or it leads to what you do not have access to."


class SqlShares:
    """The links of a library; one for each answer."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path

    def make(self, answer_id: str, asker: User) -> Share:
        """The link to an answer, made where there is none."""
        with writing(self._engine, self._path) as connection:
            row = connection.execute(select(shares).where(_of(answer_id, asker.tenant))).first()
            if row is None:
                new = {"id": secrets.token_hex(ID_BYTES), "made_by": asker.user_id, "made_at": now()}
                connection.execute(insert(shares).values(tenant=asker.tenant, answer_id=answer_id, **new))
                row = connection.execute(select(shares).where(_of(answer_id, asker.tenant))).one()
            return _share(row)

    def find(self, share_id: str, tenant: str) -> Share:
        """A link that holds."""
        with reading(self._engine, self._path) as connection:
            row = connection.execute(select(shares).where(shares.c.id == share_id, shares.c.tenant == tenant)).first()
        if row is None:
            raise NotFound(NO_SUCH_LINK)
        return _share(row)

    def end(self, answer_id: str, tenant: str) -> None:
        """End the link to an answer; ending it twice is safe."""
        with writing(self._engine, self._path) as connection:
            connection.execute(delete(shares).where(_of(answer_id, tenant)))


def _of(answer_id: str, tenant: str) -> ColumnElement[bool]:
    return and_(shares.c.tenant == tenant, shares.c.answer_id == answer_id)


def _share(row: Row[Any]) -> Share:
    return Share(row.id, row.answer_id, row.made_by, row.made_at.replace(tzinfo=UTC))
