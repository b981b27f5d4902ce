"""The audit log: every answer, sealed, each record chained to the one before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Row, insert, select

from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.rows import hashed, now
from citewell.adapters.store.schema import answers
from citewell.adapters.store.seal import Seal
from citewell.errors import NotFound

FIRST = "0" * 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One record, without the words that are sealed."""

    position: int
    answer_id: str
    user_id: str
    made_at: str
    hash: str


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether the chain is whole."""

    records: int
    problems: tuple[str, ...]


class SqlAudit:
    """Records that can be read and proved, not changed."""

    def __init__(self, engine: Engine, path: Path, seal: Seal) -> None:
        self._engine, self._path, self._seal = engine, path, seal

    def record(self, answer_id: str, *, tenant: str, user_id: str, question: str, record: Mapping[str, Any]) -> str:
        """Append a record; its hash."""
        sealed = self._seal.close(json.dumps(record, ensure_ascii=False), about=f"answer:{answer_id}")
        with writing(self._engine, self._path) as connection:
            last = connection.execute(select(answers.c.hash).order_by(answers.c.position.desc()).limit(1)).scalar()
            row = {
                "id": answer_id,
                "tenant": tenant,
                "user_id": user_id,
                "made_at": now(),
                "question_hash": hashed(question),
                "record": sealed,
                "previous_hash": last or FIRST,
            }
            row["hash"] = _hash(row)
            connection.execute(insert(answers).values(**row))
            return str(row["hash"])

    def read(self, answer_id: str, *, tenant: str, user_id: str | None) -> dict[str, Any]:
        """The words of a record; of this user only, unless None asks for all of the tenant."""
        query = select(answers).where(answers.c.id == answer_id, answers.c.tenant == tenant)
        if user_id is not None:
            query = query.where(answers.c.user_id == user_id)
        with reading(self._engine, self._path) as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound("There is no such answer in the audit log. `citewell audit list` shows the ids.")
        found: dict[str, Any] = json.loads(self._seal.open(row.record, about=f"answer:{row.id}"))
        return found

    def entries(self, *, tenant: str, limit: int = 100) -> list[Entry]:
        """The newest records of a tenant."""
        query = select(answers).where(answers.c.tenant == tenant).order_by(answers.c.position.desc()).limit(limit)
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(query).all()
        return [Entry(row.position, row.id, row.user_id, row.made_at.isoformat() + "Z", row.hash) for row in rows]

    def verify(self) -> Proof:
        """Walk the chain from the first record to the last."""
        problems = []
        previous, count, expected = FIRST, 0, 1
        with reading(self._engine, self._path) as connection:
            for row in connection.execute(select(answers).order_by(answers.c.position)).yield_per(200):
                problems += self._wrong(row, previous, expected)
                previous, count, expected = row.hash, count + 1, row.position + 1
        return Proof(count, tuple(problems))

    def _wrong(self, row: Row[Any], previous: str, expected: int) -> list[str]:
        """What is wrong with one record."""
        told = []
        if row.position != expected:
            told.append(f"before record {row.position}: {row.position - expected} records are missing")
        if row.previous_hash != previous:
            told.append(f"record {row.position}: it does not follow the one before it")
        if row.hash != _hash(dict(row._mapping)):
            told.append(f"record {row.position}: it was changed")
        return told


def _hash(row: Mapping[str, Any]) -> str:
    """The hash of a record and of all that came before it."""
    fields = ("previous_hash", "id", "tenant", "user_id", "question_hash")
    told = "\n".join([*(str(row[field]) for field in fields), row["made_at"].isoformat(), hashed(row["record"])])
    return hashlib.sha256(told.encode()).hexdigest()
