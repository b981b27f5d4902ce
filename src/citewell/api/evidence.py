"""What the API and the pages of the literature share: asking in a journey, and the way to what a turn cites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool

from citewell.answer.events import Event
from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.assistants.evidence.service import Talk
from citewell.assistants.evidence.standing import CitationStanding
from citewell.errors import NotFound
from citewell.history import Conversation
from citewell.types import Scope
from citewell.types.journeys import UNIVERSAL
from citewell.web.answers import chunk_of
from citewell.web.source_highlights import SourceTarget

TALKS_SHOWN = 8


async def begun(
    site: ServerState, visitor: Visitor, question: str, *, journey: str | None, conversation_id: str | None
) -> Iterator[Event]:
    """An answer that will be written as it is read; what is wrong with the question is raised now.

    Without a conversation, one begins.
    """

    def begin() -> Iterator[Event]:
        ask = site.loaded().evidence.ask
        return ask(question, asker=visitor.asker(), journey=journey, conversation_id=conversation_id)

    return await run_in_threadpool(begin)


def base_of(journey: str | None) -> str:
    """Where the documents of a journey are opened.

    >>> base_of("back-pain"), base_of(None)
    ('/evidence/in/back-pain', '/evidence/in/universal')
    """
    return f"/evidence/in/{UNIVERSAL if journey is None else journey}"


def scope_in(site: ServerState, visitor: Visitor, named: str) -> Scope:
    """What a visitor may see in a journey that an address names."""
    if named == UNIVERSAL:
        return visitor.scope()
    return visitor.scope(journey=site.app.journeys.one(named, visitor.whole).slug)


def refuse_unless_open(site: ServerState, document_id: str, scope: Scope) -> None:
    """Say why a cited document is no longer shown, where it is not; not whether there is one that is hidden."""
    standing = site.app.evidence.standing([document_id], scope)[document_id]
    if not standing.is_open:
        shown = CitationStanding.ELSEWHERE if standing is CitationStanding.ERASED else standing
        raise NotFound(shown.words)


def recent(site: ServerState, visitor: Visitor) -> list[Conversation]:
    """The visitor's last conversations."""
    return list(site.app.evidence.ask_service.conversations.page(visitor.asker(), limit=TALKS_SHOWN).items)


def talk_json(talk: Talk) -> dict[str, Any]:
    """A conversation for programs, each turn with its citations and the way to them."""
    return {
        "id": talk.id,
        "journey": talk.journey,
        "turns": [
            {
                "question": turn.question,
                "answer_id": turn.answer_id,
                "action": turn.answer and turn.answer["action"],
                "text": turn.answer and turn.answer["text"],
                "reply": turn.reply,
                "citations": [_cited(talk, citation) for citation in (turn.answer or {}).get("citations", ())],
            }
            for turn in talk.turns
        ],
    }


def _cited(talk: Talk, citation: Mapping[str, Any]) -> dict[str, Any]:
    standing = talk.standing.get(citation["document_id"], CitationStanding.ERASED)
    place = SourceTarget(chunk_of(citation["source_id"]), citation["start"], citation["end"])
    url = f"{base_of(talk.journey)}/documents/{citation['document_id']}/source?{place.query}#marked"
    return {
        "index": citation["n"],
        "document_id": citation["document_id"],
        "title": citation["document"],
        **{name: citation[name] for name in ("version", "page", "section", "start", "end")},
        "excerpt": citation["quote"],
        "standing": standing.value,
        "note": standing.words,
        "url": url if standing.is_open else None,
    }
