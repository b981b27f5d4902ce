"""One set of tables that keep what was asked, in a real SQLite file and in a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from citewell.adapters.store.answer_ledger import SqlLedger
from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.conversations import SqlConversations
from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.inbox import SqlInbox
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.postgres import open_postgres
from citewell.adapters.store.users import SqlPeople


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


def opened_library(folder: Path, url: str | None = None) -> SqlLibrary:
    """A library in a folder, or in the database at an address."""
    return SqlLibrary(folder / "library.sqlite", engine=None if url is None else open_postgres(url))


def opened_office(folder: Path, url: str | None = None) -> Office:
    """All of it in a folder, or in the database at an address."""
    library = opened_library(folder, url)
    engine, path = library.engine, library.path
    seal = TextCipher.of(folder)
    audit = SqlAudit(engine, path, seal)
    conversations = SqlConversations(engine, path, seal, assistant="knowledge")
    inbox = SqlInbox(engine, path, seal)
    ledger = SqlLedger(engine, path, audit=audit, conversations=conversations, inbox=inbox)
    return Office(library, audit, conversations, inbox, ledger, SqlPeople(engine, path))


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest) -> str | None:
    """Where the library is: a new database of a server, or None for a file."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def office(tmp_path: Path, address: str | None) -> Iterator[Office]:
    made = opened_office(tmp_path, address)
    yield made
    made.library.close()


@pytest.fixture
def office_in_a_file(tmp_path: Path) -> Iterator[Office]:
    made = opened_office(tmp_path)
    yield made
    made.library.close()
