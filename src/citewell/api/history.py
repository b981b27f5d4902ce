"""Conversations as the pages show them: each question with the recorded answer and the reply of a person."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from citewell.api.site import Site
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError, LibraryError, NotFound
from citewell.keeping import Conversation
from citewell.types import OWNER_ID, Asker, Role
from citewell.web.answers import Turn, turn, waiting

log = logging.getLogger(__name__)

TALKS_SHOWN = 8
DAMAGED = "(this record cannot be opened)"


def talks(site: Site, asker: Asker, *, limit: int | None = TALKS_SHOWN) -> list[Conversation]:
    """The asker's last conversations; none where the desk cannot be opened, since the page says why elsewhere."""
    try:
        return site.desk().conversations.all(asker)[:limit]
    except CitewellError:
        return []


def turns(site: Site, conversation_id: str, asker: Asker) -> list[Turn]:
    """What was asked in a conversation and what each question got, oldest first."""
    desk = site.desk()
    replies = {one.answer_id: one.reply for one in desk.inbox.asked(asker)}
    found = []
    for one in desk.conversations.turns(conversation_id, asker):
        if one.message.role != "user":
            continue
        if one.answer_id is None:
            found.append(waiting(one.message.text))
        else:
            answer = _answer(site, one.answer_id, asker)
            reply = replies.get(one.answer_id)
            found.append(waiting(one.message.text) if answer is None else turn(one.message.text, answer, reply=reply))
    return found


def _answer(site: Site, answer_id: str, asker: Asker) -> Mapping[str, Any] | None:
    """What a question got; None where it got nothing, or where the record is damaged: the others are still shown."""
    try:
        found: Mapping[str, Any] | None = site.desk().audit.read(answer_id, asker).words["answer"]
    except (LibraryError, NotFound) as error:
        log.warning("answer %s cannot be opened: %s", answer_id, type(error).__name__)
        return None
    return found


def words(site: Site, answer_id: str, asker: Asker) -> str:
    """The question behind an item of the inbox, which has let this person see it."""
    try:
        found: str = site.desk().audit.read(answer_id, replace(asker, role=Role.ADMIN)).words["question"]
    except (LibraryError, NotFound) as error:
        log.warning("answer %s cannot be opened: %s", answer_id, type(error).__name__)
        return DAMAGED
    return found


def names(site: Site, visitor: Visitor, user_ids: Iterable[str]) -> dict[str, str]:
    """What these people of the visitor's tenant are called."""
    found = {}
    for user_id in set(user_ids) - {OWNER_ID}:
        with suppress(NotFound):
            found[user_id] = site.people.user(user_id, tenant=visitor.tenant).name
    return found | {OWNER_ID: "Owner", visitor.user_id: "you"}
