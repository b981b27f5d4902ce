"""Puts the desk together: an assistant, and the tables that keep what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import select

from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.store.answer_ledger import SqlLedger
from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.conversations import SqlConversations
from citewell.adapters.store.encryption import KEY_FILE, TextCipher
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.routing import SqlInbox
from citewell.adapters.store.schema import answers
from citewell.adapters.store.schema import conversations as conversations_table
from citewell.answer.service import AskService, Assistant, ResolveOptions
from citewell.errors import LibraryError

if TYPE_CHECKING:
    from citewell.assistants.knowledge import Knowledge
    from citewell.types import Emergency

    Detector = Callable[[str], Emergency | None]


def make_desk(
    library: SqlLibrary, knowledge: Callable[[], Knowledge], choose: ResolveOptions, emergency: Detector
) -> AskService:
    """The desk of the knowledge assistant."""

    def past_assistant(stamp: int, only: Collection[int] | None) -> Knowledge:
        index = ExactIndex(library.at(stamp, only=only))
        return replace(knowledge(), search=replace(knowledge().search, index=index))

    return replace(desk_of(library, "knowledge", knowledge, past_assistant, emergency), choose=choose)


def desk_of(
    library: SqlLibrary,
    name: str,
    assistant: Callable[[], Assistant],
    past_assistant: Callable[[int, Collection[int] | None], Assistant],
    emergency: Detector,
    *,
    keep_days: int | None = None,
) -> AskService:
    """The desk of an assistant; its conversations end after so many days without a word, where a number is given."""
    engine, path = library.engine, library.path
    seal = open_seal(library)
    audit = SqlAudit(engine, path, seal, is_vault=library.is_encrypted)
    conversations = SqlConversations(engine, path, seal, assistant=name, keep_days=keep_days)
    inbox = SqlInbox(engine, path, seal)
    return AskService(
        assistant=assistant,
        past_assistant=past_assistant,
        library=library,
        conversations=conversations,
        audit=audit,
        inbox=inbox,
        ledger=SqlLedger(engine, path, audit=audit, conversations=conversations, inbox=inbox),
        emergency=emergency,
    )


def open_seal(library: SqlLibrary) -> TextCipher:
    """The seal of a library; a new one only where nothing has been sealed yet."""
    if library.is_encrypted:
        with writing(library.engine, library.path) as connection:
            return TextCipher.inside(connection)
    home = library.path.parent
    if not (home / KEY_FILE).exists() and has_sealed(library):
        raise LibraryError(
            f"{KEY_FILE} is missing from {home}. Without it conversations and the audit log cannot be opened. "
            "Restore it from a backup, or start a new library with --home."
        )
    seal = TextCipher.of(home)
    if library.engine.dialect.name != "sqlite":
        with writing(library.engine, library.path) as connection:
            seal.agree(connection, home)
    return seal


def has_sealed(library: SqlLibrary) -> bool:
    """Whether anything was ever asked of this library."""
    with reading(library.engine, library.path) as connection:
        return any(connection.execute(select(1).select_from(one)).first() for one in (conversations_table, answers))
