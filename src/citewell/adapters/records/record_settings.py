"""What a person keeps beside the facts of their record: what they have set, and whether an answer helped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from sqlalchemy import Engine, delete, insert, select

from citewell.adapters.records.facts import tenant_of
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import answers, feedback, record_settings
from citewell.errors import NotFound
from citewell.ports.records import RecordSettings
from citewell.types import Scope

NO_SUCH_ANSWER = "Answer not found in this record. Ask first, then say whether it helped."


class SqlRecordSettings:
    """The settings and the feedback in one library."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path

    def choices(self, scope: Scope) -> RecordSettings:
        query = select(record_settings.c.name, record_settings.c.value)
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(query.where(record_settings.c.tenant == tenant_of(scope))).all()
        entry = {row.name: row.value for row in rows}
        minutes, language = entry.get("lock_minutes"), entry.get("language")
        return RecordSettings(
            lock_minutes=int(minutes) if minutes else None,
            language=cast('Literal["en", "fr", "de"]', language) if language in ("en", "fr", "de") else None,
            model=entry.get("model"),
        )

    def choose(self, choices: RecordSettings, scope: Scope) -> None:
        """Set all of it; what is None is not kept."""
        tenant = tenant_of(scope)
        told = {
            "lock_minutes": None if choices.lock_minutes is None else str(choices.lock_minutes),
            "language": choices.language,
            "model": choices.model,
        }
        kept = [{"tenant": tenant, "name": name, "value": value} for name, value in told.items() if value is not None]
        with writing(self._engine, self._path) as connection:
            connection.execute(delete(record_settings).where(record_settings.c.tenant == tenant))
            if kept:
                connection.execute(insert(record_settings), kept)

    def give_feedback(self, answer_id: str, *, is_helpful: bool | None, scope: Scope) -> None:
        """Say whether an answer helped; None takes it back."""
        tenant = tenant_of(scope)
        mine = (feedback.c.tenant == tenant) & (feedback.c.answer_id == answer_id)
        known = select(answers.c.id).where(answers.c.tenant == tenant, answers.c.id == answer_id)
        with writing(self._engine, self._path) as connection:
            if connection.execute(known).first() is None:
                raise NotFound(NO_SUCH_ANSWER)
            connection.execute(delete(feedback).where(mine))
            if is_helpful is not None:
                row = {"tenant": tenant, "answer_id": answer_id, "is_helpful": is_helpful, "at": now()}
                connection.execute(insert(feedback).values(**row))

    def feedback(self, scope: Scope) -> Mapping[str, bool]:
        """Which answers helped and which did not, by their ids."""
        query = select(feedback.c.answer_id, feedback.c.is_helpful).where(feedback.c.tenant == tenant_of(scope))
        with reading(self._engine, self._path) as connection:
            return {row.answer_id: row.is_helpful for row in connection.execute(query)}
