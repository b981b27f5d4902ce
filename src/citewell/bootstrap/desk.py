"""Puts the desk together: an assistant, and the tables that keep what it is asked."""

from __future__ import annotations

from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.conversations import SqlConversations
from citewell.adapters.store.ledger import SqlLedger
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.routing import SqlInbox
from citewell.adapters.store.seal import Seal
from citewell.answer.desk import Desk
from citewell.assistants.knowledge import Knowledge


def make_desk(library: SqlLibrary, knowledge: Knowledge) -> Desk:
    """The desk of the knowledge assistant."""
    engine, path = library.engine, library.path
    seal = Seal.of(path.parent)
    audit = SqlAudit(engine, path, seal)
    conversations = SqlConversations(engine, path, seal, assistant="knowledge")
    inbox = SqlInbox(engine, path, seal)
    return Desk(
        assistant=knowledge,
        library=library,
        conversations=conversations,
        audit=audit,
        inbox=inbox,
        ledger=SqlLedger(engine, path, audit=audit, conversations=conversations, inbox=inbox),
    )
