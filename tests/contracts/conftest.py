"""One set of tables that keep what was asked, in a real SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.conversations import SqlConversations
from citewell.adapters.store.ledger import SqlLedger
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.people import SqlPeople
from citewell.adapters.store.routing import SqlInbox
from citewell.adapters.store.seal import Seal


@dataclass(frozen=True, slots=True)
class Office:
    """Everything that is kept of questions, in one file."""

    library: SqlLibrary
    audit: SqlAudit
    conversations: SqlConversations
    inbox: SqlInbox
    ledger: SqlLedger
    people: SqlPeople

    @property
    def file(self) -> Path:
        return self.library.path


def opened_office(folder: Path) -> Office:
    """All of it in a folder."""
    library = SqlLibrary(folder / "library.sqlite")
    engine, path = library.engine, library.path
    seal = Seal.of(folder)
    audit = SqlAudit(engine, path, seal)
    conversations = SqlConversations(engine, path, seal, assistant="knowledge")
    inbox = SqlInbox(engine, path, seal)
    ledger = SqlLedger(engine, path, audit=audit, conversations=conversations, inbox=inbox)
    return Office(library, audit, conversations, inbox, ledger, SqlPeople(engine, path))


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = opened_office(tmp_path)
    yield made
    made.library.close()
