"""Turns, the inbox, records of the audit log and replays as JSON, the same for the command line and the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from citewell.answer.answer_json import answer_json
from citewell.answer.replay import Replay
from citewell.history import (
    AuditRecord,
    ConversationMessage,
    HistoryPage,
    ListedQuestion,
    RoutedQuestion,
)
from citewell.types import Answer


def turns_json(
    conversation_id: str, turns: Sequence[ConversationMessage], replies: Mapping[str, str]
) -> dict[str, Any]:
    """A conversation; answers with the reply of the person to whom their question was passed on."""
    shown = [
        {
            "role": turn.message.role,
            "text": turn.message.text,
            "answer_id": turn.answer_id,
            "reply": reply_to(turn, replies),
            "made_at": turn.made_at.isoformat(),
        }
        for turn in turns
    ]
    return {"id": conversation_id, "turns": shown}


def reply_to(turn: ConversationMessage, replies: Mapping[str, str]) -> str | None:
    """What a person replied where an answer stood aside; a question itself has none."""
    return replies.get(turn.answer_id or "") if turn.message.role == "assistant" else None


def with_questions(page: HistoryPage[RoutedQuestion], questions: Mapping[str, str]) -> HistoryPage[ListedQuestion]:
    """A part of the inbox with the questions by answer."""
    items = (ListedQuestion(**asdict(routed), question=questions.get(routed.answer_id)) for routed in page.items)
    return HistoryPage(tuple(items), page.next)


def record_json(record: AuditRecord) -> dict[str, Any]:
    """One record with its words, also those that were withheld: who may read it may open them (`withheld`)."""
    return {**asdict(record.entry), "made_at": record.entry.made_at.isoformat(), **record.words}


def replay_json(replay: Replay) -> dict[str, Any]:
    """A question asked again, beside what it got then."""
    words, now = replay.record.words, replay.now
    return {
        "answer_id": replay.record.entry.answer_id,
        "question": words["question"],
        "is_same": replay.is_same,
        "action": {"then": replay.action_then, "now": replay.action_now},
        "text": {"then": replay.text_then, "now": replay.text_now},
        "sentences": [{"change": change.kind, "then": change.then, "now": change.now} for change in replay.changes],
        "erased": [asdict(version) for version in replay.erased],
        "notes": list(replay.notes),
        "now": answer_json(now, with_withheld=True) if isinstance(now, Answer) else dict(now),
    }
