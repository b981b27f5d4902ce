"""A turn of the chat as programs see it: the one JSON shape that the command line and the API share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from citewell.answer.answer_json import citation_json
from citewell.answer.events import AnswerDone
from citewell.assistants.guidelines.retrieve import RetrievedEntry
from citewell.history import ConversationMessage

DEBUG = ("input_class", "query_strategy", "search_query", "guardrail_result", "top_score", "chunks")
"""How an answer came about, as the API tells it."""


def chat_json(done: AnswerDone) -> dict[str, Any]:
    """An answer with its session, its citations and how it came about."""
    answer = done.answer
    return {
        "session_id": done.conversation_id,
        "answer_id": answer.id,
        "answer": answer.text,
        "citations": [cited(citation_json(citation)) for citation in answer.citations],
        "emergency": None if answer.emergency is None else asdict(answer.emergency),
        "notices": [notice.as_json() for notice in answer.notices],
        "unused": list(answer.notes.get("unused", ())),
        "debug": {name: answer.notes[name] for name in DEBUG},
    }


def history_json(session_id: str, turns: Iterable[ConversationMessage]) -> dict[str, Any]:
    """What was said in a session, oldest first."""
    said = [
        {
            "role": turn.message.role,
            "content": turn.message.text,
            "answer_id": turn.answer_id,
            "made_at": turn.made_at.isoformat(),
        }
        for turn in turns
    ]
    return {"session_id": session_id, "messages": said}


def related_json(retrieved_entry: RetrievedEntry) -> dict[str, Any]:
    """A rule near a patient: its words, and the score and boost that set its place."""
    piece = retrieved_entry.piece
    return {
        "label": f"{piece.label}, p.{piece.page}" if piece.page else piece.label,
        "guideline": retrieved_entry.book.guideline.name,
        "rule": piece.id,
        "page": piece.page or None,
        "text": piece.text,
        "document_id": retrieved_entry.book.document_id,
        "start": piece.start,
        "end": piece.end,
        "score": round(retrieved_entry.score, 4),
        "boost": round(retrieved_entry.boost, 4),
    }


def cited(citation: Mapping[str, Any]) -> dict[str, Any]:
    """A citation under the label by which the answer names it.

    >>> one = {"section": "1.1 Lung > NG12 §1.1.1", "page": 9, "quote": "Refer.", "document_id": "d", "document": "t",
    ...        "source_id": "d:1", "start": 1, "end": 7}
    >>> [cited(one)[name] for name in ("label", "guideline", "rule")]
    ['NG12 §1.1.1, p.9', 'NG12', '1.1.1']
    """
    label = (citation["section"] or citation["document"]).rsplit(" > ", 1)[-1]
    name, _, rule = label.partition(" §")
    page = citation["page"]
    return {
        "label": f"{label}, p.{page}" if page else label,
        "guideline": name if rule else name.partition(" Part B")[0].partition(" Terms, ")[0],
        "rule": rule.partition(", ")[0] or None,
        "page": page,
        "excerpt": citation["quote"],
        "document": citation["document"],
        **{key: citation[key] for key in ("document_id", "source_id", "start", "end")},
    }
