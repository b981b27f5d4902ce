"""Puts the desk together: an assistant, and the tables that keep what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.conversations import SqlConversations
from citewell.adapters.store.ledger import SqlLedger
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.routing import SqlInbox
from citewell.adapters.store.seal import Seal
from citewell.answer.desk import Desk

if TYPE_CHECKING:
    from citewell.assistants.knowledge import Knowledge


def make_desk(library: SqlLibrary, knowledge: Callable[[], Knowledge]) -> Desk:
    """The desk of the knowledge assistant."""
    engine, path = library.engine, library.path
    seal = Seal.of(path.parent)
    audit = SqlAudit(engine, path, seal)
    conversations = SqlConversations(engine, path, seal, assistant="knowledge")
    inbox = SqlInbox(engine, path, seal)

    def past_assistant(stamp: int, only: Collection[int] | None) -> Knowledge:
        index = ExactIndex(library.at(stamp, only=only))
        return replace(knowledge(), search=replace(knowledge().search, index=index))

    return Desk(
        assistant=knowledge,
        past_assistant=past_assistant,
        library=library,
        conversations=conversations,
        audit=audit,
        inbox=inbox,
        ledger=SqlLedger(engine, path, audit=audit, conversations=conversations, inbox=inbox),
    )
