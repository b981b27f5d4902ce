"""Seals what is said together with the answer it belongs to, so that neither can be given to another unseen."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.schema import answers, conversations, messages, routed
from citewell.answer.route_to_owner import REPORTED
from citewell.errors import LibraryError

SEALED, BOUND = "sealed:", "bound:"
"""What a reason in the table opens with that is sealed, and one that is sealed with who and what it is about."""
IN_REASON = ("id", "tenant", "answer_id", "asked_by", "tag", "owner_id", "is_fallback", "state", "replied_by")
"""What an item of the inbox is sealed with: none of it can be changed without the key."""
CHANGED = (
    "This conversation was altered outside Citewell: it shows an answer to another question or another person's "
    "answer. Run `citewell audit verify`."
)

# ---------------------------------------------------------------------------------------------------------- messages


def close_message(seal: TextCipher, text: str, *, conversation_id: str, position: int, answer_id: str | None) -> bytes:
    """A message, sealed for its place and its answer; one that waits is sealed for none."""
    return seal.close(text, about=f"message:{conversation_id}:{position}:{answer_id or ''}")


def open_message(seal: TextCipher, row: Row[Any]) -> str:
    """The words of a message; LibraryError where they, their place or their answer were changed."""
    place = f"message:{row.conversation_id}:{row.position}"
    try:
        return seal.open(row.text, about=f"{place}:{row.answer_id or ''}")
    except LibraryError:
        return seal.open(row.text, about=place)  # from before messages were bound to their answers


def is_answer_to(seal: TextCipher, row: Row[Any], text: str, *, user_id: str) -> bool:
    """Whether a question's answer, where the log has it, was given to this question of this person."""
    if row.role != "user" or row.question_hash is None:
        return True
    return bool(row.question_hash == seal.fingerprint(text) and row.answered_for == user_id)


# ------------------------------------------------------------------------------------------------------------- inbox


def close_reason(seal: TextCipher, reason: str, item: Mapping[str, Any]) -> str:
    """A reason as it is kept: it may say of which words of the question the documents do not speak."""
    return BOUND + base64.b64encode(seal.close(reason, about=_about_item(item))).decode()


def open_reason(seal: TextCipher, row: Row[Any]) -> str:
    """The reason again; LibraryError where it, or whose and in which state the item is, was changed."""
    if row.reason.startswith(BOUND):
        return seal.open(base64.b64decode(row.reason[len(BOUND) :]), about=_about_item(row._asdict()))
    if row.reason.startswith(SEALED):  # from before items were sealed as a whole
        return seal.open(base64.b64decode(row.reason[len(SEALED) :]), about=f"reason:{row.id}")
    return str(row.reason)  # from before reasons were sealed


def _about_item(item: Mapping[str, Any]) -> str:
    return json.dumps(["reason", *(item.get(name) for name in IN_REASON)])


# ------------------------------------------------------------------------------------------------------------- proof


def unbound(connection: Connection, tenant: str, seal: TextCipher) -> Iterator[str]:
    """What in a tenant's conversations and inbox does not belong to the answer it stands with."""
    said = (
        select(messages, conversations.c.user_id, answers.c.question_hash, answers.c.user_id.label("answered_for"))
        .join(conversations)
        .outerjoin(answers, answers.c.id == messages.c.answer_id)
        .where(conversations.c.tenant == tenant)
        .order_by(messages.c.conversation_id, messages.c.position)
    )
    for row in connection.execute(said).yield_per(200):
        place = f"conversation {row.conversation_id}, message {row.position}"
        try:
            is_right = is_answer_to(seal, row, open_message(seal, row), user_id=row.user_id)
        except LibraryError:
            yield f"{place}: its seal is broken, or it was given another answer"
        else:
            if not is_right:
                yield f"{place}: its answer belongs to another question or another person"
    waiting = (
        select(routed, answers.c.record, answers.c.user_id)
        .join(answers, answers.c.id == routed.c.answer_id)
        .where(routed.c.tenant == tenant)
    )
    for row in connection.execute(waiting.order_by(routed.c.id)).yield_per(200):
        if not _is_as_recorded(seal, row):
            yield f"inbox item {row.id}: it was altered, or has another answer"


def _is_as_recorded(seal: TextCipher, row: Row[Any]) -> bool:
    """Whether an item says what the record of its answer says, and is in a state that its reply allows."""
    try:
        reason = open_reason(seal, row)
        words = json.loads(seal.open(row.record, about=f"answer:{row.answer_id}"))
        if row.reply is not None:
            seal.open(row.reply, about=f"reply:{row.id}")
    except (LibraryError, ValueError):
        return False
    if row.asked_by != row.user_id or (row.state != "closed" and (row.state == "answered") != (row.reply is not None)):
        return False
    told = (words.get("answer") or {}).get("route")
    if row.reason.startswith(BOUND) and reason.startswith(REPORTED):
        return True  # filed later, by who asked: no record has its reason or owner, its seal binds both to the answer
    if told is None:
        return "answer" not in words  # an answer that was passed on to nobody has no item
    is_same_reason = reason == told["reason"] or bool(words.get("erased"))
    return bool(is_same_reason and (row.tag, row.owner_id) == (told["tag"], told["owner_id"]))
