"""Searches the audit log: records are sealed, so a number of the newest are opened for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.history import AuditEntry, AuditRecord

SHOWN = 50
BATCH = 200
MAX_OPENED = 2_000
"""Opening a record takes a moment; a search that found too little by then says where it goes on."""


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """What somebody looks for; what is not said does not restrict it."""

    words: str = ""
    user: str = ""
    """A user's id, or their e-mail address."""
    assistant: str = ""
    since: date | None = None
    until: date | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record that fits, with what a list shows of it."""

    number: int
    answer_id: str
    user_id: str
    made_at: datetime
    assistant: str
    journey: str | None
    question: str
    action: str | None
    sources: tuple[str, ...] = ()
    """The titles of the documents that the answer cites."""


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """The records that fit, how many were opened, and where a search goes on."""

    records: tuple[FoundRecord, ...]
    opened: int
    next: int | None


def search(site: ServerState, visitor: Visitor, query: AuditQuery) -> FoundRecords:
    """The newest records that fit, a batch at a time."""
    audit, asker = site.ask_service().audit, visitor.asker()
    user_id = _user_id(site, visitor, query.user)
    records: list[FoundRecord] = []
    opened, before = 0, query.before
    while len(records) < SHOWN and opened < MAX_OPENED:
        batch = audit.entries(asker, limit=BATCH, before=before)
        if not batch:
            return FoundRecords(tuple(records), opened, None)
        opening = (entry.answer_id for entry in batch if _fits(entry, query, user_id))
        opened_records = audit.records(opening, asker)
        for entry in batch:
            before = entry.number
            record = opened_records.get(entry.answer_id)
            if record is not None and (fitting := _found(record, query)) is not None:
                records.append(fitting)
                if len(records) == SHOWN:
                    return FoundRecords(tuple(records), opened + len(opened_records), before)
        opened += len(opened_records)
        if query.since is not None and batch[-1].made_at.date() < query.since:
            return FoundRecords(tuple(records), opened, None)
    return FoundRecords(tuple(records), opened, before)


def _user_id(site: ServerState, visitor: Visitor, user: str) -> str:
    return site.people.by_email(user, tenant=visitor.tenant).id if "@" in user else user.strip()


def _fits(entry: AuditEntry, query: AuditQuery, user_id: str) -> bool:
    """Whether a record fits by what is told without opening it."""
    day = entry.made_at.date()
    is_in_time = (query.since is None or day >= query.since) and (query.until is None or day <= query.until)
    return is_in_time and (not user_id or entry.user_id == user_id)


def _found(record: AuditRecord, query: AuditQuery) -> FoundRecord | None:
    """What a list shows of a record, where its words fit."""
    words = record.words
    assistant = str(words.get("setup", {}).get("assistant", "knowledge"))
    question, answer = str(words.get("question", "")), words.get("answer")
    text = f"{question} {answer.get('text', '') if answer else ''}".casefold()
    if query.assistant and assistant != query.assistant:
        return None
    if not all(word in text for word in query.words.casefold().split()):
        return None
    entry = record.entry
    return FoundRecord(
        number=entry.number,
        answer_id=entry.answer_id,
        user_id=entry.user_id,
        made_at=entry.made_at,
        assistant=assistant,
        journey=(words.get("scope") or {}).get("journey"),
        question=question,
        action=answer.get("action") if answer else None,
        sources=tuple(dict.fromkeys(one["document"] for one in (answer or {}).get("citations", ()))),
    )
