"""Keeps what became of a question in one transaction: the record, both turns and the inbox."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sqlalchemy import Engine

from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.conversations import SqlConversations
from citewell.adapters.store.engine import writing
from citewell.adapters.store.inbox import SqlInbox
from citewell.history import KeptOutcome


class SqlLedger:
    """All of an ending or nothing of it."""

    def __init__(
        self, engine: Engine, path: Path, *, audit: SqlAudit, conversations: SqlConversations, inbox: SqlInbox
    ) -> None:
        self._engine, self._path = engine, path
        self._audit, self._conversations, self._inbox = audit, conversations, inbox

    def keep(self, ending: KeptOutcome) -> str | None:
        routed_id = None
        with writing(self._engine, self._path) as connection:
            head = self._audit.append(connection, ending)
            self._conversations.end(connection, ending)
            if ending.route is not None:
                routed_id = self._inbox.put(connection, ending.route, ending)
        self._audit.note(ending.asker.tenant, head)
        return routed_id

    def erase(self, document_ids: Collection[str], tenant: str) -> None:
        """Take the words of erased documents out of all that is kept: records and turns; all of it or nothing."""
        with writing(self._engine, self._path) as connection:
            gone = self._audit.erase(connection, tenant, document_ids)
            if gone:
                self._conversations.erase_words(connection, tenant, gone)

    def erase_person(self, person: str, tenant: str) -> int:
        with writing(self._engine, self._path) as connection:
            answer_ids = self._audit.erase_person(connection, tenant, person)
            self._inbox.erase(connection, tenant, answer_ids)
            return self._conversations.erase_with(connection, tenant, answer_ids)
