"""What the one box can be narrowed to for a visitor, and the answers of an open record beside those of the library."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import Response

from citewell.api.server_state import ServerState
from citewell.api.vault_sessions import OpenVaults, VaultSession
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError
from citewell.web.ask_box import AskBox, AskPlace
from citewell.web.records import RecordTurn, record_turn


def places(site: ServerState, visitor: Visitor, safe: OpenVaults) -> list[AskPlace]:
    """The chips: everything, guidelines, each journey, and each record that is open."""
    found = [AskPlace("all", "Everything", "/")]
    with suppress(CitewellError):
        if site.app.guidelines.entries(visitor.whole):
            found.append(AskPlace("guidelines", "Guidelines", "/guidelines/chat"))
        found += [
            AskPlace(f"journey:{journey.slug}", journey.name, f"/evidence?journey={journey.slug}")
            for journey in site.app.journeys.all(visitor.whole)
        ]
    found += [
        AskPlace(f"record:{room.id}", f"My record: {room.profile.vault.label}", room.base)
        for room in open_records(site, visitor, safe)
    ]
    return found


def open_records(site: ServerState, visitor: Visitor, safe: OpenVaults) -> list[VaultSession]:
    """The records that are open now; they are their owner's alone."""
    if not visitor.is_owner:
        return []
    rooms = []
    for vault in safe.vaults.all():
        with suppress(CitewellError):
            rooms.append(VaultSession(site, safe, safe.vaults.profile(vault.id)))
    return rooms


@dataclass(frozen=True, slots=True)
class RecordPart:
    """What an open record says to a question, beside the answer of the library; it is kept in the record alone."""

    label: str
    base: str
    conversation_id: str
    turn: RecordTurn


def record_parts(rooms: Sequence[VaultSession], named: str) -> list[RecordPart]:
    """The turns of a conversation with a record that an address names as `vault:conversation`, while it is open."""
    vault_id, _, conversation_id = named.partition(":")
    room = next((room for room in rooms if room.id == vault_id), None)
    if room is None or not conversation_id:
        return []
    service, helped = room.ask_service, room.record.feedback
    parts = []
    for message in service.conversations.turns(conversation_id, room.asker):
        if message.message.role == "user":
            record = None if message.answer_id is None else service.audit.read(message.answer_id, room.asker)
            words: dict[str, Any] | None = None if record is None else record.words["answer"]
            turn = record_turn(message.message.text, words, is_helpful=helped.get(message.answer_id or ""))
            parts.append(RecordPart(room.profile.vault.label, room.base, conversation_id, turn))
    return parts


def ask_page(site: ServerState, visitor: Visitor, safe: OpenVaults, box: AskBox, **values: Any) -> Response:
    """The page of the one box, as it is narrowed; what a narrowing does not use is empty."""
    unused: dict[str, Any] = {
        "question": "",
        "conversation_id": None,
        "turns": (),
        "turn_template": "_turn.html",
        "parts": (),
        "problem": None,
        "resent": None,
        "talks": (),
        "examples": (),
        "is_empty": False,
        "under_way": 0,
        "is_closed": "",
        "documents": 0,
        "passages": site.passages(visitor.scope()),
        "usual_ms": site.usual_ms,
        "models": (),
        "model": "",
        "tags": (),
        "chosen": (),
        "document": None,
        "journey": None,
        "guidelines": (),
        "chosen_guideline": "",
        "base": "",
        "closed": {},
        "records": (),
        "record_vault": "",
        "record_conversation": "",
        "places_to_ask": places(site, visitor, safe),
    }
    return site.page("ask.html", visitor, nav="ask", box=box, **(unused | values))
