"""A turn of the chat as programs see it: the one JSON shape that the command line and the API share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citewell.answer.stream import Done
from citewell.answer.view import citation_json


def chat_json(done: Done) -> dict[str, Any]:
    """An answer with its session, its citations and how it came about."""
    answer = done.answer
    return {
        "session_id": done.conversation_id,
        "answer_id": answer.id,
        "answer": answer.text,
        "citations": [cited(citation_json(one)) for one in answer.citations],
        "debug": dict(answer.notes),
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
        "rule": rule or None,
        "page": page,
        "excerpt": citation["quote"],
        "document": citation["document"],
        **{key: citation[key] for key in ("document_id", "source_id", "start", "end")},
    }
