"""Conversations, the inbox, the audit log and replays as JSON, the same for the command line and the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from citewell.answer.answer_json import answer_json
from citewell.answer.replay import Replay
from citewell.answer.service import Case
from citewell.history import (
    AuditEntry,
    AuditRecord,
    Conversation,
    ConversationMessage,
    HistoryPage,
    Proof,
    RoutedQuestion,
)
from citewell.types import Answer


def conversation_json(conversation: Conversation) -> dict[str, Any]:
    """A conversation as it is listed."""
    return {
        "id": conversation.id,
        "title": conversation.title,
        "made_at": when(conversation.made_at),
        "changed_at": when(conversation.changed_at),
    }


def conversation_page_json(page: HistoryPage[Conversation]) -> dict[str, Any]:
    """A part of the list of conversations, and what to give as `after` for the next one."""
    return {"conversations": [conversation_json(conversation) for conversation in page.items], "next": page.next}


def turn_json(turn: ConversationMessage, *, reply: str | None) -> dict[str, Any]:
    """One turn of a conversation; an answer with the reply of the person to whom its question was passed on."""
    return {
        "role": turn.message.role,
        "text": turn.message.text,
        "answer_id": turn.answer_id,
        "reply": reply,
        "made_at": when(turn.made_at),
    }


def turns_json(
    conversation_id: str, turns: Sequence[ConversationMessage], replies: Mapping[str, str]
) -> dict[str, Any]:
    """A conversation, with the replies by answer."""
    shown = [turn_json(turn, reply=reply_to(turn, replies)) for turn in turns]
    return {"id": conversation_id, "turns": shown}


def reply_to(turn: ConversationMessage, replies: Mapping[str, str]) -> str | None:
    """What a person replied where an answer stood aside; a question itself has none."""
    return replies.get(turn.answer_id or "") if turn.message.role == "assistant" else None


def routed_json(routed: RoutedQuestion) -> dict[str, Any]:
    """A question in the inbox, without its words."""
    return {
        "id": routed.id,
        "answer_id": routed.answer_id,
        "asked_by": routed.asked_by,
        "tag": routed.tag,
        "owner_id": routed.owner_id,
        "reason": routed.reason,
        "fallback": routed.is_fallback,
        "state": routed.state,
        "reply": routed.reply,
        "replied_by": routed.replied_by,
        "made_at": when(routed.made_at),
        "replied_at": None if routed.replied_at is None else when(routed.replied_at),
    }


def routed_page_json(page: HistoryPage[RoutedQuestion], questions: Mapping[str, str]) -> dict[str, Any]:
    """A part of the inbox with the questions by answer, and what to give as `after` for the next one."""
    items = [{**routed_json(routed), "question": questions.get(routed.answer_id)} for routed in page.items]
    return {"questions": items, "next": page.next}


def case_json(case: Case) -> dict[str, Any]:
    """A question in the inbox with its words, as far as one person may see them."""
    return {
        **routed_json(case.routed),
        "question": case.question,
        "may_answer": case.may_answer,
        "evidence": [asdict(passage) for passage in case.passages],
        "hidden_evidence": case.hidden_passages,
        "draft": list(case.draft),
        "hidden_draft": case.hidden_sentences,
        "raw_text": case.raw_text,
    }


def entry_json(entry: AuditEntry) -> dict[str, Any]:
    """One record of the audit log, without its words."""
    return {
        "number": entry.number,
        "answer_id": entry.answer_id,
        "user_id": entry.user_id,
        "made_at": when(entry.made_at),
        "question_hash": entry.question_hash,
        "hash": entry.hash,
    }


def record_json(record: AuditRecord) -> dict[str, Any]:
    """One record with its words, also those that were withheld: who may read it may open them (`withheld`)."""
    return {**entry_json(record.entry), **record.words}


def proof_json(proof: Proof) -> dict[str, Any]:
    """Whether the audit log is whole."""
    return {
        "ok": not proof.problems,
        "records": proof.records,
        "head": str(proof.head),
        "problems": list(proof.problems),
    }


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
        "erased": [asdict(erased_source) for erased_source in replay.erased],
        "notes": list(replay.notes),
        "now": answer_json(now, with_withheld=True) if isinstance(now, Answer) else dict(now),
    }


def when(moment: datetime) -> str:
    """A moment in UTC, as programs read it.

    >>> from datetime import UTC
    >>> when(datetime(2026, 3, 12, 9, 30, tzinfo=UTC))
    '2026-03-12T09:30:00+00:00'
    """
    return moment.isoformat()
