"""Searches the audit log for an administrator: records are sealed, so a number of the newest are opened for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from citewell.api.site import Site
from citewell.api.visitor import Visitor
from citewell.history import AuditEntry, AuditRecord

SHOWN = 50
BATCH = 200
MAX_OPENED = 2_000
"""Opening a record takes a moment; a search that found too little by then says where it goes on."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What an administrator looks for; what is not said does not restrict it."""

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


@dataclass(frozen=True, slots=True)
class Found:
    """The records that fit, how many were opened, and where a search goes on."""

    records: tuple[FoundRecord, ...]
    opened: int
    next: int | None


def search(site: Site, visitor: Visitor, sought: Sought) -> Found:
    """The newest records that fit, a batch at a time."""
    audit, asker = site.desk().audit, visitor.asker()
    user_id = _user_id(site, visitor, sought.user)
    found: list[FoundRecord] = []
    opened, before = 0, sought.before
    while len(found) < SHOWN and opened < MAX_OPENED:
        batch = audit.entries(asker, limit=BATCH, before=before)
        if not batch:
            return Found(tuple(found), opened, None)
        fitting = [one for one in batch if _fits(one, sought, user_id)]
        records = audit.records((one.answer_id for one in fitting), asker)
        for entry in batch:
            before = entry.number
            record = records.get(entry.answer_id)
            if record is not None and (told := _told(record, sought)) is not None:
                found.append(told)
                if len(found) == SHOWN:
                    return Found(tuple(found), opened + len(records), before)
        opened += len(records)
        if sought.since is not None and batch[-1].made_at.date() < sought.since:
            return Found(tuple(found), opened, None)
    return Found(tuple(found), opened, before)


def _user_id(site: Site, visitor: Visitor, user: str) -> str:
    return site.people.by_email(user, tenant=visitor.tenant).id if "@" in user else user.strip()


def _fits(entry: AuditEntry, sought: Sought, user_id: str) -> bool:
    """Whether a record fits by what is told without opening it."""
    day = entry.made_at.date()
    is_in_time = (sought.since is None or day >= sought.since) and (sought.until is None or day <= sought.until)
    return is_in_time and (not user_id or entry.user_id == user_id)


def _told(record: AuditRecord, sought: Sought) -> FoundRecord | None:
    """What a list shows of a record, where its words fit."""
    told = record.words
    assistant = str(told.get("setup", {}).get("assistant", "knowledge"))
    question, answer = str(told.get("question", "")), told.get("answer")
    text = f"{question} {answer.get('text', '') if answer else ''}".casefold()
    if sought.assistant and assistant != sought.assistant:
        return None
    if not all(word in text for word in sought.words.casefold().split()):
        return None
    entry = record.entry
    return FoundRecord(
        number=entry.number,
        answer_id=entry.answer_id,
        user_id=entry.user_id,
        made_at=entry.made_at,
        assistant=assistant,
        journey=(told.get("scope") or {}).get("journey"),
        question=question,
        action=answer.get("action") if answer else None,
    )
