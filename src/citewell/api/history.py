"""Conversations as the pages show them: each question with the recorded answer and the reply of a person."""

from __future__ import annotations

from citewell.api.site import Site
from citewell.errors import CitewellError
from citewell.keeping import Conversation
from citewell.types import Asker
from citewell.web.answers import Turn, turn, waiting

TALKS_SHOWN = 8


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
            answer = desk.audit.read(one.answer_id, asker).words["answer"]
            found.append(turn(one.message.text, answer, reply=replies.get(one.answer_id)))
    return found
