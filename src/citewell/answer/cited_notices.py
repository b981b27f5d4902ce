"""What was published since about the documents that an answer cites: told with it, and whenever it is opened again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from citewell.types.literature import CitedNotice, Notice, notices_reason


class Notices(Protocol):
    """Knows what was published about documents."""

    def notices(self, document_ids: Iterable[str]) -> Mapping[str, tuple[Notice, ...]]:
        """What was published about each of these documents; none are left out that have any."""
        ...


def cited_notices(cited: Mapping[str, str], library: Notices) -> tuple[CitedNotice, ...]:
    """What was published about documents, by their id and title."""
    known = library.notices(cited) if cited else {}
    return tuple(
        CitedNotice.of(document_id, title, notice)
        for document_id, title in cited.items()
        for notice in known.get(document_id, ())
    )


def with_notices_told(reason: str, notices: tuple[CitedNotice, ...]) -> str:
    """A reservation with what is not in it yet, before the rest: a retraction matters most."""
    new = tuple(notice for notice in notices if notice.text not in reason)
    return "; ".join(filter(None, (notices_reason(new), reason)))


def as_known_now(answer: Mapping[str, Any] | None, library: Notices) -> Mapping[str, Any] | None:
    """An answer as it was kept, with what was published since about the documents that it cites."""
    if answer is None or answer["action"] not in ("CITE", "QUALIFY"):
        return answer
    notices = cited_notices({one["document_id"]: one["document"] for one in answer["citations"]}, library)
    if not notices:
        return answer
    told = {"action": "QUALIFY", "reason": with_notices_told(answer.get("reason") or "", notices)}
    return {**answer, **told, "notices": [notice.as_json() for notice in notices]}
